"""Answer the browser's requests about stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jax_debug_widgets._jax.compat.processes import joined
from jax_debug_widgets.breakpoints.debugger import Debugger
from jax_debug_widgets.breakpoints.describe import as_array
from jax_debug_widgets.breakpoints.policy import Typed
from jax_debug_widgets.breakpoints.stop import Stop
from jax_debug_widgets.breakpoints.summarised import KEEP, Summarised
from jax_debug_widgets.transport import reply
from jax_debug_widgets.transport.arrays import picture

Message = tuple[Any, bytes]
Send = Callable[[Message], None]

KINDS = frozenset({
    "here", "resume", "frame", "lane", "command", "complete", "set", "local", "breakpoint", "pause", "halt",
})  # fmt: skip
"""The types of the requests that `answer` answers."""

_IN_JOB = (
    "The processes of this job have not agreed on this capture: a process that stops would leave the others "
    "waiting in a collective"
)

_HOW = frozenset({"continue", "next", "all", "quit", "step", "into", "out", "line"})


def answer(debugger: Debugger, run: str, number: int, request: Mapping[str, Any], send: Send) -> Iterable[Message]:
    """Return the messages that answer a request of one of `KINDS`. Messages that come later go to `send`.

    Raises:
      LookupError, TypeError, ValueError: the request cannot be fulfilled; the message says why.
    """
    done = (reply("done", run, number), b"")
    match request["type"]:
        case "pause" | "halt" if joined() > 1:
            _stop_job(debugger, str(request["type"]), run, number, send)
            return []
        case "pause":
            if debugger.policy.over:
                msg = "the program is over: there is nothing to pause"
                raise ValueError(msg)
            debugger.pause()
            return [done]
        case "halt":
            debugger.halt("stopped")
            return [done]
        case "breakpoint":
            skip = request.get("skip")
            debugger.points.change(
                int(request["site"]), enabled=request.get("enabled"), skip=None if skip is None else int(skip)
            )
            return [done]
        case "here":
            # The message may arrive after the end of the stop; then it means nothing.
            if debugger.stop is not None and debugger.stop.id == request.get("stop"):
                debugger.stop.seen()
                if request.get("keep"):
                    debugger.stop.keep()
                    debugger.stops.touch()
            return [done]
        case _:
            return _of_stop(debugger, _stop_of(debugger, request), run, number, request, send)


def _of_stop(
    debugger: Debugger, stop: Stop, run: str, number: int, request: Mapping[str, Any], send: Send
) -> Iterable[Message]:
    done = (reply("done", run, number), b"")
    stop.seen()
    match request["type"]:
        case "resume":
            how = request["how"]
            if how not in _HOW:
                msg = f"unknown way to continue: {how!r}"
                raise ValueError(msg)
            stop.resume(how, request.get("line"))
        case "frame":
            stop.choose_frame(int(request["frame"]))
            debugger.stops.touch()
        case "lane":
            stop.choose_lane([int(i) for i in request["lane"]])
            debugger.stops.touch()
        case "command":
            is_quiet = request.get("quiet") is True
            _command(debugger, stop, run, number, str(request["text"]), send, is_quiet=is_quiet)
            return []
        case "set":
            _command(debugger, stop, run, number, f"set {request['text']}", send)
            return []
        case "complete":
            console = debugger.stops.console
            assert console is not None
            start, matches = console.complete(str(request["text"]), int(request["cursor"]))
            return [(reply("completions", run, number, start=start, matches=matches), b"")]
        case "local":
            return [_local(stop, run, number, request)]
    return [done]


def _stop_job(debugger: Debugger, wish: Any, run: str, number: int, send: Send) -> None:
    """Pause or end all processes of the job; the answer goes to `send` when they have agreed."""
    job = debugger.policy.job
    if job is None:
        raise ValueError(_IN_JOB)

    def answered(problem: str) -> None:
        send((reply("error", run, number, message=problem) if problem else reply("done", run, number), b""))

    if debugger.stop is not None and wish == "halt":  # All processes stand at this stop.
        debugger.stop.resume("quit")
        answered("")
    else:
        job.ask(wish, answered)


def _stop_of(debugger: Debugger, request: Mapping[str, Any]) -> Stop:
    stop = debugger.stop
    if stop is None or stop.id != request.get("stop") or stop.ended is not None:
        msg = "the program is no longer stopped there"
        raise ValueError(msg)
    return stop


def _command(
    debugger: Debugger, stop: Stop, run: str, number: int, text: str, send: Send, *, is_quiet: bool = False
) -> None:
    """Run a command in the console. `is_quiet` is for commands of the page itself: they are not among the typed commands."""
    console = debugger.stops.console
    assert console is not None
    before = (stop.frame, stop.lane)
    typed = Typed(text)
    if not is_quiet:
        debugger.policy.typed.append(typed)

    def answered(output: str, failed: bool) -> None:
        typed.output, typed.failed = output, failed
        is_set = text.startswith("set ") and not failed
        send((reply("console", run, number, stop=stop.id, text=output, error=failed), b""))
        if is_set or (stop.frame, stop.lane) != before:
            debugger.stops.touch()

    console.run(text, answered)


def _local(stop: Stop, run: str, number: int, request: Mapping[str, Any]) -> Message:
    frames = stop.frames()
    at, name = int(request["frame"]), str(request["name"])
    if not 0 <= at < len(frames) or name not in frames[at].variables:
        msg = f"frame {at} has no variable {name!r}"
        raise ValueError(msg)
    variable = frames[at].variables[name]
    array = as_array(variable)
    if array is None:
        is_summarised = isinstance(variable, Summarised)
        msg = (
            f"only statistics of {name} were recorded: {KEEP}"
            if is_summarised
            else f"{name} is not an array of numbers"
        )
        raise ValueError(msg)
    fields, buffer = picture(array, request)
    return reply("array", run, number, event=-1, value=-1, name=name, stop=stop.id, frame=at, **fields), buffer
