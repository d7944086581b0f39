"""Write a tap to a file and read it again: its place in the source, and how to read the values that it hands over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax_debug_widgets.archive.dtypes import dtype_called
from jax_debug_widgets.archive.layout import RunFileError
from jax_debug_widgets.archive.plain import as_plain, from_plain
from jax_debug_widgets.archive.texts import Structure, read_text, recipe_that_holds, written_text
from jax_debug_widgets.events import Caller, CallSite, Nesting, Tap

FEW = 16
"""The most elements of a value that is stored in its event's row; larger values are rows of the table of arrays."""

_MOST_AXES, _MOST_ELEMENTS, _MOST_LANES = 64, 1 << 40, 1 << 24


def written_tap(tap: Tap, values: Sequence[np.ndarray]) -> dict[str, Any]:
    """Describe a tap for a file; `values` are those of its first event.

    `text` is None if each event stores its own text.
    """
    structure = Structure.of(tap)
    return {
        "site": as_plain(tap.site),
        "nesting": as_plain(tap.nesting),
        "lanes": list(tap.lanes),
        "mapped": as_plain(tap.mapped),
        "shapes": as_plain(tap.shapes),
        "dtypes": [dtype.name for dtype in tap.dtypes],
        "guard": as_plain(tap.guard),
        "guards": list(tap.guards),
        "is_numbered": tap.is_numbered,
        "callers": None if tap.callers is None else [list(caller) for caller in tap.callers],
        **written_text(recipe_that_holds(tap, structure, values), structure),
    }


def read_tap(data: Any) -> Tap:
    """Make the tap that `written_tap` has described.

    Raises:
      RunFileError: no tap has such a description.
    """
    try:
        site, nesting = from_plain(CallSite, data["site"]), _nesting(data["nesting"])
        dtypes = tuple(map(dtype_called, data["dtypes"]))
        shapes = tuple(map(_shape, data["shapes"]))
        lanes = _shape(data["lanes"])
        mapped = tuple(tuple(map(bool, axes)) for axes in data["mapped"])
        unflatten, render = read_text(site, data, len(shapes))
        tap = Tap(
            site=site,
            lanes=lanes,
            mapped=mapped,
            shapes=shapes,
            dtypes=dtypes,
            nesting=nesting,
            nbytes=sum(
                _size(shape, lanes, axes) * dtype.itemsize
                for shape, axes, dtype in zip(shapes, mapped, dtypes, strict=True)
            ),
            unflatten=unflatten,
            render=render,
            guard=None if data["guard"] is None else tuple(map(bool, data["guard"])),
            guards=tuple(map(str, data["guards"])),
            is_numbered=bool(data["is_numbered"]),
            callers=None if data["callers"] is None else tuple(map(_caller, data["callers"])),
        )
    except KeyError as error:
        raise RunFileError(f"it does not say {error}") from None
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        raise RunFileError(f"something in it is of another form than it should be ({error})") from None
    _refuse_impossible(tap)
    return tap


def small(tap: Tap) -> list[int]:
    """Return which values of a tap are stored in the rows of events."""
    return [number for number, shape in enumerate(tap.shapes) if math.prod(shape) <= FEW]


def large(tap: Tap) -> list[int]:
    """Return which values of a tap are stored in the table of arrays."""
    return [number for number, shape in enumerate(tap.shapes) if math.prod(shape) > FEW]


def width(tap: Tap) -> int:
    """Return how many numbers a row of a tap has."""
    return sum(math.prod(tap.shapes[number]) for number in small(tap))


def _refuse_impossible(tap: Tap) -> None:
    is_one_each = all(len(axes) in (0, len(tap.lanes)) for axes in tap.mapped) and len(tap.mapped) == len(tap.shapes)
    has_guard = tap.guard is None or len(tap.guard) == len(tap.lanes)
    has_loops = len(tap.nesting.reverse) in (0, len(tap.nesting.loops))
    is_named = len(tap.site.values) >= len(tap.shapes) or not tap.site.values
    if not (is_one_each and has_guard and has_loops and is_named) or math.prod(tap.lanes) > _MOST_LANES:
        raise RunFileError(f"{tap.site.where}: what sites.jsonl says of it contradicts itself")


def _nesting(data: Any) -> Nesting:
    nesting = from_plain(Nesting, data)
    devices = np.array(nesting.devices if nesting.devices is not None else [], object)
    if nesting.devices is not None and (
        devices.ndim != len(nesting.axes) or not all(isinstance(name, str) for name in devices.ravel())
    ):
        raise RunFileError(f"{nesting.devices!r:.80} are no devices of a mesh with the axes {nesting.axes}")
    return nesting


def _shape(data: Any) -> tuple[int, ...]:
    shape = tuple(data)
    is_whole = all(type(size) is int and size >= 0 for size in shape)
    if not is_whole or len(shape) > _MOST_AXES or math.prod(shape) > _MOST_ELEMENTS:
        raise RunFileError(f"{data!r:.80} is no shape")
    return shape


def _size(shape: tuple[int, ...], lanes: tuple[int, ...], mapped: tuple[bool, ...]) -> int:
    """Return the number of elements of a value in one firing."""
    return math.prod(shape) * math.prod(size for size, present in zip(lanes, mapped, strict=True) if present)


def _caller(data: Any) -> Caller:
    file, line, column, end_line, end_column, function = data
    return Caller(str(file), int(line), int(column), int(end_line), int(end_column), str(function))
