"""Save a program with the values of one run to a file: arrays, and the equations as JSON. Nothing is pickled."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jax_debug_widgets.events.amounts import in_bytes, plural
from jax_debug_widgets.graphs.executed import ExecutedProgram
from jax_debug_widgets.graphs.page import Page
from jax_debug_widgets.graphs.program import Body, Equation, Operand, Program, Source, Type

FORMAT = 1
"""The version of the file format; files of other versions are refused."""

_CLASSES: dict[str, Any] = {one.__name__: one for one in (Program, Body, Equation, Operand, Source, Type)}


@dataclass(frozen=True)
class SavedValues:
    """The file with the values of a run; `jax_debug_widgets.compare` returns it after saving."""

    name: str
    path: Path
    outputs: int
    equations: int

    def page(self) -> Page:
        """Return a page about the content of the file, and how to compare with it."""
        size = in_bytes(self.path.stat().st_size)
        what = f"{plural(self.outputs, 'output')} and the values of {plural(self.equations, 'equation')}"
        return Page(
            f"{self.name}: {what} are in {self.path} ({size})",
            (),
            (),
            [f"Compare with them later: %jaxdebug compare {self.name} -- … --against saved:{self.path}"],
        )

    def __repr__(self) -> str:
        return self.page().text()

    def _repr_html_(self) -> str:
        return self.page().html()


def save(ran: ExecutedProgram, path: Path) -> SavedValues:
    """Write a program and the values of a run to a file."""
    keys = list(ran.values)
    about = {
        "format": FORMAT,
        "program": _plain(ran.program),
        "paths": list(ran.paths),
        "keys": [_plain(key) for key in keys],
        "counts": [len(ran.values[key]) for key in keys],
        "inputs": len(ran.inputs),
    }
    arrays = [*ran.outputs, *(one for key in keys for one in ran.values[key]), *ran.inputs]
    own = [np.asarray(one) for one in arrays]
    about["dtypes"] = [one.dtype.name for one in own]
    # NumPy would save its foreign dtypes, such as bfloat16, as bytes without a name.
    stored = {
        f"a{at}": one.view(f"u{one.dtype.itemsize}") if is_foreign(one.dtype) else one for at, one in enumerate(own)
    }
    stored["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    write: Any = np.savez_compressed
    with path.open("wb") as file:
        write(file, **stored)
    return SavedValues(ran.program.name, path, len(ran.outputs), len(keys))


def is_foreign(dtype: np.dtype[Any]) -> bool:
    """Return whether another package has added a dtype to NumPy, such as bfloat16."""
    return dtype.type.__module__ != "numpy"


def load(path: Path) -> ExecutedProgram:
    """Read a file that `save` has written.

    Raises:
      OSError: there is no such file. ValueError: it is another kind of file.
    """
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError(f"{path} is no file that compare has saved, or is cut off")
    with np.load(path, allow_pickle=False) as file:
        if "about" not in file:
            raise ValueError(f"{path} has no values that compare has saved")
        about = json.loads(file["about"].tobytes())
        if about.get("format") != FORMAT:
            raise ValueError(f"{path} was saved by another version (format {about.get('format')}, not {FORMAT})")
        arrays = iter([file[f"a{at}"].view(np.dtype(name)) for at, name in enumerate(about["dtypes"])])
    outputs = [next(arrays) for _ in about["paths"]]
    keys = map(_made, about["keys"])
    values = {key: tuple(next(arrays) for _ in range(count)) for key, count in zip(keys, about["counts"], strict=True)}
    inputs = [next(arrays) for _ in range(about.get("inputs", 0))]  # Files of earlier versions have no inputs.
    return ExecutedProgram(_made(about["program"]), about["paths"], outputs, values, inputs)


def _plain(value: Any) -> Any:
    """Convert a value for JSON: a tuple to `["", …]`, a mapping to `["{}", …]`, an object to `["Equation", …]`."""
    if dataclasses.is_dataclass(value):
        return [type(value).__name__, *(_plain(getattr(value, one.name)) for one in dataclasses.fields(value))]
    if isinstance(value, Mapping):
        return ["{}", dict(value)]
    return ["", *map(_plain, value)] if isinstance(value, tuple) else value


def _made(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    kind, *parts = value
    if kind == "{}":
        return parts[0]
    made = map(_made, parts)
    return _CLASSES[kind](*made) if kind else tuple(made)
