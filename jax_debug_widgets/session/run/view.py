"""The interface for reading a run, whether it goes on, is over, or was loaded from a file.

It has more than 300 lines because the docstrings of the public methods of runs stand here.
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
from jax_debug_widgets.session.run.event_view import EventView
from jax_debug_widgets.session.run.figures import draw_lines, draw_spread, value_at
from jax_debug_widgets.session.run.first_nonfinite import birth, first_words
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
    """A key that no other run has."""
    return uuid.uuid4().hex[:12]


class RunView(ABC):
    """A run, as it is read.

    Attributes:
      key: names the run to the browser.
      events: the events that are kept, a sequence in arrival order.
      watched: the values that are watched in the programs that were dispatched; some may not have been computed yet.
      is_loaded: whether it was read from a file, so that its program is not here.
      config: what its user says of it, to compare runs by; may be changed at any time.
      is_question: whether it only answers one, about a function (`step`, `verify`).
      cell: the number of the cell that it ran in, `In [n]`; None where there was none.
      asked: the options that were asked for, as they are written after `%%jaxdebug`.
      file: where it is recorded, was saved last or was loaded from, as seen from the working directory; empty for nowhere.
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
        """Site id -> the site of another process that has the same values: these are drawn once."""
        return {}

    @property
    def checked_calls(self) -> int:
        """How many calls of programs were checked while they ran; `calls` has only those that say something."""
        return 0

    @property
    @abstractmethod
    def call_log(self) -> CallsOfRun:
        """Its calls."""

    @property
    def name(self) -> str:
        """The name that its user gives it, in a table of runs; empty for nothing. Set it at any time."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        if not isinstance(name, str):
            msg = f"name must be a string, got {name!r}"
            raise TypeError(msg)
        self._name = name.strip()
        for tell in self._on_rename:
            tell(self)

    def when_renamed(self, tell: Callable[[RunView], object]) -> None:
        """Call `tell` with the run after each change of its name."""
        self._on_rename = (*self._on_rename, tell)

    @property
    @abstractmethod
    def title(self) -> str:
        """The title for people: what was run."""

    @property
    @abstractmethod
    def findings(self) -> list[Finding]:
        """The findings about the run: sites that fired less often than their program says, or show a tracer, or NaN; why."""

    @abstractmethod
    def found_so_far(self) -> list[Finding]:
        """The findings that are known without waiting, but for those of values that are not finite."""

    @property
    @abstractmethod
    def panel(self) -> Panel:
        """The interactive panel of this run; show it as the last expression of a cell."""

    @abstractmethod
    def status(self) -> Status:
        """How the run is doing."""

    @abstractmethod
    def barrier(self, timeout: float | None = None) -> bool:
        """Wait until the effects of all calls so far have drained, at most `timeout` seconds; whether they have."""

    @abstractmethod
    def collect(self) -> None:
        """Take in what has fired until now. Reading anything of the run does it."""

    def earlier(self, site_id: int) -> Mapping[str, np.ndarray] | None:  # noqa: ARG002 - of a run that is in memory.
        """The overview of a site, where its file has events that were not loaded; see `archive.overview`."""
        return None

    @abstractmethod
    def name_file(self, file: str) -> str:
        """The name of a file for people, see `taps.sites.NameFile`."""

    @abstractmethod
    def watch_seen(self) -> CompiledPrograms | None:
        """The findings about programs compiled for this run's `watch`; None where nothing is watched, or it is not known."""

    @abstractmethod
    def source_of(self, file: str) -> Mapping[str, Any]:
        """The text of a file, as far as it is known, see `sources.source_fields`.

        Raises:
          LookupError: nothing of this run comes from it, or its text is not to be had.
        """

    @property
    def sites(self) -> Sites:
        """The call sites that have fired, in the order of their first event; shown as a line a site.

        A watched value that was compiled for several types is there once for each.
        """
        self.collect()
        return Sites(self.store.typed_sites(), self.store.seen_by_site())

    @property
    def calls(self) -> Calls:
        """The calls of compiled functions, the newest 10 000, as they began; `.to_pandas()` has them as a frame."""
        self.collect()
        return Calls(self.call_log.calls()[0])

    @property
    def dropped(self) -> int:
        """How many events the run no longer holds, for its budget."""
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
        """The names of the watched values."""
        return iter(self.values)

    def series(self, name: str, *, phantoms: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """The history of one value.

        Args:
          name: its source expression, e.g. `"loss"`, the keyword it was passed as, a site's label, or the expression with
            the place: `"loss@In [3]:12"`; of a line that is called from several places with the caller: `"h · model.py:41"`.
          phantoms: also those that only a `vmap` made fire, see `Event.phantom`.

        Returns:
          `(steps, values)`. `steps` (int64[n]) is the place of each value on a plot's axis, shared by all lanes of a `vmap`:
          the step of the outermost loop, counted on from one call to the next, with inner loops as fractions of it (then
          float64[n]); outside loops the number of the call; where neither is known the number of the firing. `values` is
          [n, ...] in the program's dtype.

        Raises:
          KeyError: no such value, or several places have it; the message lists what there is.
          ValueError: its shape is not the same in all events; `run.events` has them one by one.
        """
        choice = choice_called(self, name)
        _, _, values = self.store.history.series(choice.site.id, choice.value, phantoms=phantoms)
        steps = self.store.history.steps(choice.site.id, phantoms=phantoms)
        count = min(len(steps), len(values))  # Events may have come, or gone, between the two.
        return steps[len(steps) - count :], values[len(values) - count :]

    def plot(
        self,
        *names: str,
        ax: Axes | None = None,
        log: bool = False,
        band: bool = False,
        kind: str = "line",
    ) -> Axes:
        """Draw series with matplotlib, as the panel does: against the true step, NaN and infinities as marks.

        An array of at most 16 elements has a line for each, a larger one its mean with a band from the lowest to the highest
        element; more than 3 lanes or 8 devices are such a band, too.

        Args:
          names: as for `series`, or patterns (`"grad_norm/*"`, `"*.mean"`); all scalar values where none is given. Of a watched
            array the mean, with a band from its least to its greatest element.
          ax: where to draw; a new figure's axes by default.
          log: a logarithmic y axis.
          band: a band over the elements of small arrays, too.
          kind: `line`; or, of one array, how its elements are spread from step to step: `ridge`, a hill for each of some
            steps, or `heat`, a column for each of at most 240; or `lanes`, of a watched value that was taken by lane (`"h"`,
            `"h.std"`): a row a lane, a column an execution.

        Raises:
          KeyError: see `series`. ValueError: there is nothing to draw, or several names for a picture of one.
        """
        if kind != "line":
            return draw_spread(self, names, kind, ax=ax)
        return draw_lines(self, names, ax=ax, log=log, band=band)

    def show(self, name: str, *, step: float = -1, lane: int = 0, ax: Axes | None = None) -> Axes:
        """Draw one value of an array with matplotlib: a vector as a line, a matrix as a heat map, an image as such.

        Args:
          name: as for `series`.
          step: one of those in `series`; negative counts them from the end.
          lane: which `vmap` lane of it, in JAX's order.
          ax: where to draw; a new figure's axes by default.

        Raises:
          KeyError: see `series`. IndexError: no such step or lane is kept. ValueError: a scalar, see `plot`.
        """
        title, value = value_at(self, name, step, lane)
        return draw_array(title, value, ax=ax)

    def tree(self, name: str, *, step: float = -1, lane: int = 0) -> Any:
        """One value of an array, of any rank, as a treescope figure: arguments and errors as for `show`.

        Raises:
          ImportError: treescope is not installed (`pip install "jax-debug-widgets[treescope]"`).
        """
        return array_tree(value_at(self, name, step, lane)[1])

    def to_pandas(self) -> pd.DataFrame:
        """One row an event: position, time in seconds, kind, place, label, occurrence, step, lane, phantom, device, and so on.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        self.collect()
        return events_frame(self.store)

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the events to a Parquet file: the columns of `to_pandas`, the values with name, dtype, shape and data.

        `data` is the elements of a value, row by row, as float64: integers beyond 2**53 are rounded. Of a complex value the
        real and the imaginary part of each element follow each other.

        Raises:
          ImportError: pyarrow is not installed (`pip install "jax-debug-widgets[parquet]"`).
        """
        self.collect()
        write_parquet(self.store, path)

    def to_tensorboard(self, folder: str | PathLike[str], *names: str) -> None:
        """Write numbers as a log of TensorBoard's into a new folder: `tensorboard --logdir FOLDER` shows it.

        Each lane, device and element of an array has a curve. Steps are those of `series`; where these are fractions the points
        are numbered. TensorBoard keeps float32, and each point has the time at which it fired.

        Args:
          folder: where. A log that is there is not written over.
          names: as for `plot`; all scalar values where none is given.

        Raises:
          ImportError: tensorboardX is not installed (`pip install "jax-debug-widgets[tensorboard]"`).
          FileExistsError: the folder has a log already. KeyError: see `series`.
        """
        self.collect()
        write_tensorboard(self, self.status().started, folder, names)

    def report(self) -> str:
        """The run as one Markdown text: facts, findings with their source lines, values, the last lines, versions.

        To paste into a bug report, a pull request or a chat: `print(run.report())`.
        """
        return markdown.report(self)

    @property
    def notes(self) -> list[str]:
        """The notes of the panel in words: what could not be captured, watched or found, what it costs, and the findings."""
        self.collect()
        return list(dict.fromkeys([*self.status().notes, *(one.message for one in self.found_so_far())]))

    def __repr__(self) -> str:
        status = self.status()
        events, sites = plural(status.events, "event"), plural(len(self.store.sites()), "site")
        odd = first_words(self, birth(self.found_so_far(), self, self.status().notes))
        born = f"; first NaN or infinite: {odd}" if odd else ""
        called = f"{self.name!r} ({self.title})" if self.name not in ("", self.title) else repr(self.title)
        return f"<Run {called}: {status.state}, {events} from {sites}{born}>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.panel._repr_mimebundle_()
