"""Run the rules of `custom_jvp`, `custom_vjp` and `custom_vmap` in a way that keeps their lines, see `inlining`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from jax_debug_widgets._jax.compat.private import ad, custom_batching
from jax_debug_widgets._jax.compat.replacements import Replacements
from jax_debug_widgets._jax.origins.context import is_capturing
from jax_debug_widgets._jax.origins.inlining import run_backward_rule, run_batching_rule, run_forward_rule


def put_in(replace: Replacements) -> None:
    """Replace JAX's methods with ours."""
    forward, backward, batching = map(replace.around, (run_forward_rule, run_backward_rule, run_batching_rule))
    for trace in (ad.JVPTrace, ad.LinearizeTrace):
        replace.attribute(trace, "process_custom_jvp_call", partial(_differentiate_jvp, forward))
        replace.attribute(trace, "process_custom_vjp_call", partial(_differentiate_vjp, forward, backward))
    replace.batcher(custom_batching.custom_vmap_p, partial(_batch, batching))


def _batch(run: Callable[..., Any], theirs: Callable[..., Any], /, *args: Any, **params: Any) -> Any:
    return run(theirs, *args, **params) if is_capturing() else theirs(*args, **params)


def _differentiate_jvp(
    run: Callable[..., Any],
    theirs: Callable[..., Any],
    trace: Any,
    primitive: Any,
    function: Any,
    rule: Any,
    *args: Any,
    **options: Any,
) -> Any:
    if is_capturing():
        rule = rule.wrap(run, (), None)
    return theirs(trace, primitive, function, rule, *args, **options)


def _differentiate_vjp(
    run_forward: Callable[..., Any],
    run_backward: Callable[..., Any],
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
        forward, backward = forward.wrap(run_forward, (), None), backward.wrap(run_backward, (), None)
    return theirs(trace, primitive, function, forward, backward, *args, **options)
