"""What the pass that puts taps for watched values into programs asks of the room that chooses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.passes.body_context import BodyContext
from jax_debug_widgets._jax.passes.watch_tap import TakenValues


class Watcher(Protocol):
    """What the pass needs of the room above."""

    def body(self, jaxpr: Any, place: Place, around: BodyContext) -> TakenValues | None:
        """What to take in this body; None for nothing."""
        ...

    def unasked(self, jaxpr: Any, place: Place, around: BodyContext) -> None:
        """Nothing is taken in this condition of a loop, though `body` might have chosen something."""
        ...

    def prepared(self, program: str, seconds: float) -> None:
        """A program has its taps: how long that took, before JAX lowered it."""
        ...

    def failed(self, program: Any, name: str, error: Exception) -> None:
        """A program runs unwatched: with its taps it could not be lowered."""
        ...

    def conditional(self) -> bool:
        """Whether values are taken under a condition, so that counting does not tell the step."""
        ...

    def every(self) -> int:
        """Watch only each n-th iteration of the outermost loop, or each n-th call."""
        ...

    def calls(self) -> Callable[[], bool]:
        """What tells of each call of the program, as it is made, whether it is watched."""
        ...


MakeWatcher = Callable[[str, Any], "Watcher | None"]
"""Name of the program, settings -> what watches it, if anything does."""
