"""Tracers that something of the user's holds after their trace, as findings (S3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets._jax.passes.checked import Checked
from jax_debug_widgets._jax.tracing.leaks import Origin, origin_of
from jax_debug_widgets.checks.holders import holder_of
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.events import Finding

if TYPE_CHECKING:
    from jax_debug_widgets.taps.check_log import Seen
    from jax_debug_widgets.taps.sites import NameFile


@dataclass(frozen=True)
class Leak:
    """A tracer, and the name that holds it."""

    origin: Origin
    holder: str


def leaks_of(tracers: Iterable[tuple[Any, Frame]]) -> Iterator[Checked]:
    """What holds these tracers, given with the line that began their trace; of those that no name holds nothing."""
    for tracer, line in tracers:
        holder, origin = holder_of(tracer), origin_of(tracer)
        if holder:
            yield Checked("leaks", holder, (origin.frame if origin.frame.line else line,), Leak(origin, holder))


def leak(seen: Seen, name_file: NameFile) -> Finding:
    """The finding."""
    frame = seen.checked.frames[0]
    found: Leak = seen.checked.facts
    origin = found.origin
    what = f"argument `{origin.argument}`" if origin.argument else "a value"
    where = f"{name_file(frame.file)}:{frame.line}"
    span = frame.line, frame.column, frame.end_line, frame.end_column
    headline = f"`{found.holder}` holds {what} of the trace of `{origin.function}`: {origin.type}"
    why = "A tracer has no value, and its trace is over: who uses it gets an UnexpectedTracerError."
    advice = "Return it from the traced function, and store what the call returns."
    return Finding.at(Kind.HELD.word, where, headline, why, (), advice, file=frame.file, span=span, seen=seen.count)
