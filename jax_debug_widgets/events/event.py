"""Describe one event: one lane of one firing of a debugging call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets.events.site import CallSite, Kind, Phase
    from jax_debug_widgets.events.tap import Tap


@dataclass(frozen=True)
class Event:
    """One event, as plain JAX would have printed or called it once.

    Attributes:
      site: the call site that fired.
      seq: the number of events of the run that arrived before this one.
      occurrence: the number of firings of its site before this one in this run; all lanes of a `vmap` share it. Firings
        that `--every` left out count if the program's text shows how many they are. Firings of a muted site do not
        count.
      time_ns: nanoseconds since the run started.
      step: iteration of each loop around it, outermost first. In a loop that runs from the end (a backward pass, a
        `scan(reverse=True)`) it is the index of the element, so the first iteration has the last index. Empty outside
        loops, and if it is not known (XLA may move the call out of its loop, a branch of `cond`, a loop of unknown
        length). The axes of the grid of an interpreted Pallas kernel are such loops.
      mesh_coords: mesh axis -> coordinate of the device that fired (`shard_map`, `pmap`); empty elsewhere.
      device: the name of the device, e.g. `cpu:2`. Empty outside `shard_map`, where one device fires for all, and if it
        is not known.
      lane: index over the `vmap` axes, outermost first; empty outside `vmap`.
      phantom: whether it fired only because `vmap` turned a `cond` into a `select` of all its branches, or let the
        finished lanes of a `while` run on. Without `vmap` the event would not exist.
      call: id of the call that dispatched it, see `Run.calls`; -1 if it is not known.
      values: the values as NumPy arrays, in the order of `site.values`.
      tap: reads the values.
    """

    site: CallSite
    seq: int
    occurrence: int
    time_ns: int
    step: tuple[int, ...]
    mesh_coords: dict[str, int]
    device: str
    lane: tuple[int, ...]
    call: int
    values: tuple[np.ndarray, ...]
    tap: Tap
    phantom: bool = False

    @property
    def kind(self) -> Kind:
        """The kind of JAX's call, such as `print` or `callback`."""
        return self.site.kind

    @property
    def process(self) -> int:
        """The number of the process that fired: 0 except in a job of several processes."""
        return self.site.process

    @property
    def ordered(self) -> bool:
        """Whether the call asked for `ordered=True`."""
        return self.site.ordered

    @property
    def phase(self) -> Phase:
        """The phase: `forward`, `backward` or `recompute`."""
        return self.site.phase

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments of the call, arrays as NumPy arrays."""
        return self.tap.unflatten(self.values)[0]

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments of the call, arrays as NumPy arrays."""
        return self.tap.unflatten(self.values)[1]

    @cached_property
    def text(self) -> str:
        """The text that JAX writes for a print, byte for byte, without the newline; for a callback, its call."""
        return self.tap.render(self.values)

    def __repr__(self) -> str:
        device = "".join(f", {axis}={number}" for axis, number in self.mesh_coords.items())
        return f"Event({self.seq}, {self.site.where}, {self.text!r}{device})"
