"""Answer what the browser asks about all runs: their table, another name for one, the runs in a file, several side by side."""

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
    """The answers to a request of run `run`; what takes longer is sent later."""
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
    """The fields of a message `compared` of the runs of these keys; of one that says why they cannot be, `problem`."""
    try:
        found = {key: session.find_run(key) for key in keys}
        missing = [key for key, run in found.items() if run is None]
        return compared([run for run in found.values() if run is not None], missing)
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
        return {"problem": f"These runs cannot be compared: {error}"}


def _compare(session: PanelPorts, run: str, number: int, keys: list[str], send: Callable[[Message], None]) -> None:
    told = comparison(session, keys)
    kind, fields = ("error", {"message": told["problem"]}) if "problem" in told else ("compared", told)
    send((reply(kind, run, number, **fields), b""))
