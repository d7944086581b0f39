"""Which of several runs belong together, and what they are told apart by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.archive.layout import stem_of

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.ports import IdentifiedRun


@dataclass(frozen=True)
class RunGroup:
    """Runs that are drawn as one: a single one, or several that differ in nothing but a seed.

    Attributes:
      runs: which, by their place among all.
      label: what tells it from the other groups.
    """

    runs: tuple[int, ...]
    label: str


@dataclass(frozen=True)
class Legend:
    """The groups, in the order in which their first run was chosen, and what their labels are values of.

    Attributes:
      by: `lr`; empty where the labels say themselves what they are.
    """

    by: str
    groups: tuple[RunGroup, ...]


def legend_of(runs: Sequence[IdentifiedRun]) -> Legend:
    """The legend that distinguishes these runs: their config, else their names, what was run, the options, or the cell."""
    members = _members(runs)
    firsts = [runs[group[0]] for group in members]
    by, labels = _by_config(firsts, of_seeds=all(len(group) == 1 for group in members))
    ways = (
        [_called(run) for run in firsts],
        [run.title for run in firsts],
        [run.asked for run in firsts],
        [f"In [{run.cell}]" if run.cell is not None else "" for run in firsts],
    )
    for way in ways:
        if len(set(labels)) == len(labels):
            break
        if len(set(way)) > 1:
            by = ""
            labels = [", ".join(filter(None, both)) for both in zip(labels, way, strict=True)]
    labels = [label or _called(run) or run.title for label, run in zip(labels, firsts, strict=True)]
    labels = [
        label if labels.count(label) == 1 else f"{label} #{labels[: place + 1].count(label)}"
        for place, label in enumerate(labels)
    ]
    return Legend(by, tuple(RunGroup(tuple(group), label) for group, label in zip(members, labels, strict=True)))


def differing(tables: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names whose values are not the same in all tables."""
    names = dict.fromkeys(name for table in tables for name in table)
    return [name for name in names if len({repr(table.get(name)) for table in tables}) > 1]


def short(value: Any) -> str:
    """A value of a config, for people."""
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def is_seed(name: str) -> bool:
    """Whether runs that differ in this name of their config alone are the same experiment."""
    return name.lower().replace("-", "_").split("_")[-1] == "seed"


def _called(run: IdentifiedRun) -> str:
    """Its name, else that of the file that it was read from; empty for none."""
    path = getattr(run, "path", None)
    return run.name or (stem_of(path) if path is not None else "")


def _members(runs: Sequence[IdentifiedRun]) -> list[list[int]]:
    """The runs that belong together: each has a seed, and all else of their config is the same."""
    groups: dict[Any, list[int]] = {}
    for place, run in enumerate(runs):
        rest = sorted((name, repr(value)) for name, value in run.config.items() if not is_seed(name))
        has_seed = any(map(is_seed, run.config))
        groups.setdefault(tuple(rest) if has_seed else place, []).append(place)
    return list(groups.values())


def _by_config(runs: Sequence[IdentifiedRun], *, of_seeds: bool) -> tuple[str, list[str]]:
    names = [name for name in differing([run.config for run in runs]) if of_seeds or not is_seed(name)]
    if len(names) == 1:
        return names[0], [short(run.config.get(names[0])) for run in runs]
    return "", [", ".join(f"{name} {short(run.config.get(name))}" for name in names) for run in runs]
