"""Group runs that belong together, and find labels that distinguish the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.archive.layout import stem_of

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.ports import IdentifiedRun


@dataclass(frozen=True)
class RunGroup:
    """Runs that are drawn as one: a single run, or several that differ only in a seed.

    Attributes:
      runs: the indices of the runs.
      label: the label that distinguishes the group.
    """

    runs: tuple[int, ...]
    label: str


@dataclass(frozen=True)
class Legend:
    """The groups, in the order of their first runs, and the name of the setting in their labels.

    Attributes:
      by: the name of the setting, `lr`; empty if the labels contain the names.
    """

    by: str
    groups: tuple[RunGroup, ...]


def legend_of(runs: Sequence[IdentifiedRun]) -> Legend:
    """Make the legend that distinguishes these runs: by their config, else by names, titles, options or cells."""
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
            labels = [
                ", ".join(filter(None, (label, own))) if labels.count(label) > 1 else label
                for label, own in zip(labels, way, strict=True)
            ]
    labels = [label or _called(run) or run.title for label, run in zip(labels, firsts, strict=True)]
    labels = [
        label if labels.count(label) == 1 else f"{label} #{labels[: place + 1].count(label)}"
        for place, label in enumerate(labels)
    ]
    return Legend(by, tuple(RunGroup(tuple(group), label) for group, label in zip(members, labels, strict=True)))


def distinct_labels(runs: Sequence[IdentifiedRun]) -> list[str]:
    """Return labels that distinguish the runs of a group: their seeds, else their names; empty if neither does."""
    names = differing([run.config for run in runs])
    seeds = [", ".join(f"{name} {short(run.config.get(name))}" for name in names) for run in runs]
    return next((way for way in (seeds, [_called(run) for run in runs]) if len(set(way)) == len(runs)), [])


def differing(tables: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names that have different values in the tables."""
    names = dict.fromkeys(name for table in tables for name in table)
    return [name for name in names if len({repr(table.get(name)) for table in tables}) > 1]


def short(value: Any) -> str:
    """Write a value of a config for people."""
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def is_seed(name: str) -> bool:
    """Whether a name of a config is a seed. Runs that differ only in a seed are the same experiment."""
    return name.lower().replace("-", "_").split("_")[-1] == "seed"


def _called(run: IdentifiedRun) -> str:
    """Return the name of a run, else the name of its file; empty without both."""
    path = getattr(run, "path", None)
    return run.name or (stem_of(path) if path is not None else "")


def _members(runs: Sequence[IdentifiedRun]) -> list[list[int]]:
    """Group the runs that have a seed, and the same config otherwise."""
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
