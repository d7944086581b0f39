"""Run a program with the 64-bit numbers that it has, where JAX would make them narrower."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import jax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.inventory import programs_in
from jax_debug_widgets._jax.studies.trace import Traced

WIDE = ("float64", "int64", "uint64", "complex128")

_P = ParamSpec("_P")
_R = TypeVar("_R")


def in_own_width(run: Callable[Concatenate[Traced, _P], _R]) -> Callable[Concatenate[Traced, _P], _R]:
    """A function that runs a traced program, with `jax_enable_x64` where the program has turned it on by itself."""

    @functools.wraps(run)
    def wrapped(traced: Traced, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        is_on: Any = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
        with jax.enable_x64(is_on or _is_wide(traced.jaxpr)):
            return run(traced, *args, **kwargs)

    return wrapped


def _is_wide(jaxpr: core.Jaxpr) -> bool:
    atoms = (atom for equation in jaxpr.eqns for atom in (*equation.invars, *equation.outvars))
    if any(str(getattr(atom.aval, "dtype", "")) in WIDE for atom in atoms):
        return True
    return any(_is_wide(program) for equation in jaxpr.eqns for _, program in programs_in(equation))
