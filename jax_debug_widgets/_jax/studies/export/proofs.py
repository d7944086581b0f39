"""Prove the text for an equation: trace the text, and compare the trace with the equation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import jax
import jax.ad_checkpoint
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_debug_widgets._jax.compat.caching import cached_by_identity
from jax_debug_widgets._jax.compat.private import config, core
from jax_debug_widgets._jax.passes.inventory import programs_in
from jax_debug_widgets._jax.studies.export.literals import number
from jax_debug_widgets._jax.studies.export.runtime import bind as bind_by_name
from jax_debug_widgets._jax.studies.export.runtime import weak
from jax_debug_widgets._jax.studies.programs import ProgramAnnotations, as_typed, body_of
from jax_debug_widgets._jax.studies.stepping import bind
from jax_debug_widgets._jax.studies.texts import digest, params_of
from jax_debug_widgets.graphs.flat import flat_of, hash_down

Forms = Callable[[Any, Sequence[str]], Iterator[str]]
"""Equation, names of its operands -> the forms in which it can be written, the most readable first."""

NAMESPACE = {"jax": jax, "jnp": jnp, "lax": lax, "np": np, "bind": bind_by_name, "weak": weak}
"""The global names of a written module."""

_PLAIN = ProgramAnnotations(lambda *_: {}, lambda _: "forward", lambda _: False, lambda file: file)

Found = tuple[bool, int, bool]
"""Whether numbers need their type, which of the forms it is, and whether it gives a sequence."""


class Proofs:
    """Which forms are proven, each kind of equation once."""

    def __init__(self) -> None:
        self._known: dict[Any, Found | None] = {}
        self._kept: list[Any] = []

    def text(self, forms: Forms, equation: core.JaxprEqn, names: Sequence[str]) -> str | None:
        """The first form that JAX traces as this equation, with the names of its operands; None: none.

        The text gives the equation's result if it has one, else the sequence of its results.
        """
        key = (forms, _kind(equation))
        if key not in self._known:
            self._kept.append(equation)  # Its programs are known by identity.
            # Of a form that fails, nobody reads the traceback that JAX would shorten.
            with config.traceback_filtering("off"):
                self._known[key] = _first(forms, equation)
        found = self._known[key]
        if found is None:
            return None
        typed, place, gives_sequence = found
        text = next(islice(forms(equation, written(equation, names, typed=typed)), place, None))
        return f"{text}[0]" if gives_sequence and len(equation.outvars) == 1 else text


def written(equation: core.JaxprEqn, names: Sequence[str], *, typed: bool) -> list[str]:
    """The operands as text: numbers, else the names."""
    return [
        number(as_typed(atom), typed=typed) if isinstance(atom, core.Literal) else name
        for atom, name in zip(equation.invars, names, strict=True)
    ]


def variables_of(equation: core.JaxprEqn) -> list[Any]:
    """The variables that an equation takes, each once."""
    return list(dict.fromkeys(atom for atom in equation.invars if not isinstance(atom, core.Literal)))


def spec_of(variable: Any) -> jax.ShapeDtypeStruct:
    """Shape, dtype, and whether the type is weak."""
    aval = variable.aval
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


def applied(equation: core.JaxprEqn) -> Callable[..., Any]:
    """The equation as a function of its variables."""
    variables = variables_of(equation)

    def apply(*values: Any) -> Any:
        given = dict(zip(variables, values, strict=True))
        inputs = [one.val if isinstance(one, core.Literal) else given[one] for one in equation.invars]
        return bind(equation, inputs)

    return apply


def computed(program: Any) -> tuple[Any, ...]:
    """A key of what a program computes from its inputs, with its derivative rules; equal keys mean equal computations."""
    jaxpr = program.jaxpr
    body = body_of(jaxpr, program.consts, "f", _PLAIN)
    flat = flat_of(body, [("input", place) for place in range(len(jaxpr.invars))])
    types = [(str(one.dtype), one.shape, bool(getattr(one, "weak_type", False))) for one in program.out_avals]
    return hash_down(flat), [node.rules for node in flat.nodes if node.rules], types


def _kind(equation: core.JaxprEqn) -> Any:
    """Equal for equations that are written alike."""
    variables = variables_of(equation)
    operands = [
        ("number", digest(as_typed(one))) if isinstance(one, core.Literal) else (variables.index(one), *_type(one))
        for one in equation.invars
    ]
    programs = tuple(id(jaxpr) for _, jaxpr in programs_in(equation))
    results = tuple(map(_type, equation.outvars))
    params = tuple(params_of(equation).items())
    return equation.primitive.name, params, tuple(operands), results, programs


def _type(variable: Any) -> tuple[Any, ...]:
    return _type_of(variable.aval)


@cached_by_identity
def _type_of(aval: Any) -> tuple[Any, ...]:
    return (str(getattr(aval, "dtype", aval)), getattr(aval, "shape", ()), bool(getattr(aval, "weak_type", False)))


def _first(forms: Forms, equation: core.JaxprEqn) -> Found | None:
    variables = variables_of(equation)
    slots = [f"x{place}" for place in range(len(variables))]
    names = ["" if isinstance(one, core.Literal) else slots[variables.index(one)] for one in equation.invars]
    try:
        specs, fixed = [spec_of(one) for one in variables], fixed_in(equation)
        wanted = seen(applied(equation), specs, fixed)
    except Exception:  # noqa: BLE001 - an equation that cannot be traced by itself has no proof.
        return None
    for typed in (False, True):
        for place, text in enumerate(forms(equation, written(equation, names, typed=typed))):
            try:
                function = _function(text, slots)
                if seen(function, specs, fixed) == wanted:
                    return typed, place, _gives_sequence(function, specs, len(equation.outvars))
            except Exception:  # noqa: BLE001, S112 - a form that cannot be traced is not this equation.
                continue
    return None


def _function(text: str, slots: Sequence[str]) -> Callable[..., Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(f"lambda {', '.join(slots)}: {text}", dict(NAMESPACE))  # noqa: S307 - our own text.


def _gives_sequence(function: Callable[..., Any], specs: Sequence[Any], count: int) -> bool:
    """Whether a function gives a sequence of `count` arrays, not one array.

    Raises:
      TypeError: it gives another structure.
    """
    if count == 0:
        return False
    result = jax.eval_shape(function, *specs)
    if isinstance(result, tuple | list) and len(result) == count:
        return True
    if count != 1 or not hasattr(result, "shape"):
        raise TypeError("a structure that cannot be unpacked as a sequence")
    return False


def fixed_in(equation: core.JaxprEqn) -> frozenset[int]:
    """The places of the variables that a function with a derivative rule closes over: it has no derivative there."""
    over = equation.params.get("num_consts", 0) if equation.primitive.name == "custom_vjp_call" else 0
    variables = variables_of(equation)
    return frozenset(variables.index(one) for one in equation.invars[:over] if not isinstance(one, core.Literal))


def smooth_in(specs: Sequence[Any], fixed: frozenset[int]) -> list[int]:
    """The places of the operands that have a derivative."""
    return [place for place, one in enumerate(specs) if jnp.issubdtype(one.dtype, jnp.inexact) and place not in fixed]


def seen(function: Callable[..., Any], specs: Sequence[Any], fixed: frozenset[int] = frozenset()) -> Any:
    """A key of what a function computes, and of its derivative if it has derivative rules; none by the `fixed` operands."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = computed(jax.make_jaxpr(function)(*specs))
        return (found, _derivative(function, specs, smooth_in(specs, fixed)) if found[1] else None)


def pullback(function: Callable[..., Any], values: Sequence[Any], places: Sequence[int]) -> tuple[Any, Any]:
    """`jax.vjp` by the arguments at these places; the others are fixed."""

    def of_places(*own: Any) -> Any:
        given = list(values)
        for place, one in zip(places, own, strict=True):
            given[place] = one
        return function(*given)

    return jax.vjp(of_places, *(values[place] for place in places))


def _derivative(function: Callable[..., Any], specs: Sequence[Any], smooth: Sequence[int]) -> Any:
    def pulled(values: Sequence[Any], cotangents: Any) -> Any:
        return pullback(function, values, smooth)[1](cotangents)

    return computed(jax.make_jaxpr(pulled)(list(specs), jax.eval_shape(function, *specs)))
