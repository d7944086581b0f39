"""Choose the values of a run that are shown first: the loss, then printed values, then watched values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from jax_debug_widgets.session.run.groups import kind_of, path_of
from jax_debug_widgets.session.run.naming import SelectedValue, full_names

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.store import Store

_LOSS = re.compile(r"loss|nll|elbo|objective|cost|energy", re.IGNORECASE)
_QUALITY = re.compile(r"acc|score|reward|return|error|auc|f1", re.IGNORECASE)
_NEWEST = 100
"""The number of newest steps over which the time of a step is averaged."""
_NAME = re.compile(r"""[^\W\d][\w.\[\]'"/]*""")
"""The pattern of a name in the source. An expression does not match, because it may contain a loss without being one."""


def headline(sites: Iterable[CallSite]) -> list[tuple[SelectedValue, str]]:
    """Return all printed values and one value of each watched site, the most important first, with their names.

    For a watched array it is the mean, for a gradient the norm. Values of breakpoints are left out: a breakpoint fires only
    where its condition holds, so its values say nothing about the steps between.
    """
    choices = [SelectedValue(site, value) for site in sites if site.kind != "breakpoint" for value in _values(site)]
    named = zip(choices, full_names(choices), strict=True)
    # The sort is stable: values of the same rank stay in the order of their first event.
    return sorted(named, key=lambda one: _rank(one[0]))


def rank_of(name: str, *, forward: bool, watched: bool) -> int:
    """Return the rank of a number: losses first, then measures of quality, other prints, watched numbers, expressions.

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
    """Return the seconds of a step from the calls of `name`: from the first call without compilation to the end of the last.

    It is None if that is not possible. The events of short programs are read together, so their times do not give it.

    Args:
      calls: for each call its name, its begin, the seconds of compilation, and when its outputs were ready.
      since: calls that began before are left out, because the debugger held the program.
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
    """Return the seconds of a recent step of a long loop; None if that is not possible."""
    if len(x) <= 1:
        return None
    start = max(0, len(x) - _NEWEST)
    steps, took = float(x[-1] - x[start]), float(seconds[-1] - seconds[start])
    return took / steps if steps > 0 and took > 0 else None


def numbers_of(store: Store, choice: SelectedValue) -> np.ndarray | None:
    """Return the numbers of a value, in order; None if it is not always a single number."""
    found = placed_numbers_of(store, choice)
    return found and found[1]


def placed_numbers_of(store: Store, choice: SelectedValue) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the positions int64[n] and the numbers of a value, in order; None if it is not always a single number."""
    if store.latest_taps()[choice.site.id].shapes[choice.value] != ():
        return None
    try:
        positions, _, values = store.history.series(choice.site.id, choice.value)
    except ValueError:  # The value has several shapes, so no line can be drawn.
        return None
    return (positions, values) if len(values) and values.dtype.kind != "c" else None


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
