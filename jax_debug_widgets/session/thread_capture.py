"""Let a thread that captured code starts join the run of the thread that starts it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.origins.context import is_capturing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from jax_debug_widgets.session.collecting import Collector
    from jax_debug_widgets.session.dispatch_hooks import DispatchHooks
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.session.runs import Runs
    from jax_debug_widgets.taps import Capture


class ThreadCapture:
    """Lets new threads join the run of the thread that starts them."""

    def __init__(self, capture: Capture, runs: Runs, collector: Collector, hooks: DispatchHooks) -> None:
        self._capture, self._runs, self._collector, self._hooks = capture, runs, collector, hooks

    def inherited(self) -> Callable[[], AbstractContextManager[None]] | None:
        """Return the context for a thread that the current thread starts; None outside a capture."""
        own = self._runs.own
        return self._runs.heir(own[-1], self._join) if own and is_capturing() else None

    @contextmanager
    def _join(self, run: Run) -> Iterator[None]:
        try:
            with self._runs.joined(run):
                self._hooks.install()
                self._collector.record_threads(run)
                with self._capture.on(run.settings):
                    yield
        finally:
            self._hooks.remove_if_unused()
