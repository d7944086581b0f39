"""Test the memory of the store, and what readers see while others write."""

from __future__ import annotations

import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from jax_debug_widgets.store import Budget, Store
from jax_debug_widgets.store.segment import LARGE
from tests.store.firing_batches import batch_of

ORIGIN = 0
UNKNOWN = -1


def ingest(store, firings):
    store.ingest(batch_of(firings), np.full(len(firings), UNKNOWN))


def test_a_million_scalars_would_be_tens_of_megabytes(make_tap):
    tap, store = make_tap(1), Store(Budget(), ORIGIN)
    # Only a fifth of a million, because measuring memory makes this ten times slower.
    values = np.arange(200_000, dtype=np.float32)
    tracemalloc.start()
    try:
        for start in range(0, len(values), 50_000):
            ingest(store, [(tap, i, (values[i : i + 1].reshape(()),)) for i in range(start, start + 50_000)])
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(store) == len(values)
    assert store.oldest == 0
    assert used < 80e6 / 5
    assert 0.5 * used < store.nbytes < 1.5 * used, "what the budget counts is what it costs"
    positions, occurrences, series = store.history.series(1, 0)
    assert np.array_equal(series, values)
    assert np.array_equal(positions, occurrences)


def test_a_budget_of_bytes_bounds_what_is_held(make_tap):
    tap = make_tap(1, shapes=((256,),))
    store = Store(Budget(nbytes=4 << 20), ORIGIN)
    tracemalloc.start()
    try:
        for start in range(0, 20_000, 500):
            ingest(store, [(tap, i, (np.full(256, i, np.float32),)) for i in range(start, start + 500)])
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert store.nbytes <= 4 << 20
    assert used < 8 << 20
    assert store.event(len(store) - 1).values[0][0] == 19_999
    assert store.dropped_by_site() == {1: store.oldest}


def test_large_arrays_are_kept_as_they_came(make_tap):
    tap, store = make_tap(1, shapes=((LARGE,),)), Store(Budget(), ORIGIN)
    arrays = [np.full(LARGE, i, np.float32) for i in range(3)]
    ingest(store, [(tap, i, (array,)) for i, array in enumerate(arrays)])
    for event, array in zip(store.range(0, 3), arrays, strict=True):
        assert np.shares_memory(event.values[0], array)


def test_small_arrays_do_not_keep_the_callbacks_memory(make_tap):
    tap, store = make_tap(1, shapes=((4,),)), Store(Budget(), ORIGIN)
    array = np.arange(4, dtype=np.float32)
    ingest(store, [(tap, 0, (array,))])
    assert not np.shares_memory(store.event(0).values[0], array)


WRITERS, ROUNDS = 3, 60


def write(store, tap):
    for i in range(ROUNDS):
        value = np.float32(i)
        ingest(store, [(tap, i, (np.full(2, value), np.full((2, 3), value)))] * 10)


def read(store, over):
    """Read in every way; each answer is consistent."""
    while not over.is_set():
        for event in store.last(50):
            one, three = event.values
            assert three.shape == (3,)
            assert (three == one).all()
        for piece in store.columns(0, len(store)):
            assert len(piece.site) == len(piece.lane) == len(piece.call)
        for site in range(WRITERS):
            positions, _, values = store.history.series(site, 0)
            assert len(positions) == len(values)
            assert (np.diff(positions) > 0).all()
            assert (np.diff(values) >= 0).all()
        assert all(len(positions) == len(values) for _, _, positions, values in store.numbers(0, len(store)))


def test_readers_see_whole_events_while_writers_write_and_old_ones_go(make_tap):
    store, over = Store(Budget(events=500), ORIGIN), threading.Event()
    taps = [make_tap(site, lanes=(2,), shapes=((), (3,))) for site in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS + 2) as pool:
        reading = [pool.submit(read, store, over) for _ in range(2)]
        writing = [pool.submit(write, store, tap) for tap in taps]
        try:
            for done in writing:
                done.result(60)
        finally:
            over.set()
        for done in reading:
            done.result(60)
    total = ROUNDS * 10 * 2
    assert store.seen_by_site() == dict.fromkeys(range(WRITERS), total)
    assert len(store) == WRITERS * total
    assert len(store) - store.oldest == 500
    assert sum(store.dropped_by_site().values()) == store.oldest


def test_a_shape_that_changed_is_an_error_that_says_so(make_tap):
    store = Store(Budget(), ORIGIN)
    ingest(store, [(make_tap(1, shapes=((2,),)), 0, (np.zeros(2, np.float32),))])
    ingest(store, [(make_tap(1, shapes=((3,),)), 1, (np.zeros(3, np.float32),))])
    with pytest.raises(ValueError):  # noqa: PT011 - NumPy's words.
        store.history.series(1, 0)
