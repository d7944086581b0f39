"""Make tables of events and calls: pandas frames, Parquet."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jax_debug_widgets.events import Call, CallSite, Column, Tap, distinguishing_texts
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.session.run.frame import event_columns, named_values
from jax_debug_widgets.store import SegmentSlice, Store
from jax_debug_widgets.widgets.summary import call_line, site_line

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

T = TypeVar("T")

_EVENT = (
    "seq", "time", "kind", "ordered", "where", "label", "occurrence", "step", "lane", "device", "process", "phantom", "phase",
    "call", "text", "values",
)  # fmt: skip

_SHOWN_CALLS, _SHOWN_SITES = 20, 100

_ROWS_AT_ONCE, _BYTES_AT_ONCE = 50_000, 32 << 20
"""The most rows that are in memory at a time while a file is written, and the most bytes of their values. As doubles, values
take up to eight times these bytes."""


class Lines(list[T]):
    """A list that IPython shows as its `repr`, and not element by element."""

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - IPython's
        printer.text(repr(self))


class Calls(Lines[Call]):
    """The calls of compiled functions, in the order in which they began."""

    def __repr__(self) -> str:
        lines = [f"{call.id}  {call_line(call)}" for call in self[-_SHOWN_CALLS:]]
        left = f"… {plural(len(self) - len(lines), 'earlier call')}" if len(lines) < len(self) else ""
        return "\n".join([left] * bool(left) + lines) or "<no calls>"

    def to_pandas(self) -> pd.DataFrame:
        """Return a frame with a row for each call and the fields of `Call` as columns; times in seconds since the run started.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        names = [field.name for field in dataclasses.fields(Call) if field.name != "flight"]
        rows = [[getattr(call, name) for name in names] for call in self]
        frame = pandas_for("run.calls.to_pandas()").DataFrame(rows, columns=names)
        in_seconds = {name: frame.pop(name).astype(float) * 1e-9 for name in names if name.endswith("_ns")}
        return frame.assign(**{name.removesuffix("_ns"): column for name, column in in_seconds.items()})


class Sites(Lines[CallSite]):
    """The call sites of a run, in the order of their first event; `events` is site id -> number of events."""

    def __init__(self, sites: Iterable[CallSite], events: Mapping[int, int]) -> None:
        super().__init__(sites)
        self._events = events

    def __repr__(self) -> str:
        callers = distinguishing_texts(self)
        of_all = list({site.id: site for site in self}.values())  # All types of a site share a line.
        lines = [
            f"{site.id}  {site_line(site, self._events.get(site.id, 0), callers.get(site.id, ''))}"
            for site in of_all[:_SHOWN_SITES]
        ]
        left = f"… {plural(len(of_all) - len(lines), 'more site')}"
        return "\n".join(lines + [left] * (len(lines) < len(of_all))) or "<no sites>"


def events_frame(store: Store) -> pd.DataFrame:
    """See `Run.to_pandas`."""
    pandas, pieces = pandas_for("run.to_pandas()"), store.kept()
    return pandas.DataFrame({**event_columns(store, pieces), "values": named_values(pieces)}, columns=list(_EVENT))


