"""Copies, so that what the backward pass hands on as it is has an equation of its own, with the line of the source.

The tangent of `o = h + b` is that of `h`, or the sum of both, and what comes back to `o` goes on to `h`: nothing in the
backward pass tells of `o`. What `pull_back` of `loss, pull_back = jax.vjp(f, x)` gives has the lines of `f`, and none says
where it is called. A copy does, of the tangent of a sum or of what is given. In the compiled program there is none: JAX
lowers it to what it copies.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import jax
from jax._src import api, core, source_info_util
from jax._src.interpreters import ad
from jax._src.lax import lax

from jax_debug_widgets._jax.context import captured_settings
from jax_debug_widgets._jax.replacements import Replacements, as_method


def put_in(replace: Replacements) -> None:
    """Put our functions in the place of JAX's."""
    for primitive in (lax.add_p, lax.sub_p):
        replace.item(ad.primitive_jvps, primitive, _derive_sum)
    replace.attribute(api.VJP, "__call__", _pull_back, wrap=as_method)


def _derive_sum(theirs: Callable[..., Any], primals: Any, tangents: Any, **params: Any) -> Any:
    value, tangent = theirs(primals, tangents, **params)
    return value, _copy(tangent) if _is_watching() else tangent


def _pull_back(theirs: Callable[..., Any], pullback: Any, *args: Any) -> Any:
    cotangents = theirs(pullback, *args)
    caller = sys._getframe(2).f_code.co_filename  # `jax.grad` calls one as well.
    return (
        jax.tree.map(_copy, cotangents) if _is_watching() and source_info_util.is_user_filename(caller) else cotangents
    )


def _copy(value: Any) -> Any:
    # Un-jitted nothing is watched, and a copy would be one.
    return lax.copy_p.bind(value) if isinstance(value, core.Tracer) else value


def _is_watching() -> bool:
    settings = captured_settings()
    return settings is not None and settings.watch is not None
