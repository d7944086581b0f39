"""Choose the rows that a recording writes about calls, so that no row says more than the events in the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.events import Call
    from jax_debug_widgets.session.run.calls import CallLog


class CallRows:
    """Takes the calls that have changed since the last time."""

    def __init__(self, log: CallLog) -> None:
        self._log = log
        self._version = 0
        self._early: list[Call] = []
        """The calls of the last time that were over after their events had been collected."""

    def take(self, collected_ns: int | None) -> list[Call]:
        """Return the calls that have changed.

        A call that was over later than `collected_ns` may have events that are not written yet. If the process is killed
        now, they are lost. So its row says that it goes on; the next one says that it is over.

        Args:
          collected_ns: when the written events began to be collected, in ns since the run started; None if all are written.
        """
        calls, self._version = self._log.calls(self._version)
        calls = [*self._early, *calls]
        self._early = [] if collected_ns is None else [one for one in calls if _is_over_after(one, collected_ns)]
        early = {one.id for one in self._early}
        return [_going_on(one) if one.id in early else one for one in calls]


def _is_over_after(call: Call, at_ns: int) -> bool:
    return call.effects and call.state == "drained" and call.drained_ns is not None and call.drained_ns > at_ns


def _going_on(call: Call) -> Call:
    return replace(call, drained_ns=None, state="dispatched" if call.ready_ns is None else "ready")
