"""Answer what the browser asks."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.session.arrays import array_message
from jax_debug_widgets.transport import reply

if TYPE_CHECKING:
    from jax_debug_widgets.session.feed import Message
    from jax_debug_widgets.session.run import Run
    from jax_debug_widgets.session.session import Session


def answer(session: Session, request: dict[str, Any]) -> Iterable[Message]:
    """The messages that answer `request`; an `error` where it cannot be done. Never raises: the asker is a browser."""
    key, number = str(request.get("run", "")), request.get("id")
    number = number if isinstance(number, int) else -1
    run = session.find_run(key)
    if run is None:
        return [(reply("error", key, number, message="This run is gone: run the cell again."), b"")]
    try:
        return _answer(session, run, request, number)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return [(reply("error", key, number, message=f"{type(error).__name__}: {error}"), b"")]


def _answer(session: Session, run: Run, request: dict[str, Any], number: int) -> Iterable[Message]:
    feed = session.feed_of(run)
    match request["type"]:
        case "sync":
            run.collect()
            return feed.again(int(request.get("first", 0)))
        case "rows":
            return [feed.rows(number, int(request["first"]), int(request["count"]))]
        case "array":
            return [array_message(run, number, request)]
        case "mute":
            session.mute(int(request["site"]), muted=bool(request["muted"]))
            return [(reply("done", run.key, number), b""), *feed.news()]
        case "barrier":
            # In a thread of its own: the one that brings requests must stay free for others.
            threading.Thread(target=_wait, args=(session, run, number), name="jaxdebug-barrier", daemon=True).start()
            return []
        case unknown:
            msg = f"unknown request {unknown!r}"
            raise ValueError(msg)


def _wait(session: Session, run: Run, number: int) -> None:
    drained = run.barrier(run.options.timeout)
    message = reply("done", run.key, number, drained=drained)
    session.panel_of(run).channel.send(message, b"")
