"""Find the values of a body that reach its results for certain: no choice may leave them out, and something uses them.

The element that `jnp.where(i < n, x[i], 0.0)` reads from `x` may be dropped, and so may that of `(i < n) & (x[i] > 0)`. So
may the result of a branch of a `cond` under `vmap`, where JAX runs both branches and selects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import is_users


def certain_values(
    jaxpr: core.Jaxpr, results: Sequence[bool], *, but_for_tests: bool = False, is_condition: bool = False
) -> set[Any]:
    """Return the variables of a body that certainly reach its results, given the results that the caller uses.

    Args:
      but_for_tests: leave out variables that only a test for NaN of a choice uses: `where(isnan(x), 0, x)`.
      is_condition: whether the body is the condition of a loop. Each part of it may end the loop.
    """
    found = {atom for atom, goes_on in zip(jaxpr.outvars, results, strict=True) if goes_on and _is_variable(atom)}
    choosing = _choosing(jaxpr) if but_for_tests else frozenset[Any]()
    cases = _Cases()
    for equation in reversed(jaxpr.eqns):
        found.update(filter(cases.are_complete, equation.outvars))
        if not (_is_seen(equation) or any(one in found for one in equation.outvars)):
            if not (tests_for_nan(equation) and equation.outvars[0] in choosing):
                cases.pass_on(equation, but_for_tests=but_for_tests)
            continue
        cases.begin(equation)
        if not (tests_for_nan(equation) and equation.outvars[0] in choosing):
            goes_on = certain_operands(equation, found, but_for_tests=but_for_tests)
            if _gives_nan(equation, jaxpr):
                goes_on = equation.invars
            is_part = is_condition and is_of_conditions(equation)
            found.update(filter(_is_variable, equation.invars if is_part else goes_on))
    found.update(filter(cases.are_complete, (*jaxpr.invars, *jaxpr.constvars)))
    return found


class _Cases:
    """The cases of choices in which each variable is used. `where(p, x - 1, x)` uses `x` in both, so `x` is certain."""

    def __init__(self) -> None:
        self._cases: dict[Any, dict[int, set[int]]] = {}  # Variable -> the choice, by its id -> its cases.
        self._counts: dict[int, int] = {}

    def begin(self, choice: core.JaxprEqn) -> None:
        """Record the operands of a choice whose result certainly reaches the results. Other equations have no cases."""
        cases = cases_of(choice)
        self._counts[id(choice)] = len(cases)
        for case, atom in cases:
            self._note(atom, id(choice), {case})

    def pass_on(self, equation: core.JaxprEqn, *, but_for_tests: bool) -> None:
        """Record for the operands of an equation the cases that are recorded for its results."""
        for out in equation.outvars:
            if own := self._cases.get(out):
                for atom in certain_operands(equation, {out}, but_for_tests=but_for_tests):
                    for choice, cases in own.items():
                        self._note(atom, choice, cases)

    def _note(self, atom: Any, choice: int, cases: set[int]) -> None:
        if _is_variable(atom):
            self._cases.setdefault(atom, {}).setdefault(choice, set()).update(cases)

    def are_complete(self, variable: Any) -> bool:
        """Return whether there is a choice that uses a variable in all its cases."""
        own = self._cases.get(variable, {})
        return any(len(cases) == self._counts[choice] for choice, cases in own.items())


def _is_seen(equation: core.JaxprEqn) -> bool:
    """Whether an equation prints or writes its operands; not a print that fires in phantom lanes of a `vmap`."""
    return bool(equation.effects) and not equation.params.get("guards")


def tests_for_nan(equation: core.JaxprEqn) -> bool:
    """Whether an equation tests numbers for NaN or infinity."""
    name, operands = equation.primitive.name, equation.invars
    if name in ("eq", "ne"):
        return operands[0] is operands[1] or (isinstance(operands[1], core.Literal) and _is_infinite(operands[1].val))
    return name == "is_finite" or (name in ("jit", "pjit") and equation.params.get("name") == "isinf")


def _is_infinite(value: Any) -> bool:
    return isinstance(value, int | float | np.generic | np.ndarray) and bool(np.all(np.isinf(value)))


def _handles_nan(equation: core.JaxprEqn) -> bool:
    """Whether an equation calls a function of JAX's that leaves NaNs out: `jnp.nanmean`."""
    inner = _called(equation)
    if inner is None or not str(equation.params.get("name", "")).lstrip("_").startswith("nan"):
        return False
    return not is_users(inner.debug_info.func_filename or "")


def _gives_nan(equation: core.JaxprEqn, jaxpr: core.Jaxpr) -> bool:
    """Return whether a function of JAX's gives NaN instead of a value: `jnp.var` does where it divides by 0.

    Such a choice leaves no NaN out, unlike a choice of the user's, who may mean NaN.
    """
    constants = [atom.val for _, atom in cases_of(equation) if isinstance(atom, core.Literal)]
    is_nan = any(isinstance(one, float | np.floating | np.ndarray) and np.isnan(one).all() for one in constants)
    file = jaxpr.debug_info.func_filename
    return is_nan and file is not None and not is_users(file)


