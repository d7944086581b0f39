"""The requests of the browser to the kernel. See `wire` for how it travels and what answers it.

Each has `run` and `id`, which the answer repeats:

`sync`     send everything again from event `first` on (sites, calls and status too).
`rows`     send the text of events `first .. first + count - 1`.
`array`    send value `value` of event `event`: the two-dimensional slice at `index` (one number for each leading axis
           beyond the last two; shorter or absent: zeros), at most 512 rows and columns of it. With `image`: true, of a
           value of shape [..., rows, columns, 3 or 4] the slice with all its channels; others as without it.
           With `axes`: rows and columns are the first two axes that it names, `index` has one number for each axis that it
           does not name, and for each place along the others that it names there is a picture (at most 256): `axes`, `tiles`.
`values`   send the numbers of that slice (of `axes`, the first two) from `row` and `column` on, as text that reads back as the
           same number.
`histograms` send histograms of value `value` of site `site` over at most 240 of its events.
`file`     send a file: `format` `npy` (value `value` of event `event`) or `parquet` (all events).
`mute`     stop or go on recording site `site`, from now on (`muted`: true or false).
`every`    record every `n`-th firing of site `site`, from now on.
`barrier`  wait until the effects of the run's calls have drained; answered when they have.
`breakpoint`  switch site `site` on or off (`enabled`), let its next `skip` firings pass; both may be absent.
`module`   send part `name` of the front end (`views`, `program`, `lines`, of `static/`): what a page loads when it first
           shows something of it. Answered whether or not the kernel knows `run`.
`program`  what a page shows of a program that belongs to no run, see `ProgramViews.answer`: `what`, `key` and others.
           Answered by `program`, with `answer`, whether or not the kernel knows `run`. With `what`: `call`, the program that
           call `call` of `run` has run, see `CallPrograms.answer`.
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
`findings` send the findings of the run, see `run_messages.FindingMessage`.
`report`   send the run as one Markdown text; with `picture`: true the overview is in it, as a data URI. Answered by `report`.
`runs`     send a row for each run that the kernel knows, see `session/panel/rows.py`: `rows`.
`rename`   call run `of` `name`; `load`: read the runs in `path`. Both are answered by `runs`.
`compare`  lay the runs `runs` over each other: `compared`, see `session/panel/compared.py`.
`source`   send the source of file `file`, as `SiteMessage.file` names it.
`line`     stop at line `line` (`train.py:41`), or no longer (`on`), from the next run on; in this one, too, where what is
           captured at the line calls Python. The status tells, `lines`.
`watch`    go on recording, or stop (`on`: true or false), what is watched under `names`. Answered by `done` with `sites`, the
           sites concerned. What the compiled program has no tap for is watched from the next run on: the status tells, `added`.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Request(TypedDict):
    """A request of the browser."""

    type: str
    run: str
    id: int
    first: NotRequired[int]
    count: NotRequired[int]
    event: NotRequired[int]
    value: NotRequired[int]
    index: NotRequired[list[int]]
    image: NotRequired[bool]
    axes: NotRequired[list[int]]
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
    of: NotRequired[str]
    path: NotRequired[str]
    runs: NotRequired[list[str]]
