"""Define the content of a run for outputs without JavaScript: reopened notebooks, nbconvert, plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jax_debug_widgets.events import Call, CallSite, Status
from jax_debug_widgets.events.amounts import plural, plural_fired

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class PrintLine:
    """One line of a print stream."""

    site: CallSite
    step: int
    lane: tuple[int, ...]
    text: str
    phantom: bool = False

    @property
    def tags(self) -> str:
        """The words for lane, phase and phantom, each after a space; empty for a plain line."""
        lane = f" lane {','.join(map(str, self.lane))}" if self.lane else ""
        phase = "" if self.site.phase == "forward" else f" {self.site.phase}"
        return f"{lane}{phase}{' phantom' if self.phantom else ''}"


@dataclass(frozen=True)
class LaneSpread:
    """The range of the lanes of a `vmap` at each step, where each lane has one number.

    Attributes:
      count, bad: the number of lanes, and how many of them are not finite at the last step.
      low, high: float64[n], the least and the greatest finite number.
      marks: float64[n], NaN or an infinity where a lane has it, else any finite number.
    """

    count: int
    bad: int
    low: np.ndarray
    high: np.ndarray
    marks: np.ndarray

    def at(self, chosen: np.ndarray) -> LaneSpread:
        """Return only these steps."""
        return replace(self, low=self.low[chosen], high=self.high[chosen], marks=self.marks[chosen])


@dataclass(frozen=True)
class ScalarSeries:
    """The history of one scalar value: steps int64[n], values float64[n]; for one number a lane, their mean and `lanes`."""

    site: CallSite
    name: str
    steps: np.ndarray
    values: np.ndarray
    lanes: LaneSpread | None = None


@dataclass(frozen=True)
class Fact:
    """One of the facts at the top of the overview, such as speed or loss; `bad` marks a problem."""

    label: str
    value: str
    note: str
    bad: bool = False


@dataclass(frozen=True)
class GroupLine:
    """One line of a chart: `leaf` of `group`, or `group` alone."""

    group: str
    leaf: str
    hue: int
    dashed: bool
    steps: np.ndarray
    values: np.ndarray
    lanes: LaneSpread | None = None


@dataclass(frozen=True)
class CurveGroup:
    """Lines that are drawn in one chart, such as the norms of all gradients."""

    title: str
    note: str
    logarithmic: bool
    lines: Sequence[GroupLine]


@dataclass(frozen=True)
class Course:
    """The first and the last number of a watched value; for an array, of its `statistic`, the mean or the norm."""

    site: CallSite
    name: str
    statistic: str
    first: float
    last: float

    @property
    def words(self) -> str:
        """The numbers as words: `0.25 → 4`, or one number if both are written alike."""
        return " → ".join(dict.fromkeys(f"{value:.4g}" for value in (self.first, self.last)))


@dataclass(frozen=True)
class Problem:
    """A finding in words: the fact with its place, its reason with what to do, and the lines to write instead."""

    headline: str
    why: str = ""
    fix: Sequence[str] = ()


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment: its newest lines, its series, its calls.

    Attributes:
      counts: site id -> number of events.
      ordered, unordered: the newest lines of the two streams.
      series: the numbers that are drawn, the most important first.
      courses: site id -> first and last number of a watched value.
      findings: problems, the worst first.
      nonfinite: site id -> how many NaN and infinities its values had, in words.
      first_nonfinite: the place, call and step of the first NaN or infinity of the run, in words; empty without one.
      dropped_calls: the number of the oldest calls, which are no longer in `calls`.
      facts: the facts at the top of the overview, as far as they are known.
      groups: lines that are drawn together: gradients, activations.
      file: the file that the run is recorded or saved to, as a command names it; empty without one.
      name: the user's name for the run; empty without one.
      cell: the number of its cell, `In [n]`; None without one.
    """

    status: Status
    sites: Sequence[CallSite]
    counts: dict[int, int]
    ordered: Sequence[PrintLine]
    unordered: Sequence[PrintLine]
    series: Sequence[ScalarSeries]
    calls: Sequence[Call]
    courses: Mapping[int, Course] = field(default_factory=dict)
    findings: Sequence[Problem] = ()
    nonfinite: Mapping[int, str] = field(default_factory=dict)
    first_nonfinite: str = ""
    dropped_calls: int = 0
    facts: Sequence[Fact] = ()
    groups: Sequence[CurveGroup] = ()
    file: str = ""
    name: str = ""
    cell: int | None = None

    @property
    def goes_on(self) -> bool:
        """Whether the run had not ended."""
        return self.status.state in ("running", "waiting")

    @property
    def came(self) -> str:
        """The number of events in words: `30 prints, 1,200 watched values`.

        A breakpoint under `vmap` gives an event for each lane, but is one hit.
        """
        watched = sum(self.counts.get(site.id, 0) for site in self.sites if site.watch)
        kinds = {site.kind for site in self.sites if not site.watch}
        is_hits = kinds == {"breakpoint"} and self.status.breakpoints
        hits = sum(one.hits for one in self.status.breakpoints)
        fired = plural_fired(hits if is_hits else max(0, self.status.events - watched), kinds)
        return f"{fired}, {plural(watched, 'watched value')}" if watched else fired

    def count(self, *, ordered: bool) -> int:
        """Return the number of events in one stream. Watched values are in neither stream."""
        return sum(self.counts.get(site.id, 0) for site in self.sites if site.ordered is ordered and not site.watch)
