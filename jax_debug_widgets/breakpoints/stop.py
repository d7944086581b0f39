"""Hold one thread of a program at a stop, and describe where it stands."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax
import numpy as np

from jax_debug_widgets._jax.compat.arrays import shown
from jax_debug_widgets._jax.origins.stack import StackFrame

How = Literal["continue", "next", "all", "quit", "step", "into", "out", "line"]
"""How a program goes on, see `wire`'s `resume`."""

Ended = Literal[How, "unanswered", "closed", "timeout", "collectives"]
"""Why a stop is over: the user's choice, or the reason why it ended by itself."""

NO_LANES = "this stop has no vmap around it"
"""The message for a stop without lanes."""


@dataclass(frozen=True)
class StopLocation:
    """The place where a program stands.

    Attributes:
      kind: `breakpoint`, `pause` or `step`.
      site: the id of the call site, -1 without one.
      name: the name of the breakpoint, the site or the primitive, for people.
      reason: why the program stands, for people.
      phase: the phase of the site.
      step: the steps of the loops around an equation; empty for an event.
      device: the device that stands; empty outside a mesh.
      hits: how often the point was reached; the number of the equation for a step.
      sizes: the sizes of the `vmap` axes.
      stopped: the lanes in which the condition holds; None without a condition.
      frames: lane -> the frames, innermost first.
      event: the number of the event at which the program stands, -1 if none is recorded.
    """

    kind: Literal["breakpoint", "pause", "step"]
    site: int
    name: str
    reason: str
    phase: str
    step: tuple[int, ...]
    device: str
    hits: int
    sizes: tuple[int, ...]
    stopped: Sequence[tuple[int, ...]] | None
    frames: Callable[[tuple[int, ...]], list[StackFrame]]
    event: int = -1


class Replaceable:
    """Holds the values that the program goes on with, which the user may replace.

    Attributes:
      name: the name of the values in the user's source.
      given: the arrays that the program goes on with, all lanes together.
    """

    def __init__(self, name: str, tree: Any, arrays: Sequence[np.ndarray], mapped: Sequence[tuple[bool, ...]]) -> None:
        self.name = name
        self.given = list(arrays)
        self._tree = tree
        self._mapped = mapped

    def value(self, lane: tuple[int, ...]) -> Any:
        """Return the value that one lane goes on with."""
        parts = [array[_index(lane, mapped)] for array, mapped in zip(self.given, self._mapped, strict=True)]
        return jax.tree.unflatten(self._tree, [shown(np.asarray(part)) for part in parts])

    def set(self, lane: tuple[int, ...], value: Any) -> None:
        """Let this lane go on with `value`; all lanes, if `vmap` does not map the value.

        Raises:
          ValueError: `value` has another structure, shape or dtype.
        """
        leaves, tree = jax.tree.flatten(value)
        if tree != self._tree:
            msg = f"{self.name} is {_structure(self._tree)}, and cannot be replaced by {_structure(tree)}"
            raise ValueError(msg)
        old = [array[_index(lane, mapped)] for array, mapped in zip(self.given, self._mapped, strict=True)]
        new = [_matching(self.name, leaf, before) for leaf, before in zip(leaves, old, strict=True)]
        for number, (mapped, leaf) in enumerate(zip(self._mapped, new, strict=True)):
            changed = self.given[number].copy()
            changed[_index(lane, mapped)] = leaf
            self.given[number] = changed


def _index(lane: tuple[int, ...], mapped: tuple[bool, ...]) -> tuple[Any, ...]:
    return (*(i for i, present in zip(lane, mapped, strict=True) if present), ...)


def _structure(tree: Any) -> str:
    return "one array" if jax.tree_util.treedef_is_leaf(tree) else str(tree)


def _matching(name: str, value: Any, old: np.ndarray) -> np.ndarray:
    """Return `value` as an array with the shape and dtype of `old`. A Python number takes the dtype, as in a program."""
    is_weak = isinstance(value, bool | int | float | complex) or getattr(value, "weak_type", False)
    array = np.asarray(value)
    fits = is_weak and np.can_cast(
        array.dtype.type if array.dtype.kind in "biufc" else array.dtype, old.dtype, "same_kind"
    )
    if array.shape != old.shape or not (fits or array.dtype == old.dtype):
        shape, wanted = list(array.shape), list(old.shape)
        msg = f"{name} is {old.dtype.name}{wanted}, and cannot be replaced by {array.dtype.name}{shape}"
        raise ValueError(msg)
    return array.astype(old.dtype)


