"""Group the values of a run that are drawn together: the parts of a pytree by their path, gradients, activations.

The twin of `js/src/store/groups.ts`; both are tested on `tests/overview_cases.json`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

_T = TypeVar("_T")

_ROOT = re.compile(r"[^\W\d]\w*")
_SEGMENT = re.compile(r"""\[\s*(?:'([^']*)'|"([^"]*)"|([^\]]*))\s*\]|\.([^\W\d]\w*)""")
_KINDS = {
    "gradient": re.compile(r"(.*_)?(d|g|grad|grads|gradient|gradients)", re.IGNORECASE),
    "update": re.compile(r"(.*_)?(update|updates|delta|deltas)", re.IGNORECASE),
    "parameter": re.compile(
        r"(.*_)?(p|w|weights?|params?|parameters|model|net|network|variables|theta)", re.IGNORECASE
    ),
}
_BIAS = re.compile(r"b|bias|biases|beta|offset", re.IGNORECASE)

HUES = 4
"""The number of groups that have their own hue."""


@dataclass(frozen=True)
class Path:
    """A name in parts: `grads['layers'][0]['w']` is the leaf `w` of the group `layers[0]` of the tree `grads`."""

    root: str
    group: str
    leaf: str

    @property
    def key(self) -> tuple[str, str]:
        """The key of the part, which is equal in trees of the same structure."""
        return self.group, self.leaf

    @property
    def title(self) -> str:
        """The name of its line in a chart. A number alone, `[0]`, stands with its tree."""
        own = self.group or self.leaf
        return f"{self.root}{own}" if own.startswith("[") else own or self.root


def path_of(name: str) -> Path | None:
    """Split a name into its parts; None if the name is an expression."""
    found = _ROOT.match(name)
    if found is None:
        return None
    end, segments = found.end(), []
    while part := _SEGMENT.match(name, end):
        single, double, index, attribute = part.groups()
        plain = next((one for one in (single, double, attribute) if one is not None), None)
        segments.append(f"[{index}]" if plain is None else plain)
        end = part.end()
    if end < len(name):
        return None
    if segments[2:] and segments[0] == "params":  # Flax has all parameters under this name.
        del segments[0]
    leaf, group = (segments.pop() if segments else ""), ""
    for one in segments:
        group += one if one.startswith("[") or not group else f".{one}"
    return Path(found[0], group, leaf)


def kind_of(root: str) -> str:
    """Return the kind of values in a pytree with this name: `gradient`, `update`, `parameter`; "" if it is not known."""
    return next((kind for kind, names in _KINDS.items() if names.fullmatch(root)), "")


def is_bias(leaf: str) -> bool:
    """Whether a leaf is a bias, which is drawn with a dashed line."""
    return _BIAS.fullmatch(leaf) is not None


def in_loop(all_of_them: Sequence[_T], times_of: Callable[[_T], int]) -> list[_T]:
    """Return the values that are drawn together.

    A value that came once is in no step of the loop that the others are in; a value that never came is nowhere.
    """
    least = 2 if any(times_of(one) > 1 for one in all_of_them) else 1
    return [one for one in all_of_them if times_of(one) >= least]


def numbered(words: Sequence[str]) -> list[str]:
    """Return the words; a word that occurs several times gets its number and their count: `x :4 1/2`."""
    numbers, seen = Counter(words), Counter[str]()
    groups = []
    for one in words:
        seen[one] += 1
        groups.append(f"{one} {seen[one]}/{numbers[one]}" if numbers[one] > 1 else one)
    return groups


def hues_of(groups: Iterable[tuple[str, float]]) -> dict[str, int]:
    """Return group -> hue, in their order. With more groups than hues, the largest have one, and the rest share `HUES`."""
    sizes: dict[str, float] = {}
    for group, size in groups:
        sizes[group] = max(sizes.get(group, 0.0), size if math.isfinite(size) else 0.0)
    own = set(sorted(sizes, key=lambda group: -sizes[group])[:HUES])
    hues = iter(range(HUES))
    return {group: next(hues) if group in own else HUES for group in sizes}


def largest(sizes: Sequence[float], most: int) -> list[int]:
    """Return the indices of the `most` largest sizes, in their order; those that are not finite count as largest.

    Sizes between the same powers of two are equal, and the first of them are taken, so that the choice changes little while a
    run goes on.
    """
    powers = [math.inf if not math.isfinite(size) else math.frexp(size)[1] if size else -math.inf for size in sizes]
    return sorted(sorted(range(len(sizes)), key=lambda one: -powers[one])[:most])
