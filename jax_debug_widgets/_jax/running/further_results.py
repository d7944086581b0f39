"""Let JAX's C++ dispatch programs that have further results besides the user's, or whose calls must be seen.

JAX's C++ unflattens the results of a program to a pytree. For these programs, the tree is a node of ours. Unflattening
it hands the further results over and returns the user's results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Protocol

import jax

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import tree_util
from jax_debug_widgets._jax.compat.registrations import registers


class ProgramWithFurtherResults(Protocol):
    """A program with further results, as Python calls it.

    Attributes:
      program: the `ExecuteReplicated` that returns all results.
    """

    program: Any

    def dispatched(self, further: Sequence[Any], /) -> None:
        """Called when C++ has dispatched a call, with the call's further results."""
        ...


def fast_path_data(
    theirs: Callable[..., Any],
    executable: Any,
    call: ProgramWithFurtherResults,
    further: Sequence[Any],
    out_tree: Any,
    arguments: Any,
    outputs: Any,
    effects: Any,
    *others: Any,
) -> Any:
    """Return JAX's data for the C++ dispatch of the program of `call`; `further` are the further results of a call."""
    plain = copy(executable)
    plain._unsafe_call = call.program
    whole = _Outputs(call, jax.tree.unflatten(out_tree, outputs), further)
    return theirs(plain, jax.tree.structure(whole), arguments, jax.tree.leaves(whole), effects, *others)


def observed_data(
    theirs: Callable[..., Any],
    executable: Any,
    sees: Callable[[], object],
    out_tree: Any,
    arguments: Any,
    outputs: Any,
    *others: Any,
) -> Any:
    """Return JAX's data for the C++ dispatch of a program, which calls `sees` after each call."""
    whole = _Outputs(_Observed(sees), jax.tree.unflatten(out_tree, outputs), ())
    return theirs(executable, jax.tree.structure(whole), arguments, jax.tree.leaves(whole), *others)


class _Observed:
    """A program without further results."""

    program = None

    def __init__(self, sees: Callable[[], object]) -> None:
        self._sees = sees

    def dispatched(self, _further: Sequence[Any]) -> None:
        self._sees()


class _Outputs:
    """A pytree node with all results of a program; JAX's C++ unflattens it to the results of the user's program."""

    def __init__(self, call: ProgramWithFurtherResults, results: Any, further: Sequence[Any]) -> None:
        self.call, self.results, self.further = call, results, further

    def taken_apart(self) -> tuple[tuple[Any, Sequence[Any]], ProgramWithFurtherResults]:
        return (self.results, self.further), self.call

    @classmethod
    def put_together(cls, call: ProgramWithFurtherResults, parts: tuple[Any, Sequence[Any]]) -> _Outputs:
        return cls(call, *parts)

    @staticmethod
    def dispatched(call: ProgramWithFurtherResults, parts: tuple[Any, Sequence[Any]]) -> Any:
        results, further = parts
        call.dispatched(further)
        return results


@registers(features.HANDOVER)
def _register() -> None:
    tree_util.default_registry.register_node(_Outputs, _Outputs.taken_apart, _Outputs.put_together)
    tree_util.dispatch_registry.register_node(_Outputs, _Outputs.taken_apart, _Outputs.dispatched)
