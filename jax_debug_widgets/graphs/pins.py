"""Find the fewest values that must be computed apart, so that a compiled program gives the numbers of op by op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

_T = TypeVar("_T")


def fewest(every: Sequence[_T], is_enough: Callable[[Sequence[_T]], bool], goes_on: Callable[[], bool]) -> Sequence[_T]:
    """Return a minimal subset of `every` that is still enough: without any one of its members it is not.

    The algorithm is Zeller's `ddmin`. If the search ends early, the subset is enough, but may not be minimal.

    Args:
      every: all candidates.
      is_enough: whether a subset is enough.
      goes_on: asked before each further step; False ends the search.
    """
    found, parts = every, 2
    while len(found) > 1 and goes_on():
        size = -(-len(found) // parts)
        chunks = [found[at : at + size] for at in range(0, len(found), size)]
        rests = [[one for one in found if one not in chunk] for chunk in chunks] if parts > 2 else []  # noqa: PLR2004 - each half is the rest of the other.
        smaller = next((one for one in (*chunks, *rests) if goes_on() and is_enough(one)), None)
        if smaller is not None:
            parts = 2 if len(smaller) <= size else max(parts - 1, 2)
            found = smaller
        elif size == 1:
            break
        else:
            parts = min(2 * parts, len(found))
    return found
