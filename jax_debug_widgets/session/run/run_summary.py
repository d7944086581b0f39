"""Summarise a run in few numbers, for a row of a table of runs: its most important value, its steps, its speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jax_debug_widgets.session.run.lane_numbers import mean_text
from jax_debug_widgets.session.run.scalars import longest, pace_at, scalars
from jax_debug_widgets.session.run.strands import Strands

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.ports import Outlined


@dataclass(frozen=True)
class RunSummary:
    """A run in few numbers, by the rules of its overview.

    Attributes:
      value: the name of its most important value, usually the loss; empty if no value is a number.
      last: the last number of that value.
      strand: the lane and the device of that number, if there are several: `lane 1 of 2`; `mean of 2 lanes` if it is a mean.
      steps: the number of steps of the loop that computes the value.
      ms_a_step: the milliseconds of a recent step; None if they are not known.
    """

    value: str = ""
    last: float | None = None
    steps: int = 0
    ms_a_step: float | None = None
    strand: str = ""


def outline(run: Outlined) -> RunSummary:
    """Make the summary of a run."""
    lead = next(scalars(run.store), None)
    site = longest(run.store) if lead is None else lead.choice.site.id
    if site is None:
        return RunSummary()
    steps = run.store.history.steps(site)
    number = int(steps[-1]) + 1 if len(steps) else 0
    if lead is None:
        return RunSummary(steps=number)
    pace = pace_at(run.store, run.call_log.calls()[0], site, steps, run.status().resumed)
    return RunSummary(
        value=lead.name,
        last=float(lead.values[-1]),
        steps=number,
        ms_a_step=None if pace is None else 1e3 * pace,
        strand=mean_text(lead.lanes, 0) if lead.lanes else Strands(run.store, site).words(-1),
    )
