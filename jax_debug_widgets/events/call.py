"""One call of a compiled function and the life it went through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CallState = Literal["tracing", "dispatched", "ready", "drained", "failed", "stopped", "interrupted"]
"""How far a call has come.

`ready`: its outputs are ready. `drained`: its effects have arrived as well; a call without effects is `drained` at once.
`failed`: it has raised an exception. `stopped`, `interrupted`: its user has ended it.
"""

Origin = Literal["cell", "library"]
"""`cell`: called by the code of the cell itself; `library`: by functions that it called."""


def state_word(state: CallState) -> str:
    """The state of a call as the panel and the summaries show it: a `drained` call is `done`."""
    return "done" if state == "drained" else state


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a jitted function.

    Attributes:
      id: counts the calls of the run, from 0, as its panel does.
      name: its source expression in the cell, or the name of the function for calls made inside libraries.
      origin: whose code made the call.
      state: how far it has come.
      started_ns: when it was called, nanoseconds since the run started.
      trace, lower, compile: how long each took in seconds; None where JAX had it in its cache.
      numba: seconds in which Numba was loaded, and once for an environment compiled what reads watched values; no part of the
        others.
      queued_ns: until when it waited for the calls of its thread before it, since the run started; 0 for none.
      dispatched_ns, ready_ns, drained_ns: since the run started; None where it has not come to it.
      effects: whether the program has debugging effects; `ordered`: whether any of them is ordered.
      events: how many events it has fired so far.
      run: seconds from its dispatch until its outputs were ready; None where that cannot be told. Of calls that follow one
        another without a pause it is their mean, and `run_of` is how many they are: a device runs one after the other.
      flight: of these, when the first was dispatched, since the run started, in nanoseconds; the number of this one, from 1;
        and how many there must be for their mean to be told. None where there is no `run`.
      function: the name of its function where `name` is an expression; else None.
      thread: the Python thread that made it, `main` for the main one.
      prints: what Python's `print` wrote while its function was traced, a line each, see `TracePrint`.
      error: the exception's type and first line, or how and where its user ended it; empty where there was none.
    """

    id: int
    name: str
    origin: Origin
    state: CallState
    started_ns: int
    trace: float | None
    lower: float | None
    compile: float | None
    dispatched_ns: int | None
    ready_ns: int | None
    drained_ns: int | None
    effects: bool
    ordered: bool
    events: int
    error: str
    prints: tuple[str, ...] = ()
    thread: str = "main"
    queued_ns: int = 0
    run: float | None = None
    run_of: int = 0
    flight: tuple[int, int, int] | None = None
    numba: float | None = None
    function: str | None = None

    @property
    def of(self) -> str:
        """The name of its function."""
        return self.function or self.name
