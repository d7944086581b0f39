"""Let a written program have the 64-bit numbers that the original has, in each process."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import jax

from jax_debug_widgets._jax.studies.own_width import WIDE
from jax_debug_widgets.graphs.program import Program


@dataclass(frozen=True)
class Width:
    """How a program comes by its 64-bit numbers.

    Attributes:
      first: the lines before everything that the module computes. `decorators`: those of the program's function.
    """

    first: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()

    def traced(self) -> AbstractContextManager[Any]:
        """While forms are traced: as in the function that they are written in."""
        return jax.enable_x64(True) if self.decorators else contextlib.nullcontext()


def width_of(program: Program) -> Width:
    """How a program comes by them: from the whole process as the original, or from within its function."""
    types = [one.type for one in program.body.inputs]
    types += [own for one in program.equations for own in (*one.types, *(operand.type for operand in one.operands))]
    if not any(one.dtype in WIDE for one in types):
        return Width()
    return _OF_PROCESS if jax.config.jax_enable_x64 else _OF_FUNCTION  # pyright: ignore[reportAttributeAccessIssue]


_OF_FUNCTION = Width(decorators=("@in_64_bits",))
_OF_PROCESS = Width(
    (
        "if not jax.config.jax_enable_x64:  # The program has 64-bit numbers.",
        '    jax.config.update("jax_enable_x64", True)',
    )
)
