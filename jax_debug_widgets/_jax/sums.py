"""Sums that are equations where they are transposed as well: what is watched has the gradient of each.

The tangent of `o = h + b` is that of `h`, or the sum of both, and what comes back to `o` goes on to `h` as it is: in the
backward pass nothing tells of `o`. A copy of the tangent does, with the line of the sum. In the compiled program there is
none: JAX lowers it to what it copies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax._src.interpreters import ad
from jax._src.lax import lax

from jax_debug_widgets._jax.context import captured_settings
from jax_debug_widgets._jax.replacements import Replacements


def put_in(replace: Replacements) -> None:
    """Put our rules in the place of JAX's."""
    for primitive in (lax.add_p, lax.sub_p):
        replace.item(ad.primitive_jvps, primitive, _derive)


def _derive(theirs: Callable[..., Any], primals: Any, tangents: Any, **params: Any) -> Any:
    value, tangent = theirs(primals, tangents, **params)
    settings = captured_settings()
    if settings is None or settings.watch is None or isinstance(tangent, ad.Zero):
        return value, tangent
    return value, lax.copy_p.bind(tangent)
