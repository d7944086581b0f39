"""Write blocks over a mesh of devices, and the operations in them that exchange values between devices."""

from __future__ import annotations

import jax

from jax_debug_widgets._jax.studies.export.bodies import WRITERS, ExportedStep, bare, write_function
from jax_debug_widgets._jax.studies.export.literals import RefusedError, mesh_of, text_of


def _shard_map(step: ExportedStep) -> list[str]:
    params, name = step.equation.params, step.name("per_device")
    mesh = params["mesh"]
    lines = write_function(step.module, params["jaxpr"], step.body("jaxpr"), used=step.used).defined(name)
    specs = f"in_specs={text_of(tuple(params['in_specs']))}, out_specs={bare(list(map(text_of, params['out_specs'])))}"
    more = f"{name}, mesh={mesh_of(mesh)}, {specs}, check_vma={params.get('check_vma', True)}"
    manual = {*(params.get("newly_manual_axes") or params.get("manual_axes") or mesh.axis_names)}
    if manual != {*mesh.axis_names}:
        more += f", axis_names={{{', '.join(map(repr, sorted(manual, key=str)))}}}"
    return [*lines, step.called(f"jax.shard_map({more})({', '.join(step.x)})")]


def _collective(step: ExportedStep) -> list[str]:
    """Write a collective. It needs a mesh to be traced, so only the trace of the whole program proves the text."""
    name, params = step.equation.primitive.name.removesuffix("_invariant"), step.equation.params
    axes = params["axes"]
    if not axes:
        return [f"{made} = {one}" for made, one in zip(step.made, step.x, strict=True)]
    axes = text_of(axes[0] if len(axes) == 1 else tuple(axes))
    if params.get("axis_index_groups") is not None:
        raise RefusedError("groups of a mesh axis")
    if name in ("pvary", "pcast"):
        cast = f"lax.pcast({step.x[0]}, {axes}, to='varying')"
        return [step.called(cast if hasattr(jax.lax, "pcast") else f"lax.pvary({step.x[0]}, {axes})")]
    calls = [f"lax.{name}({one}, {axes})" for one in step.x]
    return [f"{made} = {call}" for made, call in zip(step.made, calls, strict=True)]


def _axis_index(step: ExportedStep) -> list[str]:
    return [f"{step.made[0]} = lax.axis_index({text_of(step.equation.params['axis_name'])})"]


_EXCHANGES = {
    "all_gather": ("all_gather", {"all_gather_dimension": "axis"}, ""),
    "all_gather_invariant": ("all_gather", {"all_gather_dimension": "axis"}, "to='invarying'"),
    "reduce_scatter": ("psum_scatter", {"scatter_dimension": "scatter_dimension"}, ""),
    "all_to_all": ("all_to_all", {"split_axis": "split_axis", "concat_axis": "concat_axis"}, ""),
    "ppermute": ("ppermute", {"perm": "perm"}, ""),
}
"""Primitive -> the function of `jax.lax`, its parameters and what they are called there, and a further argument."""


def _exchange(step: ExportedStep) -> list[str]:
    """Write an exchange of parts of arrays; as in `_collective`, only the whole program proves the text."""
    params = step.equation.params
    function, own, more = _EXCHANGES[step.equation.primitive.name]
    axes = params["axis_name"]
    axes = axes[0] if isinstance(axes, tuple) and len(axes) == 1 else axes
    given = [step.x[0], text_of(axes), *(f"{word}={text_of(params[key])}" for key, word in own.items())]
    if params.get("axis_index_groups") is not None:
        given.append(f"axis_index_groups={text_of(params['axis_index_groups'])}")
    if params.get("tiled"):
        given.append("tiled=True")
    return [step.called(f"lax.{function}({', '.join([*given, *([more] if more else [])])})")]


WRITERS |= {
    "shard_map": _shard_map,
    **dict.fromkeys(("psum", "psum_invariant", "pmax", "pmin", "pvary", "pcast"), _collective),
    **dict.fromkeys(_EXCHANGES, _exchange),
    "axis_index": _axis_index,
}
