"""Choose which cases of a parametrized test run: all, pairs, or each value once.

A test with several parameters has the product of their values as cases, and each case compiles programs. Faults nearly
always need one value, or two together (Kuhn, Wallace, Gallo, IEEE TSE 30(6), 2004). So `--cases pairs`, the default, runs
cases in which each pair of values of two parameters occurs; `--cases each` runs cases in which each value occurs;
`--cases all` runs the product.

Of a test with the marker `each` `--cases pairs` runs cases in which each value occurs: its cases are slow, and its
parameters seldom act together. The weekly job runs them all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pytest

STRENGTHS = {"each": 1, "pairs": 2}


def covering(cases: Sequence[Mapping[str, int]], strength: int, *, evenly: bool = False) -> list[int]:
    """Return the positions of cases that together have every combination of `strength` values that any case has.

    Args:
      cases: for each case, parameter -> a number that identifies its value. All cases have the same parameters.
      strength: how many parameters a combination has.
      evenly: among cases with equally many new combinations, prefer those with values that were chosen less often.

    Returns:
      Positions in `cases`, ascending. The choice is greedy, so there are few of them.
    """
    parts = [set(combinations(sorted(case.items()), min(strength, len(case)))) for case in cases]
    missing = set().union(*parts)
    seen: Counter[tuple[str, int]] = Counter()
    chosen = []
    while missing:
        best = max(
            range(len(cases)),
            key=lambda place: (len(parts[place] & missing), -sum(seen[value] for value in cases[place].items())),
        )
        missing -= parts[best]
        chosen.append(best)
        if evenly:
            seen.update(cases[best].items())
    return sorted(chosen)


def chosen(items: Iterable[Any], cases: str) -> list[Any]:
    """Return the test items to run: for each parametrized test, the cases that `cases` asks for."""
    strength = STRENGTHS.get(cases)
    if strength is None:
        return list(items)
    tests: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for item in items:
        tests[item.path, item.cls, getattr(item, "originalname", item.name)].append(item)
    kept = []
    for group in tests.values():
        calls = [getattr(item, "callspec", None) for item in group]
        if len(group) == 1 or any(call is None for call in calls):
            kept += group
        else:
            values = [{name: id(value) for name, value in call.params.items()} for call in calls]
            places = covering(values, strength)
            if strength > 1 and group[0].get_closest_marker("each"):
                places = [places[one] for one in covering([values[place] for place in places], 1, evenly=True)]
            kept += [group[place] for place in places]
    return kept


def add_option(parser: pytest.Parser) -> None:
    """Add the option `--cases`."""
    parser.addoption(
        "--cases", choices=["all", *STRENGTHS], default="pairs", help="which cases of parametrized tests run"
    )
