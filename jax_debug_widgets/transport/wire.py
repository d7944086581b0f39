"""The messages between kernel and browser; the twin of `js/src/transport/wire.ts`.

Every message is one JSON object, `content`, and at most one binary buffer (`columns.py`). Kernel to browser:

`batch`    what happened since the last tick: events `first .. first + count - 1` of a run, counted from the
           run's first event, whether or not they are still kept. The client drops what it has already and asks
           (`sync`) for what is missing, so a batch may be sent twice but none is lost unseen.
`rows`     the answer to `rows`: the text of the events asked for.
`array`    the answer to `array`: one value of one event, as a picture can show it.
`source`   the answer to `source`: a file's lines, its functions, and what in it has a name and can be watched.
`values`   the answer to `values`: numbers as text, `page[0]` rows of `page[1]`, from `row`, `column` of `rows`, `columns` on.
`histograms` the answer to `histograms`: how the elements of a value are spread, event by event.
`file`     the answer to `file`: its bytes.
`done`     the answer to a request that has no other answer.
`error`    the answer to a request that failed; `message` says what to do.
`stop`     a debugger's stop has begun, has changed or (`stop`: null) has ended; see `stops.StopMessage`. Repeated by `sync`.
`console`  the answer to `command`: what it printed and returned; `error`: whether it raised.
`module`   the answer to `module`: its `name`, and its program as `text`.
`typed`        after `sync` from the first event on: what was `typed` in the console before (`TypedMessage`).
`completions`  the answer to `complete`: `matches` that may take the place of the text from `start` to the cursor.

Browser to kernel (each with `run` and `id`, which the answer repeats):

`sync`     send everything again from event `first` on (sites, calls and status too).
`rows`     send the text of events `first .. first + count - 1`.
`array`    send value `value` of event `event`: the two-dimensional slice at `index` (one number for each leading axis
           beyond the last two; shorter or absent: zeros), at most 512 rows and columns of it. With `image`: true, of a
           value of shape [..., rows, columns, 3 or 4] the slice with all its channels; others as without it.
`values`   send the numbers of that slice from `row` and `column` on, as text that reads back as the same number.
`histograms` send histograms of value `value` of site `site` over at most 240 of its events.
`file`     send a file: `format` `npy` (value `value` of event `event`) or `parquet` (all events).
`mute`     stop or go on recording site `site`, from now on (`muted`: true or false).
`every`    record every `n`-th firing of site `site`, from now on.
`barrier`  wait until the effects of the run's calls have drained; answered when they have.
`breakpoint`  switch site `site` on or off (`enabled`), let its next `skip` firings pass; both may be absent.
`module`   send part `name` of the front end (`views`, of `static/`): what a page loads when it is first shown. Answered
           whether or not the kernel knows `run`.
`pause`    stop at the next event of any site; `halt`: end the program at its next event.

Those that name a `stop` (its `id`) are refused when another one is there, or none:

`here`     somebody sees the stop. Sent within 3 s of a `stop` message and then every 15 s (each minute in a hidden tab), else
           the program goes on. `keep`: true takes the stop's time-out off.
`resume`   go on, `how`: `continue` to the next stop anywhere; `next`: to one at another site; `all`: stop no more in this
           run; `quit`: end the program; of `%jaxdebug step` also `step` (over), `into`, `out`, `line` (to `line`).
`frame`    look at frame `frame`; `lane`: look at vmap lane `lane` (one index an axis). Both are followed by a `stop`.
`command`  run `text` in the console: one of JAX's commands, or Python over the frame. Answered when it is done.
`complete` what `text` may go on as, `cursor` counted in code points. `set`: go on with the value of the expression `text`.
`local`    an `array` message of the value called `name` in frame `frame`; `index` and `image` as of `array`. Its `event`
           and `value` are -1.
`source`   send the source of file `file`, as `SiteMessage.file` names it.
`watch`    go on recording, or stop (`on`: true or false), what is watched under `names`. Answered by `done` with `sites`, the
           sites concerned. What the compiled program has no tap for is watched from the next run on: the status tells, `added`.

Columns of a `batch` (one array each, little-endian, 8-byte aligned in the buffer):

| name         | dtype   | length | meaning                                                                  |
|--------------|---------|--------|--------------------------------------------------------------------------|
| `site`       | uint32  | count  | id of the call site, see `sites`                                         |
| `time`       | float64 | count  | seconds since `status.started`                                           |
| `occurrence` | uint32  | count  | n-th firing of its site in this run, from 0                              |
| `lane`       | int32   | count  | flat index over the vmap axes, -1 where there is none                    |
| `call`       | int32   | count  | id of the call that dispatched it, -1 where it is not known              |
| `step`       | int32   | count  | iteration of the outermost loop around it, -1 where it is not known      |
| `inner`      | int32   | count  | flat index over the loops inside that, -1 where there is none            |
| `device`     | int32   | count  | index into the message's `devices`, -1 where it is not known             |
| `phantom`    | uint8   | count  | 1 where only a `vmap` made it fire, see `events.Event.phantom`           |
| `point_row`  | uint32  | points | a number to plot: index of its event in this batch, ...                  |
| `point_value`| uint16  | points | ... which value of the site (index into the site's `values`), ...        |
| `point_element`| uint16 | points | ... which element of it (a vector of at most 16; 0 of a scalar), ...         |
| `point_y`    | float64 | points | ... and the number (bool and int converted)                              |
| `span_site`  | int32   | spans  | what a thread was at: a site's host function, -1 waiting for effects, -2 for outputs, ... |
| `span_thread`| int32   | spans  | ... index into the message's `threads`, ...                              |
| `span_from`, `span_to` | float64 | spans | ... and when: seconds since `status.started`                    |
| `text_row`   | uint32  | texts  | a formatted line: index of its event in this batch (`rows`: from `first`)|
| `text_end`   | uint32  | texts  | end of its UTF-8 bytes in `text`; it starts where the one before ends    |
| `text`       | uint8   | bytes  | the lines, one after the other                                           |

Columns of an `array`: `data`, float32 (float64 where that cannot hold it), the slice row by row, `channels` numbers a pixel
where it is an image (scalars and vectors are one row; of larger slices every n-th row and column is taken); `histogram`,
uint32, counts of the finite elements of the whole value over equal bins from `stats.min` to `stats.max`.

Of `histograms` (its `data`): `event`, uint32[n]; `counts`, uint32[n * bins], event by event, over equal bins from `low` to
`high`; `odd`, uint32[n], how many are NaN or infinite. Of a `file`: `data`, uint8, its bytes.

A batch carries the text of its newest rows only: what the reader of a running log sees. The client asks for
the others (`rows`) when they are scrolled into view; formatting a million lines nobody reads would cost the
user's program its interpreter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

if TYPE_CHECKING:
    from jax_debug_widgets.transport.columns import ColumnSpec
    from jax_debug_widgets.transport.stops import ArrayStatistics

VERSION = 1
"""Raised when an older client could misread a message."""


class WatchMessage(TypedDict):
    """What a watched value is, see `events.Watched`. `role` is `value` or `gradient`, `scope` the named scopes around it.

    `full` tells whether the run keeps the values themselves; the last of its site's `values` is then the value itself, `value`.
    `lanes` are the sizes of its `vmap` axes where it is told by lane: one of the `values` is then `lanes`, float32[n, k], of
    each of the first n lanes the statistics, or its number.
    `value` is of a gradient the id of the site of its value, None where that is not watched or not known.
    The range of its site is what the source computes it by: the right-hand side of the assignment to `name`. Its columns
    count characters, as those of `NameMessage` do.
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


