"""Link the instructions of an executable with equations by source line, if the instructions have no names of equations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from jax_debug_widgets.graphs.hlo import Executable, Instruction
from jax_debug_widgets.graphs.hlo_frames import FileLine
from jax_debug_widgets.graphs.program import Equation, Program

Scope = tuple[str, ...]

_WORD = re.compile(r"[^/()]+")
_PLUMBING = re.compile(
    r"while|body|cond|scan|\w*_pred|branch_\w+|checkpoint|remat\w*|closed_call|eval_jaxpr|core_call|pjit|jit|shard_map"
    r"|\w*_jaxpr|custom_\w+"
)
"""Words for loops and calls, which differ between the names of equations and those of instructions."""


class ByLine:
    """Finds the equations that an instruction may compute by its source line.

    Attributes:
      group: for each equation, the first equation with the same line and scope.
    """

    def __init__(self, program: Program, executable: Executable, roots: int) -> None:
        """Index the equations by line.

        Args:
          program: the program with the equations.
          executable: the executable with the instructions.
          roots: the number of parts of an instruction's name that stand for the whole program, such as `jit(f)`.
        """
        self._executable, self._roots = executable, roots
        groups: dict[tuple[FileLine, Scope], list[int]] = {}
        for number, one in enumerate(program.equations):
            if (line := _line_of(one)) is not None:
                groups.setdefault((line, _scope_of(one.scope, 1)), []).append(number)
        first = {number: numbers[0] for numbers in groups.values() for number in numbers}
        self.group = [first.get(number, number) for number in range(len(program.equations))]
        self._of_line: dict[FileLine, dict[Scope, frozenset[int]]] = {}
        for (line, scope), numbers in groups.items():
            self._of_line.setdefault(line, {})[scope] = frozenset(numbers)
        self._equations_of = cache(self._look_up)

    def of_instruction(self, one: Instruction) -> frozenset[int]:
        """Return the equations on the line of an instruction, or else on the line of its innermost caller that has any.

        If some of them are in the scope of the instruction, only these are returned.
        """
        return self._equations_of(one.frame, one.op_name)

    def _look_up(self, frame: int, name: str) -> frozenset[int]:
        lines = self._executable.frames.get(frame, ())
        at_line: Mapping[Scope, frozenset[int]] = next(
            (self._of_line[one] for one in lines if one in self._of_line), {}
        )
        scopes = [_scope_of(one, self._roots) for one in name.split(";")]
        inside = [own for scope, own in at_line.items() if any(one[: len(scope)] == scope for one in scopes)]
        return frozenset().union(*(inside or at_line.values()))


def _line_of(one: Equation) -> FileLine | None:
    return (one.source.file, one.source.line) if one.source is not None else None


def _scope_of(name: str, roots: int) -> Scope:
    """Return the words of a name without root, loops, calls: `jit(f)/jvp(Model)/while/body/dot` -> `jvp Model dot`."""
    words = _WORD.findall(name.split("/", roots)[-1] if name.count("/") >= roots else "")
    return tuple(word for word in words if not _PLUMBING.fullmatch(word))
