"""Define programs and bodies with the values of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jax_debug_widgets.graphs.flat import FlatOperation
from jax_debug_widgets.graphs.program import Equation, Program

Key = tuple[tuple[tuple[int, str], ...], int]
"""The path and number of an equation."""

LOOPS = ("scan", "while")
"""The primitives that run a body several times."""


def _unknown(_key: Key) -> Iterator[Turn]:
    return iter(())


@dataclass(frozen=True, eq=False)
class Turn:
    """One run of a body: a step of a loop, or the branch that was taken.

    Attributes:
      body: the key of the body.
      number: the step, from 0; None for a branch.
      outputs: the results of the body.
      values: the path and number of an equation -> its results.
      inside: returns the turns of a loop or branch in this body, which run when they are requested.
    """

    body: str
    number: int | None
    outputs: Sequence[Any]
    values: Mapping[Any, Sequence[Any]]
    inside: Callable[[Key], Iterator[Turn]] = _unknown

    def of(self, node: FlatOperation) -> Sequence[Any] | None:
        """Return the results of an operation; None if they are unknown."""
        return self.values.get(key_of(node.equation))


@dataclass(frozen=True, eq=False)
class ExecutedProgram:
    """A program with the values of one run.

    Attributes:
      program: the program.
      paths: the names of its outputs, such as `['w']`.
      outputs: the values of its outputs.
      values: the path and number of an equation -> its results.
      inputs: its inputs, PRNG keys as their numbers; empty if unknown.
      inside: see `Turn`; a saved run has no turns.
    """

    program: Program
    paths: Sequence[str]
    outputs: Sequence[Any]
    values: Mapping[Any, Sequence[Any]]
    inputs: Sequence[Any] = ()
    inside: Callable[[Key], Iterator[Turn]] = _unknown

    def of(self, node: FlatOperation) -> Sequence[Any] | None:
        """Return the results of an operation; None if they are unknown."""
        return self.values.get(key_of(node.equation))


def key_of(equation: Equation) -> Key:
    """Return the key for an equation's results among the values of a run."""
    return equation.path, equation.number
