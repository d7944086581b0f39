"""The messages between kernel and browser; the twin of `js/src/transport/wire.ts`.

Every message is one JSON object, `content`, and at most one binary buffer. Kernel to browser:

`batch`    what happened since the last tick: events `first .. first + count - 1` of a run, counted from the
           run's first event, whether or not they are still kept. The client drops what it has already and asks
           (`sync`) for what is missing, so a batch may be sent twice but none is lost unseen.
`rows`     the answer to `rows`: the text of the events asked for.
`array`    the answer to `array`: one value of one event, as a picture can show it.
`done`     the answer to a request that has no other answer.
`error`    the answer to a request that failed; `message` says what to do.

Browser to kernel (each with `run` and `id`, which the answer repeats):

`sync`     send everything again from event `first` on (sites, calls and status too).
`rows`     send the text of events `first .. first + count - 1`.
`array`    send value `value` of event `event`: the two-dimensional slice at `index` (one number for each leading axis
           beyond the last two; shorter or absent: zeros), at most 512 rows and columns of it. With `image`: true, of a
           value of shape [..., rows, columns, 3 or 4] the slice with all its channels; others as without it.
`mute`     stop or go on recording site `site`, from now on (`muted`: true or false).
`barrier`  wait until the effects of the run's calls have drained; answered when they have.

Columns of a `batch` (one array each, little-endian, 8-byte aligned in the buffer):

| name         | dtype   | length | meaning                                                                  |
|--------------|---------|--------|--------------------------------------------------------------------------|
| `site`       | uint32  | count  | id of the call site, see `sites`                                         |
| `time`       | float64 | count  | seconds since `status.started`                                           |
| `occurrence` | uint32  | count  | n-th firing of its site in this run, from 0                              |
| `lane`       | int32   | count  | flat index over the vmap axes, -1 where there is none                    |
| `call`       | int32   | count  | id of the call that dispatched it, -1 where it is not known              |
| `point_row`  | uint32  | points | a number to plot: index of its event in this batch, ...                  |
| `point_value`| uint16  | points | ... which value of the site (index into the site's `values`), ...        |
| `point_y`    | float64 | points | ... and the number (bool and int converted)                              |
| `text_row`   | uint32  | texts  | a formatted line: index of its event in this batch (`rows`: from `first`)|
| `text_end`   | uint32  | texts  | end of its UTF-8 bytes in `text`; it starts where the one before ends    |
| `text`       | uint8   | bytes  | the lines, one after the other                                           |

Columns of an `array`: `data`, float32, the slice row by row, `channels` numbers a pixel where it is an image (scalars and
vectors are one row; of larger slices every n-th row and column is taken); `histogram`, uint32, counts of the finite elements
of the whole value over equal bins from `stats.min` to `stats.max`.

A batch carries the text of its newest rows only: what the reader of a running log sees. The client asks for
the others (`rows`) when they are scrolled into view; formatting a million lines nobody reads would cost the
user's program its interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import numpy as np

VERSION = 1
"""Raised when an older client could misread a message."""

DTYPES = ("uint8", "uint16", "uint32", "int32", "float32", "float64")
"""What a column may hold: exactly the element types of JavaScript's typed arrays that lose nothing."""

ALIGNMENT = 8
"""Bytes; typed arrays of the browser must start at a multiple of their element size."""


class ColumnSpec(TypedDict):
    """Where one column lies in the buffer; `offset` in bytes, `length` in elements."""

    name: str
    dtype: str
    offset: int
    length: int


class SiteMessage(TypedDict):
    """A call site, see `events.CallSite`. `where` is what a person calls the place: `train.py:41`, `In [7]:12`.

    `shapes` and `dtypes` are those of each value when it last changed, `order` its place in its program's order.
    """

    id: int
    kind: str
    ordered: bool
    phase: str
    where: str
    file: str
    line: int
    column: int
    function: str
    source: str
    label: str
    values: list[str]
    shapes: list[list[int]]
    dtypes: list[str]
    order: int
    name_stack: str
    transforms: list[str]


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


class BarrierMessage(TypedDict):
    """The effects barrier of a run: `off`, `idle`, `pending`, `drained`, `timeout` or `failed`.

    `pending` names the calls whose effects have not drained, `waited` is in seconds.
    """

    state: str
    pending: list[str]
    waited: float
    timeout: float | None


