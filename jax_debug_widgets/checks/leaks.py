"""Make findings of tracers that the user's objects hold after the trace (S3)."""

from __future__ import annotations

import gc
import re
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jax.core import Tracer

from jax_debug_widgets._jax.origins.frames import Frame, is_users
from jax_debug_widgets._jax.passes.checked import Checked
from jax_debug_widgets._jax.tracing.leaks import Origin, origin_of
from jax_debug_widgets.checks.holders import holder_of, holders_of
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.namespace import is_traced
from jax_debug_widgets.checks.stores import only_store, stored_at, value_stored_at
from jax_debug_widgets.events import Finding
from jax_debug_widgets.watch import is_library

if TYPE_CHECKING:
    from jax_debug_widgets.taps.check_log import LineHits
    from jax_debug_widgets.taps.sites import NameFile


@dataclass(frozen=True)
class Leak:
    """The origin of a leaked tracer, and the name that holds the tracer."""

    origin: Origin
    holder: str


def leaks_of(tracers: Iterable[tuple[Any, tuple[Frame, ...]]]) -> Iterator[Checked]:
    """Yield a record for each tracer that a name holds; each tracer comes with the frames that began its trace."""
    tracers = [*tracers]
    for (tracer, began), holder in zip(tracers, holders_of([one for one, _ in tracers]), strict=True):
        origin = origin_of(tracer)
        frames = origin.frames or began
        if holder and frames:
            if origin.argument:
                frames = (stored_at(frames[0], origin.argument, holder),)
            elif origin.frames:  # A layer of a library may have made the value that the user's line stores.
                own = next((frame for frame in frames if not is_library(frame.file)), frames[0])
                frames = (value_stored_at(own, holder),)
            if origin.by == "derivative" and frames[0].line in {frame.line for frame in began}:  # An argument of it.
                frames = (only_store(frames[0], holder),)
            yield Checked("leaks", holder, frames, Leak(origin, holder))


def leak(seen: LineHits, name_file: NameFile) -> Finding:
    """Make the finding of a leaked tracer."""
    frame = seen.checked.frames[0]
    found: Leak = seen.checked.facts
    origin = found.origin
    what = f"argument `{origin.argument}`" if origin.argument else "a value"
    where = f"{name_file(frame.file)}:{frame.line}"
    span = frame.line, frame.column, frame.end_line, frame.end_column
    headline = f"`{found.holder}` holds {what} of the trace of {_named(origin)}: {origin.type}"
    why = "A tracer has no value, and its trace is over: who uses it gets an UnexpectedTracerError."
    advice = "Return it from the traced function, and store what the call returns."
    return Finding.at(Kind.HELD.word, where, headline, why, (), advice, file=frame.file, span=span, seen=seen.count)


def is_kept_tracer(one: LineHits, seen: Iterable[LineHits], *, is_leak_explained: bool) -> bool:
    """Return whether a side effect only stores a tracer, and another finding, or an explained exception, reports the leak."""
    if not getattr(one.checked.facts, "is_tracer", False):
        return False
    effect = re.split(r"[\[.]", one.checked.facts.name.partition("[")[0])[-1]
    holders = (each.checked.facts.holder for each in seen if isinstance(each.checked.facts, Leak))
    return is_leak_explained or any(effect in re.findall(r"\w+", holder) for holder in holders)


_TRACED = re.compile(r"The error occurred while tracing the function .* at (?P<file>.+):(?P<line>\d+) for \w+\.")
"""The pattern of JAX's message about a tracer whose value somebody needs."""


def trace_is_over(error: BaseException) -> bool:
    """Return whether an exception is about the value of a tracer that is used after its trace.

    JAX names the function that made the tracer. During its trace that function is one of the callers of the failing line.
    """
    found = _TRACED.search(str(error)) if isinstance(error, TypeError) else None
    if found is None or not is_users(found["file"]) or is_library(found["file"]) or error.__traceback__ is None:
        return False
    inside = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    around = (frame for frame, _ in traceback.walk_stack(error.__traceback__.tb_frame))
    made_in = found["file"], int(found["line"])
    codes = (frame.f_code for frame in (*inside, *around))
    return all((code.co_filename, code.co_firstlineno) != made_in for code in codes)


def where_from(error: BaseException, named: Sequence[tuple[str, Any]], name_file: NameFile) -> str:
    """Say which name holds the tracer that JAX refused, and which line made it; empty if that is unknown.

    Args:
      error: the exception.
      named: the arrays in the user's statement, each with its expression.
      name_file: returns the name of a file for people, such as `In [3]`.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if not is_users(frame.f_code.co_filename)]
    inside = frames[-1].f_locals.values() if frames else ()
    refused = next((one for one in inside if is_traced(one)), None)
    here = ((name, one) for name, one in named if is_traced(one) and (refused is None or one is refused))
    name, tracer = next(here, ("", refused))
    if tracer is None:
        return _made_in(error, name_file)
    holder, origin = holder_of(tracer) or name, origin_of(tracer)
    what = f"argument `{origin.argument}`, {origin.type}," if origin.argument else f"a value, {origin.type},"
    made = "".join(f", made at {name_file(one.file)}:{one.line}" for one in origin.frames[:1])
    own = [one for one in origin.frames if not is_library(one.file)][:1] if holder and not origin.argument else []
    stored = [(one.line, value_stored_at(one, holder)) for one in own]
    put = "".join(f", stored at {name_file(to.file)}:{to.line}" for line, to in stored if to.line != line)
    return f"{f'`{holder}` holds' if holder else 'It is'} {what} of the trace of {_named(origin)}{made}{put}."


def _named(origin: Origin) -> str:
    """Return the name of the traced function in backticks, or words such as "a derivative" for an un-jitted transformation."""
    return origin.function if origin.function.startswith("a ") else f"`{origin.function}`"


_MADE = re.compile(
    r"The leaked intermediate value was created on line (?P<file>.+):(?P<line>\d+):\d+ \((?P<function>.+)\)"
)


def _made_in(error: BaseException, name_file: NameFile) -> str:
    """Say which line made the tracer, according to JAX's message, and which name holds a tracer that this line made."""
    found = _MADE.search(str(error))
    if found is None:
        return ""
    made = found["file"], int(found["line"])
    tracers = [one for one in gc.get_objects() if issubclass(type(one), Tracer)]
    there = [one for one in tracers if [(frame.file, frame.line) for frame in origin_of(one).frames[:1]] == [made]]
    holder = next((name for name in holders_of(there) if name), "")
    held = f"; `{holder}` holds what that line makes" if holder else ""
    return f"The value was made at {name_file(made[0])}:{made[1]}, in {found['function']}{held}."
