"""Define the requests of the browser to the kernel. See `wire` for how they travel and which messages answer them.

Each request has `run` and `id`, which the answer repeats:

`sync`     send everything again from event `first` on (sites, calls and status too).
`rows`     send the text of events `first .. first + count - 1`.
`array`    send value `value` of event `event`: the two-dimensional slice at `index` (one number for each leading axis
           beyond the last two; shorter or absent: zeros), at most 512 rows and columns of it. With `image`: true and a value
           of shape [..., rows, columns, 3 or 4], send the slice with all its channels; other values as without `image`.
           With `axes`: rows and columns are the first two of these axes. `index` has one number for each axis that is not
           among them. The answer has a picture for each place along the further axes (at most 256), see `axes` and `tiles`.
`values`   send the numbers of that slice (with `axes`, over the first two) from `row` and `column` on, as text that reads back
           as the same number.
`histograms` send histograms of value `value` of site `site` over at most 240 of its events.
`file`     send a file: `format` `npy` (value `value` of event `event`) or `parquet` (all events).
`mute`     stop or go on recording site `site`, from now on (`muted`: true or false).
`every`    record every `n`-th firing of site `site`, from now on.
`barrier`  wait until the effects of the run's calls have drained; answered when they have.
`breakpoint`  switch site `site` on or off (`enabled`), let its next `skip` firings pass; both may be absent.
`module`   send part `name` of the front end (`views`, `program`, `lines`, of `static/`). A page loads a part when it first
           shows one of its views. Answered whether or not the kernel knows `run`.
`program`  send what a page shows of a program outside any run, see `ProgramViews.answer`: `what`, `key` and others.
           Answered by `program`, with `answer`, whether or not the kernel knows `run`. With `what`: `call`, send the program
           that call `call` of `run` has run, see `CallPrograms.answer`.
`pause`    stop at the next event of any site; `halt`: end the program at its next event.

The kernel refuses a request with a `stop` (its `id`) if that stop is not the open one:

`here`     a page shows the stop. Sent within 3 s of a `stop` message and then every 15 s (each minute in a hidden tab), else
           the program goes on. `keep`: true removes the stop's time-out.
`resume`   go on, `how`: `continue` to the next stop anywhere; `next`: to one at another site; `all`: stop no more in this
           run; `quit`: end the program; of `%jaxdebug step` also `step` (over), `into`, `out`, `line` (to `line`).
`frame`    look at frame `frame`; `lane`: look at vmap lane `lane` (one index an axis). Both are followed by a `stop`.
`command`  run `text` in the console: one of JAX's commands, or Python over the frame. Answered when it is done.
`complete` send the completions of `text` at `cursor`, counted in code points. `set`: go on with the value of the expression
           `text`.
`local`    send an `array` message of the variable `name` in frame `frame`; `index` and `image` as for `array`. Its `event`
           and `value` are -1.

Further requests about runs:

`findings` send the findings of the run, see `run_messages.FindingMessage`.
`report`   send the run as one Markdown text; with `picture`: true the overview is in it, as a data URI. Answered by `report`.
`runs`     send a row for each run that the kernel knows, see `session/panel/rows.py`: `rows`.
`rename`   give run `of` the name `name`; `load`: read the runs in `path`. Both are answered by `runs`.
`compare`  lay the runs `runs` over each other: `compared`, see `session/panel/compared.py`.
`source`   send the source of file `file`, as `SiteMessage.file` names it.
`line`     stop at line `line` (`train.py:41`) from the next run on, or no longer (`on`). If a value that is captured at the
           line calls Python, this run stops there too. The field `lines` of the status lists the lines.
`watch`    record the watched values called `names`, or stop (`on`: true or false). Answered by `done` with `sites`, the sites
           concerned. A value without a tap in the compiled program is watched from the next run on; the field `added` of the
           status lists these.
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
