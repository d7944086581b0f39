"""Make the frames of a stop at an event that is not a breakpoint. Their variables are the values that fired together."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jax_debug_widgets._jax.compat.arrays import shown
from jax_debug_widgets._jax.origins.stack import StackFrame
from jax_debug_widgets.breakpoints.expressions import variables_of
from jax_debug_widgets.breakpoints.namespace import enclosing_functions, root_of
from jax_debug_widgets.breakpoints.summarised import Summarised
from jax_debug_widgets.events import Caller, Tap
from jax_debug_widgets.events.function_names import short_function

if TYPE_CHECKING:
    from jax_debug_widgets.taps.gate import Firings

Arrays = tuple[np.ndarray, ...]

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def frames_of_firing(tap: Tap, arrays: Arrays, lane: tuple[int, ...], firings: Firings) -> list[StackFrame]:
    """Return the frame of an event and the frames of its callers, innermost first, each with its known variables.

    Args:
      firings: all firings that came together, in the order of the program.
    """
    site, callers = tap.site, tap.callers or ()
    at = next((number for number, (one, _) in enumerate(firings) if one is tap), 0)
    own = variables_shown(tap, arrays, lane)
    own |= {name: value for name, value in _known(firings, at, _Where.of(tap)).items() if name not in own}
    elsewhere = {**_known(firings, at), **own}
    frames = [frame_at(site.file, site.line, site.function, own, elsewhere)]
    for number, one in enumerate(callers):
        known = _known(firings, at, _Where(one.file, one.function, callers[number + 1 :]))
        frames.append(frame_at(one.file, one.line, one.function, known, elsewhere))
    return [_with_enclosing(frame, firings, at, callers) for frame in frames]


def _with_enclosing(frame: StackFrame, firings: Firings, at: int, callers: Sequence[Caller]) -> StackFrame:
    """Add the known values of the variables that the frame's function takes from enclosing functions."""
    found: dict[str, Any] = {}
    for name, function in enclosing_functions(frame).items():
        calls = {_Where.of(tap) for tap, _ in firings if (tap.site.file, tap.site.function) == (frame.file, function)}
        own = {_Where(one.file, one.function, tuple(callers[number + 1 :])) for number, one in enumerate(callers)}
        calls = calls & own or calls
        if len(calls) == 1:  # With several calls it is not known which one made this function.
            known = _known(firings, at, *calls)
            found |= {key: value for key, value in known.items() if root_of(key) == name}
    return replace(frame, variables={**found, **frame.variables}) if found else frame


def frame_at(
    file: str, line: int, function: str, variables: Mapping[str, Any], elsewhere: Mapping[str, Any] = _NOTHING
) -> StackFrame:
    """Make a frame for a place in the source.

    Args:
      elsewhere: values that are known in other functions of the same step.
    """
    return StackFrame(
        file=file,
        line=line,
        function=function,
        first_line=1,
        source=tuple(line.rstrip("\n") for line in linecache.getlines(file)),
        variables=variables,
        globals=globals_of(file),
        unset=(
            "only the values of this print, callback or watch are known; write jdw.breakpoint() in "
            f"{short_function(function)} to see its variables"
        ),
        elsewhere=elsewhere,
    )


def variables_shown(tap: Tap, arrays: Arrays, lane: tuple[int, ...]) -> dict[str, Any]:
    """Return the values of an event as variables: arrays, or `Summarised` if only statistics have left the program."""
    site, values = tap.site, variables_of(tap, arrays, lane)
    if site.watch is None:
        return {name: shown(np.asarray(value)) for name, value in values.items()}
    if "value" in site.values:
        return {site.label: shown(np.asarray(values["value"]))}
    return {site.label: Summarised(site.watch.shape, site.watch.dtype, values)}


class _Where(NamedTuple):
    """One call of a function: the function, and the calls that led to it."""

    file: str
    function: str
    callers: tuple[Caller, ...] | None

    @classmethod
    def of(cls, tap: Tap) -> _Where:
        """Return the call of the function in which a tap fires."""
        return cls(tap.site.file, tap.site.function, tap.callers)


def _known(firings: Firings, at: int, where: _Where | None = None) -> dict[str, Any]:
    """Return the watched values among the firings, of one call of a function or of all. A name has its value at firing `at`."""
    found: dict[str, tuple[Tap, Arrays]] = {}
    for number, (tap, arrays) in enumerate(firings):
        is_there = tap.site.watch is not None and where in (None, _Where.of(tap))
        if is_there and (number <= at or tap.site.label not in found):
            found[tap.site.label] = tap, arrays
    return {name: value for tap, arrays in found.values() for name, value in variables_shown(tap, arrays, ()).items()}


def globals_of(file: str) -> dict[str, Any]:
    """Return the globals of the module in a file; the globals of the notebook for a cell."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == file:
            return vars(module)
    return vars(sys.modules["__main__"])
