"""Define the interface by which the pass that puts in taps asks which values to watch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.passes.body_context import BodyContext
from jax_debug_widgets._jax.passes.watch_tap import TakenValues


class Watcher(Protocol):
    """Chooses the watched values of one program, and takes reports of the pass."""

    def body(self, jaxpr: Any, place: Place, around: BodyContext) -> TakenValues | None:
        """Return the values to take in a body; None for none."""
        ...

    def unasked(self, jaxpr: Any, place: Place, around: BodyContext) -> None:
        """Report a loop's condition, in which nothing is taken, though `body` might have chosen values there."""
        ...

    def prepared(self, program: str, seconds: float) -> None:
        """Report that a program has its taps; `seconds` is how long that took, before JAX lowered it."""
        ...

    def failed(self, program: Any, name: str, error: Exception) -> None:
        """Report that a program runs unwatched, because the taps could not be put in, or JAX could not lower it with them."""
        ...

    def conditional(self) -> bool:
        """Whether values are taken under a condition, so that counting firings does not give the step."""
        ...

    def samples_beside(self) -> bool:
        """Whether sampled loops keep one body, and a condition beside the values selects the iterations.

        A GPU asks the host which of two bodies to run, and a kernel can look at the condition by itself.
        """
        ...

    def every(self) -> int:
        """The number n: only each n-th iteration of the outermost loop, or each n-th call, is watched."""
        ...

    def calls(self) -> Callable[[], bool] | None:
        """Return a function that is called at each call of the program, and returns whether the call is watched.

        Return None if the program runs only in the calls that are watched.
        """
        ...


MakeWatcher = Callable[[str, Any], "Watcher | None"]
"""Takes the name of a program and the settings; returns its watcher, or None."""
