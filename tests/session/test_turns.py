"""Threads that call one program where XLA does not say whose call fires do so one after the other."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from jax_debug_widgets.session import turns
from jax_debug_widgets.session.turns import Turns
from tests.waiting import PATIENCE, until


@pytest.fixture
def pool():
    with ThreadPoolExecutor(3) as pool:
        yield pool


def is_waited_for(own: Turns, by: int):
    return lambda: len(own._waiting["f"]) == by


def test_a_thread_waits_until_all_calls_of_another_are_over(pool):
    own, order = Turns(), []
    own.take("f")
    own.take("f")
    other = pool.submit(lambda: (own.take("f"), order.append("other")))
    until(is_waited_for(own, by=1))
    own.take("g")
    own.give_back("f")
    order.append("one is over")
    own.give_back("f")
    other.result(PATIENCE)
    assert order == ["one is over", "other"]


def test_who_has_waited_longest_is_next_also_before_the_one_whose_turn_it_is(pool):
    own, order, may_go_on = Turns(), [], threading.Event()

    def call(name):
        own.take("f")
        order.append(name)
        own.give_back("f")

    own.take("f")
    others = []
    for number in (1, 2):
        others.append(pool.submit(call, number))
        until(is_waited_for(own, by=number))

    def again():
        may_go_on.wait(PATIENCE)
        own.give_back("f")

    last = pool.submit(again)
    may_go_on.set()
    call("again")
    for each in (*others, last):
        each.result(PATIENCE)
    assert order == [1, 2, "again"]


def test_calls_that_do_not_end_while_another_waits_are_let_go_on_together(pool, monkeypatch):
    own = Turns()
    own.take("f")
    monkeypatch.setattr(turns, "PATIENCE_S", 0.01)
    pool.submit(own.take, "f").result(PATIENCE)
    monkeypatch.setattr(turns, "PATIENCE_S", 1000)
    pool.submit(own.take, "f").result(PATIENCE)


def test_a_wait_that_is_interrupted_keeps_nobody_waiting(pool, monkeypatch):
    own = Turns()
    pool.submit(own.take, "f").result(PATIENCE)

    def interrupted(*_args: object):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(own._changed, "wait_for", interrupted)
        with pytest.raises(KeyboardInterrupt):
            own.take("f")
    own.give_back("f")
    pool.submit(own.take, "f").result(PATIENCE)
