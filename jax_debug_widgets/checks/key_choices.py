"""Decide whether two branches exclude each other: `lax.switch(i, ...)` and `lax.cond(i == 0, ...)`.

Each value has an identity, see `key_flow`: for a comparison it is `(name, operands, ..., kind)`. The condition of a
branch is traced back to a value that is compared with a number. Two branches exclude each other if no number satisfies
both conditions.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Chosen = tuple[Any, int]
"""The value that chooses a branch, and the number of the branch."""

_COMPARISONS = frozenset({"eq", "ge", "gt", "le", "lt", "ne"})
CHOICES = _COMPARISONS | {"and", "clamp", "not", "or"}
"""The primitives that compute the choice of a branch: equal operations on equal values choose the same branch."""

_MIRRORED = {"ge": "le", "gt": "lt", "le": "ge", "lt": "gt"}
_BOOL, _INTEGER = "bool", "integer"


def kind_of(array: Any) -> str:
    """Return the kind of the numbers that a value may have: `bool`, `integer`, or `number`."""
    dtype = array.dtype
    if dtype == np.bool_:
        return _BOOL
    return _INTEGER if np.issubdtype(dtype, np.integer) else "number"


def exclude_each_other(one: Chosen, other: Chosen) -> bool:
    """Return whether at most one of two branches is taken."""
    pairs = itertools.product(_conditions(one), _conditions(other))
    return any(_exclude(first, second) for first, second in pairs if first.base == second.base)


@dataclass(frozen=True)
class _Condition:
    """A comparison of a value with a number, and whether it holds."""

    base: Any
    name: str
    number: float
    holds: bool
    is_integer: bool

    def is_met(self, value: float) -> bool:
        return bool(getattr(operator, self.name)(value, self.number)) == self.holds


def _exclude(one: _Condition, other: _Condition) -> bool:
    numbers = [one.number + step for step in (-1, 0, 1)] + [other.number + step for step in (-1, 0, 1)]
    if not (one.is_integer and other.is_integer):
        numbers += [(one.number + other.number) / 2, math.nan]
    return not any(one.is_met(value) and other.is_met(value) for value in numbers)


def _conditions(chosen: Chosen) -> Iterator[_Condition]:
    """Yield the conditions under which a branch is taken."""
    value, branch = chosen
    name, *operands, kind = value if isinstance(value, tuple) and value[:1] and value[0] in CHOICES else ("", "")
    yield _Condition(value, "eq", branch, holds=True, is_integer=True)
    if name == "not" and kind == _BOOL:
        yield from _conditions((operands[0], 1 - branch))
    elif (name == "and" and kind == _BOOL and branch) or (name == "or" and kind == _BOOL and not branch):
        yield from itertools.chain.from_iterable(_conditions((one, branch)) for one in operands)
    elif name == "clamp":  # `switch` clamps its index. The index is assumed to be in range.
        yield from _conditions((operands[1], branch))
    elif name in _COMPARISONS:
        yield _compared(name, operands, kind, bool(branch))


def _compared(name: str, operands: list[Any], kind: str, holds: bool) -> _Condition:
    one, other = operands
    if _is_number(one) or (not _is_number(other) and repr(other) < repr(one)):
        name, one, other = _MIRRORED.get(name, name), other, one
    is_integer = kind in (_BOOL, _INTEGER)
    if _is_number(other):
        return _Condition(one, name, other[1], holds, is_integer)
    return _Condition(("difference", one, other), name, 0, holds, is_integer)


def _is_number(value: Any) -> bool:
    return isinstance(value, tuple) and value[:1] == ("number",)
