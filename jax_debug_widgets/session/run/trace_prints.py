"""Python's `print` while functions were traced, as a run shows it: apart from what compiled programs print."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jax_debug_widgets.events import TracePrint

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax_debug_widgets.session.run.ports import Noting
    from jax_debug_widgets.taps import Printed

MOST = 1_000
"""Prints that are kept."""


@dataclass
class Traced:
    """A print, and the call whose function was traced: set when that is known."""

    told: TracePrint
    call: int = -1


class TracePrints:
    """The prints of one run."""

    def __init__(self, run: Noting, origin_ns: int, traced: Callable[[Traced], None]) -> None:
        """`traced` takes each, to set its call later; times are counted from `origin_ns`."""
        self._run, self._origin_ns, self._traced = run, origin_ns, traced
        self._found: list[Traced] = []

    def add(self, printed: Printed) -> None:
        """Take in one, from the thread that traces."""
        where = f"{self._run.name_file(printed.file)}:{printed.line}"
        when = (
            "while JAX traces it, once a trace and not once a call" if printed.is_jitted else "outside jit, on tracers"
        )
        self._run.note(
            f"{where}: Python's print in {printed.function} runs {when}: it shows no values. jax.debug.print does."
        )
        if len(self._found) >= MOST:
            self._run.note(f"Only the first {MOST} prints while tracing are kept.")
            return
        since = printed.time_ns - self._origin_ns
        rest = (printed.function, printed.inside, printed.why, printed.trace)
        traced = Traced(TracePrint(printed.text, where, *rest, -1, since))
        self._found.append(traced)
        self._traced(traced)

    def all(self) -> list[TracePrint]:
        """In the order in which they came."""
        return [replace(one.told, call=one.call) for one in self._found]
