"""Keep the points of this process at which programs may stop, each with its switch."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass

from jax_debug_widgets.breakpoints.conditions import StopCondition
from jax_debug_widgets.events import Breakpoint, CallSite


@dataclass
class Point:
    """A place where the program may stop: a breakpoint in its source, or a condition of `--break-on`.

    Attributes:
      number: the id of its call site; negative for a condition, which has no site.
      name: the breakpoint's name; empty without one.
      where: the place in the source, `train.py:41`.
      condition: the condition as written; empty without one.
      skip: how many more firings pass without a stop.
      cost: what the breakpoint costs its program, see `cost`.
    """

    number: int
    name: str
    where: str
    condition: str
    enabled: bool = True
    skip: int = 0
    cost: str = ""

    def takes(self) -> bool:
        """Count a firing. Return whether it stops the program."""
        if not self.enabled:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        return True

    def frozen(self, hits: int) -> Breakpoint:
        """Return the breakpoint as it is now, in a run that has reached it `hits` times."""
        return Breakpoint(self.number, self.name, self.where, self.condition, self.enabled, self.skip, hits, self.cost)


class PointBook:
    """Holds the points by number. A point keeps its switch when its program is compiled again. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._points: dict[int, Point] = {}
        self._conditions: dict[str, Point] = {}
        self._numbers = itertools.count(-2, -1)

    def of_site(self, site: CallSite, name: str, condition: str, skip: int = 0) -> Point:
        """Return the point of a breakpoint in a program."""
        with self._lock:
            if site.id not in self._points:
                self._points[site.id] = Point(site.id, name, site.where, condition, skip=skip)
            return self._points[site.id]

    def of_condition(self, condition: StopCondition) -> Point:
        """Return the point of a condition."""
        with self._lock:
            if condition.text not in self._conditions:
                point = Point(next(self._numbers), "", "--break-on", condition.text)
                self._conditions[condition.text] = self._points[point.number] = point
            return self._conditions[condition.text]

    def change(self, number: int, *, enabled: bool | None, skip: int | None) -> None:
        """Enable or disable a point, or let its next firings pass. None changes nothing.

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
        """Return the points in programs, without conditions, in the order of their numbers."""
        with self._lock:
            return [self._points[number] for number in sorted(self._points) if number >= 0]
