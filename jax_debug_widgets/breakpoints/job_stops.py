"""Pause a job of several processes, or end it, before the same call in all of them.

If a process stood inside a program, the others would wait for it in a collective, and XLA would end them. So the processes
agree, through JAX's coordination store, on a call that none of them has begun. Each process dispatches the calls before this
one, waits until they are over, and stands there. Then no collective is open, so the processes may stand for any time.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import jax

from jax_debug_widgets._jax.compat.processes import SharedStore, own_number
from jax_debug_widgets._jax.origins.stack import calling_stack, is_machinery
from jax_debug_widgets.breakpoints.stop import StopLocation
from jax_debug_widgets.events.errors import error_line

if TYPE_CHECKING:
    from jax_debug_widgets.breakpoints.debugger import Debugger
    from jax_debug_widgets.breakpoints.policy import Policy

Wish = Literal["pause", "halt"]

_PATIENCE_S = 10.0
"""Seconds within which all processes write their number of calls. They begin no call meanwhile; collectives wait longer."""

_LOOK_S, _SLICE_S = 30.0, 0.5
"""How long one wait for the store may take: for the next wish, and for the decision to go on."""

_FRAMES = 16

_OVER = "over"
"""The wish that a process writes at the end of its capture. After it, the processes can agree on no call."""

_TOO_LATE = "the capture is over in one of its processes"

_BEGUN: Counter[str] = Counter()
"""Hash of a place -> how many captures began there; the same in all processes."""


@dataclass(frozen=True)
class _Agreed:
    """One agreed stop: its key in the store, the wish (`pause` or `halt`), the call that it precedes, the asking process."""

    key: str
    wish: str
    call: int
    asker: int

    @property
    def go(self) -> str:
        """The key in the store for how all processes go on."""
        return f"{self.key}/go"


class JobStops:
    """Stops all processes of a job in one capture that all have begun. It counts the calls of programs over all processes.

    Attributes:
      standing: the number of the call before which this process stands with the others; 0 if it does not stand.
    """

    def __init__(
        self,
        place: str,
        store: SharedStore,
        processes: int,
        debugger: Debugger,
        policy: Policy,
        settle: Callable[[], object],
    ) -> None:
        """Start the thread that looks for wishes of the processes.

        Args:
          place: the key of the capture: the same in all processes, and different for each capture that goes on.
          settle: waits until all dispatched calls are over.
        """
        name = hashlib.blake2b(place.encode(), digest_size=8).hexdigest()
        _BEGUN[name] += 1
        self._key = f"jax_debug_widgets/stops/{name}/{_BEGUN[name]}"
        self._store, self._processes = store, processes
        self._debugger, self._policy, self._settle = debugger, policy, settle
        self.standing = 0
        self._changed = threading.Condition()
        self._begun = self._number = 0
        self._is_deciding, self._over = False, threading.Event()
        self._agreed: list[_Agreed] = []
        self._answers: list[Callable[[str], None]] = []
        self._thread = threading.Thread(target=self._loop, name="jaxdebug-job-stops", daemon=True)
        self._thread.start()

    def ask(self, wish: Wish, answer: Callable[[str], None]) -> None:
        """Ask all processes to stand or to end. `answer` is called later, with an empty text if they will, else a reason."""
        if self._over.is_set():
            answer(_TOO_LATE)
            return
        with self._changed:
            self._answers.append(answer)
            number = self._number
        self._put(f"{self._key}/{number}/wish", f"{wish} {own_number()}")

    def before_call(self, name: str) -> None:
        """Count a call, and stand here if the processes have agreed on it. The thread that dispatches the program calls it.

        Raises:
          Stopped: the run must end.
        """
        with self._changed:
            self._begun += 1
            call = self._begun
            self._changed.wait_for(lambda: not self._is_deciding)
            here = [one for one in self._agreed if one.call == call]
        for one in here:
            with suppress(Exception):  # JAX raises a program's error to the user.
                self._settle()
            where = f"before {name}, call {call} of this job's programs, in all {self._processes} processes"
            if one.wish == "halt" or self._stood(one, name, where) == "quit":
                self._policy.halted = self._policy.halted or "stopped"
                raise self._debugger.ending.stopped(where)

    def close(self) -> None:
        """End the thread when the capture is over. A thread that asks the store while the interpreter ends would abort it."""
        self._over.set()
        self._put(f"{self._key}/{self._number}/wish", f"{_OVER} {own_number()}")
        self._thread.join(2 * _SLICE_S)
        self._answer_too_late()

    # ---- the thread of the program

    def _stood(self, one: _Agreed, name: str, where: str) -> str:
        """Stand here until the asking process goes on. Return how it goes on."""
        how = self._store.get(one.go)
        self.standing = one.call
        try:
            if one.asker != own_number():
                self._policy.notes[f"Process {one.asker} has paused the job: this process stopped {where}."] += 1
            while how is None:
                how = (
                    self._held(one, name, where)
                    if one.asker == own_number()
                    else self._store.wait_for(one.go, _SLICE_S)
                )
        finally:
            self.standing = 0
        return how

    def _held(self, one: _Agreed, name: str, where: str) -> str:
        frames = [frame for frame in calling_stack(_FRAMES).frames if not is_machinery(frame.file)]
        how = "quit"  # If this process is interrupted, the others would wait for it in a collective.
        try:
            scene = StopLocation(
                kind="pause", site=-1, name=name, reason=f"paused {where}", phase="forward", step=(), device="", hits=0,
                sizes=(), stopped=None, frames=lambda _lane: frames,
            )  # fmt: skip
            how, _ = self._debugger.stops.hold(scene)
        finally:
            self._put(one.go, how)
        return how

    # ---- the thread that looks into the store

    def _loop(self) -> None:
        while not self._over.is_set():
            key = f"{self._key}/{self._number}"
            wish = self._store.wait_for(f"{key}/wish", _LOOK_S)
            if wish is not None and wish.startswith(_OVER):
                self._over.set()
                self._answer_too_late()
            elif wish is not None and not self._over.is_set():
                self._agree(key, *wish.split())
            else:
                self._over.wait(_SLICE_S)  # A store that is gone answers at once, so the loop must not spin.

    def _agree(self, key: str, wish: str, asker: str) -> None:
        with self._changed:
            self._is_deciding = True
            self._number += 1
            earliest = self._begun + 1
            answers, self._answers = self._answers, []
        verdict = "no process has decided"
        try:
            verdict = self._verdict(key, earliest)
        except jax.errors.JaxRuntimeError as error:
            verdict = f"JAX's coordination service does not answer ({error_line(error)})"
        finally:
            with self._changed:
                self._is_deciding = False
                before = list(self._agreed)
                if verdict.isdecimal():
                    self._agreed.append(_Agreed(key, wish, int(verdict), int(asker)))
                self._changed.notify_all()
        if verdict.isdecimal() and wish == "halt":
            self._end_pauses(before)
        for answer in answers:
            answer("" if verdict.isdecimal() else f"The job goes on: {verdict}")

    def _verdict(self, key: str, earliest: int) -> str:
        """Return the number of a call that no process has begun, or why that is impossible. The first stored verdict counts."""
        self._store.put(f"{key}/from/{own_number()}", str(earliest))
        found, deadline = [], time.monotonic() + _PATIENCE_S
        for number in range(self._processes):
            answer = None
            while (
                answer is None
                and self._store.get(f"{key}/verdict") is None
                and (left := deadline - time.monotonic()) > 0
            ):
                if self._over.is_set():
                    return _TOO_LATE
                answer = self._store.wait_for(f"{key}/from/{number}", min(left, _SLICE_S))
            if answer is None:
                break
            found.append(int(answer))
        is_whole = len(found) == self._processes
        proposal = str(max(found)) if is_whole else f"process {len(found)} has not answered within {_PATIENCE_S:g} s"
        self._store.put(f"{key}/verdict", proposal)
        return self._store.wait_for(f"{key}/verdict", _PATIENCE_S) or proposal

    def _end_pauses(self, before: list[_Agreed]) -> None:
        """End the pauses that this process asked for before, because the program must end."""
        for one in before:
            if one.asker == own_number():
                self._put(one.go, "quit")
        stop = self._debugger.stop
        if stop is not None and self.standing:
            stop.resume("quit")

    def _put(self, key: str, text: str) -> None:
        """Set a key for the other processes. If the store is gone, JAX ends the job with its own error; none is raised here."""
        with suppress(jax.errors.JaxRuntimeError):
            self._store.put(key, text)

    def _answer_too_late(self) -> None:
        with self._changed:
            answers, self._answers = self._answers, []
        for answer in answers:
            answer(_TOO_LATE)
