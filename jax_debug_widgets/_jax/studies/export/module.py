"""The module that is being written: its functions, arrays and host functions, and the parts that cannot be written."""

from __future__ import annotations

import builtins
import inspect
import keyword
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jax_debug_widgets._jax.studies.export.proofs import NAMESPACE, Proofs
from jax_debug_widgets._jax.studies.export.widths import width_of
from jax_debug_widgets._jax.studies.programs import ProgramAnnotations
from jax_debug_widgets.graphs.program import Program

_IMPORTED = ("collections", "functools", "Path", "host", "like", "load_arrays", "in_64_bits")

RESERVED = frozenset({*keyword.kwlist, *dir(builtins), *NAMESPACE, *_IMPORTED})
"""Names that no variable or function of a module may have."""


@dataclass(frozen=True)
class Host:
    """A function that the host calls: its name in `host.py`, what it takes and gives, and its source where there is one."""

    name: str
    takes: Sequence[str]
    gives: str
    source: str


class WrittenModule:
    """The parts of a module that have been written so far.

    Attributes:
      constants: maps names to arrays. `hosts`: the functions that the user must fill in.
      width: how the program comes by its 64-bit numbers.
      refused: the parts that cannot be written. `notes`: the parts that are written differently from JAX's trace.
    """

    def __init__(
        self, program: Program, reading: ProgramAnnotations, known_arrays: Callable[[Any], str | None]
    ) -> None:
        self.reading, self.width = reading, width_of(program)
        self.variables = {
            name for one in program.equations for name, noted in zip(one.names, one.noted, strict=True) if noted
        }
        self.variables |= {one.text for one in program.body.inputs}
        self.used = Names(RESERVED)
        self._locals: set[str] = set()
        self.constants: dict[str, Any] = {}
        self.functions: list[list[str]] = []
        self.hosts: list[Host] = []
        self.refused: list[str] = []
        self.notes: dict[str, None] = {}
        self.proofs = Proofs()
        self._known_arrays = known_arrays
        self._name_of: dict[Any, str] = {}
        self._kept: list[Any] = []
        self._depth = 0

    def name(self, wanted: str) -> str:
        """A name at the module's level, like this one."""
        plain = identifier(wanted, "function")
        wanted = f"{plain}_fn" if plain in self.variables or plain in RESERVED else plain
        return fresh(wanted, self.used, self._locals)

    def local(self, wanted: str, used: Names) -> str:
        """A name in a function that uses these; never that of a function of the module."""
        name = fresh(wanted, used, self.used)
        self._locals.add(name)
        return name

    def constant(self, value: Any) -> str:
        """The name of an array."""
        if id(value) not in self._name_of:
            self._kept.append(value)
            name = self.name(self._known_arrays(value) or "constant")
            self._name_of[id(value)] = name
            self.constants[name] = value
        return self._name_of[id(value)]

    @contextmanager
    def deeper(self) -> Iterator[int]:
        """While a derivative rule is written: how many rules it is in, itself counted."""
        self._depth += 1
        try:
            yield self._depth
        finally:
            self._depth -= 1

    def shared(self, key: Any, wanted: str, write: Callable[[str], list[str]]) -> str:
        """The name of the function of this key, which is written where there is none."""
        if key not in self._name_of:
            self._name_of[key] = name = self.name(wanted)
            lines = write(name)
            same = ("text", *(line.replace(name, "_") for line in lines if not line.lstrip().startswith("#")))
            if same in self._name_of:  # A function that was traced again is another object.
                self._name_of[key] = self._name_of[same]
            else:
                self._name_of[same] = name
                self.functions.append(lines)
        return self._name_of[key]

    def keep(self, value: Any) -> int:
        """The identity of an object, which stays."""
        self._kept.append(value)
        return id(value)

    def host(self, function: Any, wanted: str, takes: Sequence[str], gives: str) -> str:
        """The name of a host function, `host.scale`."""
        key = ("host", self.keep(function))
        if key not in self._name_of:
            taken = Names({one.name for one in self.hosts} | RESERVED)
            name = self._name_of[key] = fresh(identifier(wanted, "function"), taken)
            self.hosts.append(Host(name, list(takes), gives, _source_of(function)))
        return f"host.{self._name_of[key]}"

    def note(self, text: str) -> None:
        """Say once what is written otherwise."""
        self.notes[text] = None


def identifier(text: str, otherwise: str) -> str:
    """Text as a name: `params['w']` → `params_w`."""
    plain = re.sub(r"\W+", "_", text.replace("<lambda>", otherwise)).strip("_") or otherwise
    return f"v{plain}" if plain[0].isdigit() else plain


class Names(set[str]):
    """Names that are used: none of them is free again.

    Attributes:
      counts: of each name that was asked for, the number at which the search ended: those before are used.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__(names)
        self.counts: dict[str, int] = {}


def fresh(wanted: str, used: Names, others: Container[str] = ()) -> str:
    """A name that is not used, and is by now, and is none of the others."""
    count = used.counts.get(wanted, 1)
    while (name := wanted if count == 1 else f"{wanted}_{count}") in used or name in others or name in RESERVED:
        count += 1
    used.counts[wanted] = count
    used.add(name)
    return name


def indented(lines: Iterable[str]) -> list[str]:
    """A body's lines."""
    return [f"    {line}" if line else "" for line in lines]


def _source_of(function: Any) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return ""
