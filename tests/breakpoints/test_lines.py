"""Test breakpoints that are set beside a line of code."""

from __future__ import annotations

import inspect

import jax
import pytest
from jax import lax


@jax.jit
def loop(x):
    def body(x, i):
        jax.debug.print("i {i}", i=i)
        return x + 1, None

    return lax.scan(body, x, jax.numpy.arange(3))[0]


LINE = f"test_lines.py:{inspect.unwrap(loop).__code__.co_firstlineno + 3}"


@pytest.fixture(autouse=True)
def none_left(page):
    yield
    page.session.added.lines = ()


def test_a_line_stops_the_next_run_and_none_after_it_was_taken_away_at_a_stop(stopped, page):
    stopped(loop, 0.0, user=lambda page: page.all_stops())
    assert page.ask("line", line=LINE, on=True)["type"] == "done"
    assert page.run.status().lines == (LINE,)
    seen = []
    _, run = stopped(loop, 0.0, user=lambda page: seen.extend(page.all_stops()))
    assert [stop["step"] for stop in seen] == [[0], [1], [2]]
    assert [(one.condition, one.hits) for one in run.status().breakpoints] == [(LINE, 3)]

    def take_away(page, _stop):
        assert page.ask("line", line=LINE, on=False)["type"] == "done"

    seen = []
    stopped(loop, 0.0, user=lambda page: seen.extend(page.all_stops(take_away)))
    assert [stop["step"] for stop in seen] == [[0]]
    assert page.run.status().lines == ()


def test_a_line_stops_the_run_that_goes_on_where_its_program_calls_python(stopped):
    def set_it(page):
        stop = page.stop()
        page.ask("line", line=LINE, on=True)
        page.go_on(stop)
        page.all_stops()

    _, run = stopped(loop, 0.0, user=set_it, break_on="i == 0")
    assert {one.condition: one.hits for one in run.status().breakpoints} == {"i == 0": 1, LINE: 2}


def test_a_condition_in_place_of_a_line_is_refused(stopped, page):
    stopped(loop, 0.0, user=lambda page: page.all_stops())
    assert "is no line" in page.ask("line", line="nonfinite", on=True)["message"]
