"""Describe the state of a whole run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from jax_debug_widgets.events.finding import FirstNonFinite, NonFinite

BarrierState = Literal["off", "idle", "pending", "drained", "timeout", "failed"]
"""The state of the barrier. `off`: no automatic barrier; `idle`: no effects yet; `timeout`: the barrier gave up while effects
were still pending."""

RunState = Literal["running", "waiting", "done", "failed", "stopped", "interrupted", "loaded"]
"""The state of a run. `waiting`: the program has returned, and its effects have not drained.

`failed`: an exception was raised; `stopped`: the user ended it in the panel; `interrupted`: by Ctrl-C, or an interrupt of the
kernel; `loaded`: read from a file while another process wrote it, and not followed.
"""


@dataclass(frozen=True, slots=True)
class Barrier:
    """The effects barrier of a run.

    Attributes:
      pending: the calls with effects that have not happened, oldest first.
      waited: seconds from the return of the program until all effects had happened.
      waits: the intervals in which a thread waited: begin and end (None: still waiting), in seconds since the run
        started.
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
      site: the id of its call site.
      name: the name from `jdw.breakpoint(name=...)`, or the name of its value; empty without one.
      where: the place for people.
      condition: the condition as it was written; empty if it always stops.
      skip: the number of further firings that do not stop.
      hits: how often it was reached.
      cost: which values it keeps whole and copies, and what waits for it; empty if it adds nothing to the program.
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
      number: its index in its job.
      host: the name of its machine.
      state: the state of its part of the run.
      events: the number of its events.
      sign: for how long it has given no sign, or that it is gone; empty while it goes on, and when it is over.
      last: its last call, and how far this call has come.
    """

    number: int
    host: str
    state: RunState
    events: int
    sign: str
    last: str


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a run, as the header of the panel and `%jaxdebug status` show it.

    Attributes:
      started: seconds since the epoch.
      elapsed: seconds since the start.
      events: the number of events.
      rate: events a second, over the last second.
      dropped: the number of events that the store no longer holds.
      dropped_by_site: the same by site id.
      muted: the ids of the muted sites.
      every: id -> n of the sites that record one firing of n.
      added: the names that the next run of the kernel watches too, if it watches values.
      nonfinite: the NaN and infinite numbers in the streams; None if there were none.
      first_nonfinite: the first NaN or infinity of the run, as in its finding; None if all numbers were finite.
      findings: the number of findings; the front end requests them separately.
      resumed: when the debugger last let the program go on, in seconds since the run started; 0 if it never stopped.
      notes: sentences about what was not possible and why, and `cost`.
      breakpoints: the places where the program may stop.
      paused: whether the program is at a stop.
      stoppable: whether pausing and ending would take effect at the program's next event.
      processes: the processes of a run of several; empty for one process.
      copies: site id -> the site of another process that has the same values, to the bit.
      captured: False if only the breakpoints of programs compiled outside a capture are seen.
      commands: how the browser's requests reach the kernel while a cell runs, in words.
      lines: the lines at which the next run stops, `train.py:41`.
      when: the condition under which watched values are recorded, "" for always.
      cost: what watching is expected to cost, "" if nothing is watched.
      apart: the number of compiled programs that belong to no call, such as un-jitted operations, and the seconds of
        compilation.
      checked: the checks that ran and found nothing, `oob, keys` or `All checks`; empty if the user asked for none, or
        there are findings, or the run is not over.
      watches: whether the user asked to watch values.
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
    cost: str = ""
    lines: tuple[str, ...] = ()
    apart: tuple[int, float] = (0, 0.0)
    checked: str = ""
    watches: bool = False
