"""How a run as a whole is doing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from jax_debug_widgets.events.finding import FirstNonFinite, NonFinite

BarrierState = Literal["off", "idle", "pending", "drained", "timeout", "failed"]
"""`off`: no automatic barrier; `idle`: no effects yet; `timeout`: the barrier gave up, effects are still pending."""

RunState = Literal["running", "waiting", "done", "failed", "stopped", "interrupted"]
"""`waiting`: the program has returned, its effects have not drained.

`failed`: something has raised; `stopped`: its user ended it in the panel; `interrupted`: by Ctrl-C, or the kernel's interrupt.
"""


@dataclass(frozen=True, slots=True)
class Barrier:
    """The effects barrier.

    Attributes:
      pending: the calls whose effects have not drained, oldest first.
      waited: seconds since the program returned until they had.
      waits: when somebody waited, seconds since the run started: from, and to (None: still).
    """

    state: BarrierState
    pending: tuple[str, ...]
    waited: float
    timeout: float | None
    waits: tuple[tuple[float, float | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A place where the program may stop.

    Attributes:
      site: the number of its call site; `where` what a person calls the place.
      name: that of `jdw.breakpoint(name=...)`, or what it is of; empty where there is none.
      condition: when it stops, as it was written; empty for always.
      skip: how many more firings are let pass.
      hits: how often it was reached.
      cost: what it keeps whole, moves and makes wait; empty where it adds nothing to the program.
    """

    site: int
    name: str
    where: str
    condition: str
    enabled: bool
    skip: int
    hits: int
    cost: str = ""


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """One of several processes of a run.

    Attributes:
      number: its index in its job; `host`: the name of its machine.
      state: how it does; `events`: how many of its events there are.
      sign: how long it has given no sign, or that it is gone; empty while it goes on, and when it is over.
      last: its last call, and how far that has come.
    """

    number: int
    host: str
    state: RunState
    events: int
    sign: str
    last: str


@dataclass(frozen=True, slots=True)
class Status:
    """What the header of the panel and `%jaxdebug status` say.

    Attributes:
      started: seconds since the epoch; `elapsed`: seconds since then.
      events: how many have fired; `rate`: per second, over the last second.
      dropped: how many of them the store no longer holds; `dropped_by_site`: the same by site id.
      muted: ids of the sites that are switched off; `every`: id -> n of the sites that record each n-th firing.
      added: what the next run of the kernel watches as well, if it watches at all.
      nonfinite: what was NaN or infinite among what the streams show; None where nothing was.
      first_nonfinite: the first NaN or infinity of all, as findings name it; None where all was finite.
      findings: how many there are; what they are is asked for.
      resumed: when the debugger last let the program go on, in seconds since the run started; 0 where it never stopped.
      notes: what could not be done and why, in sentences.
      breakpoints: where the program may stop.
      paused: it is at a stop; stoppable: pausing and ending it would take effect at its next event.
      processes: of a run of several.
      copies: site id -> the site of another process that has the same values, to the bit.
      captured: False where only the breakpoints of programs compiled outside a capture are seen.
      commands: in words, how the browser's requests reach the kernel while a cell runs.
      lines: where the next run stops, `train.py:41`.
      when: the condition under which watched values are taken, "" for always.
    """

    state: RunState
    title: str
    started: float
    elapsed: float
    events: int
    rate: float
    dropped: int
    dropped_by_site: Mapping[int, int]
    muted: tuple[int, ...]
    barrier: Barrier
    notes: tuple[str, ...]
    every: Mapping[int, int] = field(default_factory=dict)
    breakpoints: tuple[Breakpoint, ...] = ()
    paused: bool = False
    stoppable: bool = False
    commands: str = ""
    added: tuple[str, ...] = ()
    nonfinite: NonFinite | None = None
    first_nonfinite: FirstNonFinite | None = None
    captured: bool = True
    findings: int = 0
    resumed: float = 0.0
    processes: tuple[ProcessStatus, ...] = ()
    copies: Mapping[int, int] = field(default_factory=dict)
    when: str = ""
    lines: tuple[str, ...] = ()
