"""Test a run as plain text."""

from __future__ import annotations

import dataclasses

import pytest

from jax_debug_widgets.events import Barrier, Breakpoint, Watched
from jax_debug_widgets.widgets import Course, PrintLine, summary
from tests.widgets.conftest import CALL, SITE


def test_the_summary_shows_the_outcome_of_a_run_and_its_last_lines(snapshot):
    assert summary(snapshot()).split("\n") == [
        "jaxdebug: step(params) — done after 2.50 s, 3 prints, all effects arrived",
        "  train.py:41  loss  3 times (ordered print)",
        "  step(params): traced 0.25 s · lowered 0.50 s · compiled 1.50 s · ran 0.75 s · done, 3 prints and values",
        "  last ordered:",
        "    train.py:41 [0] loss 0.0",
        "    train.py:41 [1] loss 0.1",
        "    train.py:41 [2] loss 0.2",
    ]


def test_the_summary_counts_watched_values_separately_and_reports_a_saved_unfinished_run_in_the_past(snapshot):
    site = dataclasses.replace(SITE, id=2, kind="watch", watch=Watched("h", "value", (3,), "float32", "sin", ""))
    going = snapshot(state="running", events=5, sites=[SITE, site], counts={1: 3, 2: 2})
    assert " — running after 2.50 s, 3 prints, 2 watched values, all" in summary(going)
    assert " — was running when saved, after 2.50 s, 3 prints, 2 watched values, all" in summary(going, saved=True)


def test_the_summary_names_firings_after_the_kinds_of_their_sites(snapshot):
    watch = dataclasses.replace(SITE, id=2, kind="watch", watch=Watched("h", "value", (3,), "float32", "sin", ""))
    sites = [dataclasses.replace(SITE, kind="breakpoint"), watch]
    assert " — done after 2.50 s, 3 breakpoint hits, 2 watched values, all" in summary(
        snapshot(sites=sites, events=5, counts={2: 2})
    )


def test_the_lanes_of_a_breakpoint_are_one_hit(snapshot):
    point = Breakpoint(1, "v", "train.py:41", "", enabled=True, skip=0, hits=2)
    at_six_lanes = snapshot(sites=[dataclasses.replace(SITE, kind="breakpoint")], events=12, breakpoints=(point,))
    assert " — done after 2.50 s, 2 breakpoint hits, all" in summary(at_six_lanes)


def test_the_calls_of_a_loop_are_one_line(snapshot):
    cached = dataclasses.replace(CALL, trace=None, lower=None, compile=None, run=1.0)
    failed = dataclasses.replace(cached, state="failed", error="ValueError: no", events=0, run=None)
    shown = summary(snapshot(calls=[CALL, *[cached] * 5000, failed]), lines=0).split("\n")
    assert shown[-1] == (
        "  step(params) × 5002: compiled once, 2.25 s · ran 1 h 23 min in total (5,001 calls measured) · 1 failed, "
        "last: ValueError: no, 15,003 prints and values"
    )
    assert len(shown) == 3


def test_the_summary_shows_first_and_last_mean_of_a_watched_value(snapshot):
    site = dataclasses.replace(SITE, kind="watch", watch=Watched("loss", "value", (3,), "float32", "sin", ""))
    course = Course(site, "loss.mean", "mean", 0.25, 4.0)
    assert ", mean 0.25 → 4" in summary(snapshot(sites=[site], courses={site.id: course})).split("\n")[1]


def test_a_long_line_is_cut_and_its_length_reported(snapshot):
    shown = summary(snapshot(ordered=[PrintLine(SITE, 0, (), "x" * 5000)]))
    assert "x … 5,000 characters in all" in shown and len(shown) < 1000


def test_half_a_character_is_written_by_its_code(snapshot):
    shown = summary(snapshot(title="f()", ordered=[PrintLine(SITE, 0, (), "half \ud800")]))
    assert shown.encode().decode().endswith(r"half \ud800")


def test_a_long_title_is_cut(snapshot):
    shown = summary(snapshot(title="train(" + "x, " * 100))
    assert shown.startswith("jaxdebug: train(x, x, ") and "x, x,… — done after" in shown.split("\n")[0]


def test_a_summary_with_zero_lines_has_no_last_lines(snapshot):
    assert "last ordered" not in summary(snapshot(), lines=0)


def test_only_the_newest_lines_are_shown(snapshot):
    lines = [PrintLine(SITE, step, (), f"loss {step}") for step in range(50)]
    shown = summary(snapshot(ordered=lines), lines=3)
    assert "[47] loss 47" in shown and "[46]" not in shown


def test_the_summary_shows_40_sites_and_counts_the_others(snapshot):
    sites = [dataclasses.replace(SITE, id=number, where=f"train.py:{number}") for number in range(400)]
    shown = summary(snapshot(sites=sites))
    assert "train.py:39 " in shown and "train.py:40 " not in shown
    assert "… and 360 more sites: `run.sites` has all" in shown


def test_the_summary_shows_lanes_phases_and_the_number_of_further_lines(snapshot):
    site = dataclasses.replace(SITE, phase="backward")
    shown = summary(snapshot(sites=[site], ordered=[PrintLine(site, 4, (1, 2), "a\nb\nc")]))
    assert "(ordered print, backward)" in shown
    assert "[4 lane 1,2 backward] a … +2 lines" in shown


def test_notes_and_drops_are_reported(snapshot):
    shown = summary(snapshot(notes=("Something is off.",), dropped=7, dropped_by_site={SITE.id: 7}))
    assert "3 prints, 7 dropped" in shown
    assert "(ordered print), the oldest 7 dropped" in shown
    assert "  ! Something is off." in shown


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("off", "nothing to wait for"),
        ("idle", "nothing to wait for"),
        ("drained", "all effects arrived"),
        ("failed", "effects failed"),
        ("pending", "effects pending for 1.5 s: f(x), g(y)"),
        ("timeout", "effects pending for 1.5 s, gave up after 1 s: f(x), g(y)"),
    ],
)
def test_the_summary_describes_the_state_of_the_barrier(snapshot, state, words):
    barrier = Barrier(state=state, pending=("f(x)", "g(y)"), waited=1.5, timeout=1.0)
    assert summary(snapshot(barrier=barrier)).split("\n")[0].endswith(words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"trace": None, "lower": None, "compile": None},
            "step(params): cached · ran 0.75 s · done, 3 prints and values",
        ),
        ({"run": 0.25, "run_of": 4}, "compiled 1.50 s · ran 0.25 s a call · done, 3 prints and values"),
        ({"run": None}, "compiled 1.50 s · done, 3 prints and values"),
        (
            {"error": "TypeError: no", "state": "failed", "ready_ns": None, "run": None},
            "TypeError: no, 3 prints and values",
        ),
        (
            {"ready_ns": None, "run": None, "state": "dispatched", "compile": None, "trace": None, "lower": None},
            "cached · dispatched",
        ),
    ],
    ids=["cached", "together", "unknown", "failed", "dispatched"],
)
def test_a_call_is_reported_in_one_line(snapshot, changes, words):
    assert words in summary(snapshot(calls=[dataclasses.replace(CALL, **changes)]))
