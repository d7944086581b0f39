"""Find the global that has changed since JAX traced a function, when a capture runs the program that JAX has cached."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets._jax.origins.libraries import is_library
from jax_debug_widgets._jax.passes.numbers import on_host
from jax_debug_widgets._jax.passes.program_difference import UNKNOWN, is_same
from jax_debug_widgets.events import StaleRead
from jax_debug_widgets.taps.reads import Read, reads_at

if TYPE_CHECKING:
    from jax_debug_widgets._jax.running.cached_programs import CachedProgram, ChangedName

_MOST_NAMES = 3
"""If more names than this may have changed, none is named."""


class StaleReads:
    """Describes cached programs that use an old value. The changed name is looked for once for each program."""

    def __init__(self, name_file: Callable[[str], str]) -> None:
        self._name_file = name_file
        self._known: weakref.WeakKeyDictionary[CachedProgram, StaleRead] = weakref.WeakKeyDictionary()

    def of(self, retraced: CachedProgram) -> StaleRead | None:
        """Return the changed value that the program still uses; None if the value is again as the program was traced with."""
        if retraced in self._known:
            return self._looked_up(retraced, self._known[retraced])
        self._known[retraced] = found = self._found(retraced)
        return found

    def _found(self, retraced: CachedProgram) -> StaleRead:
        function, frames = retraced.function(), retraced.frames
        name = getattr(function, "__name__", type(function).__name__)
        file, line = (frames[0][0].co_filename, frames[0][1]) if frames else ("", 0)
        exact = _equal(frames, function, retraced.after)
        if retraced.changed:
            changed = {one.name for one in retraced.changed}
            exact = [one for one in exact if one.expression in changed]
            if not 0 < len(exact) <= _MOST_NAMES:
                return self._by_name(retraced.changed, name)
        reads = exact or _possible(frames, function)
        return StaleRead(
            where=f"{self._name_file(file)}:{line}" if file else "",
            file=file,
            line=line,
            function=name,
            names=tuple(one.expression for one in reads) if len(reads) <= _MOST_NAMES else (),
            before=_text(retraced.before),
            after=_text(retraced.after),
            why=retraced.why,
            call=_called_with(function, reads),
            is_certain=bool(exact),
        )

    def _by_name(self, changed: Sequence[ChangedName], function: str) -> StaleRead:
        """Describe a program by the names that have changed, if its equations do not show which of them matters."""
        first = changed[0]
        file = first.code.co_filename
        names = tuple(dict.fromkeys(one.name for one in changed))
        only = first if len(names) == 1 else None
        return StaleRead(
            where=f"{self._name_file(file)}:{first.line}",
            file=file,
            line=first.line,
            function=function,
            names=names if len(names) <= _MOST_NAMES else (),
            before=only.before if only else "",
            after=only.after if only else "",
            is_code=only is not None and only.is_code,
        )

    def _looked_up(self, retraced: CachedProgram, known: StaleRead) -> StaleRead | None:
        """Return a known stale read with the present value of its name."""
        reads = [
            one
            for code, _ in retraced.frames
            for one in reads_at(code, None, retraced.function())
            if (one.expression,) == known.names and one.value is not UNKNOWN
        ]
        if not reads or retraced.before is UNKNOWN:
            return known
        return None if _is(reads[0].value, retraced.before) else replace(known, after=_text(reads[0].value))


def _called_with(function: Any, reads: Sequence[Read]) -> str:
    """Write the call of a function with the one read as a further argument: `f(x, lr)`; empty if that is not possible."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    if len(reads) != 1 or code is None or is_library(code.co_filename):
        return ""
    if not (reads[0].expression.isidentifier() and code.co_name.isidentifier()):
        return ""
    return f"{code.co_name}({', '.join((*code.co_varnames[: code.co_argcount], reads[0].expression))})"


def _equal(frames: Sequence[tuple[CodeType, int]], function: Any, after: Any) -> list[Read]:
    """Return the reads that are the new number: at the line, else at the lines that call it, else in these functions."""
    for places in (frames[:1], frames[1:], [(code, None) for code, _ in frames]):
        found = [one for code, line in places for one in reads_at(code, line, function) if _is(one.value, after)]
        if found:
            return _once(found)
    return []


def _possible(frames: Sequence[tuple[CodeType, int]], function: Any) -> list[Read]:
    """Return what these functions read from which the number may be computed."""
    return _once(one for code, _ in frames for one in reads_at(code, None, function) if _may_be(one.value))


def _once(reads: Iterable[Read]) -> list[Read]:
    return list({one.expression: one for one in reads}.values())


def _is(value: Any, number: Any) -> bool:
    """Whether a value equals this number or array, whatever its dtype."""
    if number is UNKNOWN or not (isinstance(value, bool | int | float | complex) or hasattr(value, "dtype")):
        return False
    try:
        one, other = on_host(value), on_host(number)
        return one.shape == other.shape and is_same(one.astype(other.dtype), np.array(other))
    except Exception:  # noqa: BLE001 - a user's array may raise anything; then the values cannot be compared.
        return False


def _may_be(value: Any) -> bool:
    return value is UNKNOWN or hasattr(value, "dtype") or isinstance(value, bool | int | float | complex | str | None)


def _text(value: Any) -> str:
    """Write a single number; empty for other values."""
    try:
        return str(on_host(value).reshape(())[()]) if value is not UNKNOWN and np.size(value) == 1 else ""
    except Exception:  # noqa: BLE001 - see above.
        return ""
