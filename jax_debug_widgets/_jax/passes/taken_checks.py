"""Make checks of values from which a choice takes only some elements; see `chosen`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jax import lax

from jax_debug_widgets._jax.passes.checked import BodyFacts, Check, Checked
from jax_debug_widgets._jax.passes.chosen import Choice


def taking(body: BodyFacts, equation: Any, choices: Mapping[Any, Choice]) -> BodyFacts:
    """Return the facts of a body for an equation whose results a choice takes: the check covers only the taken elements."""
    taken = [one for one in equation.outvars if one in choices]
    return replace(body, certain=body.certain.union(taken), computed=body.computed.union(taken))


def of_taken(check: Check, choice: Choice, equation: Any) -> Check:
    """Return the check of those elements of an equation's result that a choice takes."""
    (out,) = equation.outvars

    choosers = choice.choosers

    def compute(*arrays: Any) -> Sequence[Any]:
        mask = choice.mask(arrays[: len(choosers)], out.aval.shape)
        return check.compute(*check.taken(mask, *arrays[len(choosers) :]))

    return replace(check, operands=[*choosers, *check.operands], compute=compute)


def of_row(checked: Checked, row: Any, choice: Choice) -> Check:
    """Return the row of a check in a loop, a branch or a function if a choice takes its whole result; else an empty row."""

    def compute(*arrays: Any) -> Sequence[Any]:
        *choosers, row = arrays
        return [lax.select(choice.mask(choosers, row.shape), row, lax.full_like(row, 0))]

    return Check(checked.facts, [*choice.choosers, row], compute, can_be_hoisted=False)
