"""Test the events that wait to be taken in: none is lost or mixed up, and large values do not fill the memory."""

from __future__ import annotations

import threading
from collections import Counter

import numpy as np
import pytest

from jax_debug_widgets.events import COUNTED, Bundle, Inbox, Nesting
from jax_debug_widgets.store import Budget, Store

ELEMENTS = 1 << 18
NBYTES = 4 * ELEMENTS


def value_of(number):
    return np.full(ELEMENTS, number, np.float32)


def lost_of(batch):
    return [False] * len(batch) if batch.lost is None else batch.lost.tolist()


def test_firings_come_out_as_they_went_in(make_tap, fire):
    rng, inbox = np.random.default_rng(0), Inbox()
    taps = [make_tap(1), make_tap(2, shapes=((), (3,))), make_tap(3, shapes=()), make_tap(4, shapes=((COUNTED,),))]
    firings = [fire(taps[rng.integers(4)], i, rng) for i in range(500)]
    assert not inbox
    for tap, time_ns, arrays in firings:
        inbox.putter(tap)((time_ns, *arrays))
    assert inbox
    batch = inbox.take()
    assert not inbox
    assert len(inbox.take()) == 0
    assert [batch.taps[number] for number in batch.tap] == [tap for tap, _, _ in firings]
    assert batch.times_ns.tolist() == list(range(500))
    for tap, columns in zip(batch.taps, batch.columns, strict=True):
        came = [arrays for one, _, arrays in firings if one is tap]
        assert [[id(one) for one in column] for column in columns] == [
            list(map(id, one)) for one in zip(*came, strict=True)
        ]
    assert batch.lost is None


def test_threads_put_in_while_another_takes_out(make_tap):
    inbox, taps = Inbox(), [make_tap(0), make_tap(1), make_tap(2, shapes=((COUNTED,),))]
    large = np.zeros(COUNTED, np.float32)
    each, over, batches = 5_000, threading.Event(), []

    def write(tap):
        put = inbox.putter(tap)
        for i in range(each):
            put((i, large if tap is taps[2] else np.float32(i).reshape(())))

    def take():
        while not over.is_set():
            batches.append(inbox.take())
        batches.append(inbox.take())

    taker = threading.Thread(target=take)
    writers = [threading.Thread(target=write, args=(tap,)) for tap in taps]
    for thread in (taker, *writers):
        thread.start()
    for thread in writers:
        thread.join(60)
    over.set()
    taker.join(60)
    seen = {tap: [] for tap in taps}
    for batch in batches:
        for number, time_ns in zip(batch.tap.tolist(), batch.times_ns.tolist(), strict=True):
            seen[batch.taps[number]].append(time_ns)
    assert all(times == list(range(each)) for times in seen.values()), "each once, and in its thread's order"


