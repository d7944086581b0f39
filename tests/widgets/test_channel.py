"""Test the model that carries messages, and the output that shows a run."""

from __future__ import annotations

import gc
import json
import sys
import threading
import weakref
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from jax_debug_widgets.transport.columns import unpack, unpack_texts
from jax_debug_widgets.widgets import Channel, Panel
from jax_debug_widgets.widgets.channel import PanelModel, front_end
from tests.fakes import Browser


@jax.jit
def program(x):
    jax.debug.print("x {}", x)
    return x


@pytest.fixture
def session(comms, monkeypatch):  # noqa: ARG001 - the comm must be there before the channel
    """Return this process's session, with a new channel on a recording comm."""
    session = current_session()
    monkeypatch.setattr(session.panels, "_channel", None)
    monkeypatch.setattr(session.panels, "_panels", {})
    return session


@pytest.fixture
def opened(comms):
    """Return a channel that echoes requests, and its comm."""
    channel = Channel.open("run-1", lambda request: [({"type": "echo", "of": request}, b"\x01\x02")])
    return channel, comms[-1]


def test_a_message_has_content_and_one_buffer(opened):
    channel, comm = opened
    channel.send({"type": "batch"}, b"abc")
    assert comm.messages == [({"type": "batch"}, b"abc")]


def test_a_request_is_answered(opened):
    _, comm = opened
    comm.ask({"type": "sync", "run": "run-1", "id": 3})
    assert comm.messages == [({"type": "echo", "of": {"type": "sync", "run": "run-1", "id": 3}}, b"\x01\x02")]


def test_one_channel_serves_all_runs(opened):
    assert opened[0].serves("run-1") and opened[0].serves("run-2")


@pytest.mark.usefixtures("comms")
def test_a_front_end_cannot_change_the_code_or_the_run_of_the_model(opened):
    channel, comm = opened
    before = channel.model.get_state()
    comm._receive({"content": {"data": {"method": "update", "state": {"_esm": "alert(1)", "run": "x", "way": "y"}}}})
    assert channel.model.get_state() == before
    assert comm.sent == []


def test_characters_that_utf_8_cannot_encode_are_sent_as_escapes(opened, monkeypatch):
    channel, comm = opened
    send = comm.send

    def as_a_socket_does(data, metadata=None, buffers=None):
        json.dumps(data, ensure_ascii=False).encode()
        send(data, metadata, buffers)

    monkeypatch.setattr(comm, "send", as_a_socket_does)
    channel.send({"title": ["half \ud800", 1]}, b"")
    assert comm.messages == [({"title": [r"half \ud800", 1]}, b"")]


def test_each_run_has_a_channel_of_its_own_if_outputs_are_isolated(comms, monkeypatch, snapshot):
    monkeypatch.setenv("VSCODE_PID", "1")
    channel = Channel.open("run-1", lambda _: [])
    assert channel.serves("run-1") and not channel.serves("run-2")
    bundle, _ = Panel("run-1", snapshot, channel)._repr_mimebundle_()
    view = bundle["application/vnd.jupyter.widget-view+json"]
    assert view["model_id"] == channel.model.model_id == comms[-1].comm_id


def marimo(*, is_notebook):
    """Return the stand-in for marimo, inside one of its notebooks or imported elsewhere."""
    html = lambda model: SimpleNamespace(text=f"<marimo-anywidget data-model={model.model_id}>")  # noqa: E731
    return SimpleNamespace(running_in_notebook=lambda: is_notebook, as_html=html)


@pytest.mark.parametrize("is_notebook", [True, False])
def test_the_picture_is_beside_the_widget_in_marimo(comms, monkeypatch, snapshot, is_notebook):
    monkeypatch.setitem(sys.modules, "marimo", marimo(is_notebook=is_notebook))
    bundle, _ = Panel("run-1", snapshot, Channel.open("run-1", lambda _: []))._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"} and 'data-jaxdebug-run="run-1"' in bundle["text/html"]
    assert bundle["text/html"].endswith(f"<marimo-anywidget data-model={comms[-1].comm_id}>") is is_notebook


def test_a_run_shown_again_in_marimo_has_a_new_model_if_its_own_is_closed(comms, monkeypatch, snapshot):
    monkeypatch.setitem(sys.modules, "marimo", marimo(is_notebook=True))
    panel = Panel("run-1", snapshot, Channel.open("run-1", lambda _: [({"type": "answer"}, b"")]))
    first = panel.channel.model
    panel._repr_mimebundle_()
    assert panel.channel.model is first
    comms[-1]._closed = True
    panel._repr_mimebundle_()
    assert panel.channel.model is not first and panel.channel.serves("run-1")
    comms[-1].ask({"type": "sync"})
    assert comms[-1].messages == [({"type": "answer"}, b"")]


def test_a_panel_is_text_and_html_without_a_widget_view(opened, snapshot):
    bundle, metadata = Panel("run-1", snapshot, opened[0])._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"].startswith("jaxdebug: step(params)")
    assert 'data-jaxdebug-run="run-1"' in bundle["text/html"]
    assert metadata == {}


@pytest.mark.usefixtures("comms")
def test_a_closed_model_is_let_go_of():
    model = PanelModel("run-1")
    alive = weakref.ref(model)
    model.close()
    del model
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("part", ["panel", "views"])
def test_the_front_end_is_in_the_package(part):
    assert "export" in front_end(part)


