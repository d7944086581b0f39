"""Test that requests are answered beside the main thread, each by the taker of its comm."""

from __future__ import annotations

import asyncio
import queue
import threading
import types
from typing import Any

import pytest
import zmq
from jupyter_client.session import Session

from jax_debug_widgets.widgets import intake
from jax_debug_widgets.widgets.intake import Intake


class Kernel:
    """The parts of ipykernel 7 that the intake uses."""

    def __init__(self) -> None:
        self.session = Session(key=b"secret")
        self.passed_on: list[object] = []
        self.statuses: list[tuple[str, Any]] = []
        self.on_recv = None
        self.cell: object = None  # No cell is running.
        self.events: dict[str, Any] = {}
        events = types.SimpleNamespace(register=self.events.__setitem__)
        self.shell = types.SimpleNamespace(events=events)
        self.shell_stream = types.SimpleNamespace(on_recv=self._set)
        self.shell_channel_thread = types.SimpleNamespace(
            io_loop=types.SimpleNamespace(add_callback=lambda call: call())
        )

    def _set(self, receive, *, copy):
        assert not copy
        self.on_recv = receive

    async def shell_channel_thread_main(self, frames):
        self.passed_on.append(frames)

    def get_parent(self, _channel):
        return self.cell

    def _publish_status(self, status, channel, parent=None):
        self.statuses.append((status, parent or channel))

    def receive(self, message_type, content, key=b"secret"):
        browser = Session(key=key)
        message = browser.msg(message_type, content=content)
        frames = [zmq.Frame(part) for part in browser.serialize(message, ident=b"browser")]
        asyncio.run(self.on_recv(frames))


@pytest.fixture
def kernel():
    return Kernel()


def custom(comm_id, content):
    return {"comm_id": comm_id, "data": {"method": "custom", "content": content}}


def test_each_comm_has_its_taker_and_other_messages_reach_the_kernel(kernel):
    own = Intake.of(kernel)
    assert own is Intake.of(kernel)
    got: queue.SimpleQueue = queue.SimpleQueue()
    for name in ("one", "two"):
        own.take(name, lambda content, name=name: got.put((name, content, threading.current_thread().name)))
    kernel.receive("comm_msg", custom("one", {"a": 1}))
    kernel.receive("comm_msg", custom("two", {"b": 2}))
    assert [got.get(timeout=10) for _ in range(2)] == [
        ("one", {"a": 1}, "jaxdebug-requests"),
        ("two", {"b": 2}, "jaxdebug-requests"),
    ]
    kernel.receive("comm_msg", custom("three", {}))
    kernel.receive("comm_msg", {"comm_id": "one", "data": {"method": "update", "state": {}}})
    kernel.receive("kernel_info_request", {})
    assert len(kernel.passed_on) == 3
    own.let_go("one")
    kernel.receive("comm_msg", custom("one", {"a": 3}))
    assert len(kernel.passed_on) == 4
    assert got.empty()


def test_a_message_that_is_not_signed_is_not_taken(kernel, caplog):
    got = []
    Intake.of(kernel).take("one", got.append)
    kernel.receive("comm_msg", custom("one", {}), key=b"guessed")
    assert got == []
    assert len(kernel.passed_on) == 1
    assert "could not read a message" in caplog.text


def test_a_taker_that_fails_does_not_end_the_thread(kernel, caplog):
    got: queue.SimpleQueue = queue.SimpleQueue()
    own = Intake.of(kernel)

    def fail(_content):
        raise ValueError("no")

    own.take("one", fail)
    own.take("two", got.put)
    kernel.receive("comm_msg", custom("one", {}))
    kernel.receive("comm_msg", custom("two", {"still": "here"}))
    assert got.get(timeout=10) == {"still": "here"}
    assert "could not answer a request" in caplog.text


def test_answers_come_first_while_a_cell_runs_and_other_messages_at_its_end(kernel):
    answered: queue.SimpleQueue = queue.SimpleQueue()
    Intake.of(kernel).take("one", answered.put)
    kernel.cell = {"header": {"msg_type": "execute_request"}}
    kernel.events["pre_execute"]()
    for number in range(3):
        kernel.receive("comm_msg", custom("one", {"number": number}))
    assert [answered.get(timeout=10)["number"] for _ in range(3)] == [0, 1, 2]
    # The taker has the fourth message, so the third is over.
    kernel.receive("comm_msg", custom("one", {}))
    answered.get(timeout=10)
    assert "idle" not in [status for status, _ in kernel.statuses]
    kernel.events["post_execute"]()
    idle = [parent["content"]["data"]["content"] for status, parent in kernel.statuses if status == "idle"]
    assert [content.get("number") for content in idle[:3]] == [0, 1, 2]


def test_requests_answered_during_a_cell_leave_the_kernel_busy(kernel):
    Intake.of(kernel)
    kernel._publish_status("idle", "control")
    assert kernel.statuses == [("idle", "control")]
    kernel.cell = {"header": {"msg_type": "execute_request"}}
    kernel.events["pre_execute"]()
    kernel._publish_status("busy", "control")
    kernel._publish_status("idle", "control")
    assert kernel.statuses[1:] == [("busy", "control"), ("idle", "control"), ("busy", kernel.cell)]
    kernel.events["post_execute"]()
    kernel._publish_status("idle", "shell")
    assert kernel.statuses[4:] == [("idle", "shell")], "it would stay busy for ever"


def test_a_page_does_not_wait_for_too_many_requests_of_a_cell_that_goes_on(kernel, monkeypatch):
    monkeypatch.setattr(intake, "_MOST_UNFINISHED", 2)
    said: queue.SimpleQueue = queue.SimpleQueue()
    monkeypatch.setattr(kernel, "_publish_status", lambda status, _channel, parent: said.put((status, parent)))
    Intake.of(kernel).take("one", lambda _content: None)
    kernel.cell = {"header": {"msg_type": "execute_request"}}
    kernel.events["pre_execute"]()
    for _ in range(2):
        kernel.receive("comm_msg", custom("one", {}))
    assert [said.get(timeout=10)[0] for _ in range(2)] == ["idle", "idle"]
    assert said.get(timeout=10) == ("busy", kernel.cell)


def test_a_kernel_without_such_a_thread_has_no_intake():
    assert Intake.of(object()) is None
    assert Intake.of(None) is None
