"""Measure the time of an event on this machine: in plain JAX, and in a capture."""

from __future__ import annotations

import contextlib
import functools
import io
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jax_debug_widgets._jax.studies.cost import equation_of, loop_of, seconds_of, tap
from jax_debug_widgets.events import CallContext, Inbox
from jax_debug_widgets.store import Budget, Store
from jax_debug_widgets.taps.equation_taps import make_tap, nesting_of
from jax_debug_widgets.taps.gate import Gate
from jax_debug_widgets.taps.outcomes import OutcomeBook
from jax_debug_widgets.taps.recorders import recorder
from jax_debug_widgets.taps.sites import SiteBook, Switch

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import Recorder

Shapes = tuple[tuple[int, ...], ...]
Types = tuple[np.dtype[Any], ...]

_TIMES = 300
"""The number of events in a measurement for scalars, which take some 15 ms in plain JAX. Larger values have fewer events."""

_BYTES = 16 << 20
"""The most bytes that one measurement moves."""

_FEWEST = 3
_REPEATS = 3


@dataclass(frozen=True)
class EventCost:
    """The seconds of one event: in plain JAX (a print to nowhere), and in a capture."""

    plain: float
    captured: float


@functools.lru_cache(maxsize=1024)
def event_cost(prints: bool, shapes: Shapes, dtypes: Types) -> EventCost:
    """Measure the time of an event with these values, until the store has it. A process measures it only once.

    No function of the user's is called, and nothing is printed.

    Args:
      prints: whether the event formats its values, as `jax.debug.print` does. Other kinds call a function that does nothing.
      shapes, dtypes: the types of the values.
    """
    nbytes = sum(math.prod(shape) * dtype.itemsize for shape, dtype in zip(shapes, dtypes, strict=True))
    times = max(min(_TIMES, _BYTES // max(nbytes, 1)), _FEWEST)
    emit = _print if prints else _call_nothing
    nothing, plain = (loop_of(one, shapes, dtypes, times) for one in (lambda *_: None, emit))
    inbox = Inbox()
    record = _recorder(prints, shapes, dtypes, inbox)
    captured = loop_of(functools.partial(tap, record), shapes, dtypes, times)

    def run_captured() -> None:
        seconds_of(captured)
        store = Store(Budget(), time.perf_counter_ns())
        batch = inbox.take()
        store.ingest(batch, np.full(len(batch), -1))

    with contextlib.redirect_stdout(io.StringIO()):
        without, theirs, ours = map(_best, (nothing, plain, run_captured))
    return EventCost(max(theirs - without, 0.0) / times, max(ours - without, 0.0) / times)


def _best(program: Callable[[], Any]) -> float:
    seconds_of(program)  # The first call compiles it.
    return min(seconds_of(program) for _ in range(_REPEATS))


def _recorder(prints: bool, shapes: Shapes, dtypes: Types, inbox: Inbox) -> Recorder:
    """Make the recorder that a capture would compile in, for this inbox."""
    equation = equation_of(_nothing, shapes, dtypes)
    one = make_tap(SiteBook().site_of(equation), equation, nesting_of(equation))
    gate = Gate()
    if prints:
        return recorder(one, Switch(), inbox, None, gate)
    return OutcomeBook(gate).recorder(one, CallContext(), Switch(), inbox, equation.run, 1)


def _print(*values: Any) -> None:
    jax.debug.print(" ".join(["{}"] * len(values)), *values)


def _call_nothing(*values: Any) -> None:
    jax.debug.callback(_nothing, *values)


def _nothing(*_values: Any) -> None:
    """Do nothing, as a host function that takes no time."""
