"""Let the processes of a job agree on what a capture compiles into their programs, before anything is compiled.

A capture adds collectives to a program over several processes, for watched values, lanes of `vmap`, marks of phantoms and
breakpoints. If one process runs other collectives than the rest, all processes hang or are ended. So each process writes
what it captures into JAX's coordination store. If this differs between processes, programs stay as JAX makes them.
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
"""Seconds within which all processes must reach a capture."""

_SLICE_S = 1.0
"""Seconds until the next look for an interrupt, and for a decision of another process."""

_NO_TITLE = "capture"
"""The title of a capture without a name. Such a capture is identified by the lines that led to it, others by their title."""

_AGREED, _DIFFER, _ABSENT = "agreed", "differ", "absent"

_OURS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Agreement:
    """The settings that a capture may compile into its programs.

    Attributes:
      options: the options of the capture, without those that the processes have not agreed on.
      processes: the number of processes that compile the same programs; 1 for this process alone.
      place: the key of the capture, the same in all these processes; empty for this process alone.
      why: says which options are left out and why; empty if none is.
    """

    options: Options
    processes: int = 1
    place: str = ""
    why: str = ""


class Agreements:
    """Makes and keeps the agreements of this process with the other processes of its job."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: Counter[str] = Counter()
        self._made: dict[tuple[str, Options], Agreement] = {}
        self._lonely: set[str] = set()
        """Captures that other processes did not reach. One that needs no agreement does not wait for them again."""

    def of(self, title: str, options: Options, *, goes_on: bool) -> Agreement:
        """Return the agreement for a capture that begins now. Waits for the other processes.

        Args:
          goes_on: whether to reuse the agreement of the last capture with this title and these options.
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
        """Return the key of the next capture at this place: the first without a decision, so that all processes agree on it."""
        with self._lock:
            while store.get(_verdict(key := f"jax_debug_widgets/{place}/{self._asked[place]}")) is not None:
                self._asked[place] += 1
            self._asked[place] += 1
            return key


def _verdict(key: str) -> str:
    return f"{key}/verdict"


def _reduced(options: Options) -> Options:
    """Return the options without those that need an agreement. Prints need none: the programs of all processes have them."""
    return replace(options, watch=None, debug=True, every=1)


def _decided(store: SharedStore, key: str, mine: str, processes: int) -> str:
    """Return the decision, the same in all processes: `_AGREED`, `_DIFFER`, or `_ABSENT` with the process's number.

    A key of the store is set only once. So the first process that decides has decided for all, also for late ones.
    """
    store.put(f"{key}/{own_number()}", mine)
    proposal, deadline = _AGREED, time.monotonic() + _PATIENCE_S
    for number in range(processes):
        answer = None
        while answer is None and store.get(_verdict(key)) is None and (left := deadline - time.monotonic()) > 0:
            answer = store.wait_for(f"{key}/{number}", min(left, _SLICE_S))
        if answer is None:
            proposal = f"{_ABSENT} {number}"
            break
        if answer != mine:
            proposal = _DIFFER
            break
    store.put(_verdict(key), proposal)
    return store.wait_for(_verdict(key), _PATIENCE_S) or f"{_ABSENT} 0"


def _explained(decision: str) -> str:
    """Explain why the processes did not agree."""
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
    """Return file name and line of each frame that led to the capture. The folders may differ between machines."""
    frames = [(Path(frame.f_code.co_filename), line) for frame, line in traceback.walk_stack(None)]
    return " ".join(f"{file.name}:{line}" for file, line in frames if _OURS not in file.parents)


def _digest(text: str) -> str:
    """Return a short hash of a text: anybody may read the store."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def job_stops(
    agreement: Agreement, debugger: Debugger, policy: Policy, settle: Callable[[], object]
) -> JobStops | None:
    """Make the `JobStops` of a run that all processes of a job have begun; None if they have not."""
    store = shared_store() if agreement.processes > 1 else None
    if store is None:
        return None
    return JobStops(agreement.place, store, agreement.processes, debugger, policy, settle)