def write_parquet(store: Store, target: str | PathLike[str] | Any) -> None:
    """See `Run.to_parquet`; `target` may be a file as well."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        msg = 'Parquet needs pyarrow: pip install "jax-debug-widgets[parquet]"'
        raise ImportError(msg) from error
    schema = _schema(pa)
    with _written_whole(target) as file, parquet.ParquetWriter(file, schema) as writer:
        for pieces in _groups(store.kept()):
            columns = event_columns(store, pieces)
            arrays = [
                _values(pa, schema, pieces) if name == "values" else pa.array(columns[name], schema.field(name).type)
                for name in _EVENT
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


@contextmanager
def _written_whole(target: str | PathLike[str] | Any) -> Iterator[Any]:
    """Give a file to write into: a new file beside the target, which replaces the target when it is complete."""
    whole = Path(target).resolve() if isinstance(target, str | PathLike) else None  # A link is followed to its file.
    if whole is None or (whole.exists() and not whole.is_file()) or not whole.parent.is_dir():
        yield target  # An open file, a device, or a target that the writer refuses.
        return
    part = whole.with_name(f".{whole.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        yield part
        part.replace(whole)
    finally:
        part.unlink(missing_ok=True)


def _groups(pieces: Sequence[SegmentSlice]) -> Iterator[list[SegmentSlice]]:
    """Group the pieces that are in memory at the same time, as a copy, while a file is written."""
    group: list[SegmentSlice] = []
    for piece in pieces:
        first = group[0].first if group else piece.first
        if piece.stop - first > _ROWS_AT_ONCE or sum(one.nbytes for one in (*group, piece)) > _BYTES_AT_ONCE:
            if group:
                yield group
            group = []
        group.append(piece)
    if group:
        yield group


def _values(pa: Any, schema: Any, pieces: Sequence[SegmentSlice]) -> Any:
    """Return the values of each event in types that every reader of Parquet knows."""
    parts, positions = [], []
    for piece in pieces:
        for tap, at, values in piece.segment.values(piece.first, piece.stop):
            parts.append(_values_of(pa, schema.field("values").type, tap, values, len(at)))
            positions.append(at)
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(positions))))


def _values_of(pa: Any, kind: Any, tap: Tap, values: Sequence[Column], count: int) -> Any:
    """Return the values of one tap's events, in types that every reader of Parquet knows, one event after the other."""
    each = len(values)
    indices = np.tile(np.arange(each), count)
    doubles = [_as_doubles(value, count) for value in values]
    shapes = pa.array([np.shape(value[0]) for value in values], kind.value_type.field("shape").type)
    dtypes = pa.array([value[0].dtype.name for value in values], pa.string())
    data = np.concatenate([np.zeros((count, 0)), *doubles], axis=1).ravel()
    sizes = np.tile(np.array([one.shape[1] for one in doubles], np.int64), count)
    columns = [
        pa.array(tap.site.values[:each], pa.string()).take(pa.array(indices)),
        dtypes.take(pa.array(indices)),
        shapes.take(pa.array(indices)),
        pa.ListArray.from_arrays(_ends(sizes), pa.array(data)),
    ]
    structs = pa.StructArray.from_arrays(columns, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(_ends(np.full(count, each)), structs, type=kind)


def _ends(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)


def _as_doubles(values: Column, count: int) -> np.ndarray:
    """Return values as float64[count, doubles of each]; a complex element becomes its real and its imaginary part."""
    flat = np.asarray(values).reshape(count, -1)
    return flat.astype(np.complex128).view(np.float64) if flat.dtype.kind == "c" else flat.astype(np.float64)


def _schema(pa: Any) -> pa.Schema:
    value = pa.struct(
        {"name": pa.string(), "dtype": pa.string(), "shape": pa.list_(pa.int64()), "data": pa.list_(pa.float64())}
    )
    types = {
        "seq": pa.int64(),
        "time": pa.float64(),
        "ordered": pa.bool_(),
        "occurrence": pa.int64(),
        "step": pa.list_(pa.int64()),
        "lane": pa.list_(pa.int64()),
        "process": pa.int64(),
        "phantom": pa.bool_(),
        "call": pa.int64(),
        "values": pa.list_(value),
    }
    return pa.schema({name: types.get(name, pa.string()) for name in _EVENT})


def pandas_for(wanted: str) -> Any:
    """Return the module of pandas, or raise an ImportError that says that `wanted` needs it."""
    try:
        import pandas as pd
    except ImportError as error:
        msg = f'{wanted} needs pandas: pip install "jax-debug-widgets[pandas]"'
        raise ImportError(msg) from error
    return pd
