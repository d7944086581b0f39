"""Write equations that JAX has traced from its own functions as calls of these: `jnp.where(m, x, y)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jax_debug_widgets._jax.compat.private import core

_LIBRARIES = (
    ("jnp", jnp),
    ("jax.nn", jax.nn),
    ("jax.random", jax.random),
    ("jnp.linalg", jnp.linalg),
)
_OTHER_NAMES = {
    "_where": ("jnp.where({})",),
    "_uniform": ("jax.random.uniform({0}, {shape}, minval={1}, maxval={2})", "jax.random.uniform({0}, {shape})"),
    "_normal": ("jax.random.normal({0}, {shape})",),
    "_normal_real": ("jax.random.normal({0}, {shape})",),
    "_bernoulli": ("jax.random.bernoulli({0}, {1}, {shape})",),
    "_one_hot": ("jax.nn.one_hot({0}, {last})",),
    "_reduce_max": ("jnp.max({})",),
    "_threefry_split": ("jax.random.split({0})", "jax.random.split({0}, {first})"),
}


def library_calls(equation: core.JaxprEqn, x: Sequence[str]) -> Iterator[str]:
    """Yield the library calls that an equation may be, as text; none for the user's own functions."""
    name = equation.params.get("name")
    if not isinstance(name, str) or name.startswith("<"):
        if equation.primitive.name != "custom_jvp_call":
            return
        name = name_of_rule(equation)
    about = _about(equation)
    for one in _OTHER_NAMES.get(name, ()):
        try:
            yield one.format(*([", ".join(x)] if "{}" in one else x), **about)
        except (IndexError, KeyError):
            continue
    short = name.lstrip("_")
    for path, library in _LIBRARIES:
        if callable(getattr(library, short, None)):
            given = ", ".join(x)
            yield f"{path}.{short}({given})"
            if about:
                yield f"{path}.{short}({given}, {about['shape']})"
            for axis in (-1, 0, 1):
                yield f"{path}.{short}({given}, axis={axis})"


def name_of_rule(equation: core.JaxprEqn) -> str:
    """The name of a function with a derivative rule; before jax 0.11, it is in the debug info of its program."""
    name = equation.params.get("name")
    if not isinstance(name, str):
        about: Any = getattr(getattr(equation.params["call_jaxpr"], "jaxpr", None), "debug_info", None)
        name = getattr(about, "func_name", None) or "function"
    return name


def _about(equation: core.JaxprEqn) -> dict[str, str]:
    shape = getattr(equation.outvars[0].aval, "shape", None) if equation.outvars else None
    if shape is None:
        return {}
    return {
        "shape": repr(tuple(shape)),
        "first": repr(shape[0]) if shape else "1",
        "last": repr(shape[-1]) if shape else "1",
    }