class SiteMessage(TypedDict):
    """A call site, see `events.CallSite`. `where` is what a person calls the place: `train.py:41`, `In [7]:12`.

    `shapes` and `dtypes` are those of each value when it last changed, `order` its place in its program's order,
    `loops` how often each loop around it runs, outermost first, None where only run time tells, `reverse` which of them run
    from the end (none where it is empty), `leap` every how manieth iteration of the outermost it fires in.
    `callers` are places, too.
    Of a `watch` site `values` names the statistics of the watched value, or is `["value"]` where that is one number; its
    events have no text.
    """

    id: int
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
    watch: WatchMessage | None


class CallMessage(TypedDict):
    """One call of a compiled function, see `events.Call`. Times in seconds since the run started, else durations."""

    id: int
    name: str
    origin: str
    state: str
    started: float
    trace: float | None
    lower: float | None
    compile: float | None
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


class StatusMessage(TypedDict):
    """The run as a whole. `state` is `running`, `waiting` (for effects), `done`, `failed`, `stopped` or `interrupted`.

    `started` is in seconds since the epoch, `elapsed` in seconds, `rate` in events per second over the last second,
    `dropped` counts the events that the store no longer holds and `dropped_by_site` tells whose they were. `paused`: it is at
    a stop; `stoppable`: `pause` and `halt` would take effect at its next event; `captured`: not only its breakpoints are
    seen; `commands`: in words, how the browser's requests reach the kernel while a cell runs; `added`: what the next run
    watches as well; `nonfinite`: what was among the values that the streams show.
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
    barrier: BarrierMessage
    notes: list[str]
    breakpoints: list[BreakpointMessage]
    paused: bool
    stoppable: bool
    captured: bool
    commands: str


class ArrayMessage(TypedDict):
    """One value of an event, or of a stop's frame.

    `rows`, `columns` are those of `data`; `stride` is how many of the value's each stands for.
    `channels` is there where it was asked for as an image, and is one.
    """

    type: str
    version: int
    run: str
    id: int
    event: int
    value: int
    name: str
    dtype: str
    shape: list[int]
    index: list[int]
    rows: int
    columns: int
    stride: list[int]
    channels: NotRequired[int]
    stats: ArrayStatistics
    data: list[ColumnSpec]


class BatchMessage(TypedDict):
    """See the module's docstring. `oldest` is the first event the kernel still keeps.

    `devices` names the run's devices, `threads` the threads of its spans: a name keeps its place, others may follow in later
    batches. `first_span` counts the spans before this batch's; what `sync` brings again begins at 0.
    """

    type: str
    version: int
    run: str
    batch: int
    first: int
    count: int
    oldest: int
    columns: list[ColumnSpec]
    devices: list[str]
    threads: list[str]
    first_span: int
    sites: list[SiteMessage]
    calls: list[CallMessage]
    status: StatusMessage


class FunctionMessage(TypedDict):
    """A function of a file: its qualified name, its first and last line."""

    name: str
    first: int
    last: int


class NameMessage(TypedDict):
    """A range of a file that computes what `name` stands for; `why` says why it is not watched, empty where it can be.

    `pattern` is by what the next run can watch it, empty where asking would not help. Of a leaf `root` is
    the name of its tree, empty for others.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    name: str
    why: str
    pattern: str
    root: str


