"""Make the files that the browser saves. They are made in the kernel, which has the values, and sent as a whole."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets.events.amounts import in_bytes
from jax_debug_widgets.graphs.saved import is_foreign
from jax_debug_widgets.session.run.tables import write_parquet
from jax_debug_widgets.transport import reply
from jax_debug_widgets.transport.columns import pack

if TYPE_CHECKING:
    from jax_debug_widgets.session.panel.feed import Message
    from jax_debug_widgets.session.run.view import RunView

MAX_BYTES = 256 << 20
"""The most bytes of a file that is sent to the browser. For a larger file, the error says how to write it in a cell."""


def file_message(run: RunView, request: int, asked: Mapping[str, Any]) -> Message:
    """Make the answer to a `file` request: `npy`, one value of one event; `parquet`, all events.

    Raises:
      IndexError: the event is not kept, or has no such value. ImportError: pyarrow is not installed.
      ValueError: the format is unknown, or the file is too large to be sent.
    """
    match asked["format"]:
        case "npy":
            position, number = int(asked["event"]), int(asked["value"])
            value = run.store.event(position).values[number]
            written = f'numpy.save("array.npy", next(e for e in run.events if e.seq == {position}).values[{number}])'
            _refuse_large(value.nbytes, written)
            file = io.BytesIO()
            # NumPy would save types that are not its own (bfloat16) as bytes without a name.
            np.save(file, value.astype(np.float32) if is_foreign(value.dtype) else value, allow_pickle=False)
        case "parquet":
            written = 'run.to_parquet("run.parquet")'
            _refuse_large(run.store.nbytes, written)
            file = io.BytesIO()
            run.collect()
            write_parquet(run.store, file)
        case unknown:
            msg = f"unknown format {unknown!r}"
            raise ValueError(msg)
    _refuse_large(file.tell(), written)
    specs, buffer = pack({"data": np.frombuffer(file.getbuffer(), np.uint8)})
    return reply("file", run.key, request, data=specs), buffer


def _refuse_large(nbytes: int, written: str) -> None:
    if nbytes > MAX_BYTES:
        msg = f"{in_bytes(nbytes)} are too many to be sent; in a cell of the notebook: {written}"
        raise ValueError(msg)
