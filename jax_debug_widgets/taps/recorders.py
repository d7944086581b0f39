"""Make recorders, which programs call when their taps fire, and reporters, which read firings from a program's results.

Recorders run on the program's own threads (the caller's, or XLA's), possibly millions of times. So they append to a
list and return. The reader of the inbox does all other work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, Protocol, cast

from jax_debug_widgets._jax.compat.arrays import on_cpu
from jax_debug_widgets.taps.written import TapWriter, writer

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets.events import Bundle, Inbox, Tap
    from jax_debug_widgets.taps.gate import Gate
    from jax_debug_widgets.taps.sites import Switch


class BundleRecorder(Protocol):
    """A recorder for several taps that fire together.

    Attributes:
      taps: the taps, in the order of their arrays.
      reporter: replaces the recorder in a program that returns the values among its results.
      writer: replaces the recorder in a loop that writes the values into a ring; None if each firing must call Python.
    """

    taps: tuple[Tap, ...]
    reporter: BundleReporter
    writer: TapWriter | None

    def __call__(self, *arrays: np.ndarray) -> tuple[()]:
        """See `Recorder`."""
        ...


class WholeRecorder(Protocol):
    """A recorder that also takes whole values, see `whole_recorder`; `stands_for` are the taps that it records."""

    stands_for: Bundle

    def __call__(self, *arrays: np.ndarray) -> tuple[()]:
        """See `Recorder`."""
        ...


class BundleReporter(Protocol):
    """Reads the firings of several taps from a program's results, see `_jax.passes.result_passing.ResultReporter`."""

    taps: tuple[Tap, ...]

    def __call__(self, times_ns: Sequence[int], thread: int, columns: Sequence[Sequence[np.ndarray]]) -> None:
        """See `_jax.passes.result_passing.ResultReporter`."""
        ...


def bundle_recorder(bundle: Bundle, switches: Sequence[Switch], inbox: Inbox, gate: Gate) -> BundleRecorder:
    """Make the recorder that a compiled program calls with the watched values of one body."""
    put, stamps = inbox.putter(bundle), inbox.stamps
    is_on_mesh, passed = bool(bundle.nesting.axes), gate.passage(bundle)

    def record(*arrays: np.ndarray) -> tuple[()]:
        if not all(switch.off for switch in switches):
            put((stamps.now(), *arrays))
        if is_on_mesh:
            passed(arrays[bundle.coordinates])
        if gate.closed:
            gate.may_pass(bundle, arrays)
        return ()

    put_all = inbox.putter_of_columns(bundle)

    def report(times_ns: Sequence[int], thread: int, columns: Sequence[Sequence[np.ndarray]]) -> None:
        if not all(switch.off for switch in switches):
            put_all(stamps.at(times_ns, thread), columns)

    chosen, reporter = cast("BundleRecorder", record), cast("BundleReporter", report)
    chosen.taps = reporter.taps = bundle.taps
    chosen.reporter = reporter
    chosen.writer = writer(bundle, inbox, gate)
    return chosen


def whole_recorder(
    bundle: Bundle, whole: Mapping[Tap, Tap], switches: Sequence[Switch], inbox: Inbox, gate: Gate
) -> WholeRecorder:
    """Make a recorder for a program that may stop; it also takes the whole values of some taps, as its last arrays.

    The whole values are shown while the program stands at this firing. They are not recorded.

    Args:
      whole: tap of the bundle -> the tap with its whole value. In the order of the whole values among the arrays.
    """
    put, stamps = inbox.putter(bundle), inbox.stamps
    is_on_mesh, passed, width = bool(bundle.nesting.axes), gate.passage(bundle), bundle.width

    def record(*arrays: np.ndarray) -> tuple[()]:
        plain, values = arrays[:width], arrays[width:]
        if not all(switch.off for switch in switches):
            put((stamps.now(), *plain))
        if is_on_mesh:
            passed(plain[bundle.coordinates])
        if gate.closed:
            gate.may_pass(
                bundle, plain, list(_with_values(bundle.firings(plain), dict(zip(whole, values, strict=True))))
            )
        return ()

    def _with_values(
        firings: Iterable[tuple[Tap, tuple[np.ndarray, ...]]], values: Mapping[Tap, np.ndarray]
    ) -> Iterator[tuple[Tap, tuple[np.ndarray, ...]]]:
        for tap, own in firings:
            if tap not in values:
                yield tap, own
                continue
            statistics = len(whole[tap].shapes) - 1
            yield whole[tap], (*own[:statistics], values[tap], *own[len(tap.shapes) :])

    chosen = cast("WholeRecorder", record)
    chosen.stands_for = bundle
    return chosen


