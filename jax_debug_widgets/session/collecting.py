"""Move firings from the inboxes of captures to the stores of their runs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.compat.uninterrupted import uninterrupted

if TYPE_CHECKING:
    from jax_debug_widgets.events import FiringBatch
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.session.runs import Runs
    from jax_debug_widgets.taps import Capture
    from jax_debug_widgets.taps.untaken_firings import UntakenFirings

_log = logging.getLogger(__name__)


class Collector:
    """Empties the boxes of the capture into the runs that read them."""

    def __init__(self, capture: Capture, runs: Runs) -> None:
        self._capture, self._runs = capture, runs

    def collect(self) -> None:
        """Move all firings from the boxes to the runs that read them. Safe from any thread."""
        self._capture.gate.count()
        self._capture.handover.backlog.report()
        with self._runs.lock, uninterrupted():
            for number, box in list(self._capture.boxes.items()):
                run = self._runs.reads(number) or self._runs.latest_of(number)
                if run is None:
                    continue
                try:
                    self._empty(box, run)
                except Exception as error:  # noqa: BLE001 - it would end the program that is captured.
                    _log.exception("jax_debug_widgets could not take in the events of a run")
                    run.note(f"Some events are lost ({error!r}). This is a fault of ours: please report it.")

    def _empty(self, box: UntakenFirings, run: Run) -> None:
        # Asked before the box is emptied: the firings of drained calls are in the box now, or in the store already.
        pending, drained = run.call_log.pending(), run.call_log.take_drained()
        if box.firings:
            _ingest(run, box.take())
        self.make_room(run)
        run.callbacks.take()
        run.expectations.compare(drained, pending)

    def make_room(self, run: Run) -> None:
        """Limit the bytes that may wait in the box of `run` to the space that is free in its store."""
        box = self._capture.box(run.box)
        box.firings.limit, box.outcomes.results.limit = run.store.free, run.callbacks.budget

    def waiting(self, run: Run) -> int:
        """Count the times and arrays that wait in the box of `run`, see `Inbox.waiting`."""
        return self._capture.box(run.box).firings.waiting

    def record_threads(self, run: Run, wanted: bool = True) -> None:
        """Note the thread of each event of `run` from now on; with `wanted=False`, do so no longer."""
        self._capture.box(run.box).firings.stamps.record_threads(wanted)


def _ingest(run: Run, batch: FiringBatch) -> None:
    calls, mixed = run.call_log.attribute(batch.times_ns - run.life.origin_ns, batch)
    for site_id, last_call in mixed.items():
        run.note(
            f"{run.dispatched[site_id].where} fired while several threads made calls at the same time. The call and the "
            "step of these events are not known."
        )
        if not run.store.is_doubtful(site_id, last_call):
            run.store.doubt(site_id, last_call)
    run.store.ingest(batch, calls, run.call_log.executions(calls, batch))
    run.call_log.count(calls, batch)
