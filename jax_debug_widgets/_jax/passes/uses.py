"""Find the uses of a body's values, and which of the values are cotangents."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.caching import cached_by_identity
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import Level, levels_of
from jax_debug_widgets._jax.origins.inlining import traceback_of
from jax_debug_widgets._jax.origins.inputs import JITS, operands_of
from jax_debug_widgets._jax.origins.name_registry import book
from jax_debug_widgets._jax.origins.names_noted import way_to
from jax_debug_widgets._jax.origins.origins import loop_called_by, operation_of
from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.origins.pushed_frames import is_pushed_by_rule, pushed_at, pushes_in
from jax_debug_widgets._jax.passes.body_context import BodyContext
from jax_debug_widgets._jax.tracing.copies import is_given_as_cotangent
from jax_debug_widgets._jax.tracing.tangents import AROUND, hanging, tangents_in

_DERIVED = re.compile(r"transpose\((?:jvp\()?|jvp\(")
"""Matches a derivative in a name stack. A function that is differentiated twice is in `transpose(jvp(jvp(...)))`, outer
first.
"""


_PUT_ON_MESH = ("reshard", "pvary")
"""Primitives that return their operand as a value of the devices of a mesh."""


_REMATS = frozenset({"checkpoint", "remat", "remat2"})
"""The names of `jax.checkpoint`'s primitive in the versions of JAX."""


