"""Test that events are assigned to their calls, also with several calls in flight whose ends are noted late."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jax_debug_widgets.events import CallSite, FiringBatch, Nesting, Tap
from jax_debug_widgets.events.firing_batch import TapFirings
from jax_debug_widgets.session.run.expectations import Expectations
from jax_debug_widgets.session.run.in_flight import InFlight
from jax_debug_widgets.session.run.record import CallRecord
from jax_debug_widgets.store import Budget, Store


def tap_of(number, **nesting: Any):
    place = ("f.py", 1, 0, 1, 9, "f.py:1", "f", "")
    site = CallSite(number, "print", False, *place, "x", ("x",), "{}", "jit(f)", ("jit",), "forward", 0)
    return Tap(
        site, (), ((),), ((),), (np.dtype("float32"),), Nesting(**nesting), 4, lambda values: (tuple(values), {}), str
    )


def call(number, started, over, *taps: Tap, ident=1, dispatched=None):
    record = CallRecord("f", "f", "cell", started, "main", ident)
    record.id, record.over_ns, record.taps, record.dispatched_ns = number, over, taps, dispatched
    return record


def share_of(tap, times, threads=None):
    told = np.zeros(len(times), np.int64) if threads is None else np.array(threads)
    return TapFirings(tap, np.array(times), told, [np.zeros(len(times))], None)


def attributed(in_flight, **times: Any):
    """Return the call of each firing by tap, given the times at which each tap fires and the idents of the threads."""
    shares = [share_of(*each) for each in times.values()]
    batch = FiringBatch.of(shares)
    calls = in_flight.attribute(batch.times_ns, batch)
    return [calls[batch.firings_of(number)].tolist() for number in range(len(shares))]


@pytest.fixture
def in_flight():
    return InFlight()


def test_a_call_gets_at_most_the_events_that_its_program_has(in_flight):
    three, one = tap_of(0, loops=(3,)), tap_of(1)
    for number in range(3):
        in_flight.add(call(number, 10 * number, 500, three, one))
    calls = attributed(in_flight, three=(three, range(100, 109)), one=(one, [103, 106, 109]))
    assert calls == [[0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2]]


def test_a_watched_value_that_fires_before_the_call_before_is_over_is_of_its_own_call(in_flight):
    watched = replace(tap_of(0), site=replace(tap_of(0).site, kind="watch", watch=object()))
    strided = replace(tap_of(1, loops=(4,), stride=2), site=replace(tap_of(1).site, kind="watch", watch=object()))
    for number in range(2):
        in_flight.add(call(number, 10 * number, 40, watched, strided))
    assert attributed(in_flight, watched=(watched, [30, 31]), strided=(strided, [35, 36])) == [[0, 1], [0, 0]]


def test_earlier_firings_of_a_call_count_towards_its_expected_number(in_flight):
    three = tap_of(0, loops=(3,))
    first = call(0, 0, None, three)
    in_flight.add(first)
    assert attributed(in_flight, three=(three, [1, 2])) == [[0, 0]]
    first.fired[three] += 2
    in_flight.add(call(1, 3, None, three))
    assert attributed(in_flight, three=(three, [5, 6, 7])) == [[0, 1, 1]]


def test_a_call_that_is_over_or_has_not_begun_has_none(in_flight):
    three = tap_of(0, loops=(3,), steady=True)
    in_flight.add(call(0, 0, 20, three))
    in_flight.add(call(1, 10, 40, three))
    assert attributed(in_flight, three=(three, [5, 30])) == [[0, 1]], "XLA has hoisted it: one firing a call"


def test_an_event_is_of_a_program_that_has_its_site(in_flight):
    mine, others, branch = tap_of(0), tap_of(1), tap_of(2, conditional=True)
    in_flight.add(call(0, 0, None, others))
    in_flight.add(call(1, 1, None, mine, branch))
    assert attributed(in_flight, mine=(mine, [5]), branch=(branch, [6]), others=(others, [7])) == [[1], [1], [0]]
    assert in_flight.mixed == {}


def test_simultaneous_loops_of_two_threads_leave_their_events_unassigned(in_flight):
    three, one = tap_of(0, loops=(3,)), tap_of(1)
    in_flight.add(call(0, 0, None, three, one))
    in_flight.add(call(1, 1, None, three, one, ident=2))
    calls = attributed(in_flight, three=(three, [0, 5, 6]), one=(one, [7]))
    assert calls == [[0, -1, -1], [-1]], "which of the two has fired nobody can say"
    assert in_flight.mixed == {0: 1, 1: 1}


def test_calls_that_overlapped_with_another_threads_stay_ambiguous(in_flight):
    three = tap_of(0, loops=(3,))
    for number, over in ((0, None), (1, None)):
        in_flight.add(call(number, number, over, three, ident=2 - number))
    assert attributed(in_flight, three=(three, [5, 6])) == [[-1, -1]]
    first, second = in_flight._records
    first.over_ns = 7  # The call of thread 2 ends, and this is noted in time.
    in_flight.add(call(2, 8, None, three, ident=1))
    assert attributed(in_flight, three=(three, range(10, 17))) == [[-1] * 7], "the first two of them are the second's"
    second.over_ns = 20
    in_flight.add(call(3, 30, None, three, ident=1))
    assert attributed(in_flight, three=(three, [31, 32, 33])) == [[-1] * 3], "nobody has noted that the third is over"
    in_flight._records[-2].over_ns = 35
    in_flight._records[-1].over_ns = 36
    in_flight.add(call(4, 40, None, three, ident=1))
    assert attributed(in_flight, three=(three, [41, 42, 43])) == [[4] * 3]


def test_a_call_that_is_over_before_that_of_another_thread_begins_has_what_it_fires(in_flight):
    three = tap_of(0, loops=(3,))
    for number, ident in enumerate((1, 1, 2, 2)):
        in_flight.add(call(number, [0, 5, 30, 35][number], [20, 20, 50, 50][number], three, ident=ident))
    calls = attributed(in_flight, three=(three, [*range(10, 16), *range(40, 46)]))
    assert calls == [[0] * 3 + [1] * 3 + [2] * 3 + [3] * 3], "the ends of the first of each two were noted late"
    assert in_flight.mixed == {}


def test_an_event_belongs_to_the_call_that_its_thread_makes(in_flight):
    three, one = tap_of(0, loops=(3,)), tap_of(1)
    for number in range(2):
        in_flight.add(call(number, number, None, three, one, ident=number + 1))
    interleaved = three, range(10, 16), [2, 1, 2, 1, 1, 2]
    calls = attributed(in_flight, three=interleaved, one=(one, [16, 17, 18], [1, 2, 7]))
    assert calls == [[1, 0, 1, 0, 0, 1], [0, 1, -1]], "the last fired in a thread of XLA's"
    assert in_flight.mixed == {1: 1}


def test_an_event_belongs_to_the_call_that_its_thread_was_dispatching(in_flight):
    branch, inner = tap_of(0, conditional=True), tap_of(1)
    in_flight.add(call(0, 10, None, branch, dispatched=20))
    in_flight.add(call(1, 30, None, branch, dispatched=40))
    in_flight.add(call(2, 32, None, inner, dispatched=36))
    calls = attributed(in_flight, branch=(branch, [15, 31, 45], [1, 1, 1]), inner=(inner, [34, 35], [1, 1]))
    assert calls == [[0, 1, 0], [2, 2]], "after the dispatches it is of the oldest that is not over"


def test_an_event_after_a_call_does_not_belong_to_the_next_one_dispatched(in_flight):
    branch = tap_of(0, conditional=True)
    program = (branch,)
    for number, dispatched in enumerate((20, None)):
        record = call(number, 10 + 15 * number, None, dispatched=dispatched)
        record.taps, record.is_handed = program, number == 0
        in_flight.add(record)
    assert attributed(in_flight, branch=(branch, [30], [1])) == [[0]]


def test_a_step_that_calls_the_host_is_not_given_what_the_one_before_it_reports_later(in_flight):
    """A pause compiles the next step with host calls, as another program with the same tap."""
    say = tap_of(0)
    told = call(0, 0, 12, say, dispatched=5)
    told.is_handed = True
    for record in (told, call(1, 10, 20, say, dispatched=20)):
        record.taps = [say]
        in_flight.add(record)
    assert attributed(in_flight, say=(say, [12, 15], [1, 1])) == [[0, 1]]


def test_an_event_belongs_to_the_innermost_call_that_its_thread_was_dispatching(in_flight):
    """A host function of the first call makes the second call, and one of the second makes the third."""
    say = tap_of(0)
    for number, (launched, dispatched) in enumerate([(0, 100), (10, 50), (20, 30), (60, 70)]):
        in_flight.add(call(number, launched, None, say, dispatched=dispatched))
    times = [5, 15, 25, 40, 55, 65, 90]
    assert attributed(in_flight, say=(say, times, [1] * 7)) == [[0, 1, 2, 1, 0, 3, 0]]


def test_a_tap_that_has_not_fired_yet_is_not_ambiguous(in_flight):
    """Calls of several threads were in flight together, but another program has fired."""
    mine, others = tap_of(0), tap_of(1)
    for number in range(2):
        in_flight.add(call(number, number, None, mine, others, ident=number + 1))
    assert attributed(in_flight, others=(others, [5, 6], [7, 7])) == [[-1, -1]]
    assert attributed(in_flight, mine=(mine, [8, 9], [1, 2])) == [[0, 1]]


def test_missing_events_are_no_finding_while_another_call_may_have_them():
    one, store = tap_of(0), Store(Budget(), 0)
    expectations, calls = Expectations(store), [call(number, 10 * number, None, one) for number in range(2)]
    calls[0].fired[one], calls[1].fired[one] = 0, 2
    expectations.compare(calls[:1], calls)
    assert not expectations.findings(), "a process that is killed now has written nothing wrong"
    expectations.compare(calls[1:], calls[1:])
    assert not expectations.findings()
    alone = call(2, 30, None, one)
    expectations.compare([alone], [alone])
    assert [(found.expected, found.seen) for found in expectations.findings()] == [(1, 0)]
