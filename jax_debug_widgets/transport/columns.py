"""Lay out the columns of a message in its buffer; the twin of `js/src/transport/columns.ts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

import numpy as np

DTYPES = ("uint8", "uint16", "uint32", "int32", "float32", "float64")
"""The element types of a column. JavaScript has a typed array for each of them."""

_DTYPE_NAMES = {one: name for name in DTYPES for one in (np.dtype(name), np.dtype(name).newbyteorder())}

ALIGNMENT = 8
"""The alignment of a column in bytes: the browser's typed arrays must start at a multiple of their element size."""


class ColumnSpec(TypedDict):
    """The place of one column in the buffer: `offset` in bytes, `length` in elements."""

    name: str
    dtype: str
    offset: int
    length: int


def pack(columns: Mapping[str, np.ndarray]) -> tuple[list[ColumnSpec], bytes]:
    """Lay one-dimensional arrays into one buffer, each 8-byte aligned.

    Raises:
      ValueError: a column is not one-dimensional or not of one of `DTYPES`.
    """
    specs: list[ColumnSpec] = []
    pieces: list[bytes] = []
    offset = 0
    for name, column in columns.items():
        dtype = _DTYPE_NAMES.get(column.dtype)
        if column.ndim != 1 or dtype is None:
            msg = f"column {name!r}: want one dimension and one of {DTYPES}, got {column.dtype}{column.shape}"
            raise ValueError(msg)
        data = np.ascontiguousarray(column, column.dtype.newbyteorder("<")).tobytes()
        specs.append({"name": name, "dtype": dtype, "offset": offset, "length": len(column)})
        padding = -len(data) % ALIGNMENT
        pieces += [data, bytes(padding)]
        offset += len(data) + padding
    return specs, b"".join(pieces)


def unpack(specs: Sequence[ColumnSpec], buffer: bytes | memoryview) -> dict[str, np.ndarray]:
    """Undo `pack`; the arrays are views of `buffer`.

    Raises:
      ValueError: a dtype is unknown, or a column lies outside the buffer.
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
    """Make the three text columns for row -> line."""
    encoded = [text.encode("utf-8", "replace") for text in texts.values()]
    return {
        "text_row": np.fromiter(texts, np.uint32, len(texts)),
        "text_end": np.cumsum([len(data) for data in encoded], dtype=np.uint32) if encoded else np.zeros(0, np.uint32),
        "text": np.frombuffer(b"".join(encoded), np.uint8),
    }


def unpack_texts(columns: Mapping[str, np.ndarray]) -> dict[int, str]:
    """Undo `pack_texts`: return row -> line."""
    data = columns["text"].tobytes()
    texts, start = {}, 0
    for row, end in zip(columns["text_row"].tolist(), columns["text_end"].tolist(), strict=True):
        texts[row] = data[start:end].decode()
        start = end
    return texts
