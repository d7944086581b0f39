"""Choose the watched values that an overview draws by default: gradients, sizes of updates, activations.

The twin of `js/src/store/charted.ts`; both are tested on `tests/overview_cases.json`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jax_debug_widgets.session.run.groups import Path, kind_of, path_of

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


def gradients(sites: Sequence[CallSite]) -> list[ChartedLeaf]:
    """Return the gradients of parameters. Without known parameters, return those of named arrays, or else those of numbers."""
    leaves = _leaves(sites, "gradient")
    parameters, arrays, numbers = {leaf.path.key: leaf for leaf in leaves}, [], []
    for site, watch, path in _named(sites, "gradient"):
        if path.leaf != "" and kind_of(path.root) == "parameter":
            parameters.setdefault(path.key, ChartedLeaf(site, path))
        else:
            (arrays if watch.shape else numbers).append(ChartedLeaf(site, Path(path.root, watch.name, "")))
    # The gradient of a number is mostly the gradient of the loss by itself, which is 1.
    return list(parameters.values()) or arrays or numbers


def ratios(sites: Sequence[CallSite]) -> list[tuple[ChartedLeaf, ChartedLeaf]]:
    """Return each update with the parameter that it is added to."""
    parameters = {leaf.path.key: leaf for leaf in _leaves(sites, "parameter")}
    updates = _leaves(sites, "update")
    return [(one, parameters[one.path.key]) for one in updates if one.path.key in parameters]


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
    """Return the leaves of trees of a kind, the first of each path. A tree with a short name counts only if it has parts."""
    found: dict[tuple[str, str], ChartedLeaf] = {}
    for site, _, path in _named(sites, "value"):
        is_sure = path.leaf != "" or len(path.root) >= _LEAST_NAME or (kind == "gradient" and site.phase == "backward")
        if kind_of(path.root) == kind and is_sure:
            found.setdefault(path.key, ChartedLeaf(site, path))
    return list(found.values())
