"""The breakpoints of this process, each with its switch."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass

from jax_debug_widgets.breakpoints.conditions import StopCondition
from jax_debug_widgets.events import Breakpoint, CallSite


@dataclass
class Point:
    """Where the program may stop: a breakpoint in its text, or a condition of `--break-on`.

    Attributes:
      number: of its call site; negative for a condition, which is of no site.
      skip: how many more firings are let pass.
      cost: what it costs its program, see `cost`.
    """

    number: int
    name: str
    where: str
    condition: str
    enabled: bool = True
    skip: int = 0
    cost: str = ""

    def takes(self) -> bool:
        """Whether a firing is to stop."""
        if not self.enabled:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        return True

    def frozen(self, hits: int) -> Breakpoint:
        """The breakpoint as it is now, in a run that has reached it `hits` times."""
        return Breakpoint(self.number, self.name, self.where, self.condition, self.enabled, self.skip, hits, self.cost)


class PointBook:
    """The points by number. Switches stay as they were set when a program is compiled again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._points: dict[int, Point] = {}
        self._conditions: dict[str, Point] = {}
        self._numbers = itertools.count(-2, -1)

    def of_site(self, site: CallSite, name: str, condition: str, skip: int = 0) -> Point:
        """The point of a breakpoint in a program."""
        with self._lock:
            if site.id not in self._points:
                self._points[site.id] = Point(site.id, name, site.where, condition, skip=skip)
            return self._points[site.id]

    def of_condition(self, condition: StopCondition) -> Point:
        """The point of a condition."""
        with self._lock:
            if condition.text not in self._conditions:
                point = Point(next(self._numbers), "", "--break-on", condition.text)
                self._conditions[condition.text] = self._points[point.number] = point
            return self._conditions[condition.text]

    def change(self, number: int, *, enabled: bool | None, skip: int | None) -> None:
        """Throw the switch of a point, or let its next firings pass.

        Raises:
          KeyError: there is no such point. ValueError: `skip` is negative.
        """
        with self._lock:
            if number not in self._points:
                msg = f"no breakpoint has the number {number}"
                raise KeyError(msg)
            if skip is not None and skip < 0:
                msg = f"skip must not be negative, got {skip}"
                raise ValueError(msg)
            point = self._points[number]
            point.enabled = point.enabled if enabled is None else enabled
            point.skip = point.skip if skip is None else skip

    def all(self) -> list[Point]:
        """The points of programs, by number."""
        with self._lock:
            return [self._points[number] for number in sorted(self._points) if number >= 0]
