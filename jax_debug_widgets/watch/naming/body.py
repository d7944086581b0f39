"""Group the equations of one body of a program by the source range that made them."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.origins.frames import Level, is_users, levels_around_program, levels_of
from jax_debug_widgets._jax.origins.inlining import traceback_of
from jax_debug_widgets._jax.origins.names_noted import way_to
from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.origins.pushed_frames import pushed_at
from jax_debug_widgets._jax.passes.body_context import BodyContext
from jax_debug_widgets._jax.passes.uses import VariableUses, puts_constant_on_mesh, seen_from_rules
from jax_debug_widgets._jax.tracing.copies import is_given_as_cotangent, is_pushed
from jax_debug_widgets._jax.tracing.marks import is_named, is_of_input
from jax_debug_widgets._jax.tracing.tangents import tangents_in
from jax_debug_widgets.watch.naming.comprehensions import as_written
from jax_debug_widgets.watch.naming.loops import is_out_of_loop, loops_among
from jax_debug_widgets.watch.naming.source_sites import Origin, Outer, SourceSite, origin_of, outer_of, places_of
from jax_debug_widgets.watch.naming.variable_types import is_array
from jax_debug_widgets.watch.syntax.source import SourceFile, source_of
from jax_debug_widgets.watch.syntax.statements import Function, Span

Made = tuple[Any, int, int]
"""A variable, the number of the equation that makes it, and its position among the equation's results."""


