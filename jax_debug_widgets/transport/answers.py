"""The answers that have fields of their own: a value of an event, and a file of source. See `wire` for how they travel.

Columns of an `array`: `data`, float32 (float64 where that cannot hold it), the slice row by row, `channels` numbers a pixel
where it is an image (scalars and vectors are one row; of larger slices every n-th row and column is taken); `histogram`,
uint32, counts of the finite elements of the whole value over equal bins from `stats.min` to `stats.max`.

Of `histograms` (its `data`): `event`, uint32[n]; `counts`, uint32[n * bins], event by event, over equal bins from `low` to
`high`; `odd`, uint32[n], how many are NaN or infinite. Of a `file`: `data`, uint8, its bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from jax_debug_widgets.transport.columns import ColumnSpec
    from jax_debug_widgets.transport.stops import ArrayStatistics


class ArrayMessage(TypedDict):
    """One value of an event, or of a stop's frame.

    `rows`, `columns` are those of `data`; `stride` is how many of the value's each stands for.
    `channels` is there where it was asked for as an image, and is one. `axes` and `tiles` (how many pictures of `rows` by
    `columns` there are in `data`, one after the other, and how many the value has) are there where axes were asked for.
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
    axes: NotRequired[list[int]]
    tiles: NotRequired[list[int]]
    stats: ArrayStatistics
    data: list[ColumnSpec]


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