@pytest.mark.parametrize("limit", [1, 3 * NBYTES, 3 * NBYTES + 1, 100 * NBYTES])
def test_the_newest_large_values_stay_within_the_limit(make_tap, limit):
    tap, inbox = make_tap(1, shapes=((ELEMENTS,), ())), Inbox(limit)
    put = inbox.putter(tap)
    for i in range(10):
        put((i, value_of(i), np.float32(i).reshape(())))
    batch = inbox.take()
    kept = min(max(limit // tap.nbytes, 1), 10)
    assert lost_of(batch) == [True] * (10 - kept) + [False] * kept, "the oldest go first"
    assert batch.columns[0][0][-1][0] == 9
    for i in range(10):
        put((i, value_of(i), np.float32(i).reshape(())))
    assert lost_of(inbox.take()).count(False) == kept, "what was taken out counts no more"


def test_values_that_a_full_inbox_drops_are_counted_and_leave_the_others_intact(make_tap):
    tap, small = make_tap(1, lanes=(2,), shapes=((ELEMENTS,),)), make_tap(2)
    inbox, store = Inbox(3 * tap.nbytes), Store(Budget(nbytes=8 * tap.nbytes), 0)
    for i in range(10):
        inbox.putter(tap)((i, np.full((2, ELEMENTS), i, np.float32)))
        inbox.putter(small)((i, np.float32(i).reshape(())))
    batch = inbox.take()
    store.ingest(batch, np.zeros(len(batch), np.int64))
    assert store.seen_by_site() == {1: 20, 2: 10}
    assert store.dropped_by_site() == {1: 14}
    assert (store.dropped, store.oldest, len(store)) == (14, 0, 16)
    assert [event.occurrence for event in store.range(0, 16) if event.site.id == 1] == [7, 7, 8, 8, 9, 9]
    assert store.history.series(2, 0)[2].tolist() == list(range(10))
    ones = [event.values[0][0] for event in store.range(0, 16) if event.site.id == 1]
    assert ones == [7, 7, 8, 8, 9, 9]


def test_firings_on_a_mesh_keep_their_coordinates_when_values_are_let_go_of(make_tap):
    tap = make_tap(1, shapes=((ELEMENTS,),), nesting=Nesting(loops=(4,), axes=("d",)))
    inbox, store = Inbox(2 * NBYTES), Store(Budget(), 0)
    for i in range(8):
        inbox.putter(tap)((i, value_of(i), np.asarray(i % 2, np.int32)))
    batch = inbox.take()
    store.ingest(batch, np.zeros(8, np.int64))
    assert [(event.step, event.mesh_coords) for event in store.range(0, 8)] == [((3,), {"d": 0}), ((3,), {"d": 1})]


def test_taps_come_out_in_the_order_of_time_and_what_fires_meanwhile_stays(make_tap):
    one, other, inbox = make_tap(1), make_tap(2), Inbox()
    later = 1 << 56
    for tap, time_ns in ((one, 1), (one, 4), (other, 2), (other, 3), (one, later), (other, 5), (other, later)):
        inbox.putter(tap)((time_ns, np.float32(time_ns).reshape(())))
    batch = inbox.take()
    assert [(batch.taps[number].site.id, at) for number, at in zip(batch.tap, batch.times_ns, strict=True)] == [
        (1, 1),
        (2, 2),
        (2, 3),
        (1, 4),
        (2, 5),
    ]
    assert [[float(value) for value in column] for (column,) in batch.columns] == [[1, 4], [2, 3, 5]]
    assert inbox
    assert len(inbox.take()) == 0


def test_two_threads_of_one_tap_come_out_in_the_order_of_time(make_tap):
    tap, inbox = make_tap(1, nesting=Nesting(axes=("d",))), Inbox()
    for time_ns, device in ((1, 0), (3, 0), (2, 1), (4, 1)):
        inbox.putter(tap)((time_ns, np.float32(time_ns).reshape(()), np.asarray(device, np.int32)))
    batch = inbox.take()
    values, devices = ([float(one) for one in column] for column in batch.columns[0])
    assert (batch.times_ns.tolist(), values, devices) == ([1, 2, 3, 4], [1, 2, 3, 4], [0, 1, 0, 1])


def test_whole_values_that_are_watched_together_are_within_the_limit(make_tap):
    whole, number = make_tap(1, shapes=((), (), (ELEMENTS,))), make_tap(2, shapes=((), ()))
    bundle = Bundle((whole, number))
    limit, store = 3 * NBYTES, Store(Budget(), 0)
    inbox = Inbox(limit)
    put = inbox.putter(bundle)
    for i in range(10):
        put((i, np.array([[i, -i], [10 * i, 0]], np.float32), value_of(i)))
    batch = inbox.take()
    assert lost_of(batch) == [True, False] * 7 + [False] * 6, "what is small of a firing need not go"
    store.ingest(batch, np.zeros(len(batch), np.int64))
    assert store.seen_by_site() == {1: 10, 2: 10}
    assert store.dropped_by_site() == {1: 7}
    assert store.history.series(1, 0)[2].tolist() == [7, 8, 9]
    assert store.history.series(1, 2)[2][:, 0].tolist() == [7, 8, 9]
    assert store.history.series(2, 0)[2].tolist() == list(range(0, 100, 10))


def test_the_inbox_and_the_store_share_one_budget(make_tap):
    tap, budget = make_tap(1, shapes=((ELEMENTS,),)), Budget(nbytes=8 * NBYTES)
    inbox, store = Inbox(budget.nbytes), Store(budget, 0)
    most, sent = 0, Counter()
    for tick in range(10):
        for i in range(20):
            inbox.putter(tap)((20 * tick + i, value_of(i)))
            sent[1] += 1
            held = sum(arrays[0].nbytes for arrays in inbox._trays[tap][1::2] if arrays[0] is not None)
            most = max(most, held + store.nbytes)
        batch = inbox.take()
        store.ingest(batch, np.zeros(len(batch), np.int64))
        inbox.limit = store.free
    assert most <= budget.nbytes
    assert store.seen_by_site() == sent
    assert store.dropped == 200 - len(store.range(0, len(store)))
    assert store.event(len(store) - 1).time_ns == 199


def test_watched_values_hand_over_their_iterations_and_where_they_are_on_the_mesh(make_tap):
    nesting = Nesting(loops=(4,), counted=True, axes=("d",))
    taps = (make_tap(1, shapes=((), (2,)), nesting=nesting), make_tap(2, nesting=nesting))
    inbox, store = Inbox(), Store(Budget(), 0)
    put = inbox.putter(Bundle(taps))
    for i in range(4):
        whole, iteration, device = np.full(2, i, np.float32), np.asarray(3 - i, np.int32), np.asarray(i % 2, np.int32)
        put((i, np.array([[i], [10 * i]], np.float32), whole, iteration, device))
    store.ingest(inbox.take(), np.zeros(8, np.int64))
    events = store.range(0, 8)
    assert [event.site.id for event in events] == [1, 2] * 4
    assert [(event.step, event.mesh_coords["d"]) for event in events[::2]] == [
        ((3,), 0),
        ((2,), 1),
        ((1,), 0),
        ((0,), 1),
    ]
    assert store.history.series(1, 1)[2].tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert store.history.series(2, 0)[2].tolist() == [0, 10, 20, 30]
