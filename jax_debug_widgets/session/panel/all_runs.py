"""Answer requests about all runs: send their table, rename one, load runs from a file, compare several."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.session.panel.compared import compared
from jax_debug_widgets.transport import reply

if TYPE_CHECKING:
    from jax_debug_widgets.session.panel.feed import Message
    from jax_debug_widgets.session.panel.ports import PanelPorts

KINDS = ("runs", "rename", "load", "compare")


def answer_of_all(
    session: PanelPorts, run: str, number: int, request: Mapping[str, Any], send: Callable[[Message], None]
) -> list[Message]:
    """Return the answers to a request from the panel of run `run`. A comparison goes to `send` later, from a thread."""
    match request["type"]:
        case "compare":
            arguments = (session, run, number, [str(key) for key in request["runs"]], send)
            threading.Thread(target=_compare, args=arguments, name="jaxdebug-compare", daemon=True).start()
            return []
        case "rename":
            renamed = session.find_run(str(request["of"]))
            if renamed is not None:
                renamed.name = str(request["name"])
        case "load":
            session.load(str(request["path"]))
    return [(reply("runs", run, number, rows=session.listing.rows()), b"")]


def comparison(session: PanelPorts, keys: Iterable[str]) -> dict[str, Any]:
    """Return the fields of a message `compared` about the runs of these keys; only `problem` if they cannot be compared."""
    try:
        found = {key: session.find_run(key) for key in keys}
        missing = [key for key, run in found.items() if run is None]
        return compared([run for run in found.values() if run is not None], missing)
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
        return {"problem": f"These runs cannot be compared: {error}"}


def _compare(session: PanelPorts, run: str, number: int, keys: list[str], send: Callable[[Message], None]) -> None:
    result = comparison(session, keys)
    kind, fields = ("error", {"message": result["problem"]}) if "problem" in result else ("compared", result)
    send((reply(kind, run, number, **fields), b""))
