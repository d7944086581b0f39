"""The forms in which an equation may be written, readable ones first; `proofs` takes the first that traces as the equation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.export.forms_of_indexing import gathered, scattered, sliced
from jax_debug_widgets._jax.studies.export.forms_of_keys import Operands, drawn, folded_in, seeded, split_keys, wrapped
from jax_debug_widgets._jax.studies.export.forms_of_linalg import eigenvalues, nearly_largest, singular_values
from jax_debug_widgets._jax.studies.export.forms_of_numpy import high_level, stopped
from jax_debug_widgets._jax.studies.export.forms_of_sparse import SPARSE
from jax_debug_widgets._jax.studies.export.forms_of_windows import pulled_back, pushed_forward, windowed
from jax_debug_widgets._jax.studies.export.literals import RefusedError, dtype_of, text_of, tuple_of

_INFIX = {
    "add": "+", "add_any": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "rem": "%", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_PREFIX = {"neg": "-", "not": "~"}
_REDUCTIONS = {
    "reduce_sum": "sum", "reduce_max": "max", "reduce_min": "min", "reduce_prod": "prod", "reduce_and": "all",
    "reduce_or": "any", "argmax": "argmax", "argmin": "argmin",
}  # fmt: skip


def forms_of(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    """All forms, the most readable first; the last one names the primitive."""
    name = equation.primitive.name
    return chain(
        _symbols(name, equation.params, x),
        _texts_of(_BY_NAME[name], equation, x) if name in _BY_NAME else (),
        (f"{module}.{name}({', '.join(x)})" for module, has in _MODULES if callable(getattr(has, name, None))),
        _texts_of(_with_params, equation, x),
        _texts_of(_bound, equation, x),
    )


_MODULES = (("jnp", jnp), ("lax", lax), ("lax.linalg", lax.linalg))


def _aval(atom: Any) -> Any:
    return atom.aval


def _texts_of(form: Callable[..., Any], equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    """The forms that there is text for."""
    try:
        yield from form(equation, x)
    except RefusedError:
        return


def _symbols(name: str, params: Any, x: Operands) -> Iterator[str]:
    if name == "mul" and x[0] == x[1]:
        yield f"{x[0]} ** 2"
        yield f"jnp.square({x[0]})"
    if name in _INFIX:
        yield f"{x[0]} {_INFIX[name]} {x[1]}"
    if name in _PREFIX:
        yield f"{_PREFIX[name]}{x[0]}"
    if name == "integer_pow":
        yield f"{x[0]} ** {params['y']}"
    if name == "square":
        yield f"{x[0]} ** 2"


def _with_params(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    """The function of `jax.lax` or `jax.lax.linalg` of that name, given the parameters that it may take."""
    name = equation.primitive.name.replace("-", "_")
    for module, has in (("lax", lax), ("lax.linalg", lax.linalg)):
        if callable(getattr(has, name, None)):
            for left_out in (_INNER | {"accuracy"}, _INNER):
                given = {key: one for key, one in equation.params.items() if one is not None and key not in left_out}
                yield f"{module}.{name}({', '.join([*x, *(f'{key}={text_of(one)}' for key, one in given.items())])})"


_INNER = {"sharding", "out_sharding", "update_jaxpr", "update_consts"}


def _bound(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    given = [f"{key}={text_of(value)}" for key, value in equation.params.items()]
    yield f"bind({', '.join([repr(equation.primitive.name), *x, *given])})"


def _dot(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    params = equation.params
    yield f"{x[0]} @ {x[1]}"
    yield f"{x[0]}.T @ {x[1]}"
    yield f"{x[0]} @ {x[1]}.T"
    contracted, batched = params["dimension_numbers"]
    if not any(batched):
        axes = text_of(tuple(map(tuple, contracted)))
        yield f"jnp.tensordot({x[0]}, {x[1]}, {axes})"
    kept = ("precision", "preferred_element_type")
    more = "".join(f", {key}={_param(key, params[key])}" for key in kept if params.get(key) is not None)
    yield f"lax.dot_general({x[0]}, {x[1]}, {text_of(params['dimension_numbers'])}{more})"


def _param(key: str, value: Any) -> str:
    return dtype_of(value) if key.endswith(("dtype", "element_type")) else text_of(value)


def _reduced(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    name, axes = _REDUCTIONS[equation.primitive.name], equation.params["axes"]
    yield f"jnp.{name}({x[0]})"
    rank = len(_aval(equation.invars[0]).shape)
    axis = axes[0] if len(axes) == 1 else tuple(axes)
    if axis == rank - 1 and rank > 1:
        yield f"jnp.{name}({x[0]}, axis=-1)"
    yield f"jnp.{name}({x[0]}, axis={text_of(axis)})"
    yield f"lax.{equation.primitive.name}({x[0]}, {text_of(tuple(axes))})"
    if "index_dtype" in equation.params:
        yield f"lax.{name}({x[0]}, {axes[0]}, {dtype_of(equation.params['index_dtype'])})"


def _broadcast(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    shape, kept = equation.params["shape"], equation.params["broadcast_dimensions"]
    if not equation.invars or not _aval(equation.invars[0]).shape:
        dtype = _aval(equation.outvars[0]).dtype
        value = getattr(equation.invars[0], "val", None) if equation.invars else None
        if value is not None and np.ndim(value) == 0:
            names = {0: "zeros", 1: "ones"}
            plain = value.item() if hasattr(value, "item") else value
            if plain in names and not isinstance(plain, bool):
                yield f"jnp.{names[plain]}({text_of(shape)}, {dtype_of(dtype)})"
        yield f"jnp.full({text_of(shape)}, {x[0]})"
        yield f"jnp.broadcast_to({x[0]}, {text_of(shape)})"
    if len(shape) - len(kept) == 1:
        yield f"{x[0]}[None]"
        yield f"{x[0]}[..., None]"
        yield f"{x[0]}[:, None]"
    yield f"lax.broadcast_in_dim({x[0]}, {text_of(shape)}, {text_of(kept)})"


def _convolved(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    params = equation.params
    given = [
        text_of(params[key])
        for key in ("window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers")
    ]
    kept = ("feature_group_count", "batch_group_count", "precision")
    given += [f"{key}={text_of(params[key])}" for key in kept]
    if params.get("preferred_element_type") is not None:
        given.append(f"preferred_element_type={dtype_of(params['preferred_element_type'])}")
    yield f"lax.conv_general_dilated({x[0]}, {x[1]}, {', '.join(given)})"


def _cast(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    dtype = dtype_of(equation.params["new_dtype"])
    yield f"{x[0]}.astype({dtype})"
    yield f"lax.convert_element_type({x[0]}, {dtype})"
    yield f"jnp.asarray({x[0]}, {dtype})"
    if equation.params.get("weak_type"):
        kinds = {"f": "float", "i": "int", "c": "complex"}
        yield f"lax.convert_element_type({x[0]}, {kinds.get(equation.params['new_dtype'].kind, dtype)})"
        yield f"weak({x[0]}, {dtype})"


def _iota(equation: core.JaxprEqn, _: Operands) -> Iterator[str]:
    params = equation.params
    shape, dtype = params["shape"], dtype_of(params["dtype"])
    if len(shape) == 1:
        yield f"jnp.arange({shape[0]}, dtype={dtype})"
    yield f"lax.broadcasted_iota({dtype}, {text_of(shape)}, {params['dimension']})"


def _unset(equation: core.JaxprEqn, _: Operands) -> Iterator[str]:
    aval = _aval(equation.outvars[0])
    yield f"lax.empty({text_of(tuple(aval.shape))}, {dtype_of(aval.dtype)})"


def _printed(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    """`jax.debug.print`; the tree of its operands says which are given by name."""
    params = equation.params
    given = jax.tree.unflatten(params["in_tree"], list(x))
    if params.get("static_args"):
        raise RefusedError("a print of what is no array")
    args, kwargs = given
    parts = [repr(params["fmt"]), *map(str, args), *(f"{key}={value}" for key, value in kwargs.items())]
    if params.get("ordered"):
        parts.append("ordered=True")
    yield f"jax.debug.print({', '.join(parts)})"


def _put(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    """`jax.device_put` of arrays that go to the same place."""
    places = {text_of(one) for one in equation.params["devices"]}
    to = [one for one in places if one != "None"]
    for given in (x[0], tuple_of(x)):
        for more in ([], ["may_alias=False"]):
            yield f"jax.device_put({', '.join([given, *to, *more])})"


class _Words(dict[str, str]):
    """The names in a template: `x0` is an operand, `x` all of them, `rest` all but the first, others are parameters."""

    def __init__(self, equation: core.JaxprEqn, x: Operands) -> None:
        numbered = {f"x{place}": one for place, one in enumerate(x)}
        super().__init__(numbered, x=", ".join(x), rest=tuple_of(x[1:]), after=tuple_of(x[2:]), all=tuple_of(x))
        self._params = equation.params

    def __missing__(self, key: str) -> str:
        value = self._params[key]
        return text_of(tuple(value) if isinstance(value, list) else value)


_AS_THEY_ARE = ", allow_negative_indices=False"
"""Whoever wrote the equation has counted negative indices from the end before."""

_TEMPLATES = {
    "max": ("jnp.maximum({x})",),
    "min": ("jnp.minimum({x})",),
    "select_n": ("jnp.where({x0}, {x2}, {x1})", "lax.select({x0}, {x2}, {x1})"),
    "random_unwrap": ("jax.random.key_data({x0})",),
    "reshape": ("{x0}.reshape({new_sizes})",),
    "squeeze": ("jnp.squeeze({x0}, {dimensions})",),
    "transpose": ("{x0}.T", "jnp.transpose({x0}, {permutation})"),
    "concatenate": ("jnp.concatenate([{x}], axis={dimension})",),
    "dynamic_slice": tuple(
        f"lax.dynamic_slice({{x0}}, {{rest}}, {{slice_sizes}}{more})" for more in ("", _AS_THEY_ARE)
    ),
    "dynamic_update_slice": tuple(
        f"lax.dynamic_update_slice({{x0}}, {{x1}}, {{after}}{more})" for more in ("", _AS_THEY_ARE)
    ),
    "stack": ("jnp.stack([{x}])", "jnp.stack([{x}], axis={axis})"),
    "fft": ("lax.fft({x0}, {fft_type}, {fft_lengths})",),
    "optimization_barrier": ("lax.optimization_barrier({all})",),
    "pad": ("lax.pad({x0}, {x1}, {padding_config})",),
    "rev": ("jnp.flip({x0}, {dimensions})",),
    "split": ("lax.split({x0}, {sizes}, {axis})",),
    "top_k": ("lax.top_k({x0}, {k})",),
    "copy": ("jnp.array({x0}, copy=True)",),
    "copy_p": ("jnp.array({x0}, copy=True)",),
    "logistic": ("jax.nn.sigmoid({x0})",),
    "regularized_incomplete_beta": ("lax.betainc({x})",),
    "sort": (
        "jnp.sort({x0}, axis={dimension})",
        "lax.sort({all}, dimension={dimension}, is_stable={is_stable}, num_keys={num_keys})",
    ),
    "name": ("jax.ad_checkpoint.checkpoint_name({x0}, {name})",),
    "random_gamma": ("jax.random.loggamma({x0}, {x1})", "jax.random.gamma({x0}, {x1})"),
    "random_clone": ("jax.random.clone({x0})",),
    "reshard": ("jax.sharding.reshard({x0}, {dst_sharding})",),
    "sharding_constraint": ("lax.with_sharding_constraint({x0}, {sharding})",),
    **{
        name: (f"lax.{name}({{x0}}, axis={{axis}}, reverse={{reverse}})",)
        for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
    },
}


def _templates(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    words = _Words(equation, x)
    for one in _TEMPLATES[equation.primitive.name]:
        try:
            yield one.format_map(words)
        except KeyError:  # Another JAX has other parameters.
            continue


_SCATTERS = ("scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max", "scatter_sub")

_BY_NAME: dict[str, Callable[..., Iterator[str]]] = {
    **dict.fromkeys(_TEMPLATES, _templates),
    "dot_general": _dot,
    **dict.fromkeys(_REDUCTIONS, _reduced),
    "broadcast_in_dim": _broadcast,
    "slice": sliced,
    "stop_gradient": stopped,
    "gather": gathered,
    **dict.fromkeys((*_SCATTERS, *(one.replace("_", "-") for one in _SCATTERS)), scattered),
    "conv_general_dilated": _convolved,
    "convert_element_type": _cast,
    "iota": _iota,
    "random_seed": seeded,
    "random_wrap": wrapped,
    "random_split": split_keys,
    "random_fold_in": folded_in,
    "random_bits": drawn,
    "empty": _unset,
    "empty2": _unset,
    "debug_print": _printed,
    **dict.fromkeys(("reduce_window_max", "reduce_window_min", "reduce_window_sum"), windowed),
    "select_and_scatter_add": pulled_back,
    "select_and_gather_add": pushed_forward,
    "device_put": _put,
    "call_hi_primitive": high_level,
    "svd": singular_values,
    "eigh": eigenvalues,
    "approx_top_k": nearly_largest,
    **SPARSE,
}
