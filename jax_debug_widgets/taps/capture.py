"""Record what compiled programs say: taps made at lowering, firings appended at run time.

The recorder of a tap runs on the program's own threads (the caller's, or XLA's), possibly millions of times, so it
appends one tuple to a deque and returns. Everything else is done by whoever empties the inbox.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from jax_debug_widgets._jax.arrays import on_cpu
from jax_debug_widgets._jax.callback_hooks import CallbackHooks
from jax_debug_widgets._jax.hooks import Hooks, capturing, is_capturing
from jax_debug_widgets.events import Firing, Nesting, Tap
from jax_debug_widgets.taps.callbacks import CallbackListener
from jax_debug_widgets.taps.outcomes import CALLING, OutcomeBook, asked_by
from jax_debug_widgets.taps.sites import SiteBook, Switch
from jax_debug_widgets.taps.text import can_be_formatted, renderer, unflattener

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets._jax.equation import Equation, Recorder
    from jax_debug_widgets.events import CallSite


@dataclass(frozen=True)
class Settings:
    """What is compiled into a captured program. Equal settings share executables.

    Attributes:
      echo: prints are also written to stdout, when they fire, as JAX writes them.
    """

    echo: bool = False


class Capture:
    """The taps of this process and the inbox that they fill."""

    def __init__(self, sites: SiteBook | None = None) -> None:
        self.sites = SiteBook() if sites is None else sites
        self.inbox: deque[Firing] = deque()
        self.outcomes = OutcomeBook()
        self._hooks = Hooks(self._make_recorder)
        listener = CallbackListener(
            self.sites, self.outcomes, lambda equation: self._make_recorder(equation, Settings())
        )
        self._callback_hooks = CallbackHooks(listener, is_capturing)
        self._taps: dict[Hashable, Tap] = {}

    @contextmanager
    def on(self, settings: Settings) -> Iterator[None]:
        """Capture what the current thread dispatches. May be nested; the inner settings hold."""
        self._hooks.install()
        self._callback_hooks.install()
        try:
            with capturing(settings):
                yield
        finally:
            self._callback_hooks.remove()
            self._hooks.remove()

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Explain what JAX refuses, in `outcomes.notes` and below the error; nothing is captured."""
        self._hooks.install()
        try:
            with capturing(None), self._callback_hooks.explaining():
                yield
        except Exception as error:
            for _ in range(len(self.outcomes.notes)):
                error.add_note(self.outcomes.notes.popleft())
            raise
        finally:
            self._hooks.remove()

    def _make_recorder(self, equation: Equation, settings: Settings) -> Recorder:
        # A print that must raise does what JAX does, and so raises what JAX raises.
        silent = equation.kind == "print" and not settings.echo and can_be_formatted(equation)
        tap = self._tap_of(equation)
        switch = self.sites.switch_of(tap.site.id)
        if equation.kind in CALLING:
            asked = asked_by(equation, self.sites.line_of)
            return self.outcomes.recorder(tap, asked, switch, self.inbox, equation.run)
        if equation.kind == "sharding":
            return self.outcomes.sharding_recorder(tap, switch, self.inbox, equation.run)
        return recorder(tap, switch, self.inbox, None if silent else equation.run)

    def _tap_of(self, equation: Equation) -> Tap:
        """The tap for this equation: an equal one if there is, so that un-jitted loops and recompilations share it."""
        site = self.sites.site_of(equation)
        static = tuple((position, id(leaf)) for position, leaf in equation.static.items())
        key = (
            site.id,
            equation.shapes,
            equation.dtypes,
            static,
            equation.lanes,
            equation.text_options,
            equation.types,
            equation.order,
            equation.callers,
        )
        if key not in self._taps:
            self._taps[key] = make_tap(site, equation)
        return self._taps[key]


def make_tap(site: CallSite, equation: Equation) -> Tap:
    """The tap of one debugging equation."""
    lanes = equation.lanes
    sizes = [math.prod(shape) * dtype.itemsize for shape, dtype in zip(equation.shapes, equation.dtypes, strict=True)]
    return Tap(
        site=site,
        lanes=lanes.sizes,
        mapped=lanes.mapped,
        shapes=tuple(shape[sum(axes) :] for shape, axes in zip(equation.shapes, lanes.mapped, strict=True)),
        dtypes=equation.dtypes,
        nesting=nesting_of(equation),
        nbytes=sum(sizes),
        unflatten=unflattener(equation),
        render=renderer(equation),
    )


def nesting_of(equation: Equation) -> Nesting:
    """What is around the equation, as the other rooms know it."""
    return Nesting(
        loops=tuple(loop.length for loop in equation.loops),
        conditional=equation.conditional,
        in_condition=equation.in_condition,
        steady=equation.steady,
        axes=equation.axes,
        devices=equation.devices,
    )


class TapRecorder(Protocol):
    """A recorder that can be asked what it records."""

    tap: Tap

    def __call__(self, *arrays: np.ndarray) -> tuple[()]:
        """See `Recorder`."""
        ...


def recorder(tap: Tap, switch: Switch, inbox: deque[Firing], run: Callable[..., object] | None) -> TapRecorder:
    """The function that a compiled program calls when `tap` fires; then `run`, for each lane in JAX's order.

    A muted site records nothing; the user's own function still runs.
    """
    append, clock = inbox.append, time.perf_counter_ns

    def record(*arrays: np.ndarray) -> tuple[()]:
        if not switch.off:
            append((tap, clock(), arrays))
        return ()

    def record_and_run(*arrays: np.ndarray) -> tuple[()]:
        assert run is not None
        if not switch.off:
            append((tap, clock(), arrays))
        for lane in tap.lane_order:
            run(*(on_cpu(value) for value in tap.values_of(arrays, lane)))
        return ()

    chosen = cast("TapRecorder", record if run is None else record_and_run)
    chosen.tap = tap
    return chosen
