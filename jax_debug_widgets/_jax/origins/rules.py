"""The rules of `custom_jvp`, `custom_vjp` and `custom_vmap` are run in a way that keeps their lines, see `inlining`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax_debug_widgets._jax.compat.private import ad, custom_batching
from jax_debug_widgets._jax.compat.replacements import Replacements, as_method
from jax_debug_widgets._jax.origins.context import is_capturing
from jax_debug_widgets._jax.origins.inlining import run_backward_rule, run_batching_rule, run_forward_rule


def put_in(replace: Replacements) -> None:
    """Put our methods in the place of JAX's."""
    for trace in (ad.JVPTrace, ad.LinearizeTrace):
        replace.attribute(trace, "process_custom_jvp_call", _differentiate_jvp, wrap=as_method)
        replace.attribute(trace, "process_custom_vjp_call", _differentiate_vjp, wrap=as_method)
    replace.batcher(custom_batching.custom_vmap_p, _batch)


def _batch(theirs: Callable[..., Any], /, *args: Any, **params: Any) -> Any:
    return run_batching_rule(theirs, *args, **params) if is_capturing() else theirs(*args, **params)


def _differentiate_jvp(
    theirs: Callable[..., Any], trace: Any, primitive: Any, function: Any, rule: Any, *args: Any, **options: Any
) -> Any:
    if is_capturing():
        rule = rule.wrap(run_forward_rule, (), None)
    return theirs(trace, primitive, function, rule, *args, **options)


def _differentiate_vjp(
    theirs: Callable[..., Any],
    trace: Any,
    primitive: Any,
    function: Any,
    forward: Any,
    backward: Any,
    *args: Any,
    **options: Any,
) -> Any:
    if is_capturing():
        forward, backward = forward.wrap(run_forward_rule, (), None), backward.wrap(run_backward_rule, (), None)
    return theirs(trace, primitive, function, forward, backward, *args, **options)
