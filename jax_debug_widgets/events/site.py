"""Where in the user's program a value comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["print", "log", "callback", "breakpoint", "pure", "io", "sharding"]
"""`jax.debug.print`, `.log`, `.callback`, `.breakpoint`; `pure_callback`, `io_callback`; and
`jax.debug.inspect_array_sharding`."""

Phase = Literal["forward", "backward", "recompute"]
"""`backward`: in the transposed program of `grad` / `vjp`; `recompute`: run again for `jax.checkpoint`."""


@dataclass(frozen=True, slots=True)
class CallSite:
    """One debugging call as one compiled program contains it.

    The same line of source has several sites when transformations multiply it: `grad` of a checkpointed function
    has it in the forward pass and in the recomputation, with different name stacks.

    Attributes:
      id: counts the sites of this process; equal for equal sites, so that it survives recompilation.
      file, line, column, end_line, end_column: the range of the call in its source, columns from 0;
        `file` is the name the interpreter knows it by.
      where: what a person calls the place: `train.py:41`, or `In [7]:12` for the cell of a notebook.
      function: qualified name of the enclosing function.
      source: the text of the call's first line, stripped; empty where the source is not to be had.
      label: what the site is about: the source expression of its value when it has just one, else its format.
      values: the source expression of each value, in the order of `Event.values`.
      keywords: for each value the keyword it was passed as, empty where it was not; empty for sites of the compiler.
      format: the format string of a print, the callback's name otherwise.
      name_stack: JAX's name stack, e.g. `jit(f)/transpose(jvp())/while/body`.
      order: how many debugging calls stand before it in its program; -1 where it is not part of one.
      transforms: the transformations in it, outermost first, e.g. `("jit", "transpose", "jvp")`.
    """

    id: int
    kind: Kind
    ordered: bool
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    where: str
    function: str
    source: str
    label: str
    values: tuple[str, ...]
    format: str
    name_stack: str
    transforms: tuple[str, ...]
    phase: Phase
    order: int
    keywords: tuple[str, ...] = ()
