"""Define the parts of a batch besides the events: sites, calls and status. See `wire` for how a batch travels."""

from __future__ import annotations

from typing import TypedDict


class FollowerMessage(TypedDict):
    """A value that had a NaN after the value of a finding."""

    where: str
    label: str
    site: int
    event: int


class FindingMessage(TypedDict):
    """A finding, see `events.Finding`. `file` and `line` are its place, `lines` the source from `first_line` up to it.

    `severity` is 0 for an error, 1 for a wrong result, 2 for lost precision and 3 for lost time.
    `section` is the address of the section of JAX's documentation that explains this kind; empty if none does.
    `site` and `event` show the finding; they are -1 if none does. `following` is the number of later findings that this one
    may have caused, and `followers` are the first of these.
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
    section: str
    followers: list[FollowerMessage]
    following: int


class DerivativeMessage(TypedDict):
    """A line with a derivative that computes a gradient, see `events.Derivative`."""

    text: str
    file: str
    line: int
    where: str


class WatchMessage(TypedDict):
    """A watched value, see `events.Watched`.

    `role` is `value` or `gradient`. `scope` is the named scopes around the value.
    `full` says whether the run keeps the values themselves; then the last of its site's `values` is the value itself, `value`.
    `lanes` are the sizes of its `vmap` axes if it is recorded by lane. Then one of the `values` is `lanes`, float32[n, k]: the
    statistics, or the number, of each of the first n lanes.
    `value`, of a gradient, is the id of its value's site, -1 if that has no site that comes before. `gradient`, of a value, is
    the id of its gradient's site if the gradient came first.
    `intended` are those of `posinf` and `neginf` that the source puts there on purpose.
    `choice` may mask a NaN of the value: `jnp.where(x > 0, h, 0.0) at model.py:7`.
    `merges` says for each of the site's values how the values of several lanes or devices are merged: `min`, `max`, `mean` and
    `std` of finite elements, `norm`, `sum`, `value` (the mean of single numbers); empty if they cannot be merged.
    `derivatives`, of a gradient, are the lines with derivatives that compute it.
    `given_on` are the names of the value in the next iteration of its loop.
    `has_ended_lanes` says whether its statistics count lanes that have left their vmapped `while`.
    `vmapped` are the sizes of its `vmap` axes, outermost first, also if it is not recorded by lane.
    `position` compares values outside of loops with loops: see `events.Watched`.
    The range of its site is the right-hand side of the assignment to `name`. Its columns count characters, as those of
    `answers.NameMessage`.
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
    intended: list[str]
    choice: str
    merges: list[str]
    derivatives: list[DerivativeMessage]
    given_on: list[str]
    has_ended_lanes: bool
    vmapped: list[int]
    position: list[int]


class SiteMessage(TypedDict):
    """A call site, see `events.CallSite`. `where` is the name of the place for people: `train.py:41`, `In [7]:12`.

    There is one message for each `type` that the site was compiled for, in order. They differ in `shapes` and `dtypes`,
    `loops` or `watch`. The column `type` of a batch has the type of each event.
    `order` is the site's place in the order of its program.
    `loops` is the length of each loop around it, outermost first, None if it is known only at run time. `reverse` says which
    loops run from the end (empty: none does). The site fires in each `leap`-th iteration of the outermost loop.
    `callers` are places as `where`. `process` is the number of the process in which the site fires.
    For a `watch` site, `values` names the statistics of the watched value, or is `["value"]` if the value is one number. Its
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
    """One call of a compiled function, see `events.Call`. Times are in seconds since the run started; durations in seconds.

    `flight` is about a series of calls without a pause between them: when the first call was dispatched, the number of this
    call, and the number of calls from which on their mean is known. Each call of the series took the mean at the last one.
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
    retraced: str | None
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
    """The effects barrier of a run. `state` is `off`, `idle`, `pending`, `drained`, `timeout` or `failed`.

    `pending` names the calls with effects that have not happened. `waited` is in seconds. `waits` are the intervals in
    which a thread waited: begin and end (None: still waiting), in seconds since the run started.
    """

    state: str
    pending: list[str]
    waited: float
    timeout: float | None
    waits: list[list[float | None]]


class BreakpointMessage(TypedDict):
    """A place where the program may stop. `hits` counts how often it was reached; the next `skip` firings do not stop.

    `cost` says what the breakpoint adds to the program; it is empty if it adds nothing.
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
    """How many numbers were NaN, how many were infinite, and the position of the first event with one."""

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
    """The first NaN or infinity of a run, see `events.FirstNonFinite`."""

    site: int
    event: int
    nan: bool
    masked: bool
    lane: list[int]
    where: str
    file: str
    line: int


class StatusMessage(TypedDict):
    """The run as a whole, see `events.Status`.

    `state` is `running`, `waiting` (for effects), `done`, `failed`, `stopped`, `interrupted` or `loaded` (see
    `RunState`). `started` is in seconds since the epoch, `elapsed` in seconds, `rate` in events a second over the last
    second. `dropped` is the number of events that the store no longer holds; `dropped_by_site` is the same by site.
    `paused`: the program is at a stop. `stoppable`: `pause` and `halt` would take effect at its next event. `captured`
    is false if only its breakpoints are seen. `commands` says how the browser's requests reach the kernel while a cell
    runs. `added` are the names that the next run watches too. `lines` are the lines at which the next run stops.
    `nonfinite` counts the NaN and infinite values in the streams. `findings` is the number of findings. `processes` are
    the processes of a run of several. `copies`: site -> the site of another process with the same values. `when` is the
    condition under which watched values are recorded. `cost`, one of `notes`, says what watching costs. `checked` are
    the checks that ran and found nothing, in words. `apart` is the number of compiled programs that belong to no call,
    such as un-jitted operations, and the seconds of compilation. `watches`: the user asked to watch values.
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
    cost: str
    lines: list[str]
    apart: list[float]
    checked: str
    watches: bool
