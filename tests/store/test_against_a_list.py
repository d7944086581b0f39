"""Test that the store gives the answers of a plain list of all events, for the events that it keeps."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from jax_debug_widgets.events import COUNTED, Nesting
from jax_debug_widgets.store import Budget, Store
from jax_debug_widgets.store.segment import LARGE, OVERHEAD
from tests.store.firing_batches import batch_of

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@dataclass
class Expected:
    """An event in the list."""

    tap: object
    time_ns: int
    occurrence: int
    lane: tuple
    call: int
    values: list
    step: tuple
    coordinates: dict
    device: str
    last_of_firing: bool
    first_of_firing: bool


class PlainList:
    """A simple version of the store: it keeps every event, and searches all of them for each question."""

    def __init__(self, budget, origin_ns) -> None:
        self.budget, self.origin_ns, self.events, self.oldest = budget, origin_ns, [], 0
        self.fired = Counter()
        self.fired_in = Counter()

    def ingest(self, firings, calls):
        for (tap, time_ns, arrays), call in zip(firings, calls, strict=True):
            occurrence = self.fired[tap.site.id]
            self.fired[tap.site.id] += 1
            coordinates = {
                axis: int(array) for axis, array in zip(tap.nesting.axes, arrays[len(tap.shapes) :], strict=True)
            }
            step = step_of(tap.nesting, self.ordinal(tap, coordinates, call))
            lanes = [lane[::-1] for lane in itertools.product(*(range(n) for n in tap.lanes[::-1]))]
            for number, lane in enumerate(lanes):
                values = [
                    array[tuple(i for i, present in zip(lane, axes, strict=True) if present)]
                    for array, axes in zip(arrays[: len(tap.shapes)], tap.mapped, strict=True)
                ]
                self.events.append(
                    Expected(
                        tap=tap,
                        time_ns=time_ns - self.origin_ns,
                        occurrence=occurrence,
                        lane=lane,
                        call=call,
                        values=values,
                        step=step,
                        coordinates=coordinates,
                        device=device_of(tap.nesting, coordinates),
                        last_of_firing=number == len(lanes) - 1,
                        first_of_firing=number == 0,
                    )
                )
        self.forget()

    def ordinal(self, tap, coordinates, call):
        """Return how often this tap had fired on this device since its call began."""
        key = (call, tap, *coordinates.values())
        self.fired_in[key] += 1
        return self.fired_in[key] - 1

    def forget(self):
        while self.events[self.oldest :] and (
            len(self.events) - self.oldest > self.budget.events or self.nbytes > self.room
        ):
            while not self.events[self.oldest].last_of_firing:
                self.oldest += 1
            self.oldest += 1

    @property
    def nbytes(self):
        return sum(e.tap.nbytes + OVERHEAD for e in self.events[self.oldest :] if e.first_of_firing)

    @property
    def room(self):
        """Return the bytes for kept events: once a firing was large, an eighth of all is reserved for waiting ones."""
        largest, whole = max((e.tap.nbytes for e in self.events), default=0), self.budget.nbytes
        return whole if largest < COUNTED else max(whole - max(whole // 8, largest), min(largest + OVERHEAD, whole))

    def dropped(self):
        return Counter(e.tap.site.id for e in self.events[: self.oldest])

    def seen(self):
        return Counter(e.tap.site.id for e in self.events)


def step_of(nesting, ordinal):
    outer, inner = nesting.loops[:1], nesting.loops[1:]
    if not outer or nesting.conditional or None in inner:
        return ()
    inside = list(itertools.product(*map(range, inner)))
    return ordinal // len(inside), *inside[ordinal % len(inside)]


def flat_step(e):
    """Return the outermost iteration, and the index over the inner loops in row-major order; -1 if there is none."""
    inner = 0
    for length, iteration in zip(e.tap.nesting.loops[1:], e.step[1:], strict=False):
        inner = inner * length + iteration
    return e.step[0] if e.step else -1, inner if e.step[1:] else -1


def device_of(nesting, coordinates):
    return "" if nesting.devices is None else nesting.devices[coordinates["a"]][coordinates["b"]]


def taps_of(make_tap):
    f32 = np.dtype(np.float32)
    return [
        make_tap(1),
        make_tap(2, shapes=((), (3,)), dtypes=(f32, BFLOAT16)),
        make_tap(3, lanes=(4,), dtypes=(BFLOAT16,)),
        make_tap(4, lanes=(2, 3), shapes=((), (2,), ()), mapped=((True, False), (False, True), (True, True))),
        make_tap(5, shapes=((),), dtypes=(np.dtype(bool),)),
        make_tap(6, shapes=((0, 2),)),
        make_tap(7, shapes=()),
        make_tap(8, lanes=(2,), shapes=((LARGE // 4,),)),
        make_tap(9, lanes=(2, 2), shapes=((2, 2),), dtypes=(np.dtype(np.complex64),)),
        make_tap(1, shapes=((),), lanes=(3,)),  # The same site, vmapped.
        make_tap(10, nesting=Nesting(loops=(3,))),
        make_tap(11, lanes=(2,), nesting=Nesting(loops=(None, 2, 3), axes=("a", "b"))),
        make_tap(12, shapes=((), (2,)), nesting=Nesting(loops=(4,), conditional=True, axes=("a",))),
        make_tap(13, nesting=Nesting(loops=(2, None))),
        make_tap(14, lanes=(3,), nesting=Nesting(axes=("a", "b"), devices=[["cpu:1", "cpu:0"], ["cpu:2", "cpu:3"]])),
    ]


BUDGETS = {
    "everything": Budget(),
    "few events": Budget(events=37),
    "one event": Budget(events=1),
    "few bytes": Budget(nbytes=5000),
    "less than any firing": Budget(nbytes=1),
    "both": Budget(events=100, nbytes=9000),
}


@pytest.fixture(params=BUDGETS.values(), ids=BUDGETS)
def filled(request, make_tap, fire):
    """Return a store and the plain list, after each of some random batches."""

    def steps(seed):
        rng = np.random.default_rng(seed)
        taps, clock = taps_of(make_tap), 1000
        store, twin = Store(request.param, 1000), PlainList(request.param, 1000)
        for _ in range(12):
            firings = []
            for _ in range(rng.integers(0, 40)):
                clock += int(rng.integers(1, 5))
                firings.append(fire(taps[rng.integers(len(taps))], clock, rng))
            calls = rng.integers(-1, 4, len(firings))
            store.ingest(batch_of(firings), calls)
            twin.ingest(firings, calls)
            yield store, twin, rng

    return steps


def agree(event, position, expected):
    assert event.seq == position
    assert event.site is expected.tap.site or event.site == expected.tap.site
    assert (event.time_ns, event.occurrence) == (expected.time_ns, expected.occurrence)
    assert (event.lane, event.call) == (expected.lane, expected.call)
    assert (event.step, event.mesh_coords) == (expected.step, expected.coordinates)
    assert event.device == expected.device
    assert len(event.values) == len(expected.values)
    for value, wanted in zip(event.values, expected.values, strict=True):
        assert (value.dtype, value.shape, value.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.each
def test_counts_bytes_and_drops_are_exact(filled, seed):
    for store, twin, _ in filled(seed):
        assert len(store) == len(twin.events)
        assert store.oldest == twin.oldest
        assert store.nbytes == twin.nbytes
        assert store.dropped_by_site() == dict(twin.dropped())
        assert store.seen_by_site() == dict(twin.seen())
        kept = Counter(event.site.id for event in store.range(0, len(store)))
        assert Counter(store.dropped_by_site()) + kept == Counter(store.seen_by_site())
        assert [site.id for site in store.sites()] == list(dict.fromkeys(e.tap.site.id for e in twin.events))


@pytest.mark.parametrize("seed", range(3))
def test_events_by_position_range_and_last_agree(filled, seed):
    for store, twin, rng in filled(seed):
        every = store.range(-5, len(store) + 5)
        assert [event.seq for event in every] == list(range(twin.oldest, len(twin.events)))
        for event in every:
            agree(event, event.seq, twin.events[event.seq])
        start, stop = sorted(rng.integers(-3, len(store) + 3, 2).tolist())
        wanted = range(max(start, twin.oldest), min(stop, len(twin.events)))
        assert [event.seq for event in store.range(start, stop)] == list(wanted)
        count = int(rng.integers(0, 20))
        newest = list(range(twin.oldest, len(twin.events)))[-count:] if count else []
        assert [event.seq for event in store.last(count)] == newest
        for gone in (-1, store.oldest - 1, len(store), len(store) + 1):
            with pytest.raises(IndexError, match="is not kept"):
                store.event(gone)


@pytest.mark.parametrize("seed", range(3))
def test_columns_agree(filled, seed):
    for store, twin, rng in filled(seed):
        start, stop = sorted(rng.integers(-3, len(store) + 3, 2).tolist())
        position = max(start, twin.oldest)
        for piece in store.columns(start, stop):
            assert piece.first == position
            steps = zip(piece.step, piece.inner, piece.device, strict=True)
            rows = zip(piece.site, piece.time_ns, piece.occurrence, piece.lane, piece.call, steps, strict=True)
            for *row, told in rows:
                e = twin.events[position]
                lane = np.ravel_multi_index(e.lane, e.tap.lanes) if e.tap.lanes else -1
                assert row == [e.tap.site.id, e.time_ns, e.occurrence, lane, e.call]
                assert told == (*flat_step(e), store.devices.index(e.device) if e.device else -1)
                position += 1
        assert position == max(start, twin.oldest, min(stop, len(twin.events)))


@pytest.mark.parametrize("seed", range(3))
def test_numbers_agree(filled, seed):
    for store, twin, rng in filled(seed):
        start, stop = sorted(rng.integers(-3, len(store) + 3, 2).tolist())
        found = {
            (int(position), index): value.reshape(twin.events[position].values[index].shape)
            for _, index, positions, values in store.numbers(start, stop)
            for position, value in zip(positions, values, strict=True)
        }
        wanted = {
            (position, index): twin.events[position].values[index]
            for position in range(max(start, twin.oldest), min(stop, len(twin.events)))
            for index in twin.events[position].tap.plotted
        }
        assert found.keys() == wanted.keys()
        assert all(found[key].tobytes() == wanted[key].tobytes() for key in wanted)


@pytest.mark.parametrize("seed", range(3))
def test_series_agree(filled, seed):
    for store, twin, _ in filled(seed):
        for site, value in ((1, 0), (2, 1), (3, 0), (4, 0), (4, 1), (4, 2), (6, 0), (8, 0), (9, 0)):
            positions, occurrences, values = store.history.series(site, value)
            wanted = [(p, e) for p, e in enumerate(twin.events) if p >= twin.oldest and e.tap.site.id == site]
            assert positions.tolist() == [p for p, _ in wanted]
            assert occurrences.tolist() == [e.occurrence for _, e in wanted]
            assert len(values) == len(wanted)
            times, calls = store.history.arrivals(site)
            assert list(zip(times, calls, strict=True)) == [(e.time_ns, e.call) for _, e in wanted]
            assert values.astype(np.complex64).tobytes() == b"".join(
                e.values[value].astype(np.complex64).tobytes() for _, e in wanted
            )


def test_a_budget_must_be_positive():
    for wrong in ({"events": 0}, {"nbytes": -1}):
        with pytest.raises(ValueError, match="must be positive"):
            Budget(**wrong)
