"""Read the text of lowered and compiled programs: instructions, their computations, and the tags in their names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from jax_debug_widgets.graphs.hlo_frames import Frames, frames_in

MADE_BY_XLA = frozenset(
    {"parameter", "constant", "tuple", "get-tuple-element", "copy", "copy-start", "copy-done", "bitcast"}
)
"""The instructions that only move or name values, and correspond to no equation."""

_APPLIED = frozenset({"reduce", "reduce-window", "sort", "scatter", "map", "select-and-scatter", "all-reduce"})
"""The instructions that apply a computation to elements."""

_TAG = re.compile(r"\beqn(\d+)\b")
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) \(.*\{$")
_ENTRY = re.compile(r"(?m)^ENTRY %?([\w.\-]+) \(")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\((.*)$")
_OPERAND = re.compile(r"%([\w.\-]+)")
_FRAME = re.compile(r"stack_frame_id=(\d+)")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]++|\\.)*+)"')
_HOST_TARGET = re.compile(r'custom_call_target="xla_\w*python_\w*callback')
_METADATA = re.compile(r', metadata=\{(?:[^{}"]++|"(?:[^"\\]++|\\.)*+")*+\}')
_CALLS = re.compile(r"(?:calls|to_apply|condition|body|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_ARRAY = re.compile(r"([a-z]\w*)\[([\d,]*)\]")
_BITS = re.compile(r"(\d+)")


class Instruction(NamedTuple):
    """An instruction of a compiled program.

    Attributes:
      name: its name.
      opcode: its operation.
      type: its type as XLA writes it, `f32[64,64]{1,0}`.
      operands: the names of its operands.
      calls: the names of the computations that it runs.
      computation: the name of the computation that it is in.
      tags: the numbers of the scopes around it, the innermost last; one tuple for each instruction that XLA merged into it.
      text: its line, without metadata.
      op_name: JAX's name for it; empty if it has none.
      frame: the number of its stack frame, see `Executable.frames`; 0 if unknown.
      is_root: whether it is the result of its computation.
      is_host_call: whether it calls Python.
    """

    name: str
    opcode: str
    type: str
    operands: tuple[str, ...]
    calls: tuple[str, ...]
    computation: str
    tags: tuple[tuple[int, ...], ...]
    text: str
    op_name: str = ""
    frame: int = 0
    is_root: bool = False
    is_host_call: bool = False

    @property
    def nbytes(self) -> int:
        """The bytes of its results."""
        return sum(_bytes_of(*one) for one in _ARRAY.findall(self.type))


def _bytes_of(kind: str, dimensions: str) -> int:
    bits = _BITS.search(kind)
    size = math.prod(map(int, dimensions.split(","))) if dimensions else 1
    return size * (int(bits[1]) if bits else 8) // 8


@dataclass(frozen=True, eq=False)
class Executable:
    """A compiled program, in the order of its text.

    Attributes:
      entry: the name of the computation at which it begins.
      frames: number of a frame -> its line and those of its callers, innermost first; empty if XLA's text has none.
    """

    instructions: tuple[Instruction, ...]
    entry: str
    frames: Frames

    @cached_property
    def by_name(self) -> Mapping[str, Instruction]:
        """Its instructions by name."""
        return {one.name: one for one in self.instructions}

    @cached_property
    def inside(self) -> Mapping[str, Sequence[Instruction]]:
        """The instructions of each computation."""
        found: dict[str, list[Instruction]] = {}
        for one in self.instructions:
            found.setdefault(one.computation, []).append(one)
        return found

    @cached_property
    def in_fusions(self) -> Mapping[str, Instruction]:
        """The computations inside fusions, each with its fusion."""
        return {call: one for one in self.instructions if one.opcode == "fusion" for call in one.calls}

    @cached_property
    def applied(self) -> frozenset[str]:
        """The computations that are applied to elements."""
        return frozenset(call for one in self.instructions if one.opcode in _APPLIED for call in one.calls)

    def own(self) -> list[Instruction]:
        """Return the instructions that run by themselves: those not inside a fusion and not applied to elements."""
        hidden = self.in_fusions.keys() | self.applied
        return [one for one in self.instructions if one.computation not in hidden]

    def read_by(self, one: Instruction) -> int:
        """Return the bytes of an instruction's operands."""
        return sum(self.by_name[name].nbytes for name in one.operands if name in self.by_name)

    def parts_of(self, one: Instruction) -> Iterator[Instruction]:
        """Yield an instruction, and the instructions inside it if it is a fusion."""
        yield one
        if one.opcode == "fusion":
            for part in (part for call in one.calls for part in self.inside.get(call, ())):
                if part.opcode not in MADE_BY_XLA:
                    yield from self.parts_of(part)


def read_hlo(text: str) -> Executable:
    """Read the text of an optimized HLO module."""
    entry = _ENTRY.search(text)
    return Executable(tuple(_instructions(text)), entry[1] if entry else "", frames_in(text))


def _instructions(text: str) -> Iterator[Instruction]:
    computation = ""
    for line in text.splitlines():
        if line.endswith("{") and (begins := _COMPUTATION.match(line)):
            computation = begins[1]
        elif found := _INSTRUCTION.match(line):
            root, name, kind, opcode, rest = found.groups()
            operands, _, more = rest.partition(")")
            about = _METADATA.search(more)
            op_name, frame = (_OP_NAME.search(about[0]), _FRAME.search(about[0])) if about else (None, None)
            name_of = op_name[1] if op_name else ""
            branches = (one.strip(" %") for group in _BRANCHES.findall(more) for one in group.split(","))
            yield Instruction(
                name,
                opcode,
                kind,
                tuple(_OPERAND.findall(operands)),
                (*_CALLS.findall(more), *branches),
                computation,
                tuple(tags for one in name_of.split(";") if (tags := tags_in(one))) if op_name else (),
                (line.replace(about[0], "") if about else line).strip(),
                name_of,
                int(frame[1]) if frame else 0,
                bool(root),
                opcode == "custom-call" and bool(_HOST_TARGET.search(more)),
            )


@lru_cache(maxsize=4096)
def tags_in(name: str) -> tuple[int, ...]:
    """Return the numbers of the scopes `eqnN`, which this package adds, in a name that JAX has given."""
    return tuple(map(int, _TAG.findall(name)))


def without_metadata(text: str) -> str:
    """Return the text of an HLO module without metadata and names.

    Modules that differ only in names and source lines give equal texts.
    """
    names: dict[str, str] = {}
    text = _METADATA.sub("", text)
    text = re.sub(r"(?ms)^(FileNames|FunctionNames|FileLocations|StackFrames)\n.*?\n\n", "", text)
    text = re.sub(r"(?m)^HloModule .*$", "", text)
    text = re.sub(r"[\w.\-]+: (?=[a-z]+\d*\[|\()", "", text)
    return re.sub(r"%[\w.\-]+", lambda one: names.setdefault(one[0], f"%{len(names)}"), text)


_LOC = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_AT = re.compile(r'\s*loc\(((?:"(?:[^"\\]|\\.)*"(?:\([^()]*\))?)|[^()"]*)\)')


def read_stablehlo(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return the lines of a StableHLO module without locations, each with its tags."""
    places = {found[1]: found[2] for line in text.splitlines() if (found := _LOC.match(line))}
    lines: list[tuple[str, tuple[int, ...]]] = []
    for line in text.splitlines():
        if line.startswith("#loc"):
            continue
        at = _AT.findall(line)
        name = places.get(at[-1], at[-1]) if at else ""
        lines.append((_AT.sub("", line), tags_in(name.split("(#")[0])))
    return lines
