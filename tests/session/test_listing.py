"""Test the list of all runs that front ends receive, and the requests that they can send."""

from __future__ import annotations

import json
import threading
import types
from typing import Any

import jax
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import Session, current_session
from jax_debug_widgets.session.panel.listing import Listing
from jax_debug_widgets.widgets import listing
from tests.fakes import RecordingComm


@jax.jit
def program(x):
    jax.debug.print("x {}", x)
    return x


class Kernel:
    """A kernel that receives all messages in the usual way."""


@pytest.fixture
def comms(monkeypatch):
    """Return the comms that are opened from now on, in a notebook."""
    opened: list[RecordingComm] = []

    def create(**options: Any):
        opened.append(RecordingComm(**options))
        return opened[-1]

    monkeypatch.setattr("comm.create_comm", create)
    monkeypatch.setattr(listing, "get_ipython", lambda: types.SimpleNamespace(kernel=Kernel()))
    session = current_session()
    monkeypatch.setattr(session, "listing", Listing(session, session.panels))
    for held in ("_known", "_loaded", "_shelved"):
        monkeypatch.setattr(session._runs, held, {})
    return opened


def rows(comm: RecordingComm, run) -> list[dict]:
    return [row for content, _ in comm.messages for row in content.get("runs", ()) if row["key"] == run.key]


def test_the_first_run_opens_the_comm_and_every_run_is_reported_from_its_beginning_to_its_end(comms):
    with jdw.capture(title="one") as one:
        assert [row["state"] for row in rows(comms[0], one)] == ["running"]
        program(1.0)
    with jdw.capture(title="two") as two:
        pass
    (comm,) = comms
    assert comm.target_name == "jax_debug_widgets"
    first, last = rows(comm, one)[0], rows(comm, one)[-1]
    assert (first["title"], first["events"], first["barrier"]) == ("one", 0, "idle")
    assert (last["state"], last["events"], last["barrier"], last["pending"]) == ("done", 1, "drained", [])
    assert comm.messages[-1][0]["keys"] == [one.key, two.key]


def test_each_message_of_the_listing_is_json_of_version_1(comms):
    with jdw.capture():
        pass
    for content, buffer in comms[0].messages:
        assert json.loads(json.dumps(content)) == content
        assert (content["type"], content["version"], buffer) == ("runs", 1, b"")


def test_the_listing_sends_a_running_run_at_intervals_and_at_its_end(comms, monkeypatch):
    session = current_session()
    with jdw.capture() as run:
        pass
    its_own = Listing(session, session.panels)
    its_own.begin(run)
    told = []
    for seconds, over in ((100.0, False), (100.1, False), (100.25, False), (100.3, False), (100.31, True)):
        monkeypatch.setattr("jax_debug_widgets.session.panel.listing.time.monotonic", lambda now=seconds: now)
        its_own.report(run, over=over)
        told.append(len(comms[-1].sent))
    assert told == [2, 2, 3, 3, 4]


def test_a_list_that_is_asked_for_has_all_runs(comms):
    with jdw.capture(title="one"):
        pass
    with jdw.capture(title="two"):
        pass
    comms[0].sent.clear()
    comms[0].ask({"type": "list"})
    ((content, _),) = comms[0].messages
    assert [row["title"] for row in content["runs"]] == ["one", "two"]


def test_a_run_that_is_to_be_opened_gets_a_panel(comms, monkeypatch):
    monkeypatch.setattr(current_session().panels, "_channel", None)
    monkeypatch.setattr(current_session().panels, "_panels", {})
    with jdw.capture() as run:
        pass
    assert len(comms) == 1
    comms[0].ask({"type": "open", "run": run.key})
    assert {comm.target_name for comm in comms[1:]} == {"jupyter.widget"}  # The model and its layout.
    assert current_session().panels._panels[run.key].run == run.key


def test_a_barrier_that_is_asked_for_ends_with_news_of_the_run(comms):
    with jdw.capture(barrier=False) as run:
        program(1.0)
    comms[0].sent.clear()
    comms[0].ask({"type": "barrier", "run": run.key})
    for thread in threading.enumerate():
        if thread.name == "jaxdebug-barrier":
            thread.join(20)
    assert rows(comms[0], run)[-1]["barrier"] == "drained"


