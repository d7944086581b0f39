"""List the functions that run at an equation, with their local variables, for the frames of a stop."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jax_debug_widgets._jax.origins.frames import Level
from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.passes.body_context import BodyContext
from jax_debug_widgets.watch.naming.arguments import arguments
from jax_debug_widgets.watch.naming.bindings_of_body import BodyBindings
from jax_debug_widgets.watch.naming.body import BodyWithFrames
from jax_debug_widgets.watch.naming.named import Named
from jax_debug_widgets.watch.naming.names import named_values
from jax_debug_widgets.watch.naming.source_sites import Outer, outer_of
from jax_debug_widgets.watch.naming.variable_types import is_key

_VARIABLE = re.compile(r"[^\W\d]\w*(?:\.\w+|\[[^\]]*\])*")
"""A variable or a leaf of one, `params['w']`. Returned values are named by their expression and do not match."""


@dataclass(frozen=True, eq=False)
class Scope:
    """A call of a user function: the current place in it, and name -> value of the variables that it has assigned so far."""

    file: str
    line: int
    function: str
    variables: dict[str, Any]


class Scopes:
    """The calls that a body consists of, each with its own variables."""

    def __init__(self, jaxpr: Any, place: Place, around: BodyContext) -> None:
        self._body = body = BodyWithFrames(jaxpr, place, around, _any_file)
        bound = BodyBindings(body)
        self._assigned: dict[tuple[Outer, str, str], list[tuple[str, Any]]] = {}
        keys = ((one.file, one.function, one.name, one.variable) for one in arguments(bound, _any_file, is_key))
        for file, function, name, variable in keys:
            self._assigned.setdefault(((), file, _own_name(function)), []).append((name, variable))
        self._given = list(bound.given_to_calls())
        named = [one for one in named_values(bound, _any_file, set()) if one.role == "value"]
        # A value that each iteration of a Python loop hands on would seem to exist before all iterations.
        times = Counter((_call_of(one), one.name, tuple(one.span)) for one in named if one.is_alias)
        for one in named:
            is_one_of_several = one.is_alias and times[_call_of(one), one.name, tuple(one.span)] > 1
            if _VARIABLE.fullmatch(one.name) and not is_one_of_several:
                self._assigned.setdefault(_call_of(one), []).append((one.name, one.variable))

    def at(self, number: int, values: Mapping[Any, Any]) -> list[Scope]:
        """Return the calls that equation `number` is in, innermost first; [] for an equation of JAX's own.

        Args:
          values: variable -> its value, for all that the body has computed so far.
        """
        levels = self._body.levels[number]
        whole = [depth for depth, level in enumerate(levels) if not level.is_inlined]
        return [self._scope(levels, depth, values) for depth in reversed(whole)]

    def _scope(self, levels: tuple[Level, ...], depth: int, values: Mapping[Any, Any]) -> Scope:
        level = levels[depth]
        assigned = self._assigned.get((outer_of(levels[:depth]), level.file, _own_name(level.function)), ())
        # They are in the order in which they are made: a reassigned name comes last.
        named = [*self._arguments(levels, depth), *assigned]
        variables = {name: values[variable] for name, variable in named if variable in values}
        return Scope(level.file, level.span[0], level.function, variables)

    def _arguments(self, levels: tuple[Level, ...], depth: int) -> list[tuple[str, Any]]:
        """Return the arguments of one call.

        Arguments that differ between calls from the same place (in a Python loop) are left out.
        """
        level, around = levels[depth], [(one.file, tuple(one.span)) for one in reversed(levels[:depth])]
        found: dict[str, list[Any]] = {}
        for variable, file, call, name in self._given:
            if (file, call.line) == (level.file, level.code_line) and [*call.callers[:depth]] == around:
                found.setdefault(name, []).append(variable)
        return [(name, variables[0]) for name, variables in found.items() if len(variables) == 1]


def _call_of(one: Named) -> tuple[Outer, str, str]:
    return one.outer, one.file, _own_name(one.function)


def _own_name(function: str) -> str:
    """Return a function's name without those of the functions or classes around it, which not all sources report."""
    return function.rpartition(".")[2]


def _any_file(_file: str) -> bool:
    return True
