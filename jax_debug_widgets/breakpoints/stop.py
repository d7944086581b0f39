"""One stop: what is to be seen where the program stands, and the wait of the thread that stands there."""

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
"""Why a stop is over: what its user said, or that nobody did."""


@dataclass(frozen=True)
class StopLocation:
    """Where the program stands.

    Attributes:
      kind: `breakpoint`, `pause` or `step`.
      site: number of the call site, -1 where there is none; `name` and `reason` are for people.
      event: number of the event at which it stands, -1 where none is recorded.
      sizes: of the `vmap` axes; `stopped`: the lanes whose condition holds, None where there is none.
      hits: how often the site was reached.
      frames: lane -> the frames, innermost first.
      names: what the values that go on are called.
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
    """The values that the program goes on with, and others that the user sets.

    Attributes:
      name: what the user calls them.
      given: the arrays that go on, all lanes together.
    """

    def __init__(self, name: str, tree: Any, arrays: Sequence[np.ndarray], mapped: Sequence[tuple[bool, ...]]) -> None:
        self.name = name
        self.given = list(arrays)
        self._tree = tree
        self._mapped = mapped

    def value(self, lane: tuple[int, ...]) -> Any:
        """The value with which one lane goes on."""
        parts = [array[_index(lane, mapped)] for array, mapped in zip(self.given, self._mapped, strict=True)]
        return jax.tree.unflatten(self._tree, [shown(np.asarray(part)) for part in parts])

    def set(self, lane: tuple[int, ...], value: Any) -> None:
        """Go on with `value` in this lane (in all, where the value is the same for all).

        Raises:
          ValueError: another structure, shape or dtype.
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
    """`value` as an array like `old`; a Python number takes its dtype, as it would in the program."""
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
    """A program's thread that waits, and those of its other devices with it.

    Made and waited for by the program's thread; everything else may come from any thread.
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
        """Why it is over; None while it is not."""
        return self._ended

    def frames(self) -> list[StackFrame]:
        """The frames of the chosen lane, innermost first."""
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
            msg = f"there is no lane {list(lane)}: the vmap axes have the sizes {list(sizes)}"
            raise IndexError(msg)
        self.lane = tuple(lane)

    def seen(self) -> None:
        """Note that somebody looks at the stop."""
        with self._changed:
            self._was_seen = True
            self._seen_until = time.monotonic() + self._lease
            self._changed.notify_all()

    def keep(self) -> None:
        """Stand here for as long as somebody looks at it, whatever the time-out was."""
        with self._changed:
            self.timeout = None
            self._changed.notify_all()

    def hold_for(self, seconds: float | None) -> None:
        """Go on after so long, for the sake of devices that wait for this one; None: no device does."""
        with self._changed:
            self._held_until = None if seconds is None else time.monotonic() + seconds
            self._changed.notify_all()

    def resume(self, how: Ended, line: int | None = None) -> None:
        """Let the program go on. What comes first counts."""
        with self._changed:
            if self._ended is None:
                self._ended, self.line = how, line
                self._changed.notify_all()

    def wait(self) -> Ended:
        """Stand here until somebody lets the program go on, or nobody is there who could."""
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
