"""Test the types of a jaxpr's variables: arrays, PRNG keys."""

from __future__ import annotations

from typing import Any

import jax
from jax.extend import core as jax_core


def type_of(variable: Any) -> tuple[Any, Any]:
    """Return the shape and dtype of a variable."""
    return variable.aval.shape, variable.aval.dtype


def is_array(variable: Any) -> bool:
    """Whether a variable has numbers from which statistics can be computed."""
    aval: Any = getattr(variable, "aval", None)
    dtype = getattr(aval, "dtype", None)
    if isinstance(variable, jax_core.Literal) or dtype is None or not hasattr(aval, "shape"):
        return False
    return getattr(dtype, "kind", "V") in "biufcV" and _has_numbers(dtype) and 0 not in aval.shape


def is_key(variable: Any) -> bool:
    """Whether a variable is a typed PRNG key, or an array of keys."""
    dtype = getattr(getattr(variable, "aval", None), "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def _has_numbers(dtype: Any) -> bool:
    import jax.numpy as jnp

    return jnp.issubdtype(dtype, jnp.number) or jnp.issubdtype(dtype, jnp.bool_)
