"""Collect the findings about the programs that were compiled for a watch."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.watch.choosing.price import CostEstimate
    from jax_debug_widgets.watch.naming.upstream import Upstream
    from jax_debug_widgets.watch.syntax.statements import Span


@dataclass(frozen=True)
class Failure:
    """A program that runs unwatched.

    Attributes:
      why: the reason, as a sentence.
      program: the program, while JAX keeps it.
    """

    why: str
    program: weakref.ref[Any]


@dataclass
class CompiledPrograms:
    """The findings about the programs compiled for one `Watch`.

    Attributes:
      names: the names of all values. `scopes`, `primitives`: their named scopes and primitives, if some pattern was not
        a name.
      places: file, range and name of each named value -> whether it is watched.
      keys: file, range and name of each argument that is a typed PRNG key.
      mingled: file and range of each statement that computes several values whose names are ambiguous.
      functions: file and name of each function that was traced for them.
      matched: pattern -> the sites of the values that it matches; empty if none of them is taken.
      hindered: the sites of programs that were traced while another tool received Python's line events.
      conditional: whether some body has all names of the condition. `untaken`: the values in bodies that have not.
      unasked: the values in conditions of loops, which cannot be watched.
      failures: the programs that could not be watched, by name.
      laneless: the labels of values that were requested by lane and have no known lanes.
      sites: the site of each value, by its identity (see `watch.naming.named.Named`), file, range and name; None if JAX
        runs its body several times.
      carried: the values that an iteration of a loop gets from the one before, by the same keys.
      reasons: why a name has no value; a cache.
      upstream: number of a site -> the values of its body that it is computed from.
      works: number of a site -> the estimated cost of its program, and of watching it.
    """

    names: dict[str, None] = field(default_factory=dict)
    scopes: dict[str, None] = field(default_factory=dict)
    primitives: dict[str, None] = field(default_factory=dict)
    places: dict[tuple[str, Span, str], bool] = field(default_factory=dict)
    keys: set[tuple[str, Span, str]] = field(default_factory=set)
    mingled: set[tuple[str, Span]] = field(default_factory=set)
    functions: set[tuple[str, str]] = field(default_factory=set)
    matched: dict[str, set[int]] = field(default_factory=dict)
    hindered: set[int] = field(default_factory=set)
    conditional: bool = False
    untaken: dict[str, None] = field(default_factory=dict)
    unasked: dict[str, None] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    laneless: dict[str, None] = field(default_factory=dict)
    sites: dict[Any, CallSite | None] = field(default_factory=dict)
    carried: set[Any] = field(default_factory=set)
    upstream: dict[int, Upstream] = field(default_factory=dict)
    works: dict[int, CostEstimate] = field(default_factory=dict)
    reasons: dict[tuple[str, int], str] = field(default_factory=dict)

    def forget_failures(self) -> None:
        """Forget the failures of programs that JAX no longer keeps: they will not run in the capture that begins."""
        for name, failure in list(self.failures.items()):
            if failure.program() is None:
                self.failures.pop(name, None)