class VariableUses:
    """The uses of a body's variables, as far as differentiation is concerned.

    Attributes:
      consumers: variable -> the equations that use it; `results`: variable -> its positions among the results.
      derived: for each equation and each derivative around it, outermost first: whether that derivative has transposed
        it.
      transposed: for each equation: how many derivatives have transposed it; 0 for a part of the forward pass.
      cotangents: the variables that are cotangents.
    """

    def __init__(self, jaxpr: core.Jaxpr, place: Place, around: BodyContext) -> None:
        self._around, self._place, self._jaxpr, self._equations = around, place, jaxpr, jaxpr.eqns
        self._function = _place_of(jaxpr)
        self.consumers: dict[Any, list[int]] = {}
        self.results: dict[Any, list[int]] = {}
        self.derived: list[tuple[bool, ...]] = []
        self.transposed: list[int] = []
        self.cotangents = {jaxpr.invars[i] for i in around.cotangents if i < len(jaxpr.invars)}
        self._ones: set[Any] = set()
        self._frames: dict[Any, tuple[Level, ...]] = {}
        stack = str(place.stack)
        for number, equation in enumerate(jaxpr.eqns):
            if equation.primitive.name in _PUT_ON_MESH and self._is_one(equation.invars[0]):
                self._ones.update(equation.outvars)
            for atom in equation.invars:
                if not isinstance(atom, core.Literal):
                    self.consumers.setdefault(atom, []).append(number)
            self.derived.append(_derived(equation, stack, around.outer))
            count = sum(self.derived[-1])
            self.transposed.append(count)
            if is_given_as_cotangent(equation) or (count and self._takes_cotangent(equation)):
                self.cotangents.update(equation.outvars)
        for position, atom in enumerate(jaxpr.outvars):
            is_primal = around.primal is None or position in around.primal
            if is_primal and not isinstance(atom, core.Literal):
                self.results.setdefault(atom, []).append(position)

    def _takes_cotangent(self, equation: core.JaxprEqn) -> bool:
        """Whether a transposed equation uses a cotangent, or the constant that the first cotangent is."""
        variables = [atom for atom in equation.invars if not isinstance(atom, core.Literal)]
        return not variables or any(self.is_cotangent(atom) or self._is_one(atom) for atom in equation.invars)

    def around(self, number: int, equation: Any, key: str) -> BodyContext:
        """Return the context of the body that an equation runs, which is its parameter `key`."""
        results, name = list(equation.outvars), equation.primitive.name
        operands = operands_of(equation, key, equation.invars)
        used = {i for i, out in enumerate(results) if self.is_used(out, number)}
        if name == "scan":
            used |= set(range(versions.scan_counts(equation.params)[1]))
        elif name == "while":
            used = set(range(len(results)))
        cotangents = {i for i, atom in enumerate(operands) if self.is_cotangent(atom)}
        if self.transposed[number] and (name == "scan" or not cotangents):
            first, count = versions.scan_counts(equation.params) if name == "scan" else (0, len(operands))
            cotangents.update(i for i in range(first, first + count) if self._is_one(operands[i]))
        return replace(
            self._around,
            given=None,
            equation=equation,
            path=(*self._around.path, *self._way_into(equation)),
            position=self._around.position if self._place.loops else (*self._around.position, number),
            primal=frozenset(used),
            cotangents=frozenset(cotangents),
            tangents=self._tangents_given(equation, key),
            pushed=self._around.pushed or pushes_in(traceback_of(equation.source_info)) > 0,
            moved=self._around.moved or self._is_moved(equation) or self._is_tangent(equation),
            outer=self._outer(number, equation),
        )

    def _way_into(self, equation: core.JaxprEqn) -> tuple[Hashable, ...]:
        # On jax 0.8 the inlined equations of a checkpointed function have no mark of its call.
        is_unmarked = versions.TRACEBACKS_LEAVE_THEIR_PROGRAM and is_checkpointed(equation)
        if is_unmarked or loop_called_by(equation) is not None:
            return way_to(equation)
        return (*way_to(equation), book.made_of(operation_of(equation)))

    @cached_property
    def _tangents(self) -> dict[Any, frozenset[int]]:
        def levels_of(number: int) -> tuple[Level, ...]:
            return self._frames_of(self._equations[number])

        return tangents_in(self._jaxpr, levels_of, self.derived, self._around.tangents)

    def _tangents_given(self, equation: core.JaxprEqn, key: str) -> dict[int, frozenset[int]]:
        """Map the inputs that are tangents, in the program that an equation runs, to the frames that asked for each."""
        function = _place_of(_program(equation, key))
        asked = [self._asked_inside(one, function) for one in equation.invars]
        # Carried results are operands again; equations that were moved out of the loop end inside it.
        operands, _ = hanging(equation, [AROUND in one for one in asked])
        asked = [frozenset([AROUND]) if hangs else one for hangs, one in zip(operands, asked, strict=True)]
        return {place: one for place, one in enumerate(operands_of(equation, key, asked)) if one}

    def _asked_inside(self, operand: Any, function: tuple[Any, ...]) -> frozenset[int]:
        """Return the frames that asked for the tangent `operand`, seen from a loop in `function`; empty if it is not a tangent.

        For an equation moved out of the loop, these are frames inside the loop; else `AROUND`.
        """
        if isinstance(operand, core.Literal) or operand not in self._tangents:
            return frozenset()
        maker = next((one for one in self._equations if operand in one.outvars), None)
        frames = () if maker is None else self._frames_of(maker)
        is_moved = bool(frames) and (frames[0].file, frames[0].code_line) == function != self._function
        return self._tangents[operand] if is_moved else frozenset([AROUND])

    def _outer(self, number: int, equation: core.JaxprEqn) -> tuple[bool, ...] | None:
        """Return `BodyContext.outer` of the programs that an equation runs."""
        levels = self._frames_of(equation)
        is_of_rule = any(level.runs_rule == "backward" for level in levels)
        has_own_stack = not (is_of_rule or (self.transposed[number] and is_checkpointed(equation)))
        if self._around.outer is None and has_own_stack:
            return None
        return seen_from_rules(self.derived[number], levels)

    def _is_tangent(self, equation: core.JaxprEqn) -> bool:
        return pushed_at(self._frames_of(equation), traceback_of(equation.source_info)) is not None

    def _is_moved(self, equation: core.JaxprEqn) -> bool:
        """Whether a jitted call was moved out of a loop of this body: the loop ran that function, or its caller."""
        if equation.primitive.name not in JITS:
            return False
        frames = self._frames_of(equation)
        caller = (frames[0].file, frames[0].code_line) if frames else _place_of(equation.params["jaxpr"].jaxpr)
        return caller != self._function and caller in self._run_by_loops

    @cached_property
    def _run_by_loops(self) -> frozenset[tuple[Any, ...]]:
        """Return file and first line of the functions that the loops of this body run."""
        keys = {"scan": "jaxpr", "while": "body_jaxpr"}
        loops = [one for one in self._equations if one.primitive.name in keys]
        return frozenset(_place_of(one.params[keys[one.primitive.name]].jaxpr) for one in loops)

    def _frames_of(self, equation: core.JaxprEqn) -> tuple[Level, ...]:
        traceback = traceback_of(equation.source_info)
        if traceback not in self._frames:
            self._frames[traceback] = levels_of(traceback)
        return self._frames[traceback]

    def is_cotangent(self, atom: Any) -> bool:
        """Whether this operand is a cotangent."""
        return not isinstance(atom, core.Literal) and atom in self.cotangents

    def _is_one(self, atom: Any) -> bool:
        """Whether an operand is the constant 1 with which a gradient begins in a transposed program, maybe put on a mesh."""
        if not isinstance(atom, core.Literal):
            return atom in self._ones
        aval: Any = atom.aval
        return aval.shape == () and aval.dtype.kind in "fV" and bool(atom.val == 1)

    def is_used(self, variable: Any, number: int) -> bool:
        """Whether the program itself uses this result of equation `number`."""
        level = self.transposed[number]
        used = any(
            self.transposed[consumer] <= level and not self._only_hands_on(consumer, number)
            for consumer in self.consumers.get(variable, ())
        )
        return used or variable in self.results

    def _only_hands_on(self, consumer: int, number: int) -> bool:
        """Whether an equation uses a result of `number` only for tangents, or only moves lanes of a value for cotangents."""
        one = self._equations[consumer]
        if one.primitive.name == "transpose":
            own, makers = (
                [(level.file, level.span) for level in self._frames_of(each)] for each in (one, self._equations[number])
            )
            if own == makers[: len(own)]:
                return not self.is_used(one.outvars[0], consumer)
        return self._is_tangent(one)


