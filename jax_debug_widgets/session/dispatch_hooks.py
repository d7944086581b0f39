"""Install the hooks that see calls and waits, while there is a run with a thread that may make some."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.running import dispatch
from jax_debug_widgets._jax.running.waits import Waits

if TYPE_CHECKING:
    from jax_debug_widgets.session.observer import SessionObserver
    from jax_debug_widgets.session.runs import Runs


class DispatchHooks:
    """Installs and removes the hooks of calls and of waits.

    Attributes:
      watch: sees the calls.
    """

    def __init__(self, observer: SessionObserver, runs: Runs) -> None:
        self.watch = dispatch.DispatchWatch(observer)
        self._waits = Waits(observer.waited)
        self._runs = runs
        self._installed_waits = ExitStack()
        self._are_installed = False

    def install(self) -> None:
        """Install the hooks unless they are installed."""
        with self._runs.lock:
            if not self._are_installed:
                self._are_installed = True
                if features.available(features.CALLS):
                    self.watch.start()
                self._installed_waits.enter_context(self._waits.in_place())

    def remove_if_unused(self) -> None:
        """Remove the hooks if no thread can make a call for a run any more."""
        with self._runs.lock:
            if self._are_installed and not self._runs.are_dispatching:
                self._are_installed = False
                if features.available(features.CALLS):
                    self.watch.stop()
                self._installed_waits.close()
