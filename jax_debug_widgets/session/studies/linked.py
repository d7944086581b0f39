"""Show the stages of a program beside each other, see `jax_debug_widgets.linked`."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.compat.collecting import without_full_collecting
from jax_debug_widgets._jax.studies.programs import program_of
from jax_debug_widgets._jax.studies.tags import Links, chains, executable_of_calls, stages_of
from jax_debug_widgets.graphs import Program
from jax_debug_widgets.graphs.by_line import ByLine
from jax_debug_widgets.graphs.hlo import read_hlo, read_stablehlo
from jax_debug_widgets.graphs.linked import Linked
from jax_debug_widgets.graphs.program import Source
from jax_debug_widgets.session.studies.programs import only_traced, reading_of, traced
from jax_debug_widgets.session.studies.seen import seen_of

if TYPE_CHECKING:
    from jax_debug_widgets.session.ports import CapturesAndRuns

WHY: dict[Links, str] = {
    "exact": "Links are exact: the program was compiled with a name for each equation, and is the same without these names.",
    "exact as lowered": (
        "Links are exact: the program was compiled with a name for each equation, and XLA was given the same without these "
        "names. Compiling takes long, so the two were not compared after compiling."
    ),
    "of another program": (
        "XLA compiled the program with names for its equations to another executable. The links belong to that executable, "
        "and the one that runs may differ from it."
    ),
    "by line": (
        "Links are by line, not exact: the program that runs has no names of equations, so an instruction is linked with all "
        "equations of its line."
    ),
}
"""Kind of links -> the sentence that explains them."""


@without_full_collecting()
def linked_of(
    session: CapturesAndRuns,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    compiled: bool = True,
    exact: bool = True,
) -> Linked:
    """Return the stages of `function(*args, **kwargs)`, see `jax_debug_widgets.linked`.

    Raises:
      Exception: the error that tracing, lowering or compiling the function raises.
    """
    if not compiled:
        _, program = traced(session, function, args, kwargs)
        return Linked(program, source_lines=lines_of_sources(program), values=seen_of(session, program).values)
    found = only_traced(session, function, args, kwargs)
    with ThreadPoolExecutor(1) as beside:  # XLA compiles without Python's lock; meanwhile the program is read.
        reading = beside.submit(program_of, found, reading_of(session.capture))
        with session.capture.explaining():
            stages = stages_of(found, "" if exact else executable_of_calls(function, args, kwargs))
    program = reading.result()
    executable = read_hlo(stages.hlo)
    return Linked(
        program,
        chains(found, program, stages.numbers) if stages.numbers else (),
        read_stablehlo(stages.stablehlo),
        executable,
        stages.links in ("exact", "exact as lowered"),
        WHY[stages.links],
        lines_of_sources(program),
        seen_of(session, program).values,
        ByLine(program, executable, stages.roots) if stages.links == "by line" else None,
    )


def lines_of_sources(program: Program) -> dict[Source, str]:
    """Return source of an equation -> text of its line, for all equations of a program."""
    sources = {one.source for one in program.equations if one.source is not None}
    return {one: linecache.getline(one.file, one.line).strip() for one in sources}
