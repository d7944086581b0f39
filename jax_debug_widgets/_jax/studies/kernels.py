"""The kernels of a compiled program, read off its text: what each computes, and what is only inside one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_HEADER = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) \(.*\{$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([a-z][a-z0-9\-]*)\((.*)$")
_OP_NAME = re.compile(r'op_name="([^"]*)"')
_HOST_TARGET = re.compile(r'custom_call_target="xla_\w*python_\w*callback')
_CALLED = re.compile(r"(?:calls|to_apply)=%?([\w.\-]+)")
_OPERAND = re.compile(r"%([\w.\-]+)")
_LAYOUT = re.compile(r"\{[^}]*\}")

_NO_KERNEL = frozenset({
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "partition-id", "replica-id",
    "while", "conditional", "call", "opt-barrier", "add-dependency", "domain",
})  # fmt: skip
"""Operations that compute nothing: they name values, or run other computations."""

_COLLECTIVES = frozenset({
    "all-gather", "all-reduce", "all-to-all", "collective-broadcast", "collective-permute", "ragged-all-to-all",
    "reduce-scatter",
})  # fmt: skip

Value = tuple[str, str, str]
"""An operation, its type without layout, and JAX's name for it: what stays the same from one compilation to the next."""


@dataclass(frozen=True)
class _Instruction:
    name: str
    is_root: bool
    value: Value
    operands: tuple[str, ...]
    calls: str
    is_host_call: bool

    @property
    def opcode(self) -> str:
        return self.value[0]


@dataclass(frozen=True)
class Kernels:
    """The work in one program; a loop's body counts once.

    Attributes:
      count: of all kernels, calls of Python apart; `fusions`: of those that are fused.
      collectives: `all-gather` and the like -> how many there are.
      written: values that kernels write to memory.
      inside: values that are computed inside a fused kernel and never written.
    """

    count: int
    fusions: int
    collectives: Counter[str]
    written: Counter[Value]
    inside: Counter[Value]

    def broken_by(self, more: Kernels) -> list[str]:
        """The values, by JAX's names, that stay inside fused kernels here, and are written to memory in `more`."""
        broken: list[str] = []
        for value, times in (more.written - self.written).items():
            broken += [value[2] or value[0]] * min(times, self.inside[value])
        return broken


def kernels_of(text: str) -> Kernels:
    """Read the text of an optimised program (`Compiled.as_text()`)."""
    computations = dict(_computations(text))
    instructions = [one for body in computations.values() for one in body]
    fused = {one.calls for one in instructions if one.opcode == "fusion"}
    scalar = {one.calls for one in instructions if one.opcode not in ("fusion", "call")}
    written: Counter[Value] = Counter()
    inside: Counter[Value] = Counter()
    collectives: Counter[str] = Counter()
    count = fusions = 0
    for name, body in computations.items():
        if name in fused or name in scalar:
            continue
        for one in body:
            kind = one.opcode.removesuffix("-start")
            collectives[kind] += kind in _COLLECTIVES
            if one.is_host_call or one.opcode in _NO_KERNEL or one.opcode.endswith("-done"):
                continue
            count += 1
            if one.opcode != "fusion":
                written[one.value] += 1
                continue
            fusions += 1
            outputs, rest = _outputs(computations.get(one.calls, []))
            written.update(outputs)
            inside.update(rest)
    return Kernels(count, fusions, +collectives, written, inside)


def _computations(text: str) -> Iterator[tuple[str, list[_Instruction]]]:
    name, body = "", []
    for line in text.splitlines():
        if header := _HEADER.match(line):
            name, body = header[1], []
        elif line.startswith("}"):
            yield name, body
        elif found := _INSTRUCTION.match(line):
            root, label, kind, opcode, rest = found.groups()
            op_name, called = _OP_NAME.search(rest), _CALLED.search(rest)
            operands = tuple(_OPERAND.findall(rest.partition(")")[0]))
            value = (opcode, _LAYOUT.sub("", kind), op_name[1] if op_name else "")
            is_host_call = opcode == "custom-call" and bool(_HOST_TARGET.search(rest))
            body.append(_Instruction(label, bool(root), value, operands, called[1] if called else "", is_host_call))


def _outputs(body: list[_Instruction]) -> tuple[list[Value], list[Value]]:
    """What a fused computation gives, and what else it computes."""
    root = next((one for one in body if one.is_root), None)
    names = {root.name, *root.operands} if root and root.opcode == "tuple" else {root.name} if root else set()
    work = [one for one in body if one.opcode not in _NO_KERNEL]
    return [one.value for one in work if one.name in names], [one.value for one in work if one.name not in names]
