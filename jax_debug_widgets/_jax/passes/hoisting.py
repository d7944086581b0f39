"""Record the loops that JAX itself moves an equation out of.

When JAX differentiates a `scan`, it moves equations that do not depend on the iteration before the loop: a print of a
constant then fires once. The lowered program does not show that. So the debugging equations in the body first get the
lengths of the loops around them as a parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from jax_debug_widgets._jax.compat.caching import cached
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.inlining import as_what_makes
from jax_debug_widgets._jax.origins.kernel_prints import has_debugging
from jax_debug_widgets._jax.passes.operands import with_programs
from jax_debug_widgets._jax.passes.tap import as_tap, debugging_primitives

Lengths = tuple[int | None, ...]


def differentiate_scan(theirs: Any, *args: Any, **params: Any) -> Callable[[], Any]:
    """Wrap JAX's rule for the parameters of a `scan`: linearization, or evaluation of the known part."""
    return partial(theirs, *args, **params | {"jaxpr": _at_home(params["jaxpr"], params["length"])})


def recompute_scan(
    theirs: Any, saveable: Any, unknown: Any, instantiated: Any, equation: core.JaxprEqn
) -> Callable[[], Any]:
    """Wrap JAX's rule for the equation of a `scan` in a `checkpoint`."""
    params = equation.params | {"jaxpr": _at_home(equation.params["jaxpr"], equation.params["length"])}
    own = equation.replace(params=params)

    def recompute() -> Any:
        # JAX puts the known part of the loop into a call, whose equations would get the traceback of the checkpoint.
        with as_what_makes(equation):
            return theirs(saveable, unknown, instantiated, own)

    return recompute


def left(home: Lengths, loops: Lengths) -> Lengths:
    """Return the loops of `home`, outermost first, that are no longer around an equation, which is now in `loops`.

    Loops are identified by their lengths only: a loop that was left is missed if a later loop around the equation has
    the same length.
    """
    kept = next(count for count in range(len(home), -1, -1) if not count or loops[-count:] == home[:count])
    return home[kept:]


@cached
def _at_home(program: Any, length: int) -> Any:
    return program.replace(jaxpr=_settled(program.jaxpr, (length,))) if has_debugging(program.jaxpr) else program


def _settled(jaxpr: core.Jaxpr, home: Lengths) -> core.Jaxpr:
    equations = []
    for equation in jaxpr.eqns:
        if equation.primitive in debugging_primitives():
            tap = as_tap(equation)
            equations.append(tap.replace(params=tap.params | {"home": tap.params["home"] or home}))
        elif any(map(has_debugging, core.jaxprs_in_params(equation.params))):
            inner = (*home, *_loop_of(equation))
            equations.append(with_programs(equation, lambda _key, one, inner=inner: _settled(one, inner)))
        else:
            equations.append(equation)
    return jaxpr.replace(eqns=equations)


def _loop_of(equation: core.JaxprEqn) -> Lengths:
    match equation.primitive.name:
        case "scan":
            return (equation.params["length"],)
        case "while":
            return (None,)
    return ()
