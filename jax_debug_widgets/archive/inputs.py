"""Write the inputs of calls to a run's folder, one file for each call, so that another process can repeat the call.

Each row is an array. The first row describes the structure around the arrays, as JSON. There is no pickle, and there
are no names of functions to call.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jax_debug_widgets.archive.dtypes import dtype_called
from jax_debug_widgets.archive.files import Files
from jax_debug_widgets.archive.layout import INPUT, INPUTS, RunFileError, input_name
from jax_debug_widgets.archive.row_ranges import read_sealed
from jax_debug_widgets.archive.schemas import SCHEMAS
from jax_debug_widgets.archive.stored_call import StoredCall, StoredLeaf
from jax_debug_widgets.archive.tables import write_part

_TREE = "tree"


def write_call(own: Path, call: int, stored: StoredCall) -> int:
    """Write the inputs of a call into the folder of a process; return the size of the file in bytes."""
    folder = own / INPUTS
    folder.mkdir(mode=0o700, exist_ok=True)
    tree = {"path": "", "kind": _TREE, "dtype": "uint8", "shape": [], "impl": "", "weak": False}
    rows = [{**tree, "data": json.dumps(stored.tree).encode()}]
    for leaf in stored.leaves:
        data = np.ascontiguousarray(leaf.data)
        about = {"path": leaf.path, "kind": leaf.kind, "impl": leaf.impl, "weak": leaf.weak}
        bytes_ = data.reshape(-1).view(np.uint8).tobytes() if data.size else b""
        rows.append({**about, "dtype": data.dtype.name, "shape": list(leaf.data.shape), "data": bytes_})
    path = folder / input_name(call)
    write_part(path, INPUTS, pa.Table.from_pylist(rows, SCHEMAS[INPUTS]))
    return path.stat().st_size


def calls_with_inputs(files: Files, own: str) -> list[int]:
    """Return the calls for which a process has written the inputs."""
    return sorted(int(found[1]) for name in files.names(f"{own}/{INPUTS}") if (found := INPUT.fullmatch(name)))


def read_call(files: Files, own: str, call: int) -> StoredCall:
    """Read the inputs of a call.

    Raises:
      RunFileError: they are damaged, or contradict themselves.
    """
    path, problems = f"{own}/{INPUTS}/{input_name(call)}", []
    rows = read_sealed(files, path, SCHEMAS[INPUTS], problems).to_pylist()
    if problems or not rows or rows[0]["kind"] != _TREE:
        raise RunFileError(
            f"the inputs of call {call} cannot be read: {' '.join(problems) or 'they have no beginning'}"
        )
    try:
        tree = json.loads(rows[0]["data"])
    except (ValueError, TypeError, RecursionError) as error:
        raise RunFileError(f"the inputs of call {call} cannot be read: {error}") from None
    if not isinstance(tree, dict):
        raise RunFileError(f"the inputs of call {call} are no inputs")
    return StoredCall(tree, tuple(_leaf(row) for row in rows[1:]))


def _leaf(row: dict[str, Any]) -> StoredLeaf:
    dtype, shape, data = dtype_called(row["dtype"]), row["shape"], row["data"]
    if any(type(size) is not int or size < 0 for size in shape or ()) or data is None or shape is None:
        raise RunFileError(f"{row['path']!r:.80} among the inputs has no shape or no data")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise RunFileError(
            f"{row['path']!r:.80} among the inputs has {len(data)} bytes, its shape {shape} wants others"
        )
    array = np.frombuffer(data, np.uint8).view(dtype).reshape(shape) if len(data) else np.zeros(shape, dtype)
    return StoredLeaf(str(row["path"]), str(row["kind"]), array, str(row["impl"]), bool(row["weak"]))
