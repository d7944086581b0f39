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
"""Primitives that run a body several times."""


def _unknown(_key: Key) -> Iterator[Turn]:
    return iter(())


@dataclass(frozen=True, eq=False)
class Turn:
    """One run of a body: a step of a loop, or the branch that was taken.

    Attributes:
      body: the key of the body; `number`: the step, from 0; None of a branch.
      outputs: what the body gave; `values`: the path and number of an equation -> its results.
      inside: of an equation of this body that is a loop or a branch its turns, run when they are asked for.
    """

    body: str
    number: int | None
    outputs: Sequence[Any]
    values: Mapping[Any, Sequence[Any]]
    inside: Callable[[Key], Iterator[Turn]] = _unknown

    def of(self, node: FlatOperation) -> Sequence[Any] | None:
        """The results of an equation."""
        return self.values.get(key_of(node.equation))


@dataclass(frozen=True, eq=False)
class ExecutedProgram:
    """A program with the values of one run.

    Attributes:
      paths: what its outputs are called, `['w']`; `outputs`: their values.
      values: the path and number of an equation -> its results.
      inputs: what it was given, PRNG keys as their numbers; empty where that is not known.
      inside: see `Turn`; of a run that was saved nothing is known of it.
    """

    program: Program
    paths: Sequence[str]
    outputs: Sequence[Any]
    values: Mapping[Any, Sequence[Any]]
    inputs: Sequence[Any] = ()
    inside: Callable[[Key], Iterator[Turn]] = _unknown

    def of(self, node: FlatOperation) -> Sequence[Any] | None:
        """The results of an equation."""
        return self.values.get(key_of(node.equation))


def key_of(equation: Equation) -> Key:
    """The key of its results among the values of a run."""
    return equation.path, equation.number
