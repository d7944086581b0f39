"""Define the interface for reading a run, whether it goes on, is over, or was loaded from a file.

The file has more than 300 lines because it has the docstrings of the public methods of runs.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.events import CallSite, Event, Finding, Status
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.plots import array_tree, draw_array
from jax_debug_widgets.session.run import markdown
from jax_debug_widgets.session.run.by_name import choice_called
from jax_debug_widgets.session.run.differences import RunDifferences, differences_of
from jax_debug_widgets.session.run.event_view import EventView
from jax_debug_widgets.session.run.figures import draw_lines, draw_spread, value_at
from jax_debug_widgets.session.run.first_nonfinite import birth, first_nonfinite_text
from jax_debug_widgets.session.run.tables import Calls, Sites, events_frame, write_parquet
from jax_debug_widgets.session.run.tensorboard import write_tensorboard
from jax_debug_widgets.session.run.texts import Texts
from jax_debug_widgets.session.run.watched import WatchedValues
from jax_debug_widgets.session.run.watched_value import WatchedValue
from jax_debug_widgets.store import Store

if TYPE_CHECKING:
    from os import PathLike

    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes

    from jax_debug_widgets.breakpoints import Policy
    from jax_debug_widgets.session.options import Options
    from jax_debug_widgets.session.run.ports import CallsOfRun
    from jax_debug_widgets.watch.choosing.compile_report import CompiledPrograms
    from jax_debug_widgets.widgets import Panel


def new_key() -> str:
    """Return a new key for a run, which no other run has."""
    return uuid.uuid4().hex[:12]


class RunView(ABC):
    """A run as readers see it.

    Attributes:
      key: the key of the run in messages to the browser.
      events: the kept events, a sequence in arrival order.
      watched: the watched values of the programs that were dispatched; some may not have been computed yet.
      is_loaded: whether it was read from a file, so that its program is not available.
      config: the user's settings for comparing runs; may be changed at any time.
      is_question: whether it only answers a question about a function (`step`, `verify`).
      cell: the number of its cell, `In [n]`; None without a cell.
      asked: the options that were set, as they are written after `%%jaxdebug`.
      file: where it is recorded, was saved last or was loaded from, relative to the working directory; empty for nowhere.
    """

    is_loaded = False
    is_question = False
    cell: int | None = None
    asked = ""
    file = ""
    _name = ""
    _on_rename: tuple[Callable[[RunView], object], ...] = ()

    config: dict[str, Any]

    key: str
    options: Options
    policy: Policy
    watched: set[CallSite]

    def __init__(self, store: Store) -> None:
        self.store = store
        self.texts = Texts(store)
        self.events: Sequence[Event] = EventView(self)

    @property
    def copies(self) -> Mapping[int, int]:
        """Site id -> the site of another process with the same values. Such values are drawn once."""
        return {}

    @property
    def checked_calls(self) -> int:
        """The number of calls of programs that were checked while they ran; `calls` has only calls with effects."""
        return 0

    @property
    @abstractmethod
    def call_log(self) -> CallsOfRun:
        """The calls of the run."""

    @property
    def name(self) -> str:
        """The user's name for the run, in a table of runs; empty without one. It can be set at any time."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        if not isinstance(name, str):
            msg = f"name must be a string, got {name!r}"
            raise TypeError(msg)
        self._name = name.strip()
        for callback in self._on_rename:
            callback(self)

    def when_renamed(self, callback: Callable[[RunView], object]) -> None:
        """Call `callback` with the run after each change of its name."""
        self._on_rename = (*self._on_rename, callback)

    @property
    @abstractmethod
    def title(self) -> str:
        """The title for people: what was run."""

    @property
    @abstractmethod
    def findings(self) -> list[Finding]:
        """The findings about the run, such as sites that fired too seldom, show a tracer or have NaN, with the reasons."""

    @abstractmethod
    def found_so_far(self) -> list[Finding]:
        """Return the findings that are known without waiting, except those about values that are not finite."""

    @property
    @abstractmethod
    def panel(self) -> Panel:
        """The interactive panel of this run; show it as the last expression of a cell."""

    @abstractmethod
    def status(self) -> Status:
        """Return the status of the run."""

    @abstractmethod
    def barrier(self, timeout: float | None = None) -> bool:
        """Wait until the effects of all calls so far have happened, at most `timeout` seconds. Return whether they have."""

    @abstractmethod
    def collect(self) -> None:
        """Take in all firings until now. Each reading of the run does it."""

    def earlier(self, site_id: int) -> Mapping[str, np.ndarray] | None:  # noqa: ARG002 - of a run that is in memory.
        """Return the overview of a site, if the run's file has events that were not loaded; see `archive.overview`."""
        return None

    @abstractmethod
    def name_file(self, file: str) -> str:
        """Return the name of a file for people, see `taps.sites.NameFile`."""

    @abstractmethod
    def watch_seen(self) -> CompiledPrograms | None:
        """Return what is known about programs compiled for this run's `watch`; None if nothing is watched or known."""

    @abstractmethod
    def source_of(self, file: str) -> Mapping[str, Any]:
        """Return the text of a source file, see `sources.source_fields`.

        Raises:
          LookupError: nothing of this run comes from the file, or its text is not available.
        """

    @property
    def sites(self) -> Sites:
        """The call sites that have fired, in the order of their first event; shown with a line for each site.

        A watched value that was compiled for several types is in it once for each type.
        """
        self.collect()
        return Sites(self.store.typed_sites(), self.store.seen_by_site())

    @property
    def calls(self) -> Calls:
        """The newest 10 000 calls of compiled functions, in the order of their begin; `.to_pandas()` makes a frame."""
        self.collect()
        return Calls(self.call_log.calls()[0])

    @property
    def dropped(self) -> int:
        """The number of events that the run no longer holds because of its budget."""
        return self.store.dropped

    @property
    def values(self) -> WatchedValues:
        """The watched values by name, each with its statistics by step; `run["logits"]` is one of them."""
        return WatchedValues(self)

    def __getitem__(self, name: str) -> WatchedValue:
        return self.values[name]

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the watched values."""
        return iter(self.values)

    def series(self, name: str, *, phantoms: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the history of one value.

        Args:
          name: its source expression, e.g. `"loss"`, the keyword that it was passed as, a site's label, or the expression with
            the place: `"loss@In [3]:12"`; for a line that is called from several places, with the caller: `"h · model.py:41"`.
          phantoms: whether to include events that only a `vmap` caused, see `Event.phantom`.

        Returns:
          `(steps, values)`. `steps` (int64[n]) is the place of each value on a plot's axis, shared by all lanes of a `vmap`:
          the step of the outermost loop, counted on from one call to the next. Inner loops are fractions of it (then
          float64[n]). Outside loops it is the number of the call, or if that is not known, of the firing. `values` is
          [n, ...] in the program's dtype.

        Raises:
          KeyError: there is no such value, or several places have it; the message lists the names.
          ValueError: the value has several shapes; `run.events` has the values one by one.
        """
        choice = choice_called(self, name)
        _, _, values = self.store.history.series(choice.site.id, choice.value, phantoms=phantoms)
        steps = self.store.history.steps(choice.site.id, phantoms=phantoms)
        count = min(len(steps), len(values))  # Events may have come or gone between the two reads.
        return steps[len(steps) - count :], values[len(values) - count :]

    def plot(
        self,
        *names: str,
        ax: Axes | None = None,
        log: bool = False,
        band: bool = False,
        kind: str = "line",
    ) -> Axes:
        """Draw series with matplotlib, as the panel does: against the true step, with marks for NaN and infinities.

        An array of at most 16 elements has a line for each element. A larger array has its mean, with a band from the lowest to
        the highest element. More than 3 lanes or 8 devices are such a band too.

        Args:
          names: as for `series`, or patterns (`"grad_norm/*"`, `"*.mean"`); all scalar values by default. A watched array is
            its mean, with a band from its least to its greatest element.
          ax: the axes to draw into; a new figure's axes by default.
          log: whether the y axis is logarithmic.
          band: whether to draw a band for small arrays too.
          kind: `line`; or, for one array, histograms of its elements from step to step: `ridge`, a hill for each of some
            steps, or `heat`, a column for each of at most 240 steps; or `lanes`, for a watched value that was recorded by lane
            (`"h"`, `"h.std"`): a row for each lane, a column for each execution.

        Raises:
          KeyError: see `series`. ValueError: there is nothing to draw, or there are several names for a picture of one value.
        """
        if kind != "line":
            return draw_spread(self, names, kind, ax=ax)
        return draw_lines(self, names, ax=ax, log=log, band=band)

    def show(self, name: str, *, step: float = -1, lane: int = 0, ax: Axes | None = None) -> Axes:
        """Draw one value of an array with matplotlib: a vector as a line, a matrix as a heat map, an image as an image.

        Args:
          name: as for `series`.
          step: a step as in `series`; a negative number counts from the end.
          lane: of a printed value, the number of the `vmap` lane, in JAX's order. A watched value is one array of all lanes.
          ax: the axes to draw into; a new figure's axes by default.

        Raises:
          KeyError: see `series`. IndexError: no such step or lane is kept. ValueError: the value is a scalar, see `plot`.
        """
        title, value = value_at(self, name, step, lane)
        return draw_array(title, value, ax=ax)

    def tree(self, name: str, *, step: float = -1, lane: int = 0) -> Any:
        """Return one value of an array of any rank as a treescope figure; arguments and errors as for `show`.

        Raises:
          ImportError: treescope is not installed (`pip install "jax-debug-widgets[treescope]"`).
        """
        return array_tree(value_at(self, name, step, lane)[1])

    def to_pandas(self) -> pd.DataFrame:
        """Return a frame with a row for each event: position, time in seconds, kind, place, label, step, lane and so on.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        self.collect()
        return events_frame(self.store)

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the events to a Parquet file: the columns of `to_pandas`, and the values with name, dtype, shape and data.

        `data` is the elements of a value, row by row, as float64: integers beyond 2**53 are rounded. For a complex value, the
        real part of each element comes before its imaginary part.

        Raises:
          ImportError: pyarrow is not installed (`pip install "jax-debug-widgets[parquet]"`).
        """
        self.collect()
        write_parquet(self.store, path)

    def to_tensorboard(self, folder: str | PathLike[str], *names: str) -> None:
        """Write numbers as a TensorBoard log into a new folder: `tensorboard --logdir FOLDER` shows it.

        Each lane, device and element of an array has a curve. Steps are those of `series`; if these are fractions, the points
        are numbered. TensorBoard keeps float32. Each point has the time at which it fired.

        Args:
          folder: the folder of the log. An existing log is not overwritten.
          names: as for `plot`; all scalar values by default.

        Raises:
          ImportError: tensorboardX is not installed (`pip install "jax-debug-widgets[tensorboard]"`).
          FileExistsError: the folder has a log already. KeyError: see `series`.
        """
        self.collect()
        write_tensorboard(self, self.status().started, folder, names)

    def differences(self, *others: RunView) -> RunDifferences:
        """Compare the values that it has in common with other runs, of this kernel or loaded: where they differ first.

        Example::

            run.differences(jdw.load("yesterday.jdw"))  # a table: value, first step, worst step, each run's value there

        Numbers are equal if they differ by at most 16 times their precision.

        Raises:
          ValueError: there is no other run.
        """
        return differences_of([self, *others])

    def report(self, *, picture: bool = False) -> str:
        """Return the run as one Markdown text: facts, findings with their source lines, values, the last lines, versions.

        Use it in a bug report, a pull request or a chat: `print(run.report())`.

        Args:
          picture: with the Overview as an image in a data URI, after the facts.
        """
        return markdown.report(self, self.panel.picture() if picture else "")

    @property
    def notes(self) -> list[str]:
        """The notes of the panel: what could not be captured, watched or found, the cost of watching, and the findings."""
        self.collect()
        return list(dict.fromkeys([*self.status().notes, *(one.message for one in self.found_so_far())]))

    def __repr__(self) -> str:
        status = self.status()
        events, sites = plural(status.events, "event"), plural(len(self.store.sites()), "site")
        odd = first_nonfinite_text(self, birth(self.found_so_far(), self, self.status().notes))
        born = f"; first NaN or infinite: {odd}" if odd else ""
        called = f"{self.name!r} ({self.title})" if self.name not in ("", self.title) else repr(self.title)
        return f"<Run {called}: {status.state}, {events} from {sites}{born}>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.panel._repr_mimebundle_()
