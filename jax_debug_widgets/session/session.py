"""The session of this process: it starts and ends runs, and carries what fires to the run that it belongs to."""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import jax

from jax_debug_widgets._jax import dispatch, features
from jax_debug_widgets._jax.hooks import is_capturing
from jax_debug_widgets.events import Lot
from jax_debug_widgets.session.feed import Feed
from jax_debug_widgets.session.inventory import Inventory, inventory
from jax_debug_widgets.session.options import Options
from jax_debug_widgets.session.requests import answer
from jax_debug_widgets.session.run import Run
from jax_debug_widgets.session.snapshots import snapshot_of
from jax_debug_widgets.session.waiter import Waiter
from jax_debug_widgets.taps import Capture, Settings
from jax_debug_widgets.transport import Pump
from jax_debug_widgets.widgets import Channel, Panel, Snapshot

if TYPE_CHECKING:
    from jax_debug_widgets._jax.dispatch import Execution, Stage
    from jax_debug_widgets.events import CallSite, Firing
    from jax_debug_widgets.taps.sites import NameFile

_MAX_RUNS = 50
"""Ended runs that stay available to their panels; the oldest is let go of."""


class Session:
    """Joins capture, store, transport and widgets. One a process: JAX's hooks are the process's."""

    def __init__(self) -> None:
        self.capture = Capture()
        self.waiter = Waiter()
        self._watch = dispatch.Watch(self)
        self._lock = threading.RLock()
        self._active: list[Run] = []
        self._latest: Run | None = None
        self._runs: dict[str, Run] = {}
        self._feeds: dict[str, Feed] = {}
        self._panels: dict[str, Panel] = {}
        self._channel: Channel | None = None

    @property
    def current(self) -> Run | None:
        """The run that what fires now belongs to: the innermost that is active, else the last one."""
        return self._active[-1] if self._active else self._latest

    @property
    def active(self) -> Run | None:
        """The innermost run that is going on."""
        return self._active[-1] if self._active else None

    def name_files_by(self, name_file: NameFile) -> None:
        """How people call files, see `taps.sites.NameFile`; a notebook knows its cells."""
        self.capture.sites.name_file = name_file

    @contextmanager
    def run(self, title: str, options: Options) -> Iterator[Run]:
        """Capture what this thread does in the body."""
        recording = self.start(title, options)
        error: BaseException | None = None
        try:
            yield recording.run
        except BaseException as raised:
            error = raised
            raise
        finally:
            recording.finish(error)

    def start(self, title: str, options: Options) -> Recording:
        """Begin to capture what this thread does, until `Recording.finish`, which the same thread must call."""
        previous = self._latest
        if previous is not None and not self._active and previous.call_log.pending():
            # Its late events must not land in the new run.
            previous.barrier(previous.options.timeout)
        self.collect()
        run = Run(self, title, options)
        run.notes += features.missing().values()
        with self._lock:
            self._active.append(run)
            self._remember(run)
            if len(self._active) == 1 and features.available(features.CALLS):
                self._watch.start()
        return Recording(self, run)

    def stop(self, run: Run) -> None:
        """Nothing more is dispatched for `run`; what is late still goes to it."""
        self.collect()
        with self._lock:
            self._active.remove(run)
            self._latest = run
            if not self._active and features.available(features.CALLS):
                self._watch.stop()

    def collect(self) -> None:
        """Move what has fired from the inbox to the run that it belongs to."""
        inbox = self.capture.inbox
        with self._lock:
            run = self.current
            if run is None:
                return
            # Asked first: what these calls have fired is in the inbox now, if not in the store already.
            drained = run.call_log.take_drained()
            self._ingest(run, inbox)
            run.callbacks.take()
            run.expectations.compare(drained)

    def _ingest(self, run: Run, inbox: deque[Firing]) -> None:
        if inbox:
            lot = Lot.of([inbox.popleft() for _ in range(len(inbox))])
            calls = run.call_log.attribute(lot.times_ns - run.origin_ns)
            run.store.ingest(lot, calls)
            run.call_log.count(calls, lot)

    def executing(self, name: str, ordered: bool, recorders: Sequence[Any] | None) -> Callable[[Execution], None]:
        """See `_jax.dispatch.Observer`."""
        run = self.active
        if run is None:
            return _ignore
        if not is_capturing():
            thread = threading.current_thread().name
            run.note(
                f"{name} ran in the thread {thread!r}, which does not capture: what it says is not here. "
                "Use jax_debug_widgets.capture() in that thread."
            )
            return _ignore
        if recorders is None:
            run.note(
                f"{name} was compiled before the capture (`.lower().compile()`), so what it says is not here: "
                "call the jitted function, or compile it in the capture."
            )
            return _ignore
        return run.call_log.executing(name, ordered, [recorder.tap for recorder in recorders])

    def compiled(self, stage: Stage, name: str, seconds: float) -> None:
        """See `_jax.dispatch.Observer`."""
        run = self.active
        if run is not None and is_capturing():
            run.call_log.compiled(stage, name, seconds)

    def known_sites(self) -> list[CallSite]:
        """The sites that have fired in any of the runs, by number."""
        self.collect()
        sites = {site.id: site for run in self._runs.values() for site in run.store.sites()}
        return [sites[number] for number in sorted(sites)]

    def muted(self) -> frozenset[int]:
        """The numbers of the sites that are switched off."""
        return self.capture.sites.muted()

    def mute(self, site_id: int, *, muted: bool) -> None:
        """Stop or go on recording a site, from now on, in all programs that contain it. Nothing is recompiled.

        Raises:
          KeyError: no such site.
        """
        if site_id not in {site.id for site in self.known_sites()}:
            msg = f"no site has the number {site_id}; `%jaxdebug sites` lists them"
            raise KeyError(msg)
        self.capture.sites.switch_of(site_id).off = muted

    def barrier(self, timeout: float | None) -> bool:
        """`jax.effects_barrier()` for this thread, giving up after `timeout` seconds; whether all has drained.

        Raises:
          Exception: what a failed effect raises in `jax.effects_barrier()`.
        """
        drained = threading.Event()
        self.waiter.when_ready(dispatch.pending_tokens(), lambda _error: drained.set())
        if not drained.wait(timeout):
            return False
        jax.effects_barrier()
        run = self.current
        return run is None or run.barrier(timeout)

    def inventory(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Inventory:
        """The callbacks of `function(*args, **kwargs)`, which does not run, see `jax_debug_widgets.callbacks`."""
        with self.capture.explaining():
            return inventory(function, args, kwargs, self.capture.sites.name_file)

    def feed_of(self, run: Run) -> Feed:
        """The browser's view of `run`."""
        with self._lock:
            return self._feeds.setdefault(run.key, Feed(run))

    def find_run(self, key: str) -> Run | None:
        """The run of that key, if it is still known."""
        return self._runs.get(key)

    def panel_of(self, run: Run) -> Panel:
        """The panel of `run`, made when first asked for."""
        with self._lock:
            if run.key not in self._panels:
                self._panels[run.key] = Panel(run.key, lambda: snapshot_of(run), self._open_channel(run))
            return self._panels[run.key]

    def snapshot(self, run: Run) -> Snapshot:
        """`run` as it stands now."""
        return snapshot_of(run)

    def send_news(self, run: Run) -> None:
        """Tell the browser what has happened in `run`, if it has a panel."""
        panel = self._panels.get(run.key)
        if panel is not None:
            for content, buffer in self.feed_of(run).news():
                panel.channel.send(content, buffer)

    def refresh_panel(self, run: Run) -> None:
        """Put the present state of `run` into the output that shows it."""
        panel = self._panels.get(run.key)
        if panel is not None:
            panel.refresh()

    def _open_channel(self, run: Run) -> Channel:
        if self._channel is None or not self._channel.serves(run.key):
            self._channel = Channel.open(run.key, functools.partial(answer, self))
        return self._channel

    def _remember(self, run: Run) -> None:
        self._runs[run.key] = run
        for key in list(self._runs)[:-_MAX_RUNS]:
            for table in (self._runs, self._feeds, self._panels):
                table.pop(key, None)


class Recording:
    """A run while it is going on: what has to be undone at its end."""

    def __init__(self, session: Session, run: Run) -> None:
        self.run = run
        self._session = session
        self._capturing: AbstractContextManager[None] | None = None
        if features.available(features.CAPTURE):
            self._capturing = session.capture.on(Settings(echo=run.options.echo))
            self._capturing.__enter__()
        self._pump = Pump(self._tick)
        self._pump.start()

    def finish(self, error: BaseException | None = None) -> None:
        """Capture no more, and wait until what was dispatched has drained, if the options say so."""
        run = self.run
        if self._capturing is not None:
            self._capturing.__exit__(None, None, None)
        run.call_log.abandon_all(error)
        run.returned(failed=error is not None)
        try:
            if run.options.barrier and not run.barrier(run.options.timeout):
                run.gave_up_waiting()
        except KeyboardInterrupt:
            run.gave_up_waiting(interrupted=True)
            raise
        finally:
            self._session.stop(run)
            if run.is_over():
                self._pump.stop()
                self._tick()
            else:
                # Who executes a notebook without a browser (nbclient) takes no later update: the cell is over for it.
                self._session.refresh_panel(run)

    def _tick(self) -> bool:
        # Asked before collecting: what fires until the effects have drained must be in the last batch.
        over = self.run.is_over()
        self._session.collect()
        self._session.send_news(self.run)
        if over:
            self._session.refresh_panel(self.run)
        return not over


def _ignore(_execution: Execution) -> None:
    pass


@functools.cache
def current_session() -> Session:
    """The session of this process, made when first asked for."""
    return Session()
