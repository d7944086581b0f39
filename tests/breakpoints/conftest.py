"""Define a page that shows stops: it receives messages through a recording comm and answers from its own thread."""

from __future__ import annotations

import itertools
import queue
import threading
from typing import Any

import ipywidgets
import jax
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.panel.requests import answer
from tests.fakes import RecordingComm

PATIENCE = 30
"""The most seconds to wait for something that must happen."""


class Page:
    """Stands for the browser: receives the kernel's messages, and sends the requests that a browser sends."""

    def __init__(self) -> None:
        self.session = current_session()
        self.stops: queue.Queue[dict[str, Any]] = queue.Queue()
        self.answers: dict[int, dict[str, Any]] = {}
        self.run: Any = None
        self._numbers = itertools.count(1000)
        self._answered = threading.Condition()
        self._last = 0

    def receive(self, content: dict[str, Any]) -> None:
        if content["type"] == "stop" and content["stop"] is not None:
            if content["stop"]["id"] != self._last:
                self._last = content["stop"]["id"]
                self.stops.put(content["stop"])
        elif "id" in content:
            with self._answered:
                self.answers[content["id"]] = content
                self._answered.notify_all()

    def stop(self) -> dict[str, Any]:
        """Wait for the next stop."""
        found = self.stops.get(timeout=PATIENCE)
        self.ask("here", stop=found["id"])
        return found

    def all_stops(self, each: Any = None) -> list[dict[str, Any]]:
        """Call `each(page, stop)` at each stop and resume, until the program is over; return the stops."""
        found = []
        while (stop := self.stops.get(timeout=PATIENCE)) is not None:
            self.ask("here", stop=stop["id"])
            found.append(stop)
            if each is not None:
                each(self, stop)
            self.go_on(stop)
        return found

    def post(self, kind: str, **fields: Any) -> int:
        """Send a request without waiting; return its number."""
        number = next(self._numbers)
        for content, _ in answer(self.session, {"type": kind, "run": self.run.key, "id": number, **fields}):
            self.receive(content)
        return number

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Send a request and return the answer."""
        number = self.post(kind, **fields)
        with self._answered:
            assert self._answered.wait_for(lambda: number in self.answers, PATIENCE), f"{kind} was not answered"
            return self.answers.pop(number)

    def say(self, stop: dict[str, Any], text: str) -> str:
        """Run a command in the console; return its answer."""
        found = self.ask("command", stop=stop["id"], text=text)
        assert found["type"] == "console", found
        return found["text"]

    def go_on(self, stop: dict[str, Any], how: str = "continue") -> None:
        """Resume the program."""
        assert self.ask("resume", stop=stop["id"], how=how)["type"] == "done"


@pytest.fixture
def page(monkeypatch):
    """Return a page that has just been opened."""
    page = Page()

    class Comm(RecordingComm):
        def send(self, data: dict[str, Any], metadata: Any = None, buffers: Any = None) -> None:
            super().send(data, metadata, buffers)
            if data["method"] == "custom":
                page.receive(data["content"])

    monkeypatch.setattr(ipywidgets.widgets.widget.comm, "create_comm", Comm)
    monkeypatch.setattr(page.session.panels, "_channel", None)
    monkeypatch.setattr(page.session.panels, "_panels", {})
    page.session.debugger.observers.heard()
    return page


class Script:
    """Runs the user's actions at stops in a thread of its own; its failures fail the test."""

    def __init__(self, page: Page, act: Any) -> None:
        self._page, self._act = page, act
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self._act(self._page)
        except BaseException as error:  # noqa: BLE001 - raised again in the test's thread.
            self._error = error
            stop = self._page.session.debugger.stop
            if stop is not None:
                stop.resume("all")

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the user still waits"
        if self._error is not None:
            raise self._error


@pytest.fixture
def stopped(page):
    """Return `stopped(function, *args, user=act)`.

    It runs the function in a capture with an open panel, while `act(page)` handles the stops.
    """

    def run(function: Any, *args: Any, user: Any, **options: Any) -> tuple[Any, Any]:
        with jdw.capture(**options) as recording:
            page.run = recording
            recording.panel  # noqa: B018 - opens it
            with Script(page, user):
                try:
                    result = jax.block_until_ready(function(*args))
                    jax.effects_barrier()
                finally:
                    page.stops.put(None)
        return result, recording

    return run
