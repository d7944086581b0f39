"""Test what the browser receives: after any loss it can reach the state of the run again."""

from __future__ import annotations

import random

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.panel import feed
from jax_debug_widgets.session.panel.requests import answer
from jax_debug_widgets.widgets.channel import front_end
from tests.fakes import Browser


@jax.jit
def step(x):
    jax.debug.print("ordered {}", x, ordered=True)
    jax.debug.callback(lambda *_: None, x, x + 1)
    return x


lanes = jax.jit(jax.vmap(lambda y: jax.debug.print("lane {}", y)))


def ask(run, **request: object):
    return list(answer(current_session(), {"run": run.key, "id": 7, **request}))


def assert_same(browser: Browser, run):
    """Assert that the browser has all kept events of the run."""
    kept = list(run.events)
    assert browser.next == run.dropped + len(kept)
    sizes = {event.seq: event.tap.lanes for event in kept}
    for event in kept:
        site, time, occurrence, lane, call = browser.events[event.seq]
        assert (site, occurrence, call) == (event.site.id, event.occurrence, event.call)
        assert time == pytest.approx(event.time_ns * 1e-9)
        assert (lane == -1) if not sizes[event.seq] else (lane == event.lane[0])
        for value, array in enumerate(event.values):
            assert browser.points[event.seq, value] == float(array)
        if event.seq in browser.texts:
            assert browser.texts[event.seq] == event.text
    assert set(browser.sites) >= {site.id for site in run.sites}
    assert {call["id"]: (call["state"], call["events"]) for call in browser.calls.values()} == {
        call.id: (call.state, call.events) for call in run.calls
    }
    status = run.status()
    assert (browser.status["events"], browser.status["dropped"]) == (status.events, status.dropped)
    assert browser.oldest == run.dropped


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("max_events", [10_000, 60])
def test_a_browser_that_loses_batches_and_asks_again_ends_with_the_state_of_the_run(seed, max_events, monkeypatch):
    monkeypatch.setattr(feed, "MAX_EVENTS", 16)
    chance = random.Random(seed)  # noqa: S311
    browser, lost = Browser(), 0

    def deliver(messages):
        nonlocal lost
        for content, buffer in messages:
            if not lost or chance.random() < 0.4:
                lost += 1
            elif not browser.receive(content, buffer):
                deliver(ask(run, type="sync", first=browser.next))

    with jdw.capture(max_events=max_events) as run:
        news = current_session().panels.feed_of(run).news
        for _ in range(12):
            for _ in range(chance.randrange(6)):
                step(chance.random())
            if chance.random() < 0.5:
                lanes(jnp.arange(5.0))
            jax.effects_barrier()
            run.collect()
            deliver(news())
    for content, buffer in ask(run, type="sync", first=browser.next):
        assert browser.receive(content, buffer)
    assert lost > 0
    assert_same(browser, run)


def test_news_are_sent_once():
    with jdw.capture() as run:
        step(1.0)
    messages = current_session().panels.feed_of(run).news()
    assert sum(content["count"] for content, _ in messages) == 2
    assert current_session().panels.feed_of(run).news() == []


def test_a_change_of_state_without_events_is_sent():
    with jdw.capture() as run:
        assert len(current_session().panels.feed_of(run).news()) == 1
        assert current_session().panels.feed_of(run).news() == []
    (message,) = current_session().panels.feed_of(run).news()
    assert message[0]["count"] == 0
    assert message[0]["status"]["state"] == "done"


def test_batches_are_numbered_and_bounded(monkeypatch):
    monkeypatch.setattr(feed, "MAX_EVENTS", 4)
    with jdw.capture() as run:
        for i in range(5):
            step(float(i))
    messages = [content for content, _ in current_session().panels.feed_of(run).news()]
    assert [content["batch"] for content in messages] == [0, 1, 2]
    assert [(content["first"], content["count"]) for content in messages] == [(0, 4), (4, 4), (8, 2)]
    assert [len(content["sites"]) for content in messages] == [2, 0, 0]