class TapReporter:
    """Adds the firings of a print that finished calls returned among their results."""

    def __init__(self, tap: Tap, switch: Switch, inbox: Inbox, every: int) -> None:
        self.tap = tap
        self._switch, self._every = switch, every
        self._put, self._stamps = inbox.putter_of_columns(tap), inbox.stamps

    def __call__(self, times_ns: Sequence[int], thread: int, columns: Sequence[Sequence[np.ndarray]]) -> None:
        """See `_jax.passes.result_passing.ResultReporter`. Adds one firing of `every`, and none of a muted site."""
        if not (self._every == 1 and self._switch.is_plain):
            taken = [self._switch.takes(self._every) for _ in times_ns]
            times_ns, columns = [*compress(times_ns, taken)], [[*compress(column, taken)] for column in columns]
        self._put(self._stamps.at(times_ns, thread), columns)


class TapRecorder(Protocol):
    """A recorder for one tap, with what the passes ask about it.

    Attributes:
      tap: the tap.
      every: a program with a counter calls the recorder for one firing of `every`.
      writer: replaces the recorder in a loop that writes into a ring; None if each firing must call Python.
    """

    tap: Tap
    every: int
    writer: TapWriter | None

    def __call__(self, *arrays: np.ndarray) -> Any:
        """See `Recorder`."""
        ...


def recorder(
    tap: Tap, switch: Switch, inbox: Inbox, run: Callable[..., object] | None, gate: Gate, every: int = 1
) -> TapRecorder:
    """Make the recorder that a compiled program calls when `tap` fires. It then calls `run` for each lane in JAX's order.

    It records one firing of `every`, and none of a muted site. The user's own function runs each time.
    """
    record = _recorder(tap, switch, inbox, gate, every)

    def record_and_run(*arrays: np.ndarray) -> tuple[()]:
        assert run is not None
        record(*arrays)
        for lane in tap.lane_order:
            run(*(on_cpu(value) for value in tap.values_of(arrays, lane)))
        return ()

    chosen = cast("TapRecorder", record if run is None else record_and_run)
    chosen.tap = tap
    chosen.writer = writer(tap, inbox, gate, switch) if run is None and every == 1 else None
    return chosen


def unless_muted(switch: Switch, run: Callable[..., object]) -> Callable[..., object]:
    """Wrap `run` so that it does nothing while its site is muted."""
    return lambda *values: None if switch.off else run(*values)


def _recorder(tap: Tap, switch: Switch, inbox: Inbox, gate: Gate, every: int) -> Callable[..., tuple[()]]:
    put, stamps, passed, coordinates = inbox.putter(tap), inbox.stamps, gate.passage(tap), tap.coordinates
    all_of_them = every == 1

    def record(*arrays: np.ndarray) -> tuple[()]:
        if (all_of_them and switch.is_plain) or switch.takes(every):
            put((stamps.now(), *arrays))
        if gate.closed:
            gate.may_pass(tap, arrays)
        return ()

    def record_one(array: np.ndarray) -> tuple[()]:
        # The same as `record` for one array: making the tuple of arguments takes as long as all the rest.
        if (all_of_them and switch.is_plain) or switch.takes(every):
            put((stamps.now(), array))
        if gate.closed:
            gate.may_pass(tap, (array,))
        return ()

    def record_on_mesh(*arrays: np.ndarray) -> tuple[()]:
        passed(arrays[coordinates])
        return record(*arrays)

    return record_on_mesh if tap.nesting.axes else record_one if tap.width == 1 else record