class BodyWithFrames:
    """The equations of a jaxpr with the user's frames that made them.

    Attributes:
      wanted: whether a file may have names that are requested; of other files only the calls into these are read.
      levels: for each equation its frames, outermost first; those around the whole body are left out.
      uses: the equations that use each variable.
    """

    def __init__(
        self,
        jaxpr: Any,
        place: Place,
        around: BodyContext,
        wanted: Callable[[str], bool],
        uses: VariableUses | None = None,
    ) -> None:
        self.jaxpr, self.place, self.around, self.wanted = jaxpr, place, around, wanted
        self.equations = jaxpr.eqns
        self.uses = uses or VariableUses(jaxpr, place, around)
        outside = (
            levels_around_program() if around.equation is None else levels_of(traceback_of(around.equation.source_info))
        )
        self._sources: dict[str, SourceFile] = {}
        chains: dict[Any, tuple[Level, ...]] = {}
        self.levels: list[tuple[Level, ...]] = []
        for equation in self.equations:
            traceback = traceback_of(equation.source_info)
            if traceback not in chains:
                chains[traceback] = tuple(self._all_as_written(self._inside(levels_of(traceback), outside)))
            self.levels.append(chains[traceback])
        self._operations: dict[Any, list[int]] = {}
        self._asked_for = self._root_moved_derivatives()

    def source(self, file: str) -> SourceFile:
        """Return the source of a file."""
        if file not in self._sources:
            linecache.checkcache(file)  # The file may have been edited and loaded again.
            self._sources[file] = source_of(file)
        return self._sources[file]

    @cached_property
    def transposed(self) -> list[int]:
        """Return the transposed equations: those of a backward pass."""
        return [number for number, level in enumerate(self.uses.transposed) if level]

    @property
    def function(self) -> Function | None:
        """Return the source function of the body; None if the names of its file are not wanted."""
        return self._function_at(self.origin) if self.wanted(self.origin[0]) else None

    @cached_property
    def origin(self) -> Origin:
        """Return the place of the body's function: file, line, name. Empty where JAX does not report it."""
        given = self.around.given
        if given is not None:
            return given.file, given.line, given.name
        origin = origin_of(self.jaxpr)
        # For the forward pass of a checkpointed loop JAX reports the function of the loop's body, which is wrong.
        return ("", 0, "") if origin in (origin_of(program) for _, program in loops_among(self.equations)) else origin

    def _function_at(self, origin: Origin) -> Function | None:
        file, line, name = origin
        return self.source(file).function_at(line, name) if file and line else None

    @cached_property
    def argument_names(self) -> tuple[str | None, ...]:
        """Return the name of each input in the program's function, `params['w']`; None where JAX does not report it."""
        given, names = self.around.given, self.jaxpr.debug_info.arg_names or ()
        return names if given is None else tuple(given.names.get(one) for one in names)

    @cached_property
    def calls(self) -> dict[SourceSite, list[int]]:
        """Map each source place to the equations that come from it, in order.

        Equations that JAX moved out of a loop are left out: they do not compute what their statement assigns. Those of
        a derivative count for the frames down to the one that asks for it. The function that `jax.linearize` returns,
        and our copies of cotangents, are left out too.
        """
        found: dict[SourceSite, list[int]] = {}
        by_levels: dict[tuple[int, int], list[list[int]]] = {}
        """(identity of the frames, number of frames that count) -> the lists of equations of their places."""
        for number, levels in enumerate(self.levels):
            seen = levels[: self._seen_by(number)]
            key = id(levels), len(seen)
            if key not in by_levels:
                by_levels[key] = [found.setdefault(site, []) for site in _sites(seen)]
            for members in by_levels[key]:
                members.append(number)
        return found

    def _seen_by(self, number: int) -> int | None:
        """Return how many of an equation's frames, outermost first, it counts for, as the end of a slice; None for all."""
        if number in self.moved:
            return self._asked_for.get(number, 0)
        if is_of_input(self.equations[number]):
            return 0
        at = self.tangents.get(number)
        if at is not None:
            return max(at, 0)
        equation, levels = self.equations[number], self.levels[number]
        # `jacfwd` itself makes the tangents that it pushes.
        is_users = is_given_as_cotangent(equation) or (
            is_pushed(equation) and not (levels and levels[-1].differentiates)
        )
        return -1 if is_users else None

    @cached_property
    def moved(self) -> frozenset[int]:
        """Return the equations that JAX has moved here out of a loop, or that put a constant on a mesh."""
        loops = [(origin_of(program)[:2], places_of(self.levels[at])) for at, program in loops_among(self.equations)]
        return frozenset(
            number
            for number, (equation, levels) in enumerate(zip(self.equations, self.levels, strict=True))
            if (loops and is_out_of_loop(levels, self.origin, loops)) or puts_constant_on_mesh(equation)
        )

    def _root_moved_derivatives(self) -> dict[int, int]:
        """Prepend the frames of a loop to the equations of a derivative that JAX moved out of it, which have lost them.

        Returns:
          for each such equation the number of frames down to the one that asks for the derivative.
        """
        loops = {number: origin_of(program)[:2] for number, program in loops_among(self.equations)}
        around: dict[int, tuple[Level, ...]] = {}
        for number in sorted(self.moved) if loops else ():
            levels = self.levels[number]
            if not (self.uses.transposed[number] and levels):
                continue
            for atom in self.equations[number].invars:
                maker = self.makers[atom][1] if is_array(atom) and atom in self.makers else -1
                if maker in around or loops.get(maker) == (levels[0].file, levels[0].code_line):
                    around[number] = around.get(maker) or self.levels[maker]
                    self.levels[number] = (*around[number], *levels)
                    break
        asks = {number: [bool(level.derivatives) for level in levels] for number, levels in around.items()}
        return {number: own.index(True) + 1 for number, own in asks.items() if any(own)}

    def is_backward(self, number: int, depth: int) -> bool:
        """Whether an equation is transposed, seen from a frame; False if that frame itself asks for the derivative."""
        return bool(self.uses.transposed[number]) and any(self.derived_from(number, depth))

    def passes_from(self, number: int, depth: int) -> int:
        """Return how many derivatives around a frame transpose an equation, without the one that runs its rule."""
        if number not in self._of_backward_rules:
            return self.uses.transposed[number]
        return sum(seen_from_rules(self.uses.derived[number], self.levels[number], depth))

    def derived_from(self, number: int, depth: int) -> tuple[bool, ...]:
        """Return for each derivative around a frame, outermost first, whether it transposes the equation."""
        derived, levels = self.uses.derived[number], self.levels[number]
        if number in self._of_backward_rules:
            derived = seen_from_rules(derived, levels, depth)
        asked_from_here = sum(level.derivatives for level in levels[depth:])
        return derived[: max(len(derived) - asked_from_here, 0)]

    @cached_property
    def _of_backward_rules(self) -> frozenset[int]:
        """Return the equations that come from a derivative rule that the backward pass runs."""
        levels = enumerate(self.levels)
        return frozenset(number for number, own in levels if any(level.runs_rule == "backward" for level in own))

    @cached_property
    def tangents(self) -> dict[int, int]:
        """Map each equation that computes only tangents to the number of the frame that asks for them; negative if outside."""
        found: dict[int, int] = {}
        for number, (levels, equation) in enumerate(zip(self.levels, self.equations, strict=True)):
            at = pushed_at(levels, traceback_of(equation.source_info))
            levels_of_results = [self._tangents.get(variable, frozenset()) for variable in equation.outvars]
            levels_of_results = [frozenset([at])] if at is not None else levels_of_results
            if is_pushed(equation):  # The frame that pushes the tangents gets a value.
                levels_of_results = [one - {len(levels) - 1} for one in levels_of_results]
            if levels_of_results and all(levels_of_results):
                found[number] = min(map(min, levels_of_results))
        return found

    def is_tangent(self, variable: Any) -> bool:
        """Whether a variable is a tangent."""
        return variable in self._tangents

    @cached_property
    def _tangents(self) -> dict[Any, frozenset[int]]:
        return tangents_in(self.jaxpr, self.levels.__getitem__, self.uses.derived, self.around.tangents)

    def is_within(self, number: int, call: SourceSite) -> bool:
        """Whether an equation comes from this place or from a part of it."""
        levels = self.levels[number]
        if len(levels) <= call.depth:
            return False
        level = levels[call.depth]
        return (
            outer_of(levels[: call.depth]) == call.outer
            and level.file == call.file
            and call.span.contains(Span(*level.span))
        )

    def of_one_operation(self, equation: Any) -> list[int]:
        """Return the equations with the same traceback as this one, JAX's own lines included."""
        if not self._operations:
            for number, one in enumerate(self.equations):
                self._operations.setdefault(traceback_of(one.source_info), []).append(number)
        return self._operations[traceback_of(equation.source_info)]

    @cached_property
    def makers(self) -> dict[Any, Made]:
        """Map each variable to the equation that computes it."""
        return {
            variable: (variable, number, position)
            for number, equation in enumerate(self.equations)
            for position, variable in enumerate(equation.outvars)
        }

    def maker_of(self, operand: Any) -> Made | None:
        """Return the equation that makes an operand; None for a literal, or for an input of the program."""
        return self.makers.get(operand) if is_array(operand) else None

    def stack_of(self, number: int) -> str:
        """Return JAX's name stack of an equation, in its whole program."""
        return str(self.place.stack + self.equations[number].source_info.name_stack)

    def path_of(self, number: int) -> tuple[Hashable, ...]:
        """Return the path of an equation and of those around it; it is the same for a value and its gradient."""
        if is_of_input(self.equations[number]):
            return self.around.path
        return (*self.around.path, *way_to(self.equations[number]))

    def primitive_of(self, number: int) -> str:
        """Return the name of the primitive that computes an equation's result; naming identities are skipped."""
        equation = self.equations[number]
        made = self.maker_of(equation.invars[0]) if is_named(equation) else None
        return self.primitive_of(made[1]) if made else str(equation.primitive.name)

    def _inside(self, levels: tuple[Level, ...], outside: tuple[Level, ...]) -> tuple[Level, ...]:
        """Drop the frames around the body: JAX 0.8 has them on each of its equations, later versions cut them off."""
        callers, places = places_of(outside), places_of(levels)
        for length in range(min(len(callers), len(levels)), 0, -1):
            if places[:length] == callers[len(callers) - length :]:
                return levels[length:]
        if callers[: len(places)] == places:  # A loop of a checkpointed function has only the frames of its caller.
            return ()
        # It was traced for another call of the same function: keep the frames from the function itself on.
        first = next((i for i, one in enumerate(levels) if self.is_own(one)), None)
        if first is not None:
            return levels[first:]
        # In older JAX versions such equations have the frames of the first caller.
        is_of_others = versions.TRACEBACKS_LEAVE_THEIR_PROGRAM and self.origin[0] and not is_users(self.origin[0])
        return () if callers and is_of_others else levels

    def _all_as_written(self, levels: tuple[Level, ...]) -> Iterator[Level]:
        inner = next((at for at in reversed(range(len(levels))) if self.wanted(levels[at].file)), -1)
        for at, level in enumerate(levels):
            yield from as_written(level, self.source(level.file)) if at <= inner else (level,)

    def is_own(self, level: Level) -> bool:
        """Whether this is a frame of the body's own function."""
        return self.origin[:2] == (level.file, level.code_line)

    def is_put_in(self, number: int) -> bool:
        """Whether an equation is in a branch of a `cond` that became a select under `vmap`."""
        levels = self.levels[number]
        return not (levels and self.is_own(levels[0]))


def _sites(levels: Sequence[Level]) -> Iterator[SourceSite]:
    """Yield the source place of each of these frames, outermost first."""
    outer: Outer = ()
    for level in levels:
        yield SourceSite(outer, level.file, Span(*level.span))
        outer = (*outer, *outer_of([level]))
