"""Note what JAX does with callbacks before they run: which ones it removes from a program, which ones it refuses and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jax_debug_widgets.taps.outcomes import OutcomeBook, ResultCounts
from jax_debug_widgets.taps.refusals import refused

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import DebugCall, Recorder
    from jax_debug_widgets._jax.running.callback_hooks import Refusal
    from jax_debug_widgets.taps.sites import SiteBook

RETURNING = frozenset({"pure", "io"})
"""The kinds of callbacks that return results. JAX may remove such a call when the program does not use its result."""


class CallbackListener:
    """Writes what `CallbackHooks` reports into the `OutcomeBook` of the current thread."""

    def __init__(
        self, sites: SiteBook, book: Callable[[], OutcomeBook], make_recorder: Callable[[DebugCall], Recorder]
    ) -> None:
        self._sites = sites
        self._book = book
        self._make_recorder = make_recorder

    def recorder_of(self, equation: DebugCall) -> Recorder:
        """See `_jax.running.callback_hooks.Listener`."""
        return self._make_recorder(equation)

    def lowered(self, traced: Sequence[DebugCall], kept: Sequence[DebugCall]) -> None:
        """See `_jax.running.callback_hooks.Listener`."""
        staged = Counter(self._sites.site_of(equation) for equation in traced if equation.kind in RETURNING)
        remaining = Counter(self._sites.site_of(equation) for equation in kept if equation.kind in RETURNING)
        self._book().staged.extend(ResultCounts(site, count, remaining[site]) for site, count in staged.items())

    def refused(self, refusal: Refusal) -> None:
        """See `_jax.running.callback_hooks.Listener`."""
        self._book().refused.append(refused(refusal))
