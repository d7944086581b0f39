"""Test the answers to a page about a program: boxes, source lines and tables, or why they are not available."""

from __future__ import annotations

import json
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.graphs.tones import COLOURS
from jax_debug_widgets.magics.program_outputs import live_html
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.panel.requests import answer
from jax_debug_widgets.session.studies.program_views import MOST_KEPT, ProgramViews

X = jnp.ones((2, 3))


def f(x):
    h = jnp.tanh(x)
    nll = jax.nn.log_softmax(h)
    return jnp.sum(nll)


def g(x):
    h = jnp.sin(x)
    return jnp.sum(h)


def asked(views, of, what, **more: Any):
    """Return the answer, after a round trip through JSON."""
    return json.loads(json.dumps(views.answer({"what": what, "key": views.add(of), **more})))


@pytest.mark.behaviour("G1")
def test_a_box_is_opened_searched_and_followed_to_the_outputs():
    views, graph = ProgramViews(), jdw.graph(jax.grad(f), X)
    first = asked(views, graph, "scene", opened=None)
    nll = next(one for one in first["boxes"] if (one["title"], one["side"]) == ("nll", "forward"))
    assert nll["opens"] and not nll["open"] and first["colours"] == [one for one in COLOURS if one != "nan"]
    inside = asked(views, graph, "scene", opened=[*first["opened"], nll["box"]], find="= exp ", reveal=None)
    assert {one["title"] for one in inside["boxes"]} > {"exp_1"}
    assert [one["primitive"] for one in inside["found"]] == ["exp"]
    assert {one["title"] for one in inside["boxes"] if one["lit"] and not one["open"]} == {"exp_1"}
    followed = asked(views, graph, "scene", opened=first["opened"], way="outputs", box=nll["box"], side="forward")
    assert followed["description"].startswith("reaches") and all(one["start"] >= 0 for one in followed["wires"])
    found = asked(views, graph, "source", box=nll["box"])
    assert found["lines"][found["line"] - found["first"]].strip() == "nll = jax.nn.log_softmax(h)"


@pytest.mark.behaviour("G1")
def test_every_view_of_a_program_is_available_from_any_other():
    views = ProgramViews()
    for view in (jdw.table(f, X), jdw.linked(f, X, compiled=False), jdw.graph(f, X), jdw.diff(g, f, X)):
        assert any(one["title"] == "nll" for one in asked(views, view, "scene")["boxes"])
        assert "log_softmax" in asked(views, view, "html", view="linked")["html"]
        assert asked(views, view, "html", view="table", by="primitive")["by"] == "primitive"
    assert "tanh" in asked(views, view, "html", view="diff")["html"]
    kinds = [one["first"] for one in views.answer({"what": "programs"})["programs"]]
    assert kinds == ["diff", "graph", "linked", "table"]


def test_a_removed_or_unavailable_view_is_refused_with_a_reason():
    views, graph = ProgramViews(), jdw.graph(f, X)
    key = views.add(graph)
    assert views.add(graph) == key
    with pytest.raises(ValueError, match="diff f g -- x"):
        views.answer({"what": "html", "key": key, "view": "diff"})
    for _ in range(MOST_KEPT):
        views.add(jdw.table(g, X))
    with pytest.raises(LookupError, match="run the cell again"):
        views.answer({"what": "about", "key": key})


def test_a_page_is_answered_without_a_run_and_reports_what_is_wrong():
    session = current_session()
    key = session.program_views.add(jdw.graph(f, X))
    request = {"type": "program", "run": "", "id": 7, "what": "about", "key": key}
    [(message, _)] = answer(session, request)
    assert (message["type"], message["id"], message["answer"]["name"]) == ("program", 7, "f")
    [(message, _)] = answer(session, {**request, "key": "another"})
    assert (message["type"], message["message"]) == ("error", "This program is gone: run the cell again.")


def test_a_live_output_has_the_picture_for_pages_without_the_kernel(monkeypatch):
    session, graph = current_session(), jdw.graph(f, X)
    monkeypatch.setattr(session.panels, "open_for_programs", lambda: True)
    html = live_html(session, graph)
    assert html.startswith('<div data-jaxdebug-program="program-') and graph._repr_html_() in html
    monkeypatch.setattr(session.panels, "open_for_programs", lambda: False)
    assert live_html(session, graph) == graph._repr_html_()


def spoilt(x):
    h = jnp.log(x)
    y = jnp.where(x > 0, h, 0.0)
    return jnp.sum(y)


@pytest.mark.behaviour("G1")
def test_values_that_were_not_finite_in_the_last_run_colour_their_boxes():
    with jdw.capture(watch=True, values=True):  # This records whole arrays beside the statistics.
        jax.jit(spoilt)(jnp.array([-1.0, 2.0, -3.0]))
    scene = asked(ProgramViews(), jdw.graph(spoilt, X[0]), "scene", colour="nan")
    said = {one["title"]: (one["tone"], one["tooltip"]) for one in scene["boxes"] if not one["open"]}
    assert said["h"] == ("bad", "2 not finite · 0.693 … 0.693, 2 NaN") and said["y"][0] == "fine", said
    assert any("0.693 … 0.693, 2 NaN" in one["description"] for one in scene["wires"]), "the value is on its edge"
    followed = asked(ProgramViews(), jdw.graph(spoilt, X[0]), "scene", way="nan", box=0)
    assert scene["spoilt"] == 1 and followed["description"].startswith("first in h (test_program_views.py:")
    assert next(one for one in followed["boxes"] if one["title"] == "h")["lit"]
    assert "0.693 … 0.693, 2 NaN" in str(jdw.linked(spoilt, X[0], compiled=False))
    assert "nan" in scene["colours"]
    assert "nan" not in asked(ProgramViews(), jdw.graph(g, X), "scene")["colours"], "nothing of it was watched"
