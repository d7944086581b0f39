"""Write equations that run programs: calls, loops, branches, blocks over a mesh, host functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import is_users
from jax_debug_widgets._jax.studies.export.bodies import WRITERS, ExportedStep, bare, sequence, write_function
from jax_debug_widgets._jax.studies.export.jit_options import left_out
from jax_debug_widgets._jax.studies.export.library import library_calls
from jax_debug_widgets._jax.studies.export.literals import dtype_of, text_of
from jax_debug_widgets._jax.studies.export.module import Names
from jax_debug_widgets._jax.studies.programs import opened


def _call(key: str, step: ExportedStep) -> list[str]:
    text = step.module.proofs.text(library_calls, step.equation, step.names)
    if text is not None:
        return [step.called(text)]
    program, name = step.equation.params[key], str(step.equation.params.get("name", "function"))
    for one in left_out(step.equation.params, name):
        step.module.note(one)
    name = _of_role(name, step)

    def write(own: str) -> list[str]:
        return ["@jax.jit", *write_function(step.module, program, step.body(key)).defined(own)]

    function = step.module.shared(step.module.keep(opened(program)[0]), name, write)
    return [step.called(f"{function}({', '.join(step.x)})")]


def _scan(step: ExportedStep) -> list[str]:
    params, x = step.equation.params, step.x
    read, carried = versions.scan_counts(params)
    name = step.name(_called(params["jaxpr"], step, "step"))
    body = write_function(step.module, params["jaxpr"], step.body("jaxpr"), step.outer(0, read), step.used)
    (carry, *more), first = _parameters(step, (body.params[:carried], "carry"), (body.params[carried:], "xs"))
    gives = f"{bare(body.results[:carried])}, {bare(body.results[carried:])}"
    options = "".join(
        f", {key}={params[key]!r}" for key, usual in (("reverse", False), ("unroll", 1)) if params[key] != usual
    )
    given = f"{name}, {bare(x[read : read + carried])}, {bare(x[read + carried :])}"
    ends, stacked = (bare(part) if part else "_" for part in (step.made[:carried], step.made[carried:]))
    call = f"lax.scan({given}, length={params['length']}{options})"
    return [*body.defined(name, ", ".join([carry, *more]), first, gives), f"{ends}, {stacked} = {call}"]


def _called(program: Any, step: ExportedStep, otherwise: str) -> str:
    """The name of the user's function that a loop or a branch runs; `otherwise` for a lambda and a function of a library."""
    about = opened(program)[0].debug_info
    file, name = getattr(about, "func_filename", None), getattr(about, "func_name", "")
    wanted = name if file and is_users(file) and name.isidentifier() else otherwise
    return _of_role(wanted, step)


def _of_role(name: str, step: ExportedStep) -> str:
    """The name of a function that an equation runs, which says so if it is a part of the backward pass."""
    return f"{name}_backward" if step.read.role == "backward" else name


def _parameters(step: ExportedStep, *groups: tuple[Sequence[str], str]) -> tuple[list[str], list[str]]:
    """The parameters of a loop's function, one a group, and the lines that take several values out of one.

    A parameter has no name that the function reads from outside, or that another line takes out.
    """
    taken = Names({*step.uses, *(name for names, _ in groups for name in names)})
    params = [names[0] if len(names) == 1 else step.module.local(wanted, taken) for names, wanted in groups]
    return params, [
        f"{sequence(names)} = {name}" for (names, _), name in zip(groups, params, strict=True) if len(names) > 1
    ]


def _while(step: ExportedStep) -> list[str]:
    params, x = step.equation.params, step.x
    read_by_cond, read_by_body = params["cond_nconsts"], params["body_nconsts"]
    first = read_by_cond + read_by_body
    go_on = step.name(_called(params["cond_jaxpr"], step, "go_on"))
    one_step = step.name(_called(params["body_jaxpr"], step, "step"))
    condition = write_function(
        step.module, params["cond_jaxpr"], step.body("cond_jaxpr"), step.outer(0, read_by_cond), step.used
    )
    body = write_function(
        step.module, params["body_jaxpr"], step.body("body_jaxpr"), step.outer(read_by_cond, first), step.used
    )
    lines = []
    for function, name in ((condition, go_on), (body, one_step)):
        (state,), unpacked = _parameters(step, (function.params, "state"))
        lines += function.defined(name, state, unpacked)
    goes_on: Any = opened(params["cond_jaxpr"])[0].outvars[0].aval
    lanes = goes_on.shape
    if lanes:
        step.module.note("a while loop under vmap goes on while any lane does; lanes that are over keep what they have")
        go_on, one_step = _over_lanes(step, go_on, one_step, len(lanes), lines)
    return [*lines, step.called(f"lax.while_loop({go_on}, {one_step}, {bare(x[first:])})")]


