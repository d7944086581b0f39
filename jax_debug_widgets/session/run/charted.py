"""Choose the watched values that an overview draws by default: gradients, sizes of updates, activations.

The twin of `js/src/store/charted.ts`; both are tested on `tests/overview_cases.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jax_debug_widgets.session.run.groups import Path, kind_of, numbered, path_of

if TYPE_CHECKING:
    from jax_debug_widgets.events import CallSite, Watched

_LEAST_NAME = 3
"""The fewest characters of a name that tells what the value is."""
_NO_ACTIVATION = re.compile(r"grad|update|params|^opt|state$", re.IGNORECASE)


@dataclass(frozen=True)
class ChartedLeaf:
    """A watched value, and its path in its tree."""

    site: CallSite
    path: Path


_Tree = dict[tuple[str, str], ChartedLeaf]
"""The leaves of a tree by `Path.key`."""


def gradients(sites: Sequence[CallSite]) -> list[ChartedLeaf]:
    """Return the gradients of parameters. Without known parameters, return those of named arrays, or else those of numbers."""
    leaves, arrays, numbers = _leaves(sites, "gradient"), [], []
    for site, watch, path in _named(sites, "gradient"):
        if path.leaf != "" and kind_of(path.root) == "parameter":
            leaves.append(ChartedLeaf(site, path))
        else:
            (arrays if watch.shape else numbers).append(ChartedLeaf(site, Path(path.root, watch.name, "")))
    # The gradient of a number is mostly the gradient of the loss by itself, which is 1.
    return [leaf for tree in _distinguished(_trees(leaves)) for leaf in tree.values()] or arrays or numbers


def ratios(sites: Sequence[CallSite]) -> list[tuple[ChartedLeaf, ChartedLeaf]]:
    """Return each update with the parameter that it is added to."""
    parameters, found = _trees(_leaves(sites, "parameter")), []
    for tree in _distinguished(_trees(_leaves(sites, "update"))):
        shared = [one for one in parameters if one.keys() & tree.keys()]
        of = next((one for one in shared if _are_alike(one, tree)), shared[0] if shared else {})
        found += [(leaf, of[key]) for key, leaf in tree.items() if key in of]
    return found


def activations(sites: Sequence[CallSite]) -> list[ChartedLeaf]:
    """Return the arrays that the program computes in the forward pass; several may have the same name."""
    return [
        ChartedLeaf(site, Path(path.root, watch.name, ""))
        for site, watch, path in _named(sites, "value")
        if site.phase == "forward"
        and watch.shape
        and "std" in site.values
        and watch.primitive != "argument"
        and "float" in str(watch.dtype)
        and not (path.leaf != "" and kind_of(path.root) != "")
        and not _NO_ACTIVATION.search(path.root)
    ]


def _named(sites: Sequence[CallSite], role: str) -> list[tuple[CallSite, Watched, Path]]:
    """Return the sites of a role that have a name and are not recomputations."""
    found = []
    for site in sites:
        path = path_of(site.watch.name) if site.watch and site.watch.role == role else None
        if site.watch and path and site.phase != "recompute":
            found.append((site, site.watch, path))
    return found


def _leaves(sites: Sequence[CallSite], kind: str) -> list[ChartedLeaf]:
    """Return the leaves of trees of a kind. A tree with a short name counts only if it has parts."""
    found = []
    for site, _, path in _named(sites, "value"):
        is_sure = path.leaf != "" or len(path.root) >= _LEAST_NAME or (kind == "gradient" and site.phase == "backward")
        if kind_of(path.root) == kind and is_sure:
            found.append(ChartedLeaf(site, path))
    return found


def _trees(leaves: Iterable[ChartedLeaf]) -> list[_Tree]:
    """Gather leaves into trees by the variable and the function. Trees of the same structure and shapes are one tree."""
    own: dict[tuple[str, str], _Tree] = {}
    for leaf in leaves:
        own.setdefault((leaf.path.root, leaf.site.function), {}).setdefault(leaf.path.key, leaf)
    trees: list[_Tree] = []
    for tree in own.values():
        same = next((one for one in trees if _are_alike(one, tree)), None)
        if same is None:
            trees.append(tree)
        else:  # Such as the gradients before and after clipping: the first ones are drawn.
            same |= {key: leaf for key, leaf in tree.items() if key not in same}
    return trees


def _are_alike(one: _Tree, other: _Tree) -> bool:
    """Whether two trees share paths, and have the same shapes there."""
    shared = one.keys() & other.keys()
    return bool(shared) and all(_shape(one[key]) == _shape(other[key]) for key in shared)


def _shape(leaf: ChartedLeaf) -> tuple[int, ...]:
    return tuple(leaf.site.watch.shape) if leaf.site.watch else ()


def _distinguished(trees: Sequence[_Tree]) -> list[_Tree]:
    """Put the name of its tree before each leaf of trees that share paths, such as those of two networks."""
    are_shared = [any(one.keys() & tree.keys() for one in trees if one is not tree) for tree in trees]
    roots = [next(iter(tree.values())).path.root for tree in trees]
    names = numbered([root if is_shared else "" for root, is_shared in zip(roots, are_shared, strict=True)])
    return [
        {key: ChartedLeaf(leaf.site, _below(name, leaf.path)) for key, leaf in tree.items()} if is_shared else tree
        for tree, name, is_shared in zip(trees, names, are_shared, strict=True)
    ]


def _below(name: str, path: Path) -> Path:
    dot = "" if not path.group or path.group.startswith("[") else "."
    return Path(path.root, f"{name}{dot}{path.group}", path.leaf)
