"""Answer the browser's requests."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.breakpoints.answers import KINDS as DEBUGGING
from jax_debug_widgets.breakpoints.answers import answer as debugging_answer
from jax_debug_widgets.session.panel.all_runs import KINDS as OF_ALL_RUNS
from jax_debug_widgets.session.panel.all_runs import answer_of_all
from jax_debug_widgets.session.panel.arrays import array_message, values_message
from jax_debug_widgets.session.panel.files import file_message
from jax_debug_widgets.session.panel.findings import findings_message
from jax_debug_widgets.session.panel.histograms import histograms_message
from jax_debug_widgets.session.panel.report import report_message
from jax_debug_widgets.session.panel.watching import answer_watch
from jax_debug_widgets.transport import reply
from jax_debug_widgets.widgets.channel import front_end

if TYPE_CHECKING:
    from jax_debug_widgets.session.panel.feed import Message
    from jax_debug_widgets.session.panel.ports import PanelPorts, PanelsOfRuns
    from jax_debug_widgets.session.run.view import RunView

_LOOKS = {
    "array": array_message,
    "values": values_message,
    "histograms": histograms_message,
    "file": file_message,
    "findings": findings_message,
    "report": report_message,
}
"""Type of a request -> the function that makes its only answer, from the data of the run."""


_OF_THE_PROGRAM = ("watch", "line", "mute", "every", *DEBUGGING)
"""Requests that need the program, which a loaded run does not have."""

_OF_THE_SESSION = ("watch", "line", "mute", "every")
"""Requests that change the state that the panels of all runs show."""


def answer(session: PanelPorts, request: dict[str, Any]) -> Iterable[Message]:
    """Return the messages that answer `request`; an `error` if that is impossible.

    It never raises, because nobody in the kernel would see the exception.
    """
    session.debugger.observers.heard()
    key, number = str(request.get("run", "")), request.get("id")
    number = number if isinstance(number, int) else -1
    if request.get("type") in ("module", "program"):
        return [_of_no_run(session, key, number, request)]
    run = session.find_run(key)
    if run is None:
        return [(reply("error", key, number, message="This run is gone: run the cell again."), b"")]
    if run.is_loaded and request.get("type") in _OF_THE_PROGRAM:
        why = "This run was loaded from a file: its program is not in the file."
        return [(reply("error", key, number, message=why), b"")]
    try:
        if request["type"] in OF_ALL_RUNS:
            return answer_of_all(session, run.key, number, request, _sender(session.panels, run))
        return _answer(session, run, request, number)
    except (ArithmeticError, ImportError, LookupError, OSError, TypeError, ValueError) as error:
        # These errors already say what to install or do, so they need no name of a type.
        message = str(error) if isinstance(error, (ImportError, ValueError)) else f"{type(error).__name__}: {error}"
        return [(reply("error", key, number, message=message), b"")]


def _of_no_run(session: PanelPorts, key: str, number: int, request: dict[str, Any]) -> Message:
    if request["type"] == "module":
        return _module(key, number, str(request.get("name", "")))
    return _program(session, key, number, request)


def _module(key: str, number: int, name: str) -> Message:
    try:
        return reply("module", key, number, name=name, text=front_end(name)), b""
    except (OSError, ValueError) as error:
        return reply("error", key, number, message=str(error)), b""


def _program(session: PanelPorts, key: str, number: int, request: dict[str, Any]) -> Message:
    """Answer a request about a program that belongs to no run, or about the program of a call."""
    try:
        if request.get("what") == "call":
            return reply(
                "program", key, number, answer=session.call_programs.answer(session.find_run(key), request)
            ), b""
        return reply("program", key, number, answer=session.program_views.answer(request)), b""
    except Exception as error:  # noqa: BLE001 - the asker is a browser, and shows why.
        message = str(error) if isinstance(error, (ValueError, LookupError)) else f"{type(error).__name__}: {error}"
        return reply("error", key, number, message=message.strip("'")), b""


def _answer(session: PanelPorts, run: RunView, request: dict[str, Any], number: int) -> Iterable[Message]:
    panels = session.panels
    feed = panels.feed_of(run)
    match request["type"]:
        case "sync":
            run.collect()
            first, stops = int(request.get("first", 0)), panels.stops_of(run)
            return [*feed.again(first), *stops.again(), *(stops.typed() if first == 0 else ())]
        case "rows":
            return [feed.rows(number, int(request["first"]), int(request["count"]))]
        case kind if kind in _LOOKS:
            return [_LOOKS[kind](run, number, request)]
        case "barrier":
            # In a separate thread, because the thread of the requests must stay free for others.
            arguments = (run, number, _sender(panels, run))
            threading.Thread(target=_wait, args=arguments, name="jaxdebug-barrier", daemon=True).start()
            return []
        case "source" | "watch" | "line":
            answers = [answer_watch(session, run, number, request)]
        case "mute":
            session.switches.mute(int(request["site"]), muted=bool(request["muted"]))
            answers = [(reply("done", run.key, number), b"")]
        case "every":
            session.switches.sample(int(request["site"]), int(request["n"]))
            answers = [(reply("done", run.key, number), b"")]
        case kind if kind in DEBUGGING:
            replies = debugging_answer(session.debugger, run.key, number, request, _sender(panels, run))
            answers = [*replies, *panels.stops_of(run).news()]
        case unknown:
            msg = f"unknown request {unknown!r}"
            raise ValueError(msg)
    if request["type"] in _OF_THE_SESSION:
        panels.send_to_others(run)
    return [*answers, *feed.news()]


def _sender(panels: PanelsOfRuns, run: RunView) -> Callable[[Message], None]:
    """Make the function that sends an answer later, from any thread.

    It runs in the context of the request, because ipykernel 7.0 sends nothing without it.
    """
    context, channel = contextvars.copy_context(), panels.of(run).channel
    return lambda message: context.copy().run(channel.send, *message)


def _wait(run: RunView, number: int, send: Callable[[Message], None]) -> None:
    drained = run.barrier(run.options.timeout)
    send((reply("done", run.key, number, drained=drained), b""))
