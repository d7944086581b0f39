"""The stages of a program beside each other: see `jax_debug_widgets.linked`."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.studies.tags import chains, tagged_texts
from jax_debug_widgets.graphs import Program
from jax_debug_widgets.graphs.hlo import read_hlo, read_stablehlo, without_metadata
from jax_debug_widgets.graphs.linked import Linked
from jax_debug_widgets.graphs.program import Source
from jax_debug_widgets.session.studies.programs import traced
from jax_debug_widgets.session.studies.seen import seen_of

if TYPE_CHECKING:
    from jax_debug_widgets.session.ports import CapturesAndRuns

EXACT = "Links are exact: the program was compiled with a name for each equation, and is the same without these names."
EXACT_AS_LOWERED = (
    "Links are exact: the program was compiled with a name for each equation, and XLA was given the same without these names. "
    "It takes long to compile, so it was not compiled a second time to compare the results."
)
INEXACT = (
    "XLA has made another program of the one whose equations have names: the links hold for that one, and the one that runs "
    "may differ from it."
)


def linked_of(
    session: CapturesAndRuns,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    compiled: bool = True,
) -> Linked:
    """The stages of `function(*args, **kwargs)`; see `jax_debug_widgets.linked`.

    Raises:
      Exception: what tracing, lowering or compiling the function raises.
    """
    found, program = traced(session, function, args, kwargs)
    lines, values = lines_of_sources(program), seen_of(session, program).values
    if not compiled:
        return Linked(program, source_lines=lines, values=values)
    with session.capture.explaining():
        texts, numbers = tagged_texts(found)
    is_compared = texts.plain_hlo is not None
    is_same = texts.is_lowered_same
    if texts.plain_hlo is not None:
        is_same = without_metadata(texts.hlo) == without_metadata(texts.plain_hlo)
    return Linked(
        program,
        chains(found, program, numbers),
        read_stablehlo(texts.stablehlo),
        read_hlo(texts.hlo),
        is_same,
        INEXACT if not is_same else EXACT if is_compared else EXACT_AS_LOWERED,
        lines,
        values,
    )


def lines_of_sources(program: Program) -> dict[Source, str]:
    """The text of the lines of its equations."""
    sources = {one.source for one in program.equations if one.source is not None}
    return {one: linecache.getline(one.file, one.line).strip() for one in sources}
