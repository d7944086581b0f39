"""Run programs that have further results besides the user's, and let JAX's C++ dispatch them.

JAX does not see the further results: they are removed before it counts the results. From the second call on, JAX's C++
dispatches such a program. It unflattens the results to a pytree, which is a node of ours. Unflattening the node hands the
further results over and returns the user's results.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any, Protocol

import jax

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import sharding_impls, tree_util
from jax_debug_widgets._jax.compat.registrations import registers


def with_further_results(arguments: Sequence[Any], count: int) -> Sequence[Any]:
    """Return arguments of JAX's `lower_sharding_computation`, those after the program, for `count` results more."""
    api_name, name, in_shardings, out_shardings, in_layouts, out_layouts, donated = arguments
    shardings = (*out_shardings, *[sharding_impls.UNSPECIFIED] * count)
    return api_name, name, in_shardings, shardings, in_layouts, (*out_layouts, *[None] * count), donated


def wrap_calls_of_lowered(lowered: Any, wrap: Callable[[Any], Any], owner: type) -> None:
    """Let `wrap` make the function that runs a lowered program once it is compiled, see `wrap_calls`."""
    lowered.compile = partial(_compile, lowered.compile, wrap, owner)


def _compile(theirs: Callable[..., Any], wrap: Callable[[Any], Any], owner: type, *args: Any, **options: Any) -> Any:
    executable = theirs(*args, **options)
    wrap_calls(executable, wrap, owner)
    return executable


def wrap_calls(executable: Any, wrap: Callable[[Any], Any], owner: type) -> None:
    """Let `wrap` make the function that runs an executable; it takes the `ExecuteReplicated` that JAX makes.

    This is done once for each `owner`, because JAX keeps executables: the hooks meet one at each call from Python.
    """
    build = executable.build_unsafe_call
    while isinstance(build, _Build):
        if build.owner is owner:
            return
        build = build.theirs
    executable.build_unsafe_call = _Build(executable.build_unsafe_call, wrap, owner)


class _Build:
    """Replaces `build_unsafe_call` of an executable: makes the function that runs it."""

    def __init__(self, theirs: Callable[[], Any], wrap: Callable[[Any], Any], owner: type) -> None:
        self.theirs, self.owner = theirs, owner
        self._wrap = wrap

    def __call__(self) -> Any:
        return self._wrap(self.theirs())


class ProgramWithFurtherResults(Protocol):
    """A program with further results, as Python calls it.

    Attributes:
      program: the `ExecuteReplicated` that returns all results.
    """

    program: Any

    def dispatched(self, further: Sequence[Any], /) -> None:
        """Called when C++ has dispatched a call, with the call's further results."""
        ...


class ExecutableWithFurtherResults(ABC):
    """An `ExecuteReplicated` whose last `count` results are not the user's; see `ProgramWithFurtherResults`."""

    def __init__(self, program: Any, count: int) -> None:
        self.program, self._count = program, count
        self._latest: Sequence[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.program, name)

    @abstractmethod
    def dispatched(self, further: Sequence[Any], /) -> None:
        """See `ProgramWithFurtherResults`."""

    def take_latest(self) -> Sequence[Any] | None:
        """Return the further results of the latest call from Python; None if they were taken before."""
        latest, self._latest = self._latest, None
        return latest

    def _split(self, outputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the user's results and the further results."""
        return outputs[: -self._count], outputs[-self._count :]


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
