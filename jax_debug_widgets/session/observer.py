"""Hand what JAX's hooks report about the programs of this process to the run that each program belongs to."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.compat import native
from jax_debug_widgets._jax.compat.names import function_of
from jax_debug_widgets._jax.origins.context import is_capturing
from jax_debug_widgets.checks.retraces import why_again
from jax_debug_widgets.session.earlier_traces import EarlierTraces

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax_debug_widgets._jax.origins.equation import Recorders
    from jax_debug_widgets._jax.running.backlog import HandOver
    from jax_debug_widgets._jax.running.dispatch import Execution, Stage
    from jax_debug_widgets._jax.running.waits import Wait
    from jax_debug_widgets._jax.tracing.traces import Trace
    from jax_debug_widgets.session.ports import ObservedSession
    from jax_debug_widgets.session.run.record import CallRecord
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.taps import Printed


class SessionObserver:
    """Finds the run of each call, trace and wait that the hooks report. It is a `_jax.running.dispatch.Observer`.

    The hooks call it in the thread that dispatches, traces or waits.

    Attributes:
      in_many_devices: the number of programs on several devices that are being dispatched now.
    """

    def __init__(self, session: ObservedSession) -> None:
        self._session = session
        self._earlier = EarlierTraces()
        self.in_many_devices = 0

    def executing(self, name: str, ordered: bool, recorders: Recorders | None) -> Callable[[Execution], None]:
        """See `_jax.running.dispatch.Observer`."""
        run = self._session.active
        if run is None or self._session.capture.is_explaining():
            return _ignore
        self._session.debugger.ending.before_call()
        if recorders is None or not is_capturing():
            self._note_missing(run, name)
            return _ignore
        run.dispatching(recorders)
        if run.call_log.is_dispatching:  # Two calls are then at work; the thread tells which one an event belongs to.
            self._session.collector.record_threads(run)
        if run.policy.job is not None and recorders.share is not None and recorders.share.is_of_all:
            run.policy.job.before_call(function_of(name))
        alone = not (recorders.are_counted or recorders.are_results)
        in_turn = recorders.fire_elsewhere or alone
        executed = run.call_log.executing(
            self._session.twin_hooks.named(name),
            ordered,
            recorders.taps,
            in_turn=in_turn,
            alone=alone,
            share=recorders.share,
            begun=partial(self._begun, run, recorders),
        )
        many = recorders.on_many_devices
        self.in_many_devices += many
        run.is_on_many_devices |= many

        def left(execution: Execution) -> None:
            self.in_many_devices -= many
            # On one CPU device the calling thread runs the program, unless the program has to wait for its arguments.
            recorders.fire_elsewhere |= not execution.finished and execution.handed is None
            if execution.is_silent and not recorders.are_counted:  # Then only the thread tells the call of an event.
                self._session.collector.record_threads(run)
            executed(execution)

        return left

    def _note_missing(self, run: Run, name: str) -> None:
        """Note why the events of a program are missing, unless a note already says why the program has no taps."""
        if not is_capturing():
            thread = threading.current_thread().name
            run.note(
                f"{name} ran in the thread {thread!r}, which does not capture: its prints and callbacks are missing here. "
                "Use jax_debug_widgets.capture() in that thread."
            )
        elif function_of(name) not in self._session.capture.failures.functions:
            run.note(
                f"{name} was compiled before the capture (`.lower().compile()`), so its prints and callbacks are missing here: "
                "call the jitted function, or compile it in the capture."
            )

    def _begun(self, run: Run, recorders: Recorders, record: CallRecord) -> None:
        record.program = recorders.program = self._session.capture.running_programs.running
        self._session.call_programs.take(run.key, record.program())
        if run.options.kept_inputs:
            run.inputs.called(record, self._session.input_hooks.take())

    def ran(self, program: Any) -> None:
        """Note that this thread begins to run a program from Python."""
        run = self._session.active
        if run is not None and not self._session.capture.is_explaining() and run.call_log.ran(program):
            self._session.call_programs.take(run.key, program)

    def dispatched(self, name: str, recorders: Recorders, hand_over: HandOver) -> None:
        """See `_jax.running.dispatch.Observer`. A training step waits for this method, so it leaves work for later."""
        run = self._session.active
        if run is None or self._session.capture.is_explaining():
            hand_over(None)
            return
        self._session.debugger.ending.before_call()
        run.dispatching(recorders)
        run.is_on_many_devices |= recorders.on_many_devices
        run.call_log.dispatched(self._session.twin_hooks.named(name), recorders.taps, hand_over, recorders.program)

    def failed(self, error: BaseException) -> BaseException:
        """See `_jax.running.dispatch.Observer`."""
        return self._session.debugger.ending.consequence(error)

    def compiled(self, stage: Stage, name: str, seconds: float) -> None:
        """See `_jax.running.dispatch.Observer`."""
        run = self._session.active
        if run is not None and is_capturing():
            by_numba = native.seconds_waited(within=seconds)
            run.call_log.compiled(stage, name, seconds - by_numba, by_numba)

    def prepared(self, name: str, seconds: float) -> None:
        """Note that a program now has the taps of its watched values, which took `seconds`."""
        run = self._session.active
        if run is not None and is_capturing():
            by_numba = native.seconds_waited(within=seconds)
            run.call_log.prepared(name, seconds - by_numba, by_numba)

    def traced(self, trace: Trace, program: Any) -> None:
        """Note that this thread has traced a jitted function of the user's; `program` is None inside another program."""
        run = self._session.active
        if run is not None:
            run.take_trace(trace, program, why_again(trace, self._earlier.before(trace)))

    def printed(self, printed: Printed) -> None:
        """Note that a function that this thread traces has called Python's `print`."""
        run = self._session.active
        if run is not None:
            run.take_print(printed)

    def waited(self, what: Wait, began_ns: int, ended_ns: int) -> None:
        """See `_jax.running.waits.Waited`."""
        run = self._session.active
        if run is not None:
            run.call_log.waited(what, began_ns, ended_ns)


def _ignore(_execution: Execution) -> None:
    pass
