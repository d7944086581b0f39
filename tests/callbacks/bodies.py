"""Define programs with results from a host function, for the transformations of `tests/conftest.py`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback


class Host:
    """A host function, `2 * sin(x)`, that keeps the types, placement and bits of its arguments."""

    def __init__(self) -> None:
        self.calls = []

    def __call__(self, x) -> np.ndarray:
        placement = tuple(map(str, x.devices()))
        self.calls.append(
            (type(x), str(x.dtype), x.shape, x.weak_type, x.committed, placement, np.asarray(x).tobytes())
        )
        return np.sin(np.asarray(x)) * np.float32(2)

    def take(self):
        calls, self.calls = self.calls, []
        return calls


def like(x):
    return jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x))


def pure(method):
    return lambda host: lambda x: jax.pure_callback(host, like(x), x, vmap_method=method)


def io(*, ordered):
    return lambda host: lambda x: io_callback(host, like(x), x, ordered=ordered)


def differentiable(host):
    """Return a host function with a derivative, which calls the host, too."""

    @jax.custom_jvp
    def f(x):
        return jax.pure_callback(host, like(x), x, vmap_method="broadcast_all")

    @f.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), f(x + jnp.float32(1)) * t

    return f


BODIES = {
    "pure": pure(None),
    "pure_sequential": pure("sequential"),
    "pure_expand_dims": pure("expand_dims"),
    "custom_jvp": differentiable,
    "io": io(ordered=False),
    "io_ordered": io(ordered=True),
}
"""Name -> a function from a host function to a program that a `Transform` can wrap."""
