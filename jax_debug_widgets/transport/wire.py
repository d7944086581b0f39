"""Define the messages between kernel and browser. With the modules named here, it is the twin of `js/src/transport/wire.ts`.

Every message is one JSON object, `content`, and at most one binary buffer (`columns.py`). Kernel to browser:

`batch`    what happened since the last tick: events `first .. first + count - 1` of a run, counted from the run's first
           event, kept or not. The client drops events that it has already, and requests missing ones with `sync`. So a batch
           may be sent twice, and the client notices a lost batch.
`rows`     the answer to `rows`: the text of the events asked for.
`array`    the answer to `array`: one value of one event, prepared for a picture.
`source`   the answer to `source`: a file's lines, its functions, and the named values in it.
`values`   the answer to `values`: numbers as text, `page[0]` rows of `page[1]`, from `row`, `column` of `rows`, `columns` on.
`histograms` the answer to `histograms`: histograms of a value's elements, event by event.
`file`     the answer to `file`: its bytes.
`done`     the answer to a request that has no other answer.
`error`    the answer to a request that failed; `message` says what to do.
`stop`     a debugger's stop has begun, has changed or (`stop`: null) has ended; see `stops.StopMessage`. Repeated by `sync`.
`console`  the answer to `command`: its output and result; `error`: whether it raised.
`module`   the answer to `module`: its `name`, and its JavaScript as `text`.
`report`   the answer to `report`: its `text`.
`typed`        after `sync` from the first event on: the commands that were `typed` in the console before (`TypedMessage`).
`completions`  the answer to `complete`: `matches` that may replace the text from `start` to the cursor.

`requests.py` has the browser's messages, `answers.py` the fields of answers.

Columns of a `batch` (one array each, little-endian, 8-byte aligned in the buffer):

| name         | dtype   | length | meaning                                                                  |
|--------------|---------|--------|--------------------------------------------------------------------------|
| `site`       | uint32  | count  | id of the call site, see `sites`                                         |
| `time`       | float64 | count  | seconds since `status.started`                                           |
| `occurrence` | uint32  | count  | n-th firing of its site in this run, from 0                              |
| `lane`       | int32   | count  | flat index over the vmap axes, -1 without lanes                          |
| `call`       | int32   | count  | id of the call that dispatched it, -1 if it is not known                 |
| `execution`  | int32   | count  | n-th execution of its site, calls that skip it included, see `Columns`   |
| `step`       | int32   | count  | iteration of the outermost loop around it, -1 if it is not known         |
| `inner`      | int32   | count  | flat index over the loops inside the outermost one, -1 without any       |
| `device`     | int32   | count  | index into the message's `devices`, -1 if it is not known                |
| `phantom`    | uint8   | count  | 1 if only a `vmap` made it fire, see `events.Event.phantom`              |
| `type`       | uint16  | count  | number of its site's type, see `SiteMessage`                             |
| `point_row`  | uint32  | points | a number to plot: index of its event in this batch, ...                  |
| `point_value`| uint16  | points | ... which value of the site (index into the site's `values`), ...        |
| `point_element`| uint16 | points | ... which element of it (a vector of at most 16; 0 of a scalar), ...         |
| `point_y`    | float64 | points | ... and the number (bool and int converted)                              |
| `span_site`  | int32   | spans  | id of the site with the host function that ran; -1 a wait for effects, -2 for outputs, ... |
| `span_thread`| int32   | spans  | ... index into the message's `threads`, ...                              |
| `span_from`, `span_to` | float64 | spans | ... and when: seconds since `status.started`                    |
| `text_row`   | uint32  | texts  | a formatted line: index of its event in this batch (`rows`: from `first`)|
| `text_end`   | uint32  | texts  | end of its UTF-8 bytes in `text`; a line starts where the one before ends |
| `text`       | uint8   | bytes  | the lines, one after the other                                           |

A batch has the text of its newest rows only, which the reader of a running log sees. The client requests other lines (`rows`)
when the user scrolls to them. Formatting a million lines that nobody reads would keep Python's lock from the user's program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from jax_debug_widgets.transport.columns import ColumnSpec
    from jax_debug_widgets.transport.run_messages import CallMessage, SiteMessage, StatusMessage

VERSION = 1
"""The version of the messages; it grows when an older client could misread a message."""


class BatchMessage(TypedDict):
    """A batch, see the module's docstring. `oldest` is the position of the first event that the kernel still keeps.

    `devices` names the run's devices, and `threads` the threads of its spans. A name keeps its place, and later batches may
    add names at the end. `first_span` is the number of spans before this batch; it is 0 in the answer to `sync`.
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


def reply(kind: str, run: str, request_id: int, **fields: Any) -> dict[str, Any]:
    """Make the answer to request `request_id`; `kind` is `rows`, `array`, `done`, `error` and so on."""
    return {"type": kind, "version": VERSION, "run": run, "id": request_id, **fields}
