"""A run in few numbers, for a row of a table of runs: its most telling value, how far it has come, how fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jax_debug_widgets.session.run.scalars import longest, pace_at, scalars
from jax_debug_widgets.session.run.strands import Strands

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.ports import Outlined


@dataclass(frozen=True)
class RunSummary:
    """A run in few numbers, by the rules of its overview.

    Attributes:
      value: the name of its most telling value, as a rule the loss; empty where it has none that is a number.
      last: that value as it was last.
      strand: its lane and its device, where there are several: `lane 1 of 2`.
      steps: how many steps the loop has come in which it is computed.
      ms_a_step: the milliseconds from one step to the next, of late; None where that cannot be told.
    """

    value: str = ""
    last: float | None = None
    steps: int = 0
    ms_a_step: float | None = None
    strand: str = ""


def outline(run: Outlined) -> RunSummary:
    """The outline of a run."""
    lead = next(scalars(run.store), None)
    site = longest(run.store) if lead is None else lead.choice.site.id
    if site is None:
        return RunSummary()
    steps = run.store.history.steps_of([site])[site]
    number = int(steps[-1]) + 1 if len(steps) else 0
    if lead is None:
        return RunSummary(steps=number)
    pace = pace_at(run.store, run.call_log.calls()[0], site, steps, run.status().resumed)
    return RunSummary(
        value=lead.name,
        last=float(lead.values[-1]),
        steps=number,
        ms_a_step=None if pace is None else 1e3 * pace,
        strand=Strands(run.store, site).words(-1),
    )
