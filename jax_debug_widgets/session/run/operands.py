"""Describe the values of the watched variables from which a line computed the first NaN or infinity."""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from jax_debug_widgets.session.run.gradients import gradients_of
from jax_debug_widgets.session.run.sources import lines_up_to

if TYPE_CHECKING:
    from jax_debug_widgets.events import CallSite, Event
    from jax_debug_widgets.session.run.ports import Counted

_NEAR = 2048
"""The number of events that are searched on each side of the NaN: the events of one step arrive in no order."""

_MOST = 4
"""The most variables that are described."""

_WITH_INFINITY = ("bfloat16", "float16", "float32", "float64")


def operands_of(run: Counted, event: Event, position: int) -> str:
    """Describe the values that a line read when it computed an event's value: `norm` is 0, `w` is from -1 to 2.

    For a gradient, the value that it belongs to is described: a derivative may be infinite there. A variable is left out if
    it is not certain which of several watched values the line read.

    Args:
      run: the run.
      event: the event of a watched value or gradient.
      position: the position of the event in the run.
    """
    site, watch = event.site, event.site.watch
    if watch is None or event.lane or watch.vmapped:
        return ""  # The statistics of a value are over all lanes.
    sites = run.store.sites()
    if watch.role == "gradient":
        own = next((value for value, one in gradients_of(sites).items() if one.id == site.id), None)
        read = [(watch.name, one) for one in sites if one.id == own]
    elif _times(sites, site) > 1:
        return ""  # A Python loop has unrolled the line, which read other values each time.
    else:
        named = ((name, _read_at(sites, site, name)) for name in _names_in(site.source))
        read = [(name, one) for name, one in named if one is not None and not _is_assigned_after(run, name, one, site)]
    exponents = _exponents_in(site.source) if watch.role == "value" else ()
    texts = (_words(name, _beside(run, one, event, position), is_exponent=name in exponents) for name, one in read)
    return ", ".join(list(filter(None, texts))[:_MOST])


def _times(sites: Sequence[CallSite], site: CallSite) -> int:
    """Return the number of sites that a site's line has for the same value in the same phase."""
    key = (site.file, site.line, site.label, site.phase)
    return len({one.id for one in sites if (one.file, one.line, one.label, one.phase) == key})


def _parts_of(text: str) -> list[ast.AST]:
    """Return the nodes of a line of Python; empty if it is not complete."""
    try:
        return list(ast.walk(ast.parse(textwrap.dedent(text).strip().removesuffix(":"))))
    except (SyntaxError, ValueError):
        return []


def _exponents_in(text: str) -> set[str]:
    """Return the arguments of the calls of `exp` in a line, as they are written there."""
    calls = [one for one in _parts_of(text) if isinstance(one, ast.Call) and len(one.args) == 1]
    return {ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func).rpartition(".")[2] == "exp"}


def _names_in(text: str) -> list[str]:
    """Return the variables, items and attributes that a line reads, as they are written there."""
    parts = (ast.Name, ast.Attribute, ast.Subscript)
    found = [one for one in _parts_of(text) if isinstance(one, parts) and isinstance(one.ctx, ast.Load)]
    found.sort(key=lambda one: (one.lineno, one.col_offset))
    return list(dict.fromkeys(map(ast.unparse, found)))


def _read_at(sites: Sequence[CallSite], reader: CallSite, name: str) -> CallSite | None:
    """Return the site of the value that the line of `reader` reads by this name; None if there is not exactly one.

    It is the last value that the function assigned to the name before the line, or an argument of the function.
    """
    found = [
        one
        for one in sites
        if one.watch is not None
        and one.watch.role == "value"
        and (one.file, one.function, one.phase) == (reader.file, reader.function, reader.phase)
        and one.watch.name.replace('"', "'") == name
        and (one.line < reader.line or one.watch.primitive == "argument")
    ]
    last = max((one.line for one in found), default=0)
    found = [one for one in found if one.line == last]
    return found[0] if len(found) == 1 else None


def _is_assigned_after(run: Counted, name: str, site: CallSite, reader: CallSite) -> bool:
    """Whether a line between the site and the line of `reader` may assign another value, which is not watched, to the name.

    It is True if the source lines are not known.
    """
    between = reader.line - 1 - max(site.line, site.end_line)
    lines = lines_up_to(run, reader.file, reader.line, before=max(between, 0))
    root = re.escape(re.split(r"[.\[]", name)[0])
    assigned = re.compile(rf"\b{root}\b[^=]*(?<![=!<>])=(?!=)|\b(?:for|as|del)\b.*\b{root}\b")
    return not lines or any(map(assigned.search, lines[:-1]))


def _beside(run: Counted, site: CallSite, event: Event, position: int) -> Event | None:
    """Return the event of a site in the same step, call, device and process as `event`; None if there is not exactly one."""
    found: list[int] = []
    for piece in run.store.columns(max(run.store.oldest, position - _NEAR), position + _NEAR):
        found += (piece.first + np.flatnonzero((piece.site == site.id) & (piece.call == event.call))).tolist()
    events = (one for number in found for one in run.store.range(number, number + 1))
    same = list(itertools.islice((one for one in events if _moment(one) == _moment(event)), 2))
    return same[0] if len(same) == 1 else None


def _moment(event: Event) -> tuple[Any, ...]:
    return event.call, event.step, event.device, event.site.process


def _words(name: str, event: Event | None, *, is_exponent: bool) -> str:
    """Write a value: its number, or the range of its elements and how many are zero. Empty if it is not finite.

    If `exp` of it is infinite, say so.
    """
    named = dict(zip(event.site.values, event.values, strict=False)) if event is not None else {}
    if "value" in named and np.ndim(named["value"]) == 0:
        number = np.asarray(named["value"])
        return f"`{name}` is {_short(number)}{_infinite(event, number) * is_exponent}" if _is_finite(number) else ""
    if not {"min", "max"} <= named.keys() or any(named.get(kind, 0) for kind in ("nan", "posinf", "neginf")):
        return ""
    zeros = int(named.get("zeros", 0))
    least, greatest = (_short(np.asarray(named[kind])) for kind in ("min", "max"))
    spread = f"is {least}" if least == greatest else f"is from {least} to {greatest}"
    infinite = _infinite(event, np.asarray(named["max"])) * is_exponent
    return f"`{name}` {spread}" + (f" ({zeros} zero)" if zeros and least != greatest else "") + infinite


def _infinite(event: Event | None, number: np.ndarray) -> str:
    """Say from which number on `exp` is infinite in the dtype of a watched value; empty if this number is smaller."""
    watch = event.site.watch if event is not None else None
    if watch is None or watch.dtype not in _WITH_INFINITY:
        return ""
    most = float(np.log(float(ml_dtypes.finfo(watch.dtype).max)))
    return f" (`exp` of more than {most:.4g} is infinite in {watch.dtype})" if number > most else ""


def _is_finite(number: np.ndarray) -> bool:
    return number.dtype.kind not in "fc" or bool(np.isfinite(number))


def _short(number: np.ndarray) -> str:
    return f"{number.item():.4g}" if number.dtype.kind in "fc" else str(number.item())
