"""Measure how far the clock of a process is ahead of that of process 0, over JAX's coordination store."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable

import jax

from jax_debug_widgets._jax.compat.processes import SharedStore, joined, own_number, shared_store

_ROUNDS = 20
"""The number of questions to process 0 in a measurement; the one with the fastest answer is the most exact."""

_PATIENCE_S, _SLICE_S = 20.0, 0.5
"""How long a process waits for a question or an answer; and the time between two looks whether the run is over."""

_AGAIN_S = 600.0
"""Seconds until the next measurement, because clocks drift."""

_LAST_S = 2.0
"""How long the end of a run waits for the end of the first measurement."""

_BEGUN: Counter[str] = Counter()
"""Hash of a folder -> how many clocks this process began for it; the same in all processes."""


class Clock:
    """Measures in its own thread until it is stopped. Process 0 answers the other processes."""

    def __init__(self, place: str, store: SharedStore, report: Callable[[float, float], None]) -> None:
        """Start the thread.

        Args:
          place: the folder of the run, written the same in all processes.
          report: called after a measurement, with the seconds that this clock is ahead and the error in seconds.
        """
        name = hashlib.blake2b(place.encode(), digest_size=8).hexdigest()
        _BEGUN[name] += 1
        self._name = f"jax_debug_widgets/clock/{name}/{_BEGUN[name]}"
        self._store, self._report = store, report
        self._over, self._measured = threading.Event(), threading.Event()
        threading.Thread(target=self._loop, name="jaxdebug-clock", daemon=True).start()

    def stop(self) -> None:
        """Stop measuring. Waits until the first measurement is over, at most `_LAST_S`."""
        self._measured.wait(_LAST_S)
        self._over.set()

    def _loop(self) -> None:
        number = 0
        while not self._over.is_set():
            with contextlib.suppress(
                jax.errors.JaxRuntimeError
            ):  # Process 0 has ended: no further measurement is possible.
                if own_number() == 0:
                    self._answer(f"{self._name}/{number}")
                else:
                    self._ask(f"{self._name}/{number}/{own_number()}")
            self._measured.set()
            number += 1
            self._over.wait(_AGAIN_S)

    def _answer(self, key: str) -> None:
        for process in range(1, joined()):
            for number in range(_ROUNDS):
                own = f"{key}/{process}/{number}"
                if self._wait(f"{own}/request") is None:
                    break
                came = time.time()
                self._store.put(f"{own}/answer", f"{came!r} {time.time()!r}")

    def _ask(self, key: str) -> None:
        best = None
        for number in range(_ROUNDS):
            own = f"{key}/{number}"
            asked = time.time()
            self._store.put(f"{own}/request", "")
            message = self._wait(f"{own}/answer")
            answered = time.time()
            if message is None:
                break
            came, went = map(float, message.split())
            for part in ("request", "answer"):
                self._store.remove(f"{own}/{part}")
            took = (answered - asked) - (went - came)
            if best is None or took < best[0]:
                best = took, ((asked - came) + (answered - went)) / 2
        if best is not None:
            self._report(best[1], max(best[0], 0.0) / 2)

    def _wait(self, key: str) -> str | None:
        until = time.monotonic() + _PATIENCE_S
        while not self._over.is_set() and time.monotonic() < until:
            found = self._store.wait_for(key, _SLICE_S)
            if found is not None:
                return found
        return None


def clock_for(place: str, report: Callable[[float, float], None]) -> Clock | None:
    """Start the clock of a run that is written to this folder; None without other processes or without a coordination store."""
    store = shared_store() if joined() > 1 else None
    return None if store is None else Clock(place, store, report)
