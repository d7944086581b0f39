"""Which values of a run are shown first: the loss, then what is printed, then what is watched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.session.run.groups import kind_of, path_of
from jax_debug_widgets.session.run.naming import SelectedValue, full_names

if TYPE_CHECKING:
    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.store import Store

_LOSS = re.compile(r"loss|nll|elbo|objective|cost|energy", re.IGNORECASE)
_QUALITY = re.compile(r"acc|score|reward|return|error|auc|f1", re.IGNORECASE)
_NEWEST = 100
"""Steps that the time of one is the mean of."""
_NAME = re.compile(r"""[^\W\d][\w.\[\]'"/]*""")
"""The pattern of a name in the source, as opposed to an expression, which may have a loss in it and is not one."""


def headline(sites: Iterable[CallSite]) -> list[tuple[SelectedValue, str]]:
    """One value of each watched site and all that are printed, the most telling first, with their names.

    Of a watched array it is the mean, of a gradient the norm. What a breakpoint shows is none: it fires where its condition
    holds, and says nothing of the steps between.
    """
    choices = [SelectedValue(site, value) for site in sites if site.kind != "breakpoint" for value in _values(site)]
    named = zip(choices, full_names(choices), strict=True)
    # The sort is stable: of one rank they are in the order of their first event.
    return sorted(named, key=lambda one: _rank(one[0]))


def rank_of(name: str, *, forward: bool, watched: bool) -> int:
    """Where a number comes in the order: a loss, how good it is, other prints, watched numbers, expressions.

    The twin of `rankOf` in `js/src/store/headline.ts`.
    """
    plain = path_of(name.split(" · ", maxsplit=1)[0]) is not None
    if plain and forward:
        for rank, words in enumerate((_LOSS, _QUALITY)):
            if words.search(name):
                return rank
    return 2 if not watched else 3 if plain else 4


def pace_of_calls(
    calls: Sequence[tuple[str, float, float | None, float | None]], name: str, steps: int, since: float = 0.0
) -> float | None:
    """Seconds a step by the calls of `name`, from the first that compiled nothing to the end of the last.

    None where that cannot be said. The events of short programs are read together, so their own times do not tell it.

    Args:
      calls: name, when it began, how long it compiled, when its outputs were ready.
      since: calls that began before are not counted: the debugger held the program.
    """
    own = [call for call in calls if call[0] == name]
    each = round(steps / len(own)) if own else 0
    if each < 1 or each * len(own) != steps:
        return None
    first = next((at for at in range(len(own), 0, -1) if own[at - 1][2] is not None), 0)
    newest = own[max(first, len(own) - _NEWEST) :]
    over = [(began, ready) for _, began, _, ready in newest if ready is not None and began >= since]
    return (over[-1][1] - over[0][0]) / (len(over) * each) if len(over) > 1 else None


def pace_of(x: np.ndarray, seconds: np.ndarray) -> float | None:
    """Seconds from one step to the next of a long loop, of late; None where that cannot be said."""
    if len(x) <= 1:
        return None
    start = max(0, len(x) - _NEWEST)
    steps, took = float(x[-1] - x[start]), float(seconds[-1] - seconds[start])
    return took / steps if steps > 0 and took > 0 else None


def counts(values: np.ndarray) -> bool:
    """Whether a series counts steps: integers, each one more than the last, or again the first."""
    if len(values) <= 1 or values.dtype.kind not in "iu":
        return False
    is_next = np.diff(values.astype(np.int64)) == 1
    again = values[1:] == values[0]
    return bool((is_next | again).all()) and int(is_next.sum()) >= 2 * int(again.sum())


def numbers_of(store: Store, choice: SelectedValue) -> np.ndarray | None:
    """The numbers of a value, in order; None where it is none, or not always."""
    if store.latest_taps()[choice.site.id].shapes[choice.value] != ():
        return None
    try:
        _, _, values = store.history.series(choice.site.id, choice.value)
    except ValueError:  # Of several shapes: no line can be drawn.
        return None
    return values if len(values) and values.dtype.kind != "c" else None


def _values(site: CallSite) -> Iterable[int]:
    if site.watch is None:
        return range(len(site.values))
    wanted = ("value", "l2") if site.watch.role == "gradient" else ("value", "mean")
    return [number for number, name in enumerate(site.values) if name in wanted][:1]


def _rank(choice: SelectedValue) -> int:
    watch, name = choice.site.watch, choice.name
    is_number = watch is None or choice.site.values[choice.value] == "value"
    is_name = bool(_NAME.fullmatch(name))
    if is_number and is_name and choice.site.phase == "forward":
        for rank, words in enumerate((_LOSS, _QUALITY)):
            if words.search(name):
                return rank
    if watch is None:
        return 2
    if not is_name:
        return 7
    if watch.role == "gradient":
        return 5
    return 3 if is_number else 4 if _is_parameter(name) else 6


def _is_parameter(name: str) -> bool:
    path = path_of(name)
    return path is not None and kind_of(path.root) == "parameter"