def seen_from_rules(derived: tuple[bool, ...], levels: Sequence[Level], depth: int | None = None) -> tuple[bool, ...]:
    """Drop from `derived` the derivatives that run backward rules around frame `depth`.

    If `depth` is None, it is the innermost frame.
    """
    for at, level in enumerate(levels[:depth]):
        if level.runs_rule == "backward":
            asked_in_rule = sum(inner.derivatives for inner in levels[at + 1 :])
            own = [place for place in range(len(derived) - asked_in_rule) if derived[place]][-1:]
            derived = tuple(one for place, one in enumerate(derived) if place not in own)
    return derived


def _derived(equation: Any, around: str, outer: tuple[bool, ...] | None) -> tuple[bool, ...]:
    """Return an item of `VariableUses.derived`, for an equation in a body with that name stack, and `BodyContext.outer`."""
    own = _text_of(equation.source_info.name_stack)
    if "rematted_computation" in f"{around}/{own}":
        return ()
    around_it, inner = _derivatives_in(around), _derivatives_in(own)
    outer = around_it if outer is None else outer
    # The stack of a transposed `jax.checkpoint` contains the `jvp` of its forward pass once more.
    if is_checkpointed(equation) and inner == (True, False):
        return outer + inner[:1]
    if len(inner) > 1 and not inner[-1] and is_pushed_by_rule(traceback_of(equation.source_info)):
        inner = inner[:-1]
    return outer + inner


_text_of = cached_by_identity(str)
"""A name stack as text; many equations share one."""


@lru_cache(maxsize=4096)
def _derivatives_in(path: str) -> tuple[bool, ...]:
    return tuple(one.startswith("transpose") for one in _DERIVED.findall(path))


def puts_constant_on_mesh(equation: core.JaxprEqn) -> bool:
    """Whether an equation only puts constants of the source, `0.5` in `x * 0.5`, on the devices of a mesh.

    In a jitted or mapped function, such equations may be left over in a separate program.
    """
    if not all(isinstance(atom, core.Literal) for atom in equation.invars):
        return False
    inside = [one for program in core.jaxprs_in_params(equation.params) for one in program.eqns]
    return equation.primitive.name in _PUT_ON_MESH or (bool(inside) and all(map(puts_constant_on_mesh, inside)))


def is_checkpointed(equation: Any) -> bool:
    """Whether an equation is a call of a `jax.checkpoint` function."""
    return equation.primitive.name in _REMATS


def runs_program(equation: core.JaxprEqn) -> bool:
    """Whether an equation runs programs: a jitted function, a loop, branches."""
    return next(iter(core.jaxprs_in_params(equation.params)), None) is not None


def _place_of(jaxpr: core.Jaxpr) -> tuple[Any, ...]:
    """Return file and first line of the function that a body was traced from."""
    return jaxpr.debug_info.func_filename, jaxpr.debug_info.func_lineno


def _program(equation: core.JaxprEqn, key: str) -> core.Jaxpr:
    """Return the program that is the parameter `key` of an equation; `branch_1_fun` means an element of a tuple."""
    branch = re.fullmatch(r"branch_(\d+)_fun", key)
    program = equation.params["branches"][int(branch[1])] if branch else equation.params[key]
    return program.jaxpr if isinstance(program, ClosedJaxpr) else program