def _choosing(jaxpr: core.Jaxpr) -> frozenset[Any]:
    """Return the variables that are used only as predicates of choices."""
    choosing: set[Any] = set()
    others = set(filter(_is_variable, jaxpr.outvars))
    for equation in reversed(jaxpr.eqns):
        variables = set(filter(_is_variable, equation.invars))
        inner = _called(equation)
        if equation.primitive.name == "select_n":
            choosing |= set(filter(_is_variable, equation.invars[:1]))
            others |= set(filter(_is_variable, equation.invars[1:]))
        elif inner is not None:
            chosen = _choosing(inner)
            for atom, own in zip(equation.invars, inner.invars, strict=True):
                (choosing if own in chosen else others).update(filter(_is_variable, [atom]))
        elif equation.primitive.name in _OF_TRUTHS and equation.outvars[0] in choosing - others:
            choosing |= variables
        else:
            others |= variables
    return frozenset(choosing - others)


_OF_TRUTHS = frozenset({"and", "broadcast_in_dim", "not", "or", "reduce_and", "reduce_or", "reshape", "squeeze"})
"""Primitives that make truth values of others."""


def certain_operands(equation: core.JaxprEqn, found: set[Any], *, but_for_tests: bool = False) -> Sequence[Any]:
    """Return the operands of an equation that certainly reach the results, given the values that do."""
    cases = cases_of(equation)
    chosen: Any = equation.invars[0] if cases else None
    if cases and not _is_variable(chosen):  # `jnp.where(True, x, y)`
        return [atom for case, atom in cases if case == int(chosen.val)]
    operands = equation.invars
    if is_of_conditions(equation):
        return []
    if but_for_tests and _handles_nan(equation):
        return []
    if equation.primitive.name == "select_n":
        chooses, *cases = operands
        return [chooses, *(one for one in cases if all(other is one for other in cases))]
    inner = _called(equation)
    if inner is not None:
        inside = certain_values(inner, [one in found for one in equation.outvars], but_for_tests=but_for_tests)
        return [one for one, own in zip(operands, inner.invars, strict=True) if own in inside]
    return operands


def cases_of(equation: Any) -> list[tuple[int, Any]]:
    """Return the operands that an equation chooses from, each with its number; empty for other equations."""
    name = equation.primitive.name
    if name not in ("select_n", "jit", "pjit") or not equation.invars:
        return []
    chooses, *cases = equation.invars
    if name == "select_n":
        return [*enumerate(cases)]
    is_where = name in ("jit", "pjit") and equation.params.get("name") in ("_where", "where")
    if is_where and len(cases) == 2 and chooses.aval.dtype == np.bool_:  # noqa: PLR2004
        return [*zip((1, 0), cases, strict=True)]
    return []


def is_of_conditions(equation: core.JaxprEqn) -> bool:
    """Whether an equation is `&` or `|` of two conditions: each one may make the other irrelevant."""
    if equation.primitive.name not in ("and", "or") or not all(map(_is_variable, equation.invars)):
        return False
    is_truth = getattr(equation.outvars[0].aval, "dtype", None) == np.bool_
    return is_truth and equation.invars[0] is not equation.invars[1]


def _called(equation: core.JaxprEqn) -> core.Jaxpr | None:
    """Return the program of a jitted function that an equation calls; None for other equations."""
    inner = [getattr(one, "jaxpr", one) for one in core.jaxprs_in_params(equation.params)]
    return inner[0] if equation.primitive.name in ("jit", "pjit") and len(inner) == 1 else None


def results_of_bodies(equation: core.JaxprEqn, certain: set[Any]) -> list[bool]:
    """Return for each result of the programs that an equation runs whether it certainly reaches the results."""
    results = [one in certain for one in equation.outvars]
    match equation.primitive.name:
        case "scan":
            return _of_loop(equation.params["jaxpr"].jaxpr, versions.scan_counts(equation.params), results)
        case "while":
            condition, body = (equation.params[name].jaxpr for name in ("cond_jaxpr", "body_jaxpr"))
            if any(results):  # Then the number of iterations reaches the results too.
                asked = certain_values(condition, [True], is_condition=True)
                carried = condition.invars[equation.params["cond_nconsts"] :]
                results = [is_one or var in asked for is_one, var in zip(results, carried, strict=True)]
            return _of_loop(body, (equation.params["body_nconsts"], len(results)), results)
    return results


def _of_loop(body: core.Jaxpr, counts: tuple[int, int], results: list[bool]) -> list[bool]:
    """Return for each result of a loop's body whether it certainly reaches the results, in this iteration or a later one.

    Args:
      counts: the number of inputs that are constants, and of those that are carried from the iteration before.
      results: which results of the loop certainly reach the results.
    """
    read, carried = counts
    while True:
        inside = certain_values(body, results)
        later = [var in inside for var in body.invars[read : read + carried]]
        grown = [*(one or other for one, other in zip(results, later, strict=False)), *results[carried:]]
        if grown == results:
            return results
        results = grown


def _is_variable(atom: Any) -> bool:
    return isinstance(atom, core.Var)
