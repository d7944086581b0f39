"""Trace a function to study its program, without running it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import jax

from jax_debug_widgets._jax.compat.private import api_util, core
from jax_debug_widgets._jax.origins.context import uncached
from jax_debug_widgets._jax.passes.program_difference import difference
from jax_debug_widgets._jax.passes.without_marks import without_marks
from jax_debug_widgets._jax.tracing.bindings import noting
from jax_debug_widgets._jax.tracing.copies import marking
from jax_debug_widgets._jax.tracing.expressions import LinesOf

MOST_MARKED = 3000
"""Equations of a program whose gradients have names: it is traced twice for that."""


@dataclass(frozen=True, eq=False)
class Traced:
    """The program of a call, traced anew.

    Attributes:
      consts, operands: the values of its constants and inputs.
      result: the structure of what the function returns.
      paths: the paths of the leaves in it, `['w']`.
      marked: the program with a mark behind each tangent, by which gradients have names; None if it has no gradients.
    """

    name: str
    jaxpr: core.Jaxpr
    consts: Sequence[Any]
    operands: Sequence[Any]
    result: Any
    paths: tuple[str, ...]
    marked: core.Jaxpr | None = None


def trace(
    function: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    lines_of: LinesOf | None,
    *,
    whole_numbers: bool,
    gradients: bool = False,
) -> Traced:
    """Trace `function(*args, **kwargs)` anew, whatever JAX has in its caches, and note the names of its variables.

    Args:
      lines_of: returns the lines to note of a function while it is traced, see `tracing/bindings.py`; None: nothing is noted,
        which takes a third of the time.
      whole_numbers: whether Python's whole numbers are traced; they may be sizes, which cannot be.
      gradients: whether gradients have names, too. Where there are any, the function is traced once more for that.

    Raises:
      Exception: what tracing the function raises.
    """
    flat, tree = jax.tree.flatten((args, dict(kwargs)))
    is_traced = [_is_array(leaf) and (whole_numbers or not isinstance(leaf, int)) for leaf in flat]

    def on_arrays(*arrays: Any) -> Any:
        rest = iter(arrays)
        leaves = [next(rest) if traced else leaf for traced, leaf in zip(is_traced, flat, strict=True)]
        filled_args, filled_kwargs = jax.tree.unflatten(tree, leaves)
        result = function(*filled_args, **filled_kwargs)
        if (kind := _unrun(result)) is not None:
            raise TypeError(
                f"{function_name(function)} returns a {kind}: its body has not run, so JAX traces nothing of it; "
                "give a function that returns arrays"
            )
        return jax.tree.map(_array_or_none, result)

    _call_as(on_arrays, function)
    operands = [leaf for traced, leaf in zip(is_traced, flat, strict=True) if traced]
    with noting(lines_of) if lines_of else nullcontext(), uncached():  # There are no notes of programs in JAX's caches.
        program, result = jax.make_jaxpr(on_arrays, return_shape=True)(*operands)
        marked = _marked(program, on_arrays, operands) if gradients else None
    about = api_util.debug_info("jit", function, tuple(args), dict(kwargs))
    names = about.filter_arg_names(is_traced) if len(about.arg_names or ()) == len(is_traced) else None
    about = about._replace(arg_names=names, result_paths=program.jaxpr.debug_info.result_paths)
    paths = tuple(jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(result))
    name = function_name(function)
    jaxpr = program.jaxpr.replace(debug_info=about)
    marked = None if marked is None else marked.replace(debug_info=about)
    return Traced(name, jaxpr, program.consts, operands, jax.tree.structure(result), paths, marked)


def _marked(program: Any, function: Any, operands: Sequence[Any]) -> core.Jaxpr | None:
    """The program with marks, if it has a backward pass and is the same without them."""
    sizes = [len(one.eqns) for one in _programs_in(program.jaxpr)]
    if sum(sizes) > MOST_MARKED or not any(map(_is_transposed, _programs_in(program.jaxpr))):
        return None
    with suppress(Exception), uncached(), marking():  # An exception of the second trace.
        marked = jax.make_jaxpr(function)(*operands)
        return marked.jaxpr if difference(program, without_marks(marked)) is None else None
    return None


def _programs_in(jaxpr: core.Jaxpr) -> Iterator[core.Jaxpr]:
    yield jaxpr
    for equation in jaxpr.eqns:
        for inner in core.jaxprs_in_params(equation.params):
            yield from _programs_in(inner)


def _is_transposed(jaxpr: core.Jaxpr) -> bool:
    return any("transpose(" in str(one.source_info.name_stack) for one in jaxpr.eqns)


def function_name(function: Any) -> str:
    """The name of a function; of a callable object, such as a model, the name of its class."""
    if isinstance(function, functools.partial):
        return function_name(function.func)
    name = getattr(function, "__name__", None)
    if isinstance(name, str) and name != "<unnamed function>":  # As JAX calls the gradient of a callable object.
        return name
    wrapped = getattr(function, "__wrapped__", None)
    return type(function).__name__ if wrapped is None else function_name(wrapped)


def _call_as(own: Any, function: Any) -> None:
    """Let JAX's errors say the user's function and its line."""
    own.__name__ = own.__qualname__ = function_name(function)
    own.__wrapped__ = inspect.unwrap(function)
    own.__signature__ = inspect.Signature([inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL)])


def _unrun(result: Any) -> str | None:
    """What a function returns that only begins to run later; None for a result that is there."""
    if inspect.iscoroutine(result):
        result.close()  # Nobody awaits it, which Python would warn of.
        return "coroutine"
    return "generator" if inspect.isgenerator(result) or inspect.isasyncgen(result) else None


def _array_or_none(leaf: Any) -> Any:
    """Leave out what is no array, as `equinox.filter_jit` does."""
    return leaf if isinstance(leaf, core.Tracer) or hasattr(leaf, "shape") or _is_array(leaf) else None


def _is_array(leaf: Any) -> bool:
    is_number = isinstance(leaf, bool | int | float | complex)
    return is_number or hasattr(leaf, "__array__") or isinstance(leaf, core.Tracer | jax.Array | jax.ShapeDtypeStruct)
