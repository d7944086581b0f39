"""Keep the Python prints that ran while functions were traced, separately from the prints of compiled programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jax_debug_widgets.checks.prints import print_found
from jax_debug_widgets.events import Finding, TracePrint
from jax_debug_widgets.watch import is_library

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax_debug_widgets.session.run.ports import Noting
    from jax_debug_widgets.taps import Printed

MOST = 1_000
"""The most prints that are kept."""


@dataclass
class PrintInCall:
    """A print, and the call that traced the function; the call is set when it is known."""

    trace_print: TracePrint
    call: int = -1


class TracePrints:
    """Holds the prints of one run."""

    def __init__(self, run: Noting, origin_ns: int, traced: Callable[[PrintInCall], None]) -> None:
        """Start without prints. `traced` is called with each print, to set its call later. Times are since `origin_ns`."""
        self._run, self._origin_ns, self._traced = run, origin_ns, traced
        self._found: list[PrintInCall] = []
        self._places: dict[tuple[str, int], Printed] = {}
        self._counts = Counter[tuple[str, int]]()

    def add(self, printed: Printed) -> None:
        """Add a print; called in the thread that traces."""
        where = f"{self._run.name_file(printed.file)}:{printed.line}"
        place = printed.file, printed.line
        self._places.setdefault(place, printed)
        self._counts[place] += 1
        if len(self._found) >= MOST:
            self._run.note(f"Only the first {MOST} prints while tracing are kept.")
            return
        since = printed.time_ns - self._origin_ns
        rest = (printed.function, printed.inside, printed.why, printed.trace)
        traced = PrintInCall(TracePrint(printed.text, where, *rest, -1, since))
        self._found.append(traced)
        self._traced(traced)

    def findings(self) -> list[Finding]:
        """Return a finding for each of the user's lines that printed."""
        return [
            print_found(
                *place,
                f"{self._run.name_file(one.file)}:{one.line}",
                one.function,
                self._counts[place],
                is_jitted=one.is_jitted,
            )
            for place, one in self._places.copy().items()
            if not is_library(one.file)
        ]

    def all(self) -> list[TracePrint]:
        """Return all prints in the order in which they came."""
        return [replace(one.trace_print, call=one.call) for one in self._found]
