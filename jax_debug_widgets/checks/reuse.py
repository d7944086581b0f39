"""Describe a PRNG key that one program uses more than once (S8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.events import Finding

if TYPE_CHECKING:
    from jax_debug_widgets.taps.sites import NameFile


@dataclass(frozen=True)
class Reuse:
    """A key that is used twice, in each iteration of a loop, or in each lane of a `vmap`.

    Attributes:
      frame: the line of the use; for two uses, of the second one.
      what: what it does: `draws`, `splits`.
      before: the line of the first use; None for a loop or a `vmap`.
      first: what the first use does; empty for a loop or a `vmap`.
      iterations: the number of iterations of the loop, as text; empty without a loop.
      is_shared: whether all lanes of a `vmap` use the key.
    """

    frame: Frame
    what: str
    before: Frame | None = None
    first: str = ""
    iterations: str = ""
    is_shared: bool = False

    @property
    def headline(self) -> str:
        """The fact, as a sentence without a full stop; `{before}` stands for the first line."""
        if self.is_shared:
            return f"each lane of jax.vmap {self.what} with the same key"
        if self.before is None:
            each = "each iteration" if self.iterations == "all" else f"each of {self.iterations} iterations"
            return f"{each} {self.what} with the same key"
        return f"a key is used again: it already {self.first} at {{before}}"

    @property
    def advice(self) -> str:
        """What to write instead."""
        if self.is_shared:
            return (
                "All lanes get the same numbers. Give each its own key: keys = jax.random.split(key, n), which vmap maps over; "
                "or say that it is meant: jax.random.clone(key)"
            )
        if self.before is None:
            return (
                "Fold the iteration in: jax.random.fold_in(key, i); or carry the key: key, sub = jax.random.split(key)"
            )
        return (
            "The same key gives the same numbers. Split it first: k1, k2 = jax.random.split(key); or say that it is meant: "
            "jax.random.clone(key)"
        )


def of_key(found: Reuse, name_file: NameFile) -> Finding:
    """Make the finding about a PRNG key that is used more than once."""
    where = f"{name_file(found.frame.file)}:{found.frame.line}"
    before = "" if found.before is None else f"{name_file(found.before.file)}:{found.before.line}"
    message = f"{where}: {found.headline.replace('{before}', before)}. {found.advice}."
    frame, headline = found.frame, found.headline.replace("{before}", before)
    span = frame.line, frame.column, frame.end_line, frame.end_column
    return Finding(Kind.KEY.word, None, 0, 0, 0, message, where, (), headline, "", f"{found.advice}.", frame.file, span)
