"""Give access to a watched value of a run: its statistics by step, and its gradient."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets.events.amounts import in_natural_order, plural
from jax_debug_widgets.session.run.by_name import watched_sites
from jax_debug_widgets.session.run.gradients import gradients_of
from jax_debug_widgets.watch import HISTOGRAM, LANES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.session.run.ports import Values


class WatchedValue(Mapping[str, np.ndarray]):
    """A watched value over the steps of a run: `value["mean"]` is float64[n].

    A whole value, `value["value"]`, is complex, int64 or uint64 where the program has that, else float64.

    Attributes:
      site: the site that computes it.
    """

    def __init__(self, run: Values, site: CallSite) -> None:
        self._run = run
        self.site = site

    def __getitem__(self, statistic: str) -> np.ndarray:
        if statistic not in self.site.values:
            raise KeyError(f"{self.site.label} has no {statistic!r}; there are {', '.join(self.site.values)}")
        values = self._run.store.history.series(self.site.id, self.site.values.index(statistic))[2]
        # float64 does not have all integers of 64 bits.
        is_exact = values.dtype.kind == "c" or values.dtype in (np.int64, np.uint64)
        return values if is_exact else values.astype(np.float64)

    def __iter__(self) -> Iterator[str]:
        return iter(self.site.values)

    def __len__(self) -> int:
        return len(self.site.values)

    @property
    def steps(self) -> np.ndarray:
        """The place of each row on the axis of a plot: int64[n], or float64[n] if inner loops make fractions of a step.

        It is the step of the outermost loop, counted on from one call to the next. Outside loops it is the number of the call
        among those of its program, also if a call did not record it. If that is not known, it is the number of earlier records
        on that device.
        """
        return self._run.store.history.steps(self.site.id)

    @property
    def name(self) -> str:
        """Its shortest unique name in the run: `h`, `h@model.py:12`, `h@model.py:12#2`."""
        sites = watched_sites(self._run)
        return next((name for name, site in sites.items() if site.id == self.site.id), self.site.label)

    @property
    def devices(self) -> list[str]:
        """List the devices that hold the value, in natural order (cpu 2 before cpu 10); empty if they are unknown."""
        names, numbers = self._run.store.devices, np.unique(self._run.store.history.places(self.site.id)[2])
        return sorted((names[number] for number in numbers.tolist() if number >= 0), key=in_natural_order)

    def plot(self, **options: Any) -> Axes:
        """Draw it over the steps, as `run.plot` does for its name, with the same options and errors."""
        return self._run.plot(self.name, **options)

    def show(self, **options: Any) -> Axes:
        """Draw its whole value at a step (needs `values=True`), as `run.show` does for its name, with the same options."""
        return self._run.show(self.name, **options)

    @property
    def gradient(self) -> WatchedValue:
        """Its gradient, as a watched value.

        Raises:
          KeyError: the program does not differentiate it.
        """
        sites = watched_sites(self._run)
        found = gradients_of(sites.values()).get(self.site.id)
        if found is None:
            raise KeyError(
                f"no gradient of {self.name!r} is watched: the program does not differentiate it, or its "
                "gradient was not recorded"
            )
        return WatchedValue(self._run, found)

    @property
    def histogram(self) -> np.ndarray:
        """The count of elements of each sign and magnitude at each step, float64[n, 30]; see `watch.statistics.histogram`.

        The first half counts negative elements by falling magnitude, the second half positive ones by rising magnitude: 0 to
        2^-27, to 2^-24, … above 2^12.

        Raises:
          KeyError: the capture did not ask for histograms.
        """
        if HISTOGRAM[0] not in self.site.values:
            raise KeyError(f"{self.site.label} has no histogram: ask for it with histograms=True or --histogram")
        return np.stack([self[name] for name in HISTOGRAM], 1)

    @property
    def lanes(self) -> dict[str, np.ndarray]:
        """Each statistic by lane: float64[n, lanes], for nested `vmap`s [n, outer, inner]. A single number per lane is `value`.

        With more than 512 lanes, the first ones are here, in one axis.

        Raises:
          KeyError: the capture did not ask for lanes, or the value has none.
        """
        if LANES not in self.site.values:
            watch = self._run.options.watch
            why = (
                "none of its axes is known to come from vmap; an argument, or a value that is not mapped, has none"
                if watch and watch.lanes
                else f"ask for it with watch='lanes/{self.site.label}' or --lanes"
            )
            raise KeyError(f"{self.site.label} is not taken by lane: {why}")
        assert self.site.watch is not None
        table, sizes = self[LANES], self.site.watch.lanes
        names = self.site.values if table.shape[2] > 1 else ("value",)
        shape = sizes if math.prod(sizes) == table.shape[1] else table.shape[1:2]
        columns = enumerate(names[: table.shape[2]])
        return _ByLane(self.site.label, ((name, table[..., column].reshape(-1, *shape)) for column, name in columns))

    def to_pandas(self) -> pd.DataFrame:
        """Return a frame with a row for each step and a column for each statistic; with several devices, a row for each device.

        Raises:
          ImportError: pandas is not installed.
        """
        import pandas as pd

        columns = {name: self[name] for name in self if self[name].ndim == 1}
        devices = self._run.store.history.places(self.site.id)[2]
        if len(np.unique(devices)) > 1:
            columns = {"device": [self._run.store.devices[number] for number in devices.tolist()], **columns}
        return pd.DataFrame(columns, index=pd.Index(self.steps, name="step"))

    def __repr__(self) -> str:
        ours = (one.watch for one in self._run.watched if one.id == self.site.id and one.watch)
        types = sorted({f"{watch.dtype}[{','.join(map(str, watch.shape))}]" for watch in ours})
        devices = len(np.unique(self._run.store.history.places(self.site.id)[2])) or 1
        taken = plural(len(self.steps) // devices, "step") + (f" on each of {devices} devices" if devices > 1 else "")
        return f"<{self.site.label} at {self.site.where}: {' or '.join(types)}, {taken}>"


class _ByLane(dict[str, np.ndarray]):
    """Maps each statistic to its values by lane; the error for another key lists the statistics."""

    def __init__(self, label: str, statistics: Iterable[tuple[str, np.ndarray]]) -> None:
        super().__init__(statistics)
        self._label = label

    def __missing__(self, statistic: str) -> np.ndarray:
        has = "is one number a lane" if list(self) == ["value"] else "is taken by lane"
        raise KeyError(f"{self._label} {has} and has no {statistic!r}; it has {', '.join(self)}")
