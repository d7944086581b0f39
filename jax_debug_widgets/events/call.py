"""Describe one call of a compiled function, and how far it has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jax_debug_widgets.events.amounts import in_time

CallState = Literal["tracing", "dispatched", "ready", "drained", "failed", "stopped", "interrupted"]
"""How far a call has come.

`ready`: its outputs are ready. `drained`: its effects have happened as well; a call without effects is `drained` at once.
`failed`: it has raised an exception. `stopped`, `interrupted`: the user has ended it.
"""

Origin = Literal["cell", "library"]
"""The maker of a call. `cell`: the code of the cell itself; `library`: a function that the cell called."""


def state_name(state: CallState) -> str:
    """Return the state of a call as the panel and the summaries show it: a `drained` call is `done`."""
    return "done" if state == "drained" else state


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a jitted function.

    Attributes:
      id: the number of the call in its run, from 0, as in the panel.
      name: the source expression of the call in the cell; for calls inside libraries, the name of the function.
      origin: whether the cell's own code or a library made the call.
      state: how far the call has come.
      started_ns: when it was called, in ns since the run started.
      trace, lower, compile: the seconds that each took; None if JAX had it in its cache.
      numba: the seconds in which Numba was loaded, and compiled the functions that read watched values (once for an
        environment). They are not part of the other times.
      queued_ns: the end of its wait for earlier calls of its thread, in ns since the run started; 0 without a wait.
      dispatched_ns, ready_ns, drained_ns: in ns since the run started; None if the call has not come so far.
      effects: whether the program has debugging effects.
      ordered: whether any of its effects is ordered.
      events: the number of its events so far.
      run: seconds from its dispatch until its outputs were ready; None if that is not known. For a series of calls
        without a pause it is their mean, because a device runs them one after the other.
      run_of: the number of calls in that series.
      flight: for that series, the dispatch of the first call in ns since the run started; the number of this call, from
        1; and the number of calls from which on their mean is known. None if `run` is None.
      function: the name of its function if `name` is an expression; else None.
      thread: the name of the Python thread that made the call, `main` for the main thread.
      prints: the lines that Python's `print` wrote while its function was traced, see `TracePrint`.
      retraced: why its function was traced again, compared with its earlier traces in captures of this process: `x`:
        float32[3] → float32[4]; None if it was not.
      error: the exception's type and first line, or how and where the user ended the call; empty without an error.
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
    retraced: str | None = None

    @property
    def of(self) -> str:
        """The name of the called function."""
        return self.function or self.name

    def __repr__(self) -> str:
        run = "" if self.run is None else f", ran {in_time(self.run)}"
        return f"<Call {self.id} of {self.of}: {state_name(self.state)}{run}, {self.events} events>"
