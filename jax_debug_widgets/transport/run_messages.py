"""The parts of a batch besides the events: its sites, its calls, and how it is doing. See `wire` for how it travels."""

from __future__ import annotations

from typing import TypedDict


class FollowerMessage(TypedDict):
    """A value that had a NaN after the one that a finding is about."""

    where: str
    label: str
    site: int
    event: int


class FindingMessage(TypedDict):
    """A finding, see `events.Finding`: `file` and `line` are where to look, `lines` the source from `first_line` up to it.

    `severity` is 0 for an error, 1 for a wrong result, 2 for lost precision and 3 for lost time.
    `site` and `event` are what shows it, -1 where nothing does. Of `following` findings that came later `followers` has the
    first.
    """

    kind: str
    severity: int
    where: str
    headline: str
    why: str
    advice: str
    fix: list[str]
    file: str
    line: int
    first_line: int
    lines: list[str]
    site: int
    event: int
    lane: list[int]
    followers: list[FollowerMessage]
    following: int


class DerivativeMessage(TypedDict):
    """A line whose derivative computes a gradient, see `events.Derivative`."""

    text: str
    file: str
    line: int
    where: str


class WatchMessage(TypedDict):
    """A watched value, see `events.Watched`. `role` is `value` or `gradient`, `scope` the named scopes around it.

    `full` tells whether the run keeps the values themselves; the last of its site's `values` is then the value itself, `value`.
    `lanes` are the sizes of its `vmap` axes where it is taken by lane: one of the `values` is then `lanes`, float32[n, k], of
    each of the first n lanes the statistics, or its number.
    `value` is of a gradient the id of the site of its value, -1 where it has none that comes before; `gradient`
    is of a value that of its gradient, where that came first. `meant` are those of `posinf` and `neginf` that the source
    puts there, and that are nothing bad. `choice` is what may mask a NaN of it: `jnp.where(x > 0, h, 0.0) at model.py:7`.
    `merges` says for each of the site's values how those of several lanes or devices become that of all: `min`, `max`, `mean`
    and `std` of finite elements, `norm`, `sum`, `value` (the mean of single numbers); empty where nothing does.
    `derivatives` are of a gradient the lines whose derivative computes it. `given_on` are the names that the next iteration of
    its loop has for it. `has_ended_lanes` tells whether its statistics count lanes that have left their vmapped `while`.
    The range of its site is what the source computes it by: the right-hand side of the assignment to `name`. Its columns
    count characters, as those of `answers.NameMessage` do.
    """

    name: str
    role: str
    shape: list[int]
    dtype: str
    primitive: str
    scope: str
    full: bool
    lanes: list[int]
    value: int | None
    gradient: int | None
    meant: list[str]
    choice: str
    merges: list[str]
    derivatives: list[DerivativeMessage]
    given_on: list[str]
    has_ended_lanes: bool


class SiteMessage(TypedDict):
    """A call site, see `events.CallSite`. `where` is what a person calls the place: `train.py:41`, `In [7]:12`.

    There is one for each `type` that it was compiled for, in order: they have other `shapes` and `dtypes`, `loops` or `watch`.
    The column `type` of a batch has the type of each event. `order` is its place in its program's order,
    `loops` how often each loop around it runs, outermost first, None where only run time tells, `reverse` which of them run
    from the end (none where it is empty), `leap` the n of each n-th iteration of the outermost that it fires in.
    `callers` are places, too. `process` is the number of the process that it fires in.
    Of a `watch` site `values` names the statistics of the watched value, or is `["value"]` where that is one number; its
    events have no text.
    """

    id: int
    type: int
    kind: str
    ordered: bool
    phase: str
    where: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str
    source: str
    label: str
    values: list[str]
    shapes: list[list[int]]
    dtypes: list[str]
    order: int
    loops: list[int | None]
    reverse: list[bool]
    leap: int
    name_stack: str
    transforms: list[str]
    callers: list[str]
    process: int
    watch: WatchMessage | None


class CallMessage(TypedDict):
    """One call of a compiled function, see `events.Call`. Times in seconds since the run started, else durations.

    `flight`: of the calls that follow one another without a pause when the first was dispatched, the number of this one, and
    how many there must be for their mean to be told: what the last of them tells is what each took.
    """

    id: int
    name: str
    function: str
    origin: str
    state: str
    started: float
    trace: float | None
    lower: float | None
    compile: float | None
    numba: float | None
    queued: float
    flight: list[float] | None
    dispatched: float | None
    ready: float | None
    drained: float | None
    effects: bool
    ordered: bool
    events: int
    error: str
    prints: list[str]
    thread: str


class BarrierMessage(TypedDict):
    """The effects barrier of a run: `off`, `idle`, `pending`, `drained`, `timeout` or `failed`.

    `pending` names the calls whose effects have not drained, `waited` is in seconds, `waits` are the stretches of time in which
    somebody waited: from, and to (None: still), in seconds since the run started.
    """

    state: str
    pending: list[str]
    waited: float
    timeout: float | None
    waits: list[list[float | None]]


class BreakpointMessage(TypedDict):
    """A place where the program may stop. `hits` counts how often it was reached, `skip` how many more are let pass.

    `cost` says what it does to the program; it is empty where that is nothing.
    """

    site: int
    name: str
    where: str
    condition: str
    enabled: bool
    skip: int
    hits: int
    cost: str


class NonFiniteMessage(TypedDict):
    """How many numbers were NaN and how many infinite, and the number of the first event with one."""

    nan: int
    inf: int
    first: int


class ProcessMessage(TypedDict):
    """One of several processes of a run, see `events.ProcessStatus`."""

    number: int
    host: str
    state: str
    events: int
    sign: str
    last: str


class FirstNonFiniteMessage(TypedDict):
    """See `events.FirstNonFinite`."""

    site: int
    event: int
    nan: bool
    masked: bool
    lane: list[int]
    where: str
    file: str
    line: int


class StatusMessage(TypedDict):
    """The run as a whole. `state` is `running`, `waiting` (for effects), `done`, `failed`, `stopped` or `interrupted`.

    `started` is in seconds since the epoch, `elapsed` in seconds, `rate` in events per second over the last second,
    `dropped` counts the events that the store no longer holds and `dropped_by_site` tells whose they were. `paused`: it is at
    a stop; `stoppable`: `pause` and `halt` would take effect at its next event; `captured`: not only its breakpoints are
    seen; `commands`: in words, how the browser's requests reach the kernel while a cell runs; `added`: what the next run
    watches as well; `nonfinite`: what was among the values that the streams show;
    `findings`: how many there are; `processes`: of a run of several; `copies`: site -> the site of another process that has the
    same values; `when`: the condition under which watched values are taken;
    `lines`: where the next run stops.
    """

    state: str
    title: str
    started: float
    elapsed: float
    events: int
    rate: float
    dropped: int
    dropped_by_site: dict[str, int]
    muted: list[int]
    every: dict[str, int]
    added: list[str]
    nonfinite: NonFiniteMessage | None
    first_nonfinite: FirstNonFiniteMessage | None
    findings: int
    barrier: BarrierMessage
    notes: list[str]
    breakpoints: list[BreakpointMessage]
    paused: bool
    stoppable: bool
    captured: bool
    commands: str
    processes: list[ProcessMessage]
    copies: dict[str, int]
    when: str
    lines: list[str]
