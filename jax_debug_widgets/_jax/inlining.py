"""Remember who called a checkpointed function whose forward pass JAX inlines.

What JAX traces on its own (a jitted function, a loop's body, what `jax.checkpoint` runs) has tracebacks that begin in it;
who called it is said by the equation that runs it. Differentiating `jax.checkpoint`, JAX evaluates the forward pass
equation by equation, and no equation is left that says so. A mark in the name stack says it, which shows in no text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jax._src import source_info_util


@dataclass(frozen=True)
class CalledFrom:
    """A part of a name stack: the traceback of the call."""

    traceback: Any

    def wrap(self, stack: list[str]) -> None:
        """Add nothing to the text of the name stack."""


@dataclass(frozen=True)
class JoinedTraceback:
    """JAX's traceback of an inlined equation, and those of the calls that led to its program, innermost first."""

    parts: tuple[Any, ...]

    def raw_frames(self) -> tuple[list[Any], list[int]]:
        """Code and instruction of each frame, innermost first, as JAX's own has them."""
        parts = [part.raw_frames() for part in self.parts]
        return [code for codes, _ in parts for code in codes], [at for _, offsets in parts for at in offsets]


def evaluate_checkpointed(theirs: Any, *args: Any, **params: Any) -> Any:
    """JAX's rule that evaluates what is known of a `checkpoint`, the forward pass."""
    context = source_info_util._source_info_context
    outer, current = context.context, source_info_util.current()
    mark: Any = CalledFrom(current.traceback)
    context.context = current.replace(name_stack=current.name_stack + source_info_util.NameStack((mark,)))
    try:
        return theirs(*args, **params)
    finally:
        context.context = outer


def traceback_of(source_info: Any) -> Any:
    """The traceback of an equation, with what called its program where JAX has inlined that; None where there is none."""
    own = source_info.traceback
    marks = [one.traceback for one in source_info.name_stack.stack if isinstance(one, CalledFrom)]
    # What runs the backward pass has the place of the call itself.
    callers = [one for one in reversed(marks) if one is not None and one is not own]
    return JoinedTraceback((own, *callers)) if own is not None and callers else own
