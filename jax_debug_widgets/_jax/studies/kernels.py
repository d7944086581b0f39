"""Read the kernels of a compiled program from its text: the values that they write, and those only inside one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from jax_debug_widgets.graphs.hlo import Instruction, read_hlo

_LAYOUT = re.compile(r"\{[^}]*\}")

_NO_KERNEL = frozenset({
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "partition-id", "replica-id",
    "while", "conditional", "call", "opt-barrier", "add-dependency", "domain",
})  # fmt: skip
"""Operations that compute nothing: they name values, or run other computations."""

_RUNNING = ("fusion", "call", "while", "conditional")
"""Operations that run computations; others apply them to elements."""

_COLLECTIVES = frozenset({
    "all-gather", "all-reduce", "all-to-all", "collective-broadcast", "collective-permute", "ragged-all-to-all",
    "reduce-scatter",
})  # fmt: skip

Value = tuple[str, str, str]
"""An operation, its type without layout, and JAX's name for it: what stays the same from one compilation to the next."""


@dataclass(frozen=True)
class Kernels:
    """The work in one program; a loop's body counts once.

    Attributes:
      count: how many kernels there are, without calls of Python; `fusions`: how many of them are fused.
      collectives: how many there are of each kind, such as `all-gather`.
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
    program = read_hlo(text)
    fused = program.in_fusions.keys()
    scalar = {call for one in program.instructions if one.opcode not in _RUNNING for call in one.calls}
    written: Counter[Value] = Counter()
    inside: Counter[Value] = Counter()
    collectives: Counter[str] = Counter()
    count = fusions = 0
    for name, body in program.inside.items():
        if name in fused or name in scalar:
            continue
        for one in body:
            kind = one.opcode.removesuffix("-start")
            collectives[kind] += kind in _COLLECTIVES
            if one.is_host_call or one.opcode in _NO_KERNEL or one.opcode.endswith("-done"):
                continue
            count += 1
            if one.opcode != "fusion":
                written[_value_of(one)] += 1
                continue
            fusions += 1
            outputs, rest = _outputs([part for call in one.calls for part in program.inside.get(call, ())])
            written.update(outputs)
            inside.update(rest)
    return Kernels(count, fusions, +collectives, written, inside)


def _value_of(one: Instruction) -> Value:
    return one.opcode, _LAYOUT.sub("", one.type), one.op_name


def _outputs(body: Sequence[Instruction]) -> tuple[list[Value], list[Value]]:
    """The results of a fused computation, and the other values that it computes."""
    root = next((one for one in body if one.is_root), None)
    names = {root.name, *root.operands} if root and root.opcode == "tuple" else {root.name} if root else set()
    work = [one for one in body if one.opcode not in _NO_KERNEL]
    return [_value_of(one) for one in work if one.name in names], [
        _value_of(one) for one in work if one.name not in names
    ]
