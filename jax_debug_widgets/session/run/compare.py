"""Compare runs from files: show them in a table, and draw their series in one figure."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from jax_debug_widgets.archive import RunFileError
from jax_debug_widgets.plots import Series, draw_series
from jax_debug_widgets.session.run.differences import RunDifferences, differences_of
from jax_debug_widgets.session.run.figures import series_of
from jax_debug_widgets.session.run.from_overview import series_in_file
from jax_debug_widgets.session.run.run_row import RunRow
from jax_debug_widgets.session.run.side_by_side import differing, short
from jax_debug_widgets.session.run.tables import pandas_for
from jax_debug_widgets.widgets.table import ShownAsTable, Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from jax_debug_widgets.session.run.loaded import LoadedRun


class LoadedRuns(ShownAsTable, Sequence["LoadedRun"]):
    """Holds runs from files, in the natural order of their names. A run is read when somebody asks for it.

    `runs[0]` and `runs["lr3"]` are single runs, `runs.plot("loss")` draws a value of all, and the object is shown as a table.

    Attributes:
      rows: the rows of the table.
      problems: path -> why a run cannot be read; such a run has no row.
    """

    def __init__(self, rows: Iterable[RunRow], problems: Mapping[str, str], load: Callable[[Path], LoadedRun]) -> None:
        self.rows = list(rows)
        self.problems = dict(problems)
        self._load = load
        self._loaded: dict[Path, LoadedRun] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[LoadedRun]:
        return (self._run(row) for row in self.rows)

    @overload
    def __getitem__(self, index: int | str) -> LoadedRun: ...
    @overload
    def __getitem__(self, index: slice) -> LoadedRuns: ...
    def __getitem__(self, index: int | str | slice) -> LoadedRun | LoadedRuns:
        if isinstance(index, slice):
            return LoadedRuns(self.rows[index], {}, self._run_at)
        if isinstance(index, int):
            return self._run(self.rows[index])
        found = [row for row in self.rows if row.called == index]
        if len(found) == 1:
            return self._run(found[0])
        names = ", ".join(row.called for row in self.rows)
        why = f"{len(found)} runs are" if found else "no run is"
        raise KeyError(f"{why} called {index!r}; there are {names}")

    def _ipython_key_completions_(self) -> list[str]:
        return [row.called for row in self.rows]

    def _run(self, row: RunRow) -> LoadedRun:
        return self._run_at(row.path)

    def _run_at(self, path: Path) -> LoadedRun:
        if path not in self._loaded:
            self._loaded[path] = self._load(path)
        return self._loaded[path]

    def labels(self) -> list[str]:
        """Return a label for each run that distinguishes it: the settings of `config` that differ, else its name."""
        names = differing([row.config for row in self.rows])
        labels = [", ".join(f"{name} {short(row.config.get(name))}" for name in names) for row in self.rows]
        names = [row.called for row in self.rows]
        return (
            labels
            if all(labels) and len(set(labels)) == len(labels)
            else [f"{a}, {b}" if b else a for a, b in zip(names, labels, strict=True)]
        )

    def plot(self, name: str, *, ax: Axes | None = None, log: bool = False, band: bool = False) -> Axes:
        """Draw one value of all runs, with a legend of what differs between them.

        If more than 500,000 events would have to be read, runs of more than 20,000 events are drawn from their overview. A
        point of such a line is the mean of some hundred executions, with their range as a band. `runs[0].plot("loss")` draws
        each execution.

        Args:
          name: as for `Run.series`. Runs without such a value are left out.
          ax, log, band: as for `Run.plot`.

        Raises:
          KeyError: no run has the value; the message is about the last run.
        """
        drawn, missing = [], KeyError(f"there is no run to draw {name!r} of")
        is_long = sum(row.events for row in self.rows if row.path not in self._loaded) > _LONG
        for label, row in zip(self.labels(), self.rows, strict=True):
            try:
                own = self._series(row, name, is_long=is_long)
                drawn += [replace(one, name=label if len(own) == 1 else f"{label}: {one.name}") for one in own]
            except KeyError as error:
                missing = error
        if not drawn:
            raise missing
        axes = draw_series(drawn, ax=ax, log=log, band=band)
        axes.set_ylabel(name)
        axes.legend(loc="best", fontsize="small")
        return axes

    def differences(self) -> RunDifferences:
        """Compare the values that the runs have in common: which differs first, at which step, and by how much.

        Numbers are equal if they differ by at most 16 times their precision.

        Raises:
          ValueError: there are fewer than two runs.
        """
        return differences_of(list(self))

    def _series(self, row: RunRow, name: str, *, is_long: bool) -> list[Series]:
        """Return the series of one run; for a long run that was not read, from its overview, if that has the value."""
        if is_long and row.of_one and row.events > _LONG_RUN and row.path not in self._loaded:
            with contextlib.suppress(KeyError, RunFileError):
                return series_in_file(row.path, name)
        return series_of(self._run(row), name)

    def to_pandas(self) -> pd.DataFrame:
        """Return a frame with a row for each run.

        Columns: name, title, state, started, elapsed, steps, ms_a_step, value, last, findings, events; then each name in
        `config`, `config.lr`, and each option that was set, `options.watch`.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        pandas = pandas_for("jdw.load(...).to_pandas()")

        def columns_of(row: RunRow) -> dict[str, Any]:
            return {
                "name": row.called,
                "title": row.title,
                "state": row.state,
                "started": pandas.Timestamp(row.started, unit="s", tz="UTC"),
                "elapsed": row.elapsed,
                "steps": row.outline.steps,
                "ms_a_step": row.outline.ms_a_step,
                "value": row.outline.value,
                "last": math.nan if row.outline.last is None else row.outline.last,
                "findings": row.findings,
                "events": row.events,
                **{f"{part}.{name}": getattr(row, part).get(name) for part in _PARTS for name in self._names(part)},
                "path": str(row.path),
            }

        return pandas.DataFrame([columns_of(row) for row in self.rows])

    def _table(self) -> Table:
        values = {row.outline.value for row in self.rows if row.outline.value}
        last = f"last {next(iter(values))}" if len(values) == 1 else "last"
        names = [(part, name) for part in _PARTS for name in self._names(part)]
        headers = (
            "name",
            "what",
            *(name for _, name in names),
            "started",
            "steps",
            "ms a step",
            last,
            "findings",
            "state",
        )
        rows = [
            (
                row.called,
                row.title,
                *(_short(getattr(row, part).get(name)) for part, name in names),
                time.strftime("%Y-%m-%d %H:%M", time.localtime(row.started)) if row.started else "",
                f"{row.outline.steps:,}" if row.outline.steps else "",
                "" if row.outline.ms_a_step is None else f"{row.outline.ms_a_step:.3g}",
                _last(row, with_name=len(values) != 1),
                str(row.findings or ""),
                row.state,
            )
            for row in self.rows
        ]
        return Table(headers, rows, notes=[f"{path}: {why}" for path, why in self.problems.items()])

    def _names(self, part: str) -> list[str]:
        return list(dict.fromkeys(name for row in self.rows for name in getattr(row, part)))


_PARTS = ("config", "options")

_LONG, _LONG_RUN = 500_000, 20_000
"""If all runs have more than the first number of events, runs with more than the second are drawn from their overview."""


def _last(row: RunRow, *, with_name: bool) -> str:
    if row.outline.last is None:
        return ""
    return f"{row.outline.value} {row.outline.last:.6g}" if with_name else f"{row.outline.last:.6g}"


def _short(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