def _over_lanes(step: ExportedStep, go_on: str, one_step: str, rank: int, lines: list[str]) -> tuple[str, str]:
    """A loop whose condition has axes, which `lax.while_loop` does not take, as JAX lowers it."""
    any_goes_on, of_lanes = step.name(f"any_{go_on}"), step.name(f"{one_step}_of_lanes")
    lines += [
        f"def {any_goes_on}(state):",
        f"    return jnp.any({go_on}(state))",
        f"def {of_lanes}(state):",
        f"    goes_on = {go_on}(state)",
        f"    spread = lambda new: goes_on.reshape(goes_on.shape + (1,) * (new.ndim - {rank}))",
        f"    return jax.tree.map(lambda new, old: jnp.where(spread(new), new, old), {one_step}(state), state)",
    ]
    return any_goes_on, of_lanes


_TWO = 2
"""The number of branches of a `cond` that is written as an if."""


def _cond(step: ExportedStep) -> list[str]:
    branches = step.equation.params["branches"]
    names, lines = [], []
    for place, branch in enumerate(branches):
        plain = ("if_false", "if_true")[place] if len(branches) == _TWO else f"branch_{place}"
        name = step.name(_called(branch, step, plain))
        names.append(name)
        lines += write_function(step.module, branch, step.body(f"branch_{place}_fun"), used=step.used).defined(name)
    index, *x = step.x
    more = "".join(f", {one}" for one in x)
    chosen = step.equation.invars[0]
    maker = step.makers.get(chosen) if step.names[0] else None
    if (platforms := step.equation.params.get("branches_platforms")) is not None:
        step.uses = {one for one in step.names[1:] if one}
        call = f"lax.platform_dependent({', '.join([*x, *_by_platform(platforms, names)])})"
    elif len(branches) == _TWO and isinstance(chosen, core.Literal):
        call = f"lax.cond({bool(chosen.val)}, {names[1]}, {names[0]}{more})"
    elif len(branches) == _TWO and maker is not None and _is_of_condition(maker):
        step.uses = {one for one in (*step.names[1:], maker.x[0]) if one}
        call = f"lax.cond({maker.x[0]}, {names[1]}, {names[0]}{more})"
    else:
        if maker is not None and _is_clamp_to(maker, len(branches)):  # `lax.switch` clamps by itself.
            index = maker.x[1]
            step.uses = {one for one in (*step.names[1:], index) if one}
        call = f"lax.switch({index}, [{', '.join(names)}]{more})"
    return [*lines, step.called(call)]


def _by_platform(platforms: Sequence[Sequence[str] | None], names: Sequence[str]) -> list[str]:
    """The branches of `lax.platform_dependent`, each by its platforms."""
    pairs = zip(platforms, names, strict=True)
    return [f"{one}={name}" for own, name in pairs for one in (("default",) if own is None else own)]


def _platform_index(step: ExportedStep) -> list[str]:
    """The number of a platform. Branches by platform do not read it: `lax.platform_dependent` chooses."""
    return [step.called("jnp.int32(0)  # JAX chooses a branch by the platform")]


def _is_of_condition(maker: ExportedStep) -> bool:
    if maker.equation.primitive.name != "convert_element_type":
        return False
    aval: Any = maker.equation.invars[0].aval
    return aval.dtype == bool and not aval.shape


def _is_clamp_to(maker: ExportedStep, count: int) -> bool:
    ends = [getattr(one, "val", None) for one in maker.equation.invars[::2]]
    return maker.equation.primitive.name == "clamp" and ends == [0, count - 1]


