"""Test what a notebook keeps of a run: names, the origin of NaN, the loss and the last lines, within a size limit."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session, snapshot_of
from jax_debug_widgets.session.panel.saving import Saving
from jax_debug_widgets.session.run.counters import counts
from jax_debug_widgets.session.run.thinning import thinned
from jax_debug_widgets.taps.text import Renderer


def unit(z):
    n2 = (z**2).sum(-1, keepdims=True)
    norm = jnp.where(n2 > 0, jnp.sqrt(n2), 1.0)
    return z / norm


@jax.jit
def step(w, x, i):
    loss, g = jax.value_and_grad(lambda w: (unit(x * w[None]) * 2).sum() + (w**2).sum())(w)
    jax.debug.print("{i} loss {loss}", i=i, loss=loss)
    return w - 0.1 * g


def train(count, bad=-1):
    w = jnp.ones(3)
    for i in range(count):
        w = step(w, jnp.ones((4, 3)).at[0].set(0.0 if i == bad else 1.0), i)


def test_a_snapshot_of_all_values_has_names_and_the_origin_of_nan_and_the_loss_first():
    with jdw.capture(watch=True) as run:
        train(8, bad=5)
    kept = snapshot_of(run)
    assert [series.name for series in kept.series][:1] == ["loss"]
    names = [series.name for series in kept.series]
    assert len(set(names)) == len(names) and "i" not in names, "a counter is no curve"
    assert not any(" " in name for name in names), "an expression is no name"
    gradients, _, activations = ({line.group for line in group.lines} for group in kept.groups)
    assert gradients == {"g"} and {"n2", "norm"} <= activations
    assert {course.name for course in kept.courses.values()} >= {"n2.mean", "norm.mean", "g.mean", "grad/w.l2"}
    worst = kept.findings[0]
    assert (
        "the gradient of `n2` becomes NaN" in worst.headline
        and "call 5" in worst.why
        and "10 others later." in worst.why
    )
    assert [line.text.split(" loss")[0] for line in kept.unordered] == [str(i) for i in range(8)]
    assert (kept.count(ordered=False), kept.count(ordered=True)) == (8, 0)
    html = run.panel.bundle()["text/html"]
    assert "No prints or callbacks" not in html and "grad/n2.l2" in html


def test_a_snapshot_of_a_run_without_prints_says_so_and_has_the_names():
    with jdw.capture(watch="n2") as run:
        jax.jit(unit)(jnp.ones((2, 3)))
    html = run.panel.bundle()["text/html"]
    assert "No prints." in html and "n2.mean" in html and "No prints or callbacks" not in html


def test_the_last_prints_are_found_among_many_watched_values(monkeypatch):
    monkeypatch.setattr("jax_debug_widgets.session.panel.snapshots._AT_ONCE", 16)
    with jdw.capture(watch=True) as run:
        train(30)
    assert [line.text.split()[0] for line in snapshot_of(run).unordered] == [str(i) for i in range(30)]


@jax.jit
def large(x):
    jax.debug.print("{x}", x=x)
    jax.debug.print("few {y}", y=x[0, :2])
    return x


@pytest.fixture
def rendered(monkeypatch):
    """Return a list with the number of numbers requested for each text that was made."""
    made = []
    printed = Renderer._printed

    def note(self, text, values):
        most, total = np.get_printoptions()["threshold"], sum(map(np.size, values))
        made.append(min(total, most))
        return printed(self, text, values)

    monkeypatch.setattr(Renderer, "_printed", note)
    return made


def test_a_long_text_is_cut_and_its_length_reported_and_the_event_has_all_of_it(rendered):
    x = jnp.ones((60, 100))
    with np.printoptions(threshold=sys.maxsize), jdw.capture() as run:
        large(x)
    long, few = (line.text for line in snapshot_of(run).unordered)
    assert long.startswith("[[1. 1. 1. ... 1. 1. 1.]") and long.endswith("… 6,000 numbers in all")
    assert few == "few [1. 1.]"
    assert max(rendered) <= 1000
    with np.printoptions(threshold=sys.maxsize):
        assert run.events[0].text == str(np.ones((60, 100), np.float32))


def test_a_text_is_made_once_for_all_who_show_lines_and_not_where_none_are_shown(rendered):
    with jdw.capture() as run:
        large(jnp.ones((2, 2)))
    snapshot_of(run, lines=False)
    assert rendered == []
    news = current_session().panels.feed_of(run).news()
    for _ in range(2):
        assert len(snapshot_of(run).unordered) == 2
    assert news and len(rendered) == 2


def test_lines_are_kept_up_to_a_bound_the_newest_first():
    word = "w" * 3000
    with jdw.capture() as run:
        for i in range(90):
            jax.debug.print("{i} {word}", i=i, word=word)
    kept = snapshot_of(run).unordered
    assert kept[-1].text.startswith("89 www") and kept[-1].text.endswith("… 3,003 characters in all")
    assert sum(len(line.text) for line in kept) <= 20_000
    assert len(kept) > 40


def test_steps_of_several_sites_are_those_of_each():
    with jdw.capture(watch=True) as run:
        jax.jit(jax.grad(lambda x: jax.lax.scan(lambda c, i: (jnp.sin(c) * i, c), x, jnp.arange(4.0))[0]))(0.5)
    sites = [site.id for site in run.sites]
    assert any(site.phase == "backward" for site in run.sites)
    for site, steps in run.store.history.steps_of(sites).items():
        assert steps.dtype == run.store.history.steps(site).dtype
        assert np.array_equal(steps, run.store.history.steps(site))


@pytest.mark.parametrize("size", [1, 200, 201, 5000])
def test_a_thinned_curve_keeps_ends_extremes_and_the_first_nan(size):
    values = np.sin(np.arange(size * 1.0))
    values[size // 2] = 50.0
    values[size * 2 // 3 :: 7] = np.nan
    chosen = thinned(values, 100)
    assert len(chosen) <= 3 * 100 + 3
    assert (chosen[0], chosen[-1]) == (0, size - 1) and (np.diff(chosen) > 0).all()
    if size > 1:
        assert np.flatnonzero(~np.isfinite(values))[0] in chosen and size // 2 in chosen


def test_a_counter_is_distinguished_from_other_integers():
    assert counts(np.arange(4, dtype=np.int32)) and counts(np.arange(3, 9))
    assert not counts(np.array([0, 1, 3])) and not counts(np.arange(4.0)) and not counts(np.array([7]))


def test_a_run_that_goes_on_is_written_again_and_again_while_something_happens(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("jax_debug_widgets.session.panel.saving.time.monotonic", lambda: clock[0])
    with jdw.capture() as run:
        saving, written = Saving(run), []
        for tenth in range(400):
            clock[0] = 100 + tenth / 10
            if tenth < 350:
                jax.debug.print("x")
            run.collect()
            if saving.is_due():
                saving.begin()
                saving.end()
                written.append(tenth / 10)
    assert written == pytest.approx([1, 3, 7, 15, 25, 35], abs=0.15)


def test_half_a_character_is_kept_by_its_code():
    with jdw.capture(title="half \ud800") as run:
        jax.debug.print("a {half} b", half="\ud800")
    bundle = run.panel.bundle()
    for text in bundle.values():
        assert r"a \ud800 b" in text.encode().decode()
