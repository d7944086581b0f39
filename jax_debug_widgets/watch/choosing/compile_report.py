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
      why: a sentence.
      program: the program, while JAX keeps it.
    """

    why: str
    program: weakref.ref[Any]


@dataclass
class CompiledPrograms:
    """The findings about the programs compiled for one `Watch`.

    Attributes:
      names: all that has a name there; `scopes`, `primitives`: the named scopes and primitives of all values, where some
        pattern was no name.
      places: file, range and name of each value that has one there, and whether it is watched.
      keys: file, range and name of each argument that is a typed PRNG key.
      mingled: file and range of what computes several values, where nothing tells which name each has.
      functions: file and name of each function that was traced for them.
      matched: pattern -> the sites of the values that it has found; none where all are untaken.
      hindered: the sites of programs that were traced while something else had Python's lines.
      conditional: whether a body has all that the condition names; `untaken`: what is in bodies that have not.
      unasked: what is in conditions of loops that cannot be watched.
      failures: by name, programs that could not be watched.
      laneless: what was asked for by lane and has none that are known.
      sites: the site of each value, by its identity (see `watch.naming.named.Named`), file, range and name; None if JAX runs
        its body several times.
      carried: the values that an iteration of a loop gets from the one before, by the same keys.
      reasons: why a name has no value, looked up once.
      upstream: by the number of a site which others of its body it is computed from.
      works: by the number of a site what its program computes, and what watching adds.
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
        """When a capture begins, forget the failures of programs that JAX no longer keeps: they will not run in it."""
        for name, failure in list(self.failures.items()):
            if failure.program() is None:
                self.failures.pop(name, None)