def test_an_unknown_part_of_the_front_end_is_refused():
    with pytest.raises(ValueError, match=r"no part '\.\./panel'"):
        front_end("../panel")


def test_a_run_with_a_panel_sends_batches_while_it_goes_on(session, comms):
    with jdw.capture() as run:
        run.panel  # noqa: B018 - makes the panel
        program(1.0)
        jax.effects_barrier()
        session.collect()
        session.panels.send_news(run)
        assert sum(content["count"] for content, _ in comms[-1].messages) == 1
    browser = Browser()
    for content, buffer in comms[-1].messages:
        assert content["run"] == run.key
        assert browser.receive(content, buffer)
    assert browser.texts == {0: "x 1.0"}
    assert browser.status["state"] == "done"
    assert browser.status["barrier"]["state"] == "drained"


def test_a_run_without_a_panel_sends_nothing(session, comms):
    with jdw.capture() as run:
        program(1.0)
    session.panels.send_news(run)
    assert comms == []


@pytest.mark.usefixtures("session")
def test_the_browser_can_request_all_batches_again(comms):
    with jdw.capture() as run:
        run.panel  # noqa: B018
        program(1.0)
    comm = comms[-1]
    comm.sent.clear()
    comm.ask({"type": "sync", "run": run.key, "id": 1, "first": 0})
    comm.ask({"type": "rows", "run": run.key, "id": 2, "first": 0, "count": 5})
    (batch, batch_buffer), (rows, rows_buffer) = comm.messages
    assert (batch["type"], batch["count"], len(batch["sites"])) == ("batch", 1, 1)
    assert unpack(batch["columns"], batch_buffer)["site"].tolist() == [run.sites[0].id]
    assert (rows["type"], rows["id"]) == ("rows", 2)
    assert unpack_texts(unpack(rows["columns"], rows_buffer)) == {0: "x 1.0"}


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("request_", [{"type": "explode"}, {"type": "rows"}, {}], ids=str)
def test_a_request_that_cannot_be_answered_gets_an_error(comms, request_):
    with jdw.capture() as run:
        run.panel  # noqa: B018
    comms[-1].sent.clear()
    comms[-1].ask({"run": run.key, "id": 4, **request_})
    ((content, _),) = comms[-1].messages
    assert (content["type"], content["id"], content["run"]) == ("error", 4, run.key)


@pytest.mark.usefixtures("session")
def test_a_request_about_a_run_that_is_gone_gets_an_error(comms):
    with jdw.capture() as run:
        run.panel  # noqa: B018
    comms[-1].sent.clear()
    comms[-1].ask({"type": "sync", "run": "nobody", "id": 5})
    ((content, _),) = comms[-1].messages
    assert (content["type"], content["id"]) == ("error", 5)


@pytest.mark.usefixtures("session")
def test_a_barrier_asked_for_is_answered_when_it_is_over(comms):
    with jdw.capture(barrier=False) as run:
        run.panel  # noqa: B018
        program(1.0)
    comms[-1].sent.clear()
    comms[-1].ask({"type": "barrier", "run": run.key, "id": 6})
    for thread in threading.enumerate():
        if thread.name == "jaxdebug-barrier":
            thread.join(20)
    done = [content for content, _ in comms[-1].messages if content["type"] == "done"]
    assert [(content["id"], content["drained"]) for content in done] == [(6, True)]


def test_a_switch_in_one_panel_is_sent_to_those_of_earlier_runs(session, comms):
    def run_it():
        with jdw.capture(watch="h") as run:
            jax.jit(doubled)(jnp.ones(2))
        _ = run.panel
        return run

    earlier, later = run_it(), run_it()
    comm, before = comms[-1], len(comms[-1].messages)
    try:
        comm.ask({"type": "watch", "run": later.key, "id": 1, "names": ["x"], "on": True})
        told = {content["run"]: content for content, _ in comm.messages[before:] if content["type"] == "batch"}
        assert {key: told[key]["status"]["added"] for key in told} == {earlier.key: ["x"], later.key: ["x"]}
    finally:
        session.added.discard("x")


def test_a_name_that_is_watched_elsewhere_is_added_and_taken_back(session, comms):
    """The carry of a loop has the names of values in the loop, and has no values with `--watch-all`."""
    with jdw.capture(watch=True) as run:
        jax.jit(carried)(jnp.ones(2))
    _ = run.panel
    comm = comms[-1]
    [own] = [site.id for site in run.store.sites() if site.watch and site.watch.name == "pos"]
    try:
        comm.ask({"type": "watch", "run": run.key, "id": 1, "names": ["pos"], "on": True})
        assert list(session.added) == ["pos"]
        comm.ask({"type": "watch", "run": run.key, "id": 2, "names": ["pos"], "on": False})
        assert not [*session.added] and own not in session.switches.muted()
        comm.ask({"type": "watch", "run": run.key, "id": 3, "names": ["pos"], "on": False})
        assert own in session.switches.muted()
        comm.ask({"type": "watch", "run": run.key, "id": 4, "names": ["pos"], "on": True})
        assert not [*session.added] and own not in session.switches.muted()
    finally:
        session.added.discard("pos")
        session.switches.mute(own, muted=False)


def carried(x):
    def step(carry, _):
        pos = carry
        pos = pos + 1
        return pos, None

    return jax.lax.scan(step, x, length=3)[0]


def doubled(x):
    h = x * 2
    return h + 1