class Stop:
    """Holds a thread of a program until the user lets it go on, or no page or prompt can answer.

    The program's thread makes the stop and calls `wait`. Any thread may call the other methods.
    """

    def __init__(
        self,
        number: int,
        scene: StopLocation,
        replaceable: Replaceable | None,
        timeout: float | None,
        patience: float,
        lease: float,
    ) -> None:
        self.id = number
        self.scene = scene
        self.replaceable = replaceable
        self.timeout = timeout
        self.thread = threading.current_thread().name
        self.began = time.monotonic()
        self.warning = ""
        self.frame = 0
        self.lane = scene.stopped[0] if scene.stopped else (0,) * len(scene.sizes)
        self.chosen_lane: tuple[int, ...] = ()
        self.line: int | None = None
        self._seen_until = self.began + patience
        self._was_seen = False
        self._lease = lease
        self._held_until: float | None = None
        self._ended: Ended | None = None
        self._changed = threading.Condition()
        self._frames: dict[tuple[int, ...], list[StackFrame]] = {}

    @property
    def ended(self) -> Ended | None:
        """Why the stop is over; None while it is open."""
        return self._ended

    def frames(self) -> list[StackFrame]:
        """Return the frames of the chosen lane, innermost first."""
        lane = self.lane
        if lane not in self._frames:
            self._frames[lane] = self.scene.frames(lane)
        return self._frames[lane]

    def choose_frame(self, number: int) -> None:
        """Look at another frame.

        Raises:
          IndexError: there is no such frame.
        """
        if not 0 <= number < len(self.frames()):
            msg = f"there is no frame {number}: there are {len(self.frames())}"
            raise IndexError(msg)
        self.frame = number

    def choose_lane(self, lane: Sequence[int]) -> None:
        """Look at another lane.

        Raises:
          IndexError: there is no such lane.
        """
        sizes = self.scene.sizes
        if len(lane) != len(sizes) or not all(0 <= i < size for i, size in zip(lane, sizes, strict=True)):
            axes = f"the vmap axes have the sizes {list(sizes)}" if sizes else NO_LANES
            msg = f"there is no lane {list(lane)}: {axes}"
            raise IndexError(msg)
        self.lane = self.chosen_lane = tuple(lane)

    def keep_lane(self, lane: tuple[int, ...]) -> None:
        """Look at the lane that was chosen at an earlier stop, if this one stopped in it."""
        sizes, stopped = self.scene.sizes, self.scene.stopped
        is_there = len(lane) == len(sizes) and all(i < size for i, size in zip(lane, sizes, strict=True))
        if is_there and (stopped is None or lane in stopped):
            self.lane = lane

    def seen(self) -> None:
        """Note that a page shows the stop."""
        with self._changed:
            self._was_seen = True
            self._seen_until = time.monotonic() + self._lease
            self._changed.notify_all()

    def keep(self) -> None:
        """Remove the time-out: stand as long as a page shows the stop."""
        with self._changed:
            self.timeout = None
            self._changed.notify_all()

    def hold_for(self, seconds: float | None) -> None:
        """End the stop after `seconds`, because other devices may be waiting; None if no device is."""
        with self._changed:
            self._held_until = None if seconds is None else time.monotonic() + seconds
            self._changed.notify_all()

    def resume(self, how: Ended, line: int | None = None) -> None:
        """Let the program go on. Only the first call counts."""
        with self._changed:
            if self._ended is None:
                self._ended, self.line = how, line
                self._changed.notify_all()

    def wait(self) -> Ended:
        """Wait until the user lets the program go on, or no page or prompt can answer. Return why the stop is over."""
        with self._changed:
            while self._ended is None:
                deadline, why = self._deadline()
                if deadline is not None and time.monotonic() >= deadline:
                    self._ended = why
                    self._changed.notify_all()
                    break
                self._changed.wait(None if deadline is None else max(deadline - time.monotonic(), 0))
            return self._ended

    def _deadline(self) -> tuple[float | None, Ended]:
        ends: list[tuple[float, Ended]] = [(self._seen_until, "closed" if self._was_seen else "unanswered")]
        if self.timeout is not None:
            ends.append((self.began + self.timeout, "timeout"))
        if self._held_until is not None:
            ends.append((self._held_until, "collectives"))
        return min(ends)