class StatusMessage(TypedDict):
    """The run as a whole. `state` is `running`, `waiting` (for effects), `done` or `failed`.

    `started` is in seconds since the epoch, `elapsed` in seconds, `rate` in events per second over the last second,
    `dropped` counts the events that the store no longer holds and `dropped_by_site` tells whose they were.
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
    barrier: BarrierMessage
    notes: list[str]


class ArrayStatistics(TypedDict):
    """Of all elements of a value; `min`, `max`, `mean`, `std` of the finite ones, None where there are none."""

    size: int
    nan: int
    inf: int
    zero: int
    min: float | None
    max: float | None
    mean: float | None
    std: float | None


class ArrayMessage(TypedDict):
    """One value of one event. `rows`, `columns` are those of `data`; `stride` is how many of the value's each stands for.

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
    """See the module's docstring. `oldest` is the first event the kernel still keeps."""

    type: str
    version: int
    run: str
    batch: int
    first: int
    count: int
    oldest: int
    columns: list[ColumnSpec]
    sites: list[SiteMessage]
    calls: list[CallMessage]
    status: StatusMessage


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
    site: NotRequired[int]
    muted: NotRequired[bool]


def pack(columns: Mapping[str, np.ndarray]) -> tuple[list[ColumnSpec], bytes]:
    """Lay one-dimensional arrays into one buffer, each 8-byte aligned.

    Raises:
      ValueError: a column is not one-dimensional or not of one of `DTYPES`.
    """
    specs: list[ColumnSpec] = []
    pieces: list[bytes] = []
    offset = 0
    for name, column in columns.items():
        if column.ndim != 1 or column.dtype.name not in DTYPES:
            msg = f"column {name!r}: want one dimension and one of {DTYPES}, got {column.dtype}{column.shape}"
            raise ValueError(msg)
        data = np.ascontiguousarray(column, column.dtype.newbyteorder("<")).tobytes()
        specs.append({"name": name, "dtype": column.dtype.name, "offset": offset, "length": len(column)})
        padding = -len(data) % ALIGNMENT
        pieces += [data, bytes(padding)]
        offset += len(data) + padding
    return specs, b"".join(pieces)


def unpack(specs: Sequence[ColumnSpec], buffer: bytes | memoryview) -> dict[str, np.ndarray]:
    """The inverse of `pack`; the arrays are views of `buffer`.

    Raises:
      ValueError: an unknown dtype, or a column that lies outside the buffer.
    """
    columns = {}
    for spec in specs:
        if spec["dtype"] not in DTYPES:
            msg = f"column {spec['name']!r}: unknown dtype {spec['dtype']!r}"
            raise ValueError(msg)
        dtype = np.dtype(spec["dtype"]).newbyteorder("<")
        end = spec["offset"] + spec["length"] * dtype.itemsize
        if spec["offset"] % ALIGNMENT or min(spec["offset"], spec["length"]) < 0 or end > len(buffer):
            msg = f"column {spec['name']!r}: bytes {spec['offset']}..{end} are not in a buffer of {len(buffer)}"
            raise ValueError(msg)
        columns[spec["name"]] = np.frombuffer(buffer, dtype, spec["length"], spec["offset"])
    return columns


def pack_texts(texts: Mapping[int, str]) -> dict[str, np.ndarray]:
    """The three text columns for `{row: line}`."""
    encoded = [text.encode("utf-8", "replace") for text in texts.values()]
    return {
        "text_row": np.fromiter(texts, np.uint32, len(texts)),
        "text_end": np.cumsum([len(data) for data in encoded], dtype=np.uint32) if encoded else np.zeros(0, np.uint32),
        "text": np.frombuffer(b"".join(encoded), np.uint8),
    }


def unpack_texts(columns: Mapping[str, np.ndarray]) -> dict[int, str]:
    """The inverse of `pack_texts`."""
    data = columns["text"].tobytes()
    texts, start = {}, 0
    for row, end in zip(columns["text_row"].tolist(), columns["text_end"].tolist(), strict=True):
        texts[row] = data[start:end].decode()
        start = end
    return texts


def reply(kind: str, run: str, request_id: int, **fields: Any) -> dict[str, Any]:
    """The answer to request `request_id`: kind `rows`, `array`, `done` or `error`."""
    return {"type": kind, "version": VERSION, "run": run, "id": request_id, **fields}
