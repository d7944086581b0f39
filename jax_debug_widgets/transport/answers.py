"""Define the answers with fields of their own: a value of an event, and a file of source. See `wire` for how they travel.

Columns of an `array`:
  `data`, float32 (float64 if float32 cannot hold the values): the slice row by row, with `channels` numbers a pixel for an
  image. Scalars and vectors are one row. A larger slice has only each n-th row and column.
  `histogram`, uint32: counts of the finite elements of the whole value over equal bins from `stats.min` to `stats.max`.

Columns of `histograms` (its `data`):
  `event`, uint32[n].
  `counts`, uint32[n * bins]: event by event, over equal bins from `low` to `high`.
  `odd`, uint32[n]: how many elements are NaN or infinite.

Column of a `file`: `data`, uint8, its bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from jax_debug_widgets.transport.columns import ColumnSpec
    from jax_debug_widgets.transport.stops import ArrayStatistics


class ArrayMessage(TypedDict):
    """One value of an event, or a variable of a stop's frame.

    `rows` and `columns` are the size of `data`; `stride` is how many rows and columns of the value each stands for.
    `channels` is present if the request asked for an image, and the value is one. `axes` and `tiles` are present if the
    request had axes. `tiles` is the number of pictures (`rows` by `columns`) in `data`, and the number that the value has.
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
    """A function in a file: its qualified name, its first and last line."""

    name: str
    first: int
    last: int


class NameMessage(TypedDict):
    """A range of a file that computes the value called `name`.

    `why` says why the value is not watched; it is empty if the value can be watched. `pattern` is the pattern by which the
    next run can watch it; it is empty if no pattern can. `root` is the name of the tree if the value is a leaf, else empty.
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
    """The source of a file. `first_line` is the number of the first of `lines`. Columns count characters, from 0."""

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
