"""Run a program op by op, and compiled with chosen values as further results: see `graphs.against_op_by_op`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.inventory import programs_in
from jax_debug_widgets._jax.passes.numbers import on_host
from jax_debug_widgets._jax.studies.own_width import in_own_width
from jax_debug_widgets._jax.studies.programs import as_typed, opened, runs_one_call
from jax_debug_widgets._jax.studies.stepping import bind
from jax_debug_widgets._jax.studies.trace import Traced
from jax_debug_widgets._jax.studies.widening import ENTERED, only_program

Path = tuple[tuple[int, str], ...]
Key = tuple[Path, int]
Values = Mapping[Key, tuple[np.ndarray, ...]]

MOST_IN_LOOPS = 5_000
"""A `scan` runs step by step if that takes so many equations at most; other loops and branches run as a whole."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """The outputs of a program, and the results of its equations; in a `scan`, those of all steps, stacked."""

    outputs: Sequence[np.ndarray]
    values: Values


@in_own_width
def op_by_op(traced: Traced, advance: Callable[[], object]) -> Numbers:
    """Run each equation as a program of its own. `advance` is called after each.

    Raises:
      Exception: what an equation raises.
    """
    operands = [jnp.asarray(one) for one in traced.operands]
    results, values = _Walk(None, advance).program(traced.jaxpr, traced.consts, operands, (), is_whole=True)
    return Numbers(
        [on_host(one) for one in results], {key: tuple(map(on_host, own)) for key, own in values.items() if own}
    )


@in_own_width
def compiled(traced: Traced, observed: Collection[Key] = (), options: Mapping[str, Any] | None = None) -> Numbers:
    """Run the program as XLA compiles it.

    Args:
      observed: the equations whose results are results of the program, too.
      options: of XLA's compiler.

    Raises:
      Exception: what compiling raises, options that XLA does not know among others.
    """
    walk = _Walk(frozenset(observed))

    def run(*operands: Any) -> Any:
        results, values = walk.program(traced.jaxpr, traced.consts, operands, (), is_whole=True)
        keys[:] = values
        return results, [list(values[key]) for key in keys]

    keys: list[Key] = []
    operands = [jnp.asarray(one) for one in traced.operands]
    executable = jax.jit(run).lower(*operands).compile(compiler_options=dict(options) if options else None)
    results, values = executable(*operands)
    own = [tuple(map(on_host, one)) for one in values]
    return Numbers([on_host(one) for one in results], dict(zip(keys, own, strict=True)))


class _Walk:
    """Runs a program, traced or not, and collects the results of its equations; None: of all."""

    def __init__(self, wanted: Collection[Key] | None, advance: Callable[[], object] = lambda: None) -> None:
        self._wanted, self._advance = wanted, advance

    def program(
        self, jaxpr: core.Jaxpr, consts: Sequence[Any], operands: Sequence[Any], path: Path, *, is_whole: bool = False
    ) -> tuple[list[Any], dict[Key, list[Any]]]:
        """Run a program; return its results, and those of the equations that are wanted."""
        known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *operands), strict=True))
        found: dict[Key, list[Any]] = {}

        def read(atom: Any) -> Any:
            return as_typed(atom) if isinstance(atom, core.Literal) else known[atom]

        for number, equation in enumerate(jaxpr.eqns):
            inputs = [read(atom) for atom in equation.invars]
            inner = only_program(equation, len(inputs)) if equation.primitive.name in ENTERED else None
            if inner is not None:
                key = next(key for key, _ in programs_in(equation))
                within = path if is_whole and runs_one_call(jaxpr) else (*path, (number, key))
                results, own = self.program(*inner, inputs, within)
                found |= own
            elif _is_stepped(equation) and self._looks_inside((*path, (number, "jaxpr"))):
                results, own = self._scan(equation, inputs, (*path, (number, "jaxpr")))
                found |= own
            else:
                results = bind(equation, inputs)
            if inner is None:
                self._advance()
            if inner is None and (self._wanted is None or (path, number) in self._wanted):
                found[path, number] = [one for one in results if isinstance(one, jax.Array | np.ndarray | np.generic)]
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars], found

    def _looks_inside(self, path: Path) -> bool:
        return self._wanted is None or any(own[: len(path)] == path for own, _ in self._wanted)

    def _scan(
        self, equation: core.JaxprEqn, inputs: Sequence[Any], path: Path
    ) -> tuple[list[Any], dict[Key, list[Any]]]:
        params = equation.params
        of_consts, of_carry = versions.scan_counts(params)
        jaxpr, consts = opened(params["jaxpr"])
        read, carry = inputs[:of_consts], list(inputs[of_consts : of_consts + of_carry])

        def step(carry: Any, xs: Any) -> Any:
            results, found = self.program(jaxpr, consts, [*read, *carry, *xs], path)
            keys[:] = found
            return results[:of_carry], (results[of_carry:], [found[key] for key in keys])

        keys: list[Key] = []
        loop: Callable[..., Any] = lax.scan if self._wanted is not None else _scan_in_python
        about = {"length": params["length"], "reverse": params["reverse"], "unroll": params["unroll"]}
        carry, (ys, values) = loop(step, carry, list(inputs[of_consts + of_carry :]), **about)
        return [*carry, *ys], dict(zip(keys, values, strict=True))


def _scan_in_python(step: Callable[..., Any], carry: Any, xs: Any, *, length: int, reverse: bool, **_: Any) -> Any:
    """Compute `lax.scan` by a Python loop over the steps."""
    rows = []
    for at in reversed(range(length)) if reverse else range(length):
        carry, row = step(carry, [one[at] for one in xs])
        rows.append(row)
    return carry, jax.tree.map(lambda *parts: jnp.stack(parts), *(rows[::-1] if reverse else rows))


def _is_stepped(equation: core.JaxprEqn) -> bool:
    if equation.primitive.name != "scan":
        return False
    return 0 < equation.params["length"] * len(opened(equation.params["jaxpr"])[0].eqns) <= MOST_IN_LOOPS