def _pure_callback(step: ExportedStep) -> list[str]:
    params = step.equation.params
    method = params.get("vmap_method")
    more = f", vmap_method={method!r}" if method else ""
    return [step.called(f"jax.pure_callback({_host_call(step)}{more})")]


def _io_callback(step: ExportedStep) -> list[str]:
    more = ", ordered=True" if step.equation.params.get("ordered") else ""
    return [step.called(f"jax.experimental.io_callback({_host_call(step)}{more})")]


def _host_call(step: ExportedStep) -> str:
    params = step.equation.params
    results: Any = [one.aval for one in step.equation.outvars]
    shapes = [f"jax.ShapeDtypeStruct({text_of(tuple(one.shape))}, {dtype_of(one.dtype)})" for one in results]
    gives = bare(shapes)
    return ", ".join([_host(step, params["callback"], gives), gives, *step.x])


def _debug_callback(step: ExportedStep) -> list[str]:
    more = ", ordered=True" if "Ordered" in str(step.equation.params.get("effect", "")) else ""
    host = _host(step, step.equation.params["callback"], "None")
    return [f"jax.debug.callback({', '.join([host, *step.x])}{more})"]


def _host(step: ExportedStep, callback: Any, gives: str) -> str:
    function = _innermost(callback)
    takes = [one.aval.str_short() for one in step.equation.invars]
    return step.module.host(
        function, getattr(function, "__name__", "function").replace("<lambda>", "host_function"), takes, gives
    )


def _innermost(callback: Any) -> Any:
    """The user's function: JAX's own are around it."""
    for _ in range(8):
        inner = getattr(callback, "callback_func", None) or getattr(callback, "__wrapped__", None)
        closed_over = [getattr(cell, "cell_contents", None) for cell in getattr(callback, "__closure__", None) or ()]
        is_ours = getattr(callback, "__module__", "").startswith("jax.")
        inner = inner or next((one for one in closed_over if is_ours and callable(one)), None)
        if inner is None:
            return callback
        callback = inner
    return callback


def _jit(step: ExportedStep) -> list[str]:
    return _call("jaxpr", step)


def _closed_call(step: ExportedStep) -> list[str]:
    return _call("jaxpr" if "jaxpr" in step.equation.params else "call_jaxpr", step)


def _remat(step: ExportedStep) -> list[str]:
    params, name = step.equation.params, step.name("recomputed")
    body = write_function(step.module, params["jaxpr"], step.body("jaxpr"), used=step.used)
    lines = body.defined(name)
    if params["differentiated"]:
        keeps = params["prevent_cse"]
        if not (keeps if isinstance(keeps, bool) else any(keeps)):
            step.module.note("what jax.checkpoint computes again is a function here: it has prevent_cse=False")
            return [*lines, step.called(f"{name}({', '.join(step.x)})")]
        step.module.note(
            "what jax.checkpoint computes again stands behind a lax.optimization_barrier, as JAX lowers it"
        )
        return [*lines, step.called(f"{name}(*lax.optimization_barrier({sequence(step.x)}))")]
    more = [] if params["prevent_cse"] is True else [f"prevent_cse={params['prevent_cse']!r}"]
    policy = params["policy"]
    if policy is not None:
        policies = jax.checkpoint_policies
        known = next((one for one in dir(policies) if getattr(policies, one) is policy), None)
        if known is None:
            step.module.note(
                "a policy of jax.checkpoint is left out: it has no name; it matters where you differentiate"
            )
        else:
            more.append(f"policy=jax.checkpoint_policies.{known}")
    wrapped = f"@functools.partial(jax.checkpoint, {', '.join(more)})" if more else "@jax.checkpoint"
    return [wrapped, *lines, step.called(f"{name}({', '.join(step.x)})")]


WRITERS |= {
    **dict.fromkeys(("jit", "pjit"), _jit),
    **dict.fromkeys(("closed_call", "core_call", "eval_jaxpr"), _closed_call),
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "platform_index": _platform_index,
    "pure_callback": _pure_callback,
    "io_callback": _io_callback,
    "debug_callback": _debug_callback,
    **dict.fromkeys(("remat", "remat2", "checkpoint"), _remat),
}