def test_a_page_can_have_what_the_kernel_has_written_since_it_went(comms, monkeypatch):
    monkeypatch.setattr(current_session().panels, "_channel", None)
    monkeypatch.setattr(current_session().panels, "_panels", {})
    with jdw.capture() as run:
        shown, _ = run.panel._repr_mimebundle_()
        program(1.0)
        comms[0].ask({"type": "list"})
        assert rows(comms[0], run)[-1]["saved"] == 1
        assert f'data-jaxdebug-run="{run.key}" data-jaxdebug-saved="1"' in shown["text/html"]
    last = rows(comms[0], run)[-1]
    saved = last["saved"]  # The number rises by more than one if a slow run was written again meanwhile.
    assert last["state"] == "done" and saved >= 2
    comms[0].ask({"type": "saved", "run": run.key})
    answer, _ = comms[0].messages[-1]
    assert (answer["type"], answer["run"]) == ("saved", run.key)
    assert "1 print," in answer["data"]["text/plain"]
    assert f'data-jaxdebug-run="{run.key}" data-jaxdebug-saved="{saved + 1}"' in answer["data"]["text/html"]


def test_an_output_that_cannot_be_written_is_logged_once_and_the_run_ends_as_ever(comms, monkeypatch, caplog):
    panels = current_session().panels
    monkeypatch.setattr(panels, "_channel", None)
    monkeypatch.setattr(panels, "_panels", {})

    def refuse(_panel):
        raise ValueError("no")

    monkeypatch.setattr("jax_debug_widgets.widgets.panel.Panel.refresh", refuse)
    with jdw.capture() as run:
        _ = run.panel
        panels.refresh(run)
        program(1.0)
    assert rows(comms[0], run)[-1]["state"] == "done"
    assert caplog.text.count("could not write the output of a run") == 1


@pytest.mark.parametrize("request_", [{}, {"type": "explode"}, {"type": "open", "run": "nobody"}, {"type": "barrier"}])
def test_an_impossible_request_of_a_front_end_is_ignored(comms, request_):
    with jdw.capture():
        pass
    comms[0].sent.clear()
    comms[0].ask(request_)
    assert comms[0].sent == []


def test_a_comm_that_a_front_end_closed_is_opened_again_by_the_next_run(comms):
    with jdw.capture():
        pass
    comms[0].close_by_front_end()
    with jdw.capture() as run:
        pass
    assert len(comms) == 2
    assert {content["keys"][-1] for content, _ in comms[1].messages} == {run.key}


def test_the_listing_opens_no_comm_without_a_kernel(monkeypatch):
    def refuse(**_options: Any):
        pytest.fail("a comm was opened")

    monkeypatch.setattr("comm.create_comm", refuse)
    session = Session()
    run = session.start("run", jdw.session.Options())
    run.finish()


def test_the_listings_comm_is_opened_by_the_first_run_in_a_cell(comms, monkeypatch):
    def no_parent(**_options: Any):
        raise LookupError("<ContextVar name='shell_parent'>")

    with monkeypatch.context() as patched:
        patched.setattr("comm.create_comm", no_parent)
        with jdw.capture():
            pass
    assert comms == []
    with jdw.capture():
        pass
    assert len(comms) == 1


def test_a_front_end_renames_a_run_and_has_runs_laid_over_each_other(comms):
    runs = []
    for lr in (1.0, 2.0):
        with jdw.capture(title="train", config={"lr": lr}) as run:
            program(lr)
        runs.append(run)
    comms[0].ask({"type": "rename", "run": runs[0].key, "name": "slow"})
    assert (runs[0].name, rows(comms[0], runs[0])[-1]["name"], runs[1].name) == ("slow", "slow", "")
    assert {row["name"] for row in current_session().listing.rows()} == {"slow", ""}
    comms[0].ask({"type": "compare", "id": 7, "runs": [run.key for run in runs]})
    for thread in threading.enumerate():
        if thread.name == "jaxdebug-compare":
            thread.join(20)
    told = comms[0].messages[-1][0]
    assert (told["type"], told["version"], told["id"], told["by"]) == ("compared", 1, 7, "lr")
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_a_file_that_cannot_be_read_is_reported_as_a_problem(comms, tmp_path):
    with jdw.capture():
        program(1.0)
    comms[0].ask({"type": "load", "id": 3, "path": str(tmp_path / "nothing.jdw")})
    told = comms[0].messages[-1][0]
    assert (told["type"], told["id"]) == ("loaded", 3) and "nothing.jdw" in told["problem"]