def test_sync_from_the_middle_sends_sites_and_calls_again():
    with jdw.capture() as run:
        for i in range(5):
            step(float(i))
    current_session().panels.feed_of(run).news()
    (message,) = [content for content, _ in ask(run, type="sync", first=6)]
    assert (message["first"], message["count"]) == (6, 4)
    assert len(message["sites"]) == 2
    assert len(message["calls"]) == 5


def test_sync_before_what_is_kept_starts_at_the_oldest():
    with jdw.capture(max_events=4) as run:
        for i in range(5):
            step(float(i))
    (message,) = [content for content, _ in ask(run, type="sync", first=0)][-1:]
    assert message["first"] == message["oldest"] == 6
    assert message["count"] == 4


def test_rows_are_the_texts_asked_for():
    with jdw.capture() as run:
        for i in range(5):
            step(float(i))
    browser = Browser()
    ((content, buffer),) = ask(run, type="rows", first=2, count=3)
    assert (content["type"], content["id"], content["first"], content["count"]) == ("rows", 7, 2, 3)
    browser.receive(content, buffer)
    assert browser.texts == {event.seq: event.text for event in run.events[2:5]}


def test_rows_that_are_gone_are_left_out():
    with jdw.capture(max_events=4) as run:
        for i in range(5):
            step(float(i))
    browser = Browser()
    browser.receive(*ask(run, type="rows", first=0, count=100)[0])
    assert sorted(browser.texts) == [6, 7, 8, 9]


def test_the_newest_lines_of_each_stream_come_with_their_text(monkeypatch):
    monkeypatch.setattr(feed, "TEXT_ROWS", 2)
    with jdw.capture() as run:
        for i in range(5):
            step(float(i))
    browser = Browser()
    for message in current_session().panels.feed_of(run).news():
        browser.receive(*message)
    assert sorted(browser.texts) == [6, 7, 8, 9]


BAD = {
    "an unknown request": {"type": "explode"},
    "no type": {},
    "rows without a range": {"type": "rows"},
    "rows of words": {"type": "rows", "first": "a", "count": "b"},
    "sync of words": {"type": "sync", "first": "x"},
    "sync of nothing": {"type": "sync", "first": None},
    "sync of infinity": {"type": "sync", "first": float("inf")},
}


@pytest.mark.parametrize("request_", BAD.values(), ids=BAD)
def test_a_bad_request_is_answered_with_an_error(request_):
    with jdw.capture() as run:
        step(1.0)
    ((content, buffer),) = ask(run, **request_)
    assert (content["type"], content["id"], content["run"]) == ("error", 7, run.key)
    assert content["message"]
    assert buffer == b""


@pytest.mark.parametrize("request_", [{"id": "x"}, {"id": None}, {"run": None}, {}], ids=str)
def test_a_request_without_sense_is_answered_with_an_error(request_):
    ((content, _),) = answer(current_session(), {"type": "sync", **request_})
    assert content["type"] == "error"


def test_an_unknown_run_is_answered_with_what_to_do():
    ((content, _),) = answer(current_session(), {"type": "sync", "run": "nobody", "id": 3})
    assert (content["type"], content["id"], content["run"]) == ("error", 3, "nobody")
    assert "run the cell again" in content["message"]


@pytest.mark.parametrize("run", ["run-1", "nobody"])
def test_a_part_of_the_front_end_is_sent_whether_or_not_the_run_is_known(run):
    ((content, buffer),) = answer(current_session(), {"type": "module", "run": run, "id": 3, "name": "views"})
    assert (content["type"], content["id"], content["run"], content["name"]) == ("module", 3, run, "views")
    assert content["text"] == front_end("views")
    assert buffer == b""


def test_an_unknown_part_of_the_front_end_is_an_error():
    ((content, _),) = answer(current_session(), {"type": "module", "run": "run-1", "id": 3, "name": "poem"})
    assert (content["type"], content["message"]) == ("error", "the front end has no part 'poem'")


@pytest.mark.parametrize("request_", [{"first": -5, "count": 3}, {"first": 0, "count": -1}, {"first": 99, "count": 9}])
def test_rows_out_of_range_are_empty(request_):
    with jdw.capture() as run:
        step(1.0)
    ((content, buffer),) = ask(run, type="rows", **request_)
    browser = Browser()
    browser.receive(content, buffer)
    assert browser.texts == {}