class SourceMessage(TypedDict):
    """The source of a file; `first_line` is the number of the first of `lines`. Columns count characters, from 0."""

    type: str
    version: int
    run: str
    id: int
    file: str
    where: str
    first_line: int
    lines: list[str]
    functions: list[FunctionMessage]
    names: list[NameMessage]


class Request(TypedDict):
    """What the browser may ask."""

    type: str
    run: str
    id: int
    first: NotRequired[int]
    count: NotRequired[int]
    event: NotRequired[int]
    value: NotRequired[int]
    index: NotRequired[list[int]]
    image: NotRequired[bool]
    row: NotRequired[int]
    column: NotRequired[int]
    format: NotRequired[str]
    site: NotRequired[int]
    muted: NotRequired[bool]
    n: NotRequired[int]
    enabled: NotRequired[bool]
    skip: NotRequired[int]
    stop: NotRequired[int]
    how: NotRequired[str]
    line: NotRequired[int]
    frame: NotRequired[int]
    lane: NotRequired[list[int]]
    text: NotRequired[str]
    cursor: NotRequired[int]
    name: NotRequired[str]
    file: NotRequired[str]
    names: NotRequired[list[str]]
    on: NotRequired[bool]
    keep: NotRequired[bool]


def reply(kind: str, run: str, request_id: int, **fields: Any) -> dict[str, Any]:
    """The answer to request `request_id`: kind `rows`, `array`, `done`, `error` and so on."""
    return {"type": kind, "version": VERSION, "run": run, "id": request_id, **fields}
