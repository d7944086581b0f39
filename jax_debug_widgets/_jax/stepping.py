"""Run a program equation by equation, and tell before each one where it stands."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax._src import api_util, core

from jax_debug_widgets._jax import versions
from jax_debug_widgets._jax.frames import UNKNOWN_FRAME, Frame, frames_in_body, frames_of


@dataclass(frozen=True)
class Standing:
    """The program is about to run an equation.

    Attributes:
      equation: its text, `c:f32[3] = sin b`.
      primitive: its name.
      frame: the user's line that it comes from; of an equation of JAX's own functions the line that called them.
      by_jax: whether it is such a one.
      path: the bodies it is in, outermost first: `scan, step 2`.
      variables: what has been computed in this body, by the name in the source where there is one, else JAX's.
      has_body: whether it can be stepped into.
      outer: where the bodies around it stand, innermost first.
    """

    equation: str
    primitive: str
    frame: Frame
    path: tuple[str, ...]
    variables: dict[str, Any]
    has_body: bool
    by_jax: bool = False
    outer: tuple[Standing, ...] = ()


Ask = Callable[[Standing], bool]
"""Called before each equation; whether to step into its body. May raise to end the program."""


def run_stepwise(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], ask: Ask) -> Any:
    """The value of `function(*args, **kwargs)`, run equation by equation.

    Values are those of un-jitted JAX: XLA has fused nothing, so that last digits may differ from the compiled program's.

    Raises:
      Exception: what tracing the function raises, what an equation raises, what `ask` raises.
    """
    flat, tree = jax.tree.flatten((args, kwargs))
    is_array = [isinstance(leaf, core.Tracer | jax.Array) or _is_numeric(leaf) for leaf in flat]
    outputs: list[Any] = []

    def on_arrays(*arrays: Any) -> list[Any]:
        rest = iter(arrays)
        leaves = [next(rest) if array else leaf for array, leaf in zip(is_array, flat, strict=True)]
        filled_args, filled_kwargs = jax.tree.unflatten(tree, leaves)
        result = function(*filled_args, **filled_kwargs)
        leaves, out_tree = jax.tree.flatten(result)
        outputs[:] = [out_tree]
        return leaves

    operands = [jnp.asarray(leaf) for array, leaf in zip(is_array, flat, strict=True) if array]
    program = jax.make_jaxpr(on_arrays)(*operands)
    names = getattr(function, "__name__", "f")
    results = _Run(ask).body(program.jaxpr, program.consts, operands, (names,), is_whole=True)
    return jax.tree.unflatten(outputs[0], results)


def _is_numeric(leaf: Any) -> bool:
    return isinstance(leaf, bool | int | float | complex) or hasattr(leaf, "__array__")


class _Run:
    """One run of a program; bodies are run by Python where they are stepped into, as they are where not."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._outer: tuple[Standing, ...] = ()
        self._around: tuple[Frame, ...] = ()

    def body(
        self,
        jaxpr: core.Jaxpr,
        consts: Sequence[Any],
        operands: Sequence[Any],
        path: tuple[str, ...],
        *,
        is_whole: bool = False,
    ) -> list[Any]:
        """The outputs of a jaxpr. A whole program that is one call of another (a jitted function) is gone straight into."""
        values: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *operands), strict=True))
        names = _argument_names(jaxpr)

        def read(atom: Any) -> Any:
            return atom.val if isinstance(atom, core.Literal) else values[atom]

        for equation in jaxpr.eqns:
            inputs = [read(atom) for atom in equation.invars]
            inner: Any = _INTO.get(equation.primitive.name)
            shown = {names[variable]: value for variable, value in values.items() if variable in names}
            traceback = equation.source_info.traceback
            own = next(iter(frames_in_body(traceback, jaxpr, self._around)), UNKNOWN_FRAME)
            standing = _standing(equation, own, path, shown, self._outer)
            if is_whole and len(jaxpr.eqns) == 1 and inner is _into_jit:
                results = inner(self, equation, inputs, path)
            elif self._ask(standing) and inner is not None:
                outside = self._outer, self._around
                self._outer, self._around = (standing, *self._outer), frames_of(traceback)
                results = inner(self, equation, inputs, (*path, _name_of(equation)))
                self._outer, self._around = outside
            else:
                results = _bind(equation, inputs)
            values.update(zip(equation.outvars, results, strict=True))
            _name_results(equation, own, names)
        return [read(atom) for atom in jaxpr.outvars]

    def closed(self, program: Any, operands: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
        """The outputs of a closed jaxpr."""
        return self.body(program.jaxpr, program.consts, operands, path)


_NO_NAMES = api_util.debug_info("step", lambda: None, (), {}).with_unknown_names()


def _bind(equation: core.JaxprEqn, inputs: Sequence[Any]) -> list[Any]:
    """What the equation computes, as JAX runs a program of this equation alone."""
    values = {atom: x for atom, x in zip(equation.invars, inputs, strict=True) if not isinstance(atom, core.Literal)}
    program = core.Jaxpr((), list(values), list(equation.outvars), [equation], equation.effects, _NO_NAMES)
    return list(core.eval_jaxpr(program, (), *values.values()))


def _into_jit(run: _Run, equation: core.JaxprEqn, inputs: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
    return run.closed(equation.params["jaxpr"], inputs, path)


def _into_call(key: str, run: _Run, equation: core.JaxprEqn, inputs: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
    program = equation.params[key]
    if isinstance(program, core.Jaxpr):
        return run.body(program, (), inputs, path)
    return run.closed(program, inputs, path)


def _into_cond(run: _Run, equation: core.JaxprEqn, inputs: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
    index, *operands = inputs
    branches = equation.params["branches"]
    taken = min(max(int(index), 0), len(branches) - 1)
    return run.closed(branches[taken], operands, (*path[:-1], f"cond, branch {taken}"))


def _into_while(run: _Run, equation: core.JaxprEqn, inputs: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
    params = equation.params
    of_cond, of_body = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts = inputs[:of_cond], inputs[of_cond : of_cond + of_body]
    carry = list(inputs[of_cond + of_body :])
    step = 0
    # The condition is run as it is: it would be in the way of going through the body.
    while bool(core.jaxpr_as_fun(params["cond_jaxpr"])(*cond_consts, *carry)[0]):
        carry = run.closed(params["body_jaxpr"], [*body_consts, *carry], (*path[:-1], f"while, step {step}"))
        step += 1
    return carry


def _into_scan(run: _Run, equation: core.JaxprEqn, inputs: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
    params = equation.params
    (of_consts, of_carry), length = versions.scan_counts(params), params["length"]
    consts, carry = list(inputs[:of_consts]), list(inputs[of_consts : of_consts + of_carry])
    xs = inputs[of_consts + of_carry :]
    if length == 0:
        return _bind(equation, inputs)
    stacked: list[list[Any]] = []
    order = range(length - 1, -1, -1) if params["reverse"] else range(length)
    for step in order:
        outputs = run.closed(
            params["jaxpr"], [*consts, *carry, *(x[step] for x in xs)], (*path[:-1], f"scan, step {step}")
        )
        carry = outputs[:of_carry]
        stacked.append(outputs[of_carry:])
    rows = stacked[::-1] if params["reverse"] else stacked
    return [*carry, *(jnp.stack(column) for column in zip(*rows, strict=True))]


_INTO: dict[str, Any] = {
    "jit": _into_jit,
    "pjit": _into_jit,
    "closed_call": functools.partial(_into_call, "call_jaxpr"),
    "core_call": functools.partial(_into_call, "call_jaxpr"),
    "custom_jvp_call": functools.partial(_into_call, "call_jaxpr"),
    "custom_vjp_call": functools.partial(_into_call, "call_jaxpr"),
    "checkpoint": functools.partial(_into_call, "jaxpr"),
    "remat2": functools.partial(_into_call, "jaxpr"),
    "cond": _into_cond,
    "while": _into_while,
    "scan": _into_scan,
}


def _name_of(equation: core.JaxprEqn) -> str:
    name = equation.params.get("name")
    return f"{equation.primitive.name} {name}" if isinstance(name, str) and name else equation.primitive.name


def _standing(
    equation: core.JaxprEqn, own: Frame, path: tuple[str, ...], variables: dict[str, Any], outer: tuple[Standing, ...]
) -> Standing:
    by_jax = own is UNKNOWN_FRAME
    outputs = ", ".join(f"{_letter(v)}:{v.aval.str_short(short_dtypes=True)}" for v in equation.outvars)
    inputs = " ".join(str(a.val) if isinstance(a, core.Literal) else _letter(a) for a in equation.invars)
    return Standing(
        equation=f"{outputs} = {_name_of(equation)} {inputs}".strip(),
        primitive=equation.primitive.name,
        frame=outer[0].frame if by_jax and outer else own,
        path=path,
        variables=variables,
        has_body=equation.primitive.name in _INTO,
        by_jax=by_jax,
        outer=outer,
    )


_CONTEXT = core.JaxprPpContext()
"""Gives variables their letters; one for all programs, so that none has two."""


def _letter(variable: Any) -> str:
    return "_" if isinstance(variable, core.DropVar) else str(core.pp_var(variable, _CONTEXT))


def _argument_names(jaxpr: core.Jaxpr) -> dict[Any, str]:
    """The arguments of a body, as its function calls them."""
    info = getattr(jaxpr, "debug_info", None)
    found = getattr(info, "arg_names", None) or ()
    named = zip(jaxpr.invars, found, strict=False) if len(found) == len(jaxpr.invars) else ()
    return {variable: name for variable, name in named if name}


def _name_results(equation: core.JaxprEqn, frame: Frame, names: dict[Any, str]) -> None:
    """Name what an equation computes after the variable that its source line assigns, if it is the whole right-hand side."""
    target = _assigned(frame.file, frame.line, frame.column, frame.end_line, frame.end_column)
    for number, variable in enumerate(equation.outvars):
        if isinstance(variable, core.DropVar):
            continue
        name = target[number] if len(target) == len(equation.outvars) else _letter(variable)
        for old in [known for known, called in names.items() if called == name]:
            del names[old]  # Assigned anew.
        names[variable] = name


@functools.lru_cache(maxsize=4096)
def _assigned(file: str, line: int, column: int, end_line: int, end_column: int) -> tuple[str, ...]:
    """The names that the statement with this right-hand side assigns."""
    for node in _assignments(file):
        value = node.value
        if value is not None and (value.lineno, value.col_offset, value.end_lineno, value.end_col_offset) == (
            line,
            column,
            end_line,
            end_column,
        ):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            return (
                tuple(part.id for part in parts if isinstance(part, ast.Name))
                if all(isinstance(part, ast.Name) for part in parts)
                else ()
            )
    return ()


@functools.lru_cache(maxsize=64)
def _assignments(file: str) -> tuple[Any, ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    return tuple(_walk(tree))


def _walk(tree: ast.AST) -> Iterator[Any]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            yield node
