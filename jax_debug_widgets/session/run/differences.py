"""Write the comparison of several runs as a table: which value differs first, at which step, and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.session.run.curves import RunCurves
from jax_debug_widgets.session.run.run_comparison import RunComparison, ValueDifference, parting_of
from jax_debug_widgets.session.run.side_by_side import distinct_labels, legend_of
from jax_debug_widgets.session.run.tables import pandas_for
from jax_debug_widgets.widgets.table import ShownAsTable, Table

if TYPE_CHECKING:
    import pandas as pd

    from jax_debug_widgets.session.run.ports import ComparedRun

_FEWEST, _ROWS = 2, 40


@dataclass(frozen=True, repr=False)
class RunDifferences(ShownAsTable):
    """The values that several runs have in common, and where they differ. It is shown as a table.

    Attributes:
      labels: what distinguishes the runs, in their order: `lr 0.1`.
      comparison: the values, the worst difference first.
    """

    labels: tuple[str, ...]
    comparison: RunComparison

    @property
    def first(self) -> ValueDifference | None:
        """The value that differs first, and its step; None if no value differs."""
        return self.comparison.first

    def to_pandas(self) -> pd.DataFrame:
        """Return a frame with a row for each value.

        Columns: value, where; first, the first step at which the runs differ; at, the step of the greatest difference;
        difference, relative to the greatest value; and each run's value at that step.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        columns = ["value", "where", "first", "at", "difference", *self.labels]
        rows = [
            (one.name, one.site.where, one.first, one.at, one.worst, *one.values) for one in self.comparison.differences
        ]
        return pandas_for("differences().to_pandas()").DataFrame(rows, columns=columns)

    def _table(self) -> Table:
        values, first = self.comparison.differences, self.comparison.first
        parted = [one for one in values if one.first is not None]
        title = (
            f"{first.name} ({first.site.where}) differs first, at step {first.first:g}"
            if first is not None
            else f"no value differs: {plural(len(values), 'value')} compared"
        )
        notes = []
        if len(parted) > _ROWS:
            notes.append(f"{plural(len(parted) - _ROWS, 'more difference')}: to_pandas() has all")
        if parted and len(parted) < len(values):
            notes.append(f"the same in all: {plural(len(values) - len(parted), 'value')}")
        headers = ("value", "where", "first differs at step", "worst at step", "relative difference", *self.labels)
        return Table(headers, [_row(one) for one in parted[:_ROWS]], title, notes)


def differences_of(runs: Sequence[ComparedRun]) -> RunDifferences:
    """Compare the values that at least two of the runs have.

    Raises:
      ValueError: there are fewer than two runs.
    """
    if len(runs) < _FEWEST:
        raise ValueError(f"two or more runs can be compared, not {len(runs)}")
    legend, labels = legend_of(runs), [""] * len(runs)
    for group in legend.groups:
        label = f"{legend.by} {group.label}".strip()
        if len(group.runs) == 1:
            labels[group.runs[0]] = label
            continue
        apart = distinct_labels([runs[run] for run in group.runs])
        for number, run in enumerate(group.runs):
            if not apart:
                labels[run] = f"{label} #{number + 1}"
            else:
                labels[run] = apart[number] if len(legend.groups) == 1 else f"{label}, {apart[number]}"
    return RunDifferences(tuple(labels), parting_of([RunCurves(run) for run in runs]))


def _row(one: ValueDifference) -> tuple[str, ...]:
    return (
        one.name,
        one.site.where,
        f"{one.first:g}",
        f"{one.at:g}",
        "not finite in all" if math.isinf(one.worst) else f"{one.worst:.2g}",
        *("-" if value is None else f"{value:.6g}" for value in one.values),
    )
