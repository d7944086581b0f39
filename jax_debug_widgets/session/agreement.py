"""Let the processes of a job agree on what a capture compiles into their programs, before anything is compiled.

What a capture puts into a program over several processes (what is watched, lanes of `vmap`, marks of phantoms, breakpoints)
has collectives. Where one process runs other ones than the rest, all hang or are ended. So all processes tell, in JAX's
coordination store, what they capture; where that is not the same, programs stay as JAX makes them.
"""

from __future__ import annotations

import hashlib
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import jax

from jax_debug_widgets._jax.compat.processes import SharedStore, joined, own_number, shared_store
from jax_debug_widgets.breakpoints import Debugger, JobStops, Policy
from jax_debug_widgets.events.errors import error_line
from jax_debug_widgets.session.options import Options

_PATIENCE_S = 10.0
"""Seconds in which all processes have come to a capture."""

_SLICE_S = 1.0
"""Until the next look for an interrupt, and for what others have decided."""

_NO_TITLE = "capture"
"""The title of a capture that nobody has named: it is known by the lines that have led to it, others by their title."""

_AGREED, _DIFFER, _ABSENT = "agreed", "differ", "absent"

_OURS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Agreement:
    """The settings that a capture may compile into its programs.

    Attributes:
      options: those of the capture, without what the processes have not agreed on.
      processes: how many processes compile the same; 1 where nobody else was asked.
      place: what the processes that compile the same know the capture by; empty where nobody else does.
      why: what is left out, and why; empty for nothing.
    """

    options: Options
    processes: int = 1
    place: str = ""
    why: str = ""


class Agreements:
    """The agreements of this process with the others of its job."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: Counter[str] = Counter()
        self._made: dict[tuple[str, Options], Agreement] = {}
        self._lonely: set[str] = set()
        """Where others did not come to a capture: if it changes nothing, nobody waits for them once more."""

    def of(self, title: str, options: Options, *, goes_on: bool) -> Agreement:
        """The agreement for a capture that begins now; waits for the other processes.

        Args:
          goes_on: whether the agreement of the capture before it, of this title and with these options, holds on.
        """
        processes = joined()
        if processes == 1:
            return Agreement(options)
        made = self._made.get((title, options)) if goes_on else None
        if made is None:
            place = _digest(_lines_of_callers() if title == _NO_TITLE else title)
            made = self._made[title, options] = self._asked_for(place, options, processes)
        return made

    def _asked_for(self, place: str, options: Options, processes: int) -> Agreement:
        decision = self._decision(place, options, processes)
        if decision == _AGREED:
            return Agreement(options, processes, place)
        reduced = _reduced(options)
        asked = [name for name in ("watch", "debug", "every") if getattr(options, name) != getattr(reduced, name)]
        what = f"Left out: {', '.join(asked)}" if asked else "This process captures alone"
        return Agreement(
            reduced,
            why=f"{what}. {_explained(decision)}, and the programs of the {processes} processes of this job must have the same "
            "collectives, or they hang. Capture in all processes at once, with the same options.",
        )

    def _decision(self, place: str, options: Options, processes: int) -> str:
        ours = sys.modules["jax_debug_widgets"].__version__
        compiled_in = ours, jax.__version__, options.settings(box=0)
        with self._lock:
            if place in self._lonely and options == _reduced(options):
                return _ABSENT
        store = shared_store()
        if store is None:
            return "JAX has no coordination service here (jax.distributed.initialize starts it)"
        try:
            decision = _decided(store, self._next(store, place), _digest(repr(compiled_in)), processes)
        except jax.errors.JaxRuntimeError as error:
            return f"JAX's coordination service does not answer ({error_line(error)})"
        if decision.startswith(_ABSENT):
            with self._lock:
                self._lonely.add(place)
        return decision

    def _next(self, store: SharedStore, place: str) -> str:
        """The key of the next capture at this place: the first that is not decided, so that all stay in step."""
        with self._lock:
            while store.get(_verdict(key := f"jax_debug_widgets/{place}/{self._asked[place]}")) is not None:
                self._asked[place] += 1
            self._asked[place] += 1
            return key


def _verdict(key: str) -> str:
    return f"{key}/verdict"


def _reduced(options: Options) -> Options:
    """The options that need no agreement: prints are in the programs of all processes."""
    return replace(options, watch=None, debug=True, every=1)


def _decided(store: SharedStore, key: str, mine: str, processes: int) -> str:
    """The decision of the processes, the same for all: `_AGREED`, `_DIFFER`, or `_ABSENT` with the process's number.

    A key is set once: the first that decides has decided for all, also for those that come after their time.
    """
    store.put(f"{key}/{own_number()}", mine)
    proposal, deadline = _AGREED, time.monotonic() + _PATIENCE_S
    for number in range(processes):
        told = None
        while told is None and store.get(_verdict(key)) is None and (left := deadline - time.monotonic()) > 0:
            told = store.wait_for(f"{key}/{number}", min(left, _SLICE_S))
        if told is None:
            proposal = f"{_ABSENT} {number}"
            break
        if told != mine:
            proposal = _DIFFER
            break
    store.put(_verdict(key), proposal)
    return store.wait_for(_verdict(key), _PATIENCE_S) or f"{_ABSENT} 0"


def _explained(decision: str) -> str:
    """Why nothing was agreed on."""
    if decision == _DIFFER:
        return "The processes capture with different options, or versions"
    if decision == _ABSENT:
        return "Other processes did not reach this capture the last time, so this process does not wait for them again"
    if decision.startswith(_ABSENT):
        number = int(decision.removeprefix(_ABSENT))
        who = "This process" if number == own_number() else f"Process {number}"
        return f"{who} did not reach this capture within {_PATIENCE_S:g} s of the others"
    return decision


def _lines_of_callers() -> str:
    """File and line of all code that has led to the capture; the folders may differ between machines."""
    frames = [(Path(frame.f_code.co_filename), line) for frame, line in traceback.walk_stack(None)]
    return " ".join(f"{file.name}:{line}" for file, line in frames if _OURS not in file.parents)


def _digest(text: str) -> str:
    """A short stand-in for a text: nobody watches over who reads the store."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def job_stops(
    agreement: Agreement, debugger: Debugger, policy: Policy, settle: Callable[[], object]
) -> JobStops | None:
    """Make what stops a run that all processes of a job have begun; None where they have not."""
    store = shared_store() if agreement.processes > 1 else None
    if store is None:
        return None
    return JobStops(agreement.place, store, agreement.processes, debugger, policy, settle)
