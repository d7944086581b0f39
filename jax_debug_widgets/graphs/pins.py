"""Find the fewest values that have to be made apart, so that a compiled program gives the numbers of op by op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

_T = TypeVar("_T")


def fewest(every: Sequence[_T], is_enough: Callable[[Sequence[_T]], bool], goes_on: Callable[[], bool]) -> Sequence[_T]:
    """A minimal subset of `every` that is still enough (ddmin): without any one of its members it is not.

    This is Zeller's `ddmin`. Where the search ends early, it is a part that is enough, and perhaps not the least one.

    Args:
      goes_on: asked before each further question.
    """
    found, parts = every, 2
    while len(found) > 1 and goes_on():
        size = -(-len(found) // parts)
        chunks = [found[at : at + size] for at in range(0, len(found), size)]
        rests = [[one for one in found if one not in chunk] for chunk in chunks] if parts > 2 else []  # noqa: PLR2004 - of two halves one is the rest of the other.
        smaller = next((one for one in (*chunks, *rests) if goes_on() and is_enough(one)), None)
        if smaller is not None:
            parts = 2 if len(smaller) <= size else max(parts - 1, 2)
            found = smaller
        elif size == 1:
            break
        else:
            parts = min(2 * parts, len(found))
    return found
