"""One firing of a debugging call."""

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
    """One observation, as JAX would have made it.

    Attributes:
      site: the call site that fired.
      seq: how many events of the run arrived before this one.
      occurrence: how many firings of its site there had been in this run; all lanes of one `vmap` share it. Those that
        `--every` left out are counted where the program's text says how many they are, those of a muted site are not.
      time_ns: nanoseconds since the run started.
      step: iteration of each loop around it, outermost first. In a loop that goes backwards (a backward pass, a
        `scan(reverse=True)`) it is the place in what that goes through: the first to run has the last. Empty outside
        loops, and where it cannot be told (what XLA may move out of its loop, in a branch of `cond` or a loop of unknown
        length). The axes of the grid of an interpreted Pallas kernel are such loops.
      mesh_coords: mesh axis -> coordinate of the device that fired (`shard_map`, `pmap`); empty elsewhere.
      device: its name, e.g. `cpu:2`; empty outside `shard_map`, where one device fires for all, and where it is not known.
      lane: index over the `vmap` axes, outermost first; empty outside `vmap`.
      phantom: whether it fired only because `vmap` turned a `cond` into a `select` of all its branches, or let the
        finished lanes of a `while` run on: without `vmap` it would not have been.
      call: id of the call that dispatched it, see `Run.calls`; -1 where it is not known.
      values: the values as NumPy arrays, in the order of `site.values`.
      tap: how to read the values.
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
        """Which of JAX's calls it was."""
        return self.site.kind

    @property
    def process(self) -> int:
        """The number of the process that it fired in: 0 but in a job of several."""
        return self.site.process

    @property
    def ordered(self) -> bool:
        """Whether the call asked for `ordered=True`."""
        return self.site.ordered

    @property
    def phase(self) -> Phase:
        """Forward, backward or recompute."""
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
        """What JAX writes for it, byte for byte, without the newline; a callback's arguments otherwise."""
        return self.tap.render(self.values)

    def __repr__(self) -> str:
        device = "".join(f", {axis}={number}" for axis, number in self.mesh_coords.items())
        return f"Event({self.seq}, {self.site.where}, {self.text!r}{device})"
