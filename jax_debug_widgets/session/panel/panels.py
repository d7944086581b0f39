"""Keep the panels of a session's runs, what each has sent to the browser, and the channel of its requests."""

from __future__ import annotations

import functools
import logging
import threading
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.session.panel.feed import Feed
from jax_debug_widgets.session.panel.requests import answer
from jax_debug_widgets.session.panel.snapshots import snapshot_of
from jax_debug_widgets.session.panel.stops import StopFeed
from jax_debug_widgets.transport import reply
from jax_debug_widgets.widgets import Channel, Panel
from jax_debug_widgets.widgets.channel import front_end, outputs_are_isolated

if TYPE_CHECKING:
    from jax_debug_widgets.session.panel.ports import PanelPorts
    from jax_debug_widgets.session.run.view import RunView

_log = logging.getLogger(__name__)


class Panels:
    """Holds a panel for each run; the first access makes it."""

    def __init__(self, session: PanelPorts) -> None:
        self._session = session
        self._lock = threading.RLock()
        self._panels: dict[str, Panel] = {}
        self._feeds: dict[str, Feed] = {}
        self._stop_feeds: dict[str, StopFeed] = {}
        self._channel: Channel | None = None
        self._unwritten: set[str] = set()
        """Keys of runs with an output that could not be written. Each is logged only once."""

    def of(self, run: RunView) -> Panel:
        """Return the panel of `run`."""
        with self._lock:
            if run.key not in self._panels:
                self._panels[run.key] = Panel(run.key, lambda: snapshot_of(run), self._open_channel(run.key))
            return self._panels[run.key]

    def shows(self, run: RunView) -> bool:
        """Whether `run` has a panel."""
        return run.key in self._panels

    def feed_of(self, run: RunView) -> Feed:
        """Return the feed of `run`."""
        with self._lock:
            return self._feeds.setdefault(run.key, Feed(run))

    def stops_of(self, run: RunView) -> StopFeed:
        """Return the feed of the stops of `run`."""
        with self._lock:
            return self._stop_feeds.setdefault(run.key, StopFeed(run, self._session.debugger, self.way))

    @property
    def way(self) -> str:
        """How requests of the browser reach the kernel, see `StopBody.way`."""
        return self._channel.way if self._channel is not None else "stdin"

    def program(self) -> dict[str, str] | None:
        """Return the panel's JavaScript and its comm, for a page that cannot get the model. None if there is no panel."""
        if self._channel is None:
            return None
        return {"text": front_end("panel"), "comm_id": self._channel.model.comm_id, "way": self._channel.way}

    def send_news(self, run: RunView) -> bool:
        """Send the news of `run` to the browser, if it has a panel. Return whether there was any."""
        panel = self._panels.get(run.key)
        if panel is None:
            return False
        news = [*self.stops_of(run).news(), *self.feed_of(run).news()]
        for content, buffer in news:
            panel.channel.send(content, buffer)
        return bool(news)

    def send_to_others(self, run: RunView) -> None:
        """Send the news to the panels of all other runs, because switches and added names belong to the whole session."""
        for key in list(self._panels):
            other = self._session.find_run(key) if key != run.key else None
            if other is not None:
                self.send_news(other)

    def send_rows(self, run: RunView) -> None:
        """Send the rows of all runs, with their present names, to the panel of `run`, if it has one."""
        panel = self._panels.get(run.key)
        if panel is not None:
            panel.channel.send(reply("runs", run.key, -1, rows=self._session.listing.rows()), b"")

    def refresh(self, run: RunView) -> None:
        """Write the present state of `run` into its output, if there is one. It never raises, so that the cell goes on."""
        panel = self._panels.get(run.key)
        if panel is not None:
            try:
                panel.refresh()
            except Exception:  # noqa: BLE001 - the stored output keeps its last picture, which shows its time.
                if run.key not in self._unwritten:
                    self._unwritten.add(run.key)
                    _log.exception("jax_debug_widgets could not write the output of a run")

    def written(self, run: RunView) -> int:
        """Return how often the static picture of `run` was made, see `Panel.written`; 0 without a panel."""
        panel = self._panels.get(run.key)
        return panel.written if panel is not None else 0

    def bundle(self, run: RunView) -> dict[str, Any] | None:
        """Return the MIME bundle of `run` as it is now; None without a panel."""
        panel = self._panels.get(run.key)
        return panel and panel.bundle()

    def forget(self, key: str) -> None:
        """Forget a run that is dropped from memory."""
        for table in (self._panels, self._feeds, self._stop_feeds):
            table.pop(key, None)
        self._unwritten.discard(key)

    def open_for_programs(self) -> bool:
        """Open a channel for outputs that belong to no run. Return whether that is possible."""
        if outputs_are_isolated():
            return False
        with self._lock:
            self._open_channel("")
        return True

    def _open_channel(self, run: str) -> Channel:
        if self._channel is None or not self._channel.serves(run):
            self._channel = Channel.open(run, functools.partial(answer, self._session))
        return self._channel
