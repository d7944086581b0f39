"""Test stamps: the time of a firing and, on request, its thread."""

from __future__ import annotations

import threading
from time import perf_counter_ns

import numpy as np

from jax_debug_widgets.events import Inbox, times_of
from jax_debug_widgets.events.stamps import Stamps

PATIENCE = 60


def test_a_stamp_is_the_time_and_reports_the_thread_once_that_is_asked_for():
    stamps, before = Stamps(), perf_counter_ns()
    taken = [stamps.now()]
    stamps.record_threads(True)
    taken.append(stamps.now())
    told = np.array(taken, np.int64)
    assert stamps.threads_of(told).tolist() == [0, threading.get_ident()]
    stamps.record_threads(False)
    assert stamps.threads_of(np.array([stamps.now()])).tolist() == [0]
    assert (np.diff([before, *times_of(told), perf_counter_ns()]) >= 0).all()


def test_threads_beyond_the_available_numbers_are_reported_as_unknown():
    stamps, taken, together = Stamps(), {}, threading.Barrier(70)
    stamps.record_threads(True)

    def fire():
        together.wait(PATIENCE)  # All threads run at once, because the ident of an ended thread is used again.
        taken[threading.get_ident()] = stamps.now()
        together.wait(PATIENCE)

    threads = [threading.Thread(target=fire) for _ in range(70)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = stamps.threads_of(np.array(list(taken.values()), np.int64)).tolist()
    assert all(ident in (own, 0) for ident, own in zip(told, taken, strict=True))
    assert told.count(0) == 70 - 63
    assert all(0 < times_of(stamp) <= perf_counter_ns() for stamp in taken.values())
    for wanted in (False, True):
        stamps.record_threads(wanted)
    assert stamps.threads_of(np.array([stamps.now()])).tolist() == [threading.get_ident()], "of the next capture"


def test_events_taken_from_an_inbox_have_their_thread_and_time(make_tap):
    inbox, taps, idents = Inbox(), [make_tap(0), make_tap(1, shapes=((1 << 12,),))], set()
    inbox.stamps.record_threads(True)

    def fire():
        idents.add(threading.get_ident())
        for tap in taps:
            inbox.putter(tap)((inbox.stamps.now(), np.zeros(tap.shapes[0], np.float32)))

    thread = threading.Thread(target=fire)
    thread.start()
    thread.join()
    fire()
    batch = inbox.take()
    assert len(batch) == 4
    assert set(batch.threads.tolist()) == idents
    assert (np.diff(batch.times_ns) >= 0).all()
    assert batch.times_ns[-1] <= perf_counter_ns()
