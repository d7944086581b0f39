"""Check a program for numerical faults while it runs, and return the records of the checks as further results.

The host is not called, and nothing runs twice. Each check of an equation computes a record of int32 numbers: the number
of faults, and for the first one the iteration and the values. Loops carry the records, branches return them, and the
program returns them after its own results. The equations of the program stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.compat.private import core, pe
from jax_debug_widgets._jax.origins.callers import CALLER
from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets._jax.passes.births import RESULTS
from jax_debug_widgets._jax.passes.check_records import (
    Record,
    row_of_check,
)
from jax_debug_widgets._jax.passes.checked import (
    Check,
    Checked,
    CheckedProgram,
    Checker,
    DerivativePart,
    LanesOf,
)
from jax_debug_widgets._jax.passes.checked_bodies import CheckedBodies
from jax_debug_widgets._jax.passes.forward_pass import InForward, forward_of
from jax_debug_widgets._jax.passes.nan_arguments import of_arguments
from jax_debug_widgets._jax.passes.record_rows import rows_together
from jax_debug_widgets._jax.passes.watch_pass import is_jaxs

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr


def checked_program(
    program: ClosedJaxpr,
    checkers: dict[str, Checker],
    lanes_of: LanesOf,
    part: DerivativePart,
    *,
    left: set[str],
    forward: set[InForward] | None = None,
) -> CheckedProgram | None:
    """Return the program with its records; None if nothing in it is checked.

    Args:
      part: the part of an un-jitted derivative, such as `jax.grad`, that the whole program is.
      left: gets the names of the parts that are not checked.
      forward: the equations of forward passes of other programs; this program's are added to it.
    """
    jaxpr = program.jaxpr
    around = (CALLER,) if is_jaxs(jaxpr) else ()  # An un-jitted operation is shared by every line that uses it.
    used, _ = pe.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
    own = set(forward_of(used, checkers, (), part))
    elsewhere = set[InForward]() if forward is None else forward
    elsewhere |= own
    in_forward = frozenset(elsewhere if part.is_backward else own)
    checking = CheckedBodies(checkers, lanes_of, frozenset(one[:2] for one in in_forward), in_forward)
    equations, records = checking.body(jaxpr, around, [True] * len(jaxpr.outvars), part)
    left |= checking.unchecked
    whole = list(_of_whole(jaxpr, checkers, around, records, part))
    for option, check, frames in whole:
        more, row = row_of_check(check)
        equations += more
        records.append((Checked(option, check.primitive, frames, check.facts), row))
    if not records:
        return None
    also, results, rows = rows_together([row for _, row in records], cheap=len(whole))
    unnamed_results = jaxpr.debug_info._replace(result_paths=None)
    outvars = [*jaxpr.outvars, *results]
    changed = jaxpr.replace(eqns=[*equations, *also], outvars=outvars, debug_info=unnamed_results)
    checked = tuple(one for one, _ in records)
    return CheckedProgram(program.replace(jaxpr=changed), checked, rows, checkers, is_of_call=bool(around))


def _of_whole(
    jaxpr: core.Jaxpr,
    checkers: dict[str, Checker],
    around: tuple[Frame, ...],
    found: list[Record],
    part: DerivativePart,
) -> Iterator[tuple[str, Check, tuple[Frame, ...]]]:
    for option, checker in checkers.items():
        check = checker.of_results(jaxpr)
        if check and (check.primitive != RESULTS or any(one.option == option for one, _ in found)):
            yield option, check, around
    if "nonfinite" in checkers and not part.is_backward:
        yield from (("nonfinite", check, (frame,)) for check, frame in of_arguments(jaxpr))
