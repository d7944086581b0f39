"""Write a function as the files of a package."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

import jax_debug_widgets._jax.studies.export.calls
import jax_debug_widgets._jax.studies.export.functions
import jax_debug_widgets._jax.studies.export.meshes
import jax_debug_widgets._jax.studies.export.rules
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.numbers import on_host
from jax_debug_widgets._jax.studies.export import runtime
from jax_debug_widgets._jax.studies.export.bodies import ExportedFunction, Outer, text_of_atom, write_function
from jax_debug_widgets._jax.studies.export.call import ArrayCall, is_no_array, is_no_float
from jax_debug_widgets._jax.studies.export.jit_options import left_out
from jax_debug_widgets._jax.studies.export.module import Host, Names, WrittenModule, fresh, identifier, indented
from jax_debug_widgets._jax.studies.export.trees import FunctionArguments, built, read_arguments
from jax_debug_widgets._jax.studies.programs import ProgramAnnotations, program_of, runs_one_call
from jax_debug_widgets._jax.studies.trace import Traced, function_name, trace
from jax_debug_widgets._jax.tracing.expressions import LinesOf
from jax_debug_widgets.graphs.program import Program


@dataclass(frozen=True, eq=False)
class FunctionText:
    """A function as text.

    Attributes:
      name: the name of the function. `module`: the text of its module.
      constants: its arrays as NumPy arrays, each under its name and kind: see `runtime.load_arrays`.
      refused: the parts that cannot be written; if there are any, ignore the rest. `notes`: the parts that are written
        differently from JAX's trace.
    """

    name: str
    module: str
    constants: Mapping[str, np.ndarray]
    hosts: Sequence[Host]
    refused: Sequence[str]
    notes: Sequence[str]
    call: ArrayCall
    program: Program


def write_package(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    lines_of: LinesOf,
    reading: ProgramAnnotations,
    name: str | None,
) -> FunctionText:
    """Trace a call and write it; nothing runs. Whole numbers are arguments unless the function needs to know them.

    Raises:
      Exception: what tracing the function raises.
    """
    try:
        call, traced = _traced(function, args, kwargs, lines_of, is_no_array)
    except (jax.errors.ConcretizationTypeError, TypeError, ValueError, IndexError):
        if not any(isinstance(leaf, int) for leaf in jax.tree.leaves((args, dict(kwargs)))):
            raise
        call, traced = _traced(function, args, kwargs, lines_of, is_no_float)
    program = program_of(traced, reading)
    called = identifier(name or function_name(function), "f")
    module = WrittenModule(program, reading, functools.partial(_known_array, call.function))
    with module.width.traced():
        return _written(call, traced, program, module, called)


def _traced(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    lines_of: LinesOf,
    is_fixed: Callable[[Any], bool],
) -> tuple[ArrayCall, Traced]:
    given, keywords = _given(function, args, kwargs)
    call = ArrayCall(function, args, kwargs, given, keywords, is_fixed)

    def arrays_of(*arrays: Any) -> list[Any]:
        return call.on_leaves(function, *arrays)

    arrays_of.__name__ = function_name(function)
    traced = trace(arrays_of, call.operands(), {}, lines_of, whole_numbers=True)
    names = tuple(text for text, _, leaf in read_arguments(given).leaves if not is_fixed(leaf))
    about = traced.jaxpr.debug_info._replace(arg_names=names)
    return call, replace(traced, jaxpr=traced.jaxpr.replace(debug_info=about))


def _given(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], frozenset[str]]:
    """The arguments by the names of the parameters."""
    given: dict[str, Any] = {}
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    used = Names()
    for place, value in enumerate(args):
        wanted = plain[place] if place < len(plain) else f"x{place}"
        given[fresh(identifier(wanted, "x"), used)] = value
    return {**given, **dict(sorted(kwargs.items()))}, frozenset(kwargs)


def _written(call: ArrayCall, traced: Traced, program: Program, module: WrittenModule, name: str) -> FunctionText:
    module.variables |= set(call.given)
    name = module.name(name)
    arguments = read_arguments(call.given)
    taken = Names({*module.used, *call.given})
    texts, unpacked = _unpacked(call, arguments, taken)
    whole = traced.jaxpr
    program_jaxpr: Any = _Program(whole, traced.consts)
    inputs = list(whole.invars)
    outer: dict[int, Outer] = dict(enumerate(texts))
    if runs_one_call(whole):
        equation = whole.eqns[0]
        for one in left_out(equation.params, str(equation.params.get("name", name))):
            module.note(one)
        program_jaxpr = equation.params["jaxpr"]
        of = dict(zip(inputs, texts, strict=True)) | {
            one: module.constant(value) for one, value in zip(whole.constvars, traced.consts, strict=True)
        }
        outer = {
            place: atom if isinstance(atom, core.Literal) else of[atom] for place, atom in enumerate(equation.invars)
        }
    body = write_function(module, program_jaxpr, program.body, outer, taken)
    results = list(body.results)
    if program_jaxpr.jaxpr is not whole:
        results = _through(whole, results, dict(zip(inputs, texts, strict=True)))
    imports: set[str] = set()
    returned = _returned(call, results, arguments, imports, module)
    text = _text_of(
        name, call, ExportedFunction(list(call.given), [*unpacked, *body.lines], []), returned, module, imports, program
    )
    constants = dict(stored(key, value) for key, value in module.constants.items())
    return FunctionText(
        name, text, constants, module.hosts, list(dict.fromkeys(module.refused)), list(module.notes), call, program
    )


@dataclass
class _Program:
    jaxpr: Any
    consts: Sequence[Any]


def _through(whole: Any, results: Sequence[str], inputs: Mapping[Any, str]) -> list[str]:
    """The results of a program that only calls another: some may be its inputs."""
    known = {**inputs, **dict(zip(whole.eqns[0].outvars, results, strict=True))}
    return [text_of_atom(atom, known) for atom in whole.outvars]


def _unpacked(call: ArrayCall, arguments: FunctionArguments, used: Names) -> tuple[list[str], list[str]]:
    """The name of each array, and the lines that give them these."""
    texts: list[str] = []
    lines: list[str] = []
    for text, wanted, leaf in arguments.leaves:
        if call.is_fixed(leaf):
            if isinstance(leaf, bool | int | str):
                lines.append(f"assert {text} == {leaf!r}, {f'this is the program for {text} = {leaf!r} only'!r}")
            continue
        if text in call.given:
            texts.append(text)
            if not hasattr(leaf, "shape"):
                lines.append(f"{text} = jnp.asarray({text})")
            continue
        name = fresh(identifier(wanted, "x"), used)
        texts.append(name)
        lines.append(f"{name} = {text}" if hasattr(leaf, "shape") else f"{name} = jnp.asarray({text})")
    return texts, lines


def _returned(
    call: ArrayCall, results: Sequence[str], arguments: FunctionArguments, imports: set[str], module: WrittenModule
) -> str:
    rest = iter(results)
    names: list[str] = []
    for place in range(call.result.num_leaves):
        if place not in call.others:
            names.append(next(rest))
            continue
        other = call.others[place]
        text = arguments.static(other)
        if text is None and isinstance(other, str | bytes | type(None)):
            text = repr(other)
        if text is None:
            module.refused.append(f"a result that is no array: {type(other).__name__}")
        names.append(text or "None")
    text, notes = built(call.result, names, arguments, imports)
    for one in notes:
        module.note(one)
    return text


def _text_of(
    name: str,
    call: ArrayCall,
    function: ExportedFunction,
    returned: str,
    module: WrittenModule,
    imports: set[str],
    program: Program,
) -> str:
    positional = [one for one in call.given if one not in call.keywords]
    named = [one for one in call.given if one in call.keywords]
    params = ", ".join([*positional, *(["*", *named] if named else [])])
    main = function.defined(name, params, gives=returned)
    main[1:1] = indented(_docstring(program))
    width = module.width
    main[:0] = width.decorators
    defined = [*(line for lines in module.functions for line in [*lines, "", ""]), *main]
    body = "\n".join(defined)
    local = [one for one in ("bind", "like", "weak") if f"{one}(" in body]
    constants = [f'{key} = _constants["{key}"]  # {_type_of(value)}' for key, value in module.constants.items()]
    local += ["load_arrays"] if constants else []
    local += [one.lstrip("@") for one in width.decorators]
    heads = [_WRITTEN.format(name=name, jax=jax.__version__), *([_BACKWARD] if program.has_backward else [])]
    standard = [f"import {one}" for one in ("collections", "functools") if f"{one}." in body]
    standard += ["from pathlib import Path"] if constants else []
    third = [
        line for word, line in _IMPORTS.items() if re.search(rf"(?<![\w.]){word}\.", "\n".join([*width.first, body]))
    ] + sorted(imports)
    own = ["from . import host"] if module.hosts else []
    own += [f"from ._runtime import {', '.join(sorted(local))}"] if local else []
    tables = ['_constants = load_arrays(Path(__file__).parent / "constants.npz")', *constants] if constants else []
    parts = [heads, standard, third, own, width.first, tables]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n\n\n" + body + "\n"


_WRITTEN = "# Written by jax_debug_widgets from {name}, jax {jax}. It is yours to edit: README.md says how to run it."
_BACKWARD = "# Gradients (`# backward of`) do not follow a change of the forward pass: see README.md."

_IMPORTS = {
    "jax": "import jax",
    "jax.ad_checkpoint": "import jax.ad_checkpoint",
    "jax.experimental": "import jax.experimental",
    "jax.experimental.sparse": "import jax.experimental.sparse",
    "jnp": "import jax.numpy as jnp",
    "np": "import numpy as np",
    "lax": "from jax import lax",
}


def _docstring(program: Program) -> list[str]:
    types = [f"  {one.text}: {one.type}" for one in program.body.inputs]
    if not types:
        return []
    return [
        '"""Traced with',
        "",
        *types[:_MOST_TYPES],
        *([f"  and {len(types) - _MOST_TYPES} more"] if len(types) > _MOST_TYPES else []),
        '"""',
    ]


_MOST_TYPES = 40
"""How many arguments are listed at most."""


def _type_of(value: Any) -> str:
    aval = jax.typeof(value)
    return aval.str_short()


def _known_array(function: Any, value: Any) -> str | None:
    """The name, in a function's source, of an array from outside; None if it has none."""
    own = inspect.unwrap(function)
    if not inspect.isfunction(own):
        return None
    outside = inspect.getclosurevars(own)
    return next((name for name, one in (*outside.nonlocals.items(), *outside.globals.items()) if one is value), None)


def stored(name: str, value: Any) -> tuple[str, np.ndarray]:
    """An array as it is stored, under its name and kind: see `runtime.load_arrays`."""
    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        return f"{name}.key-{jax.random.key_impl(value)}", on_host(value)
    array = on_host(value)
    if array.dtype.kind in "biufc" and array.dtype.name in np.sctypeDict:
        return name, array
    return f"{name}.{array.dtype.name}", array.view(f"u{array.dtype.itemsize}")


def runtime_text() -> str:
    """The source of the file that a package has beside its module."""
    return inspect.getsource(runtime)


__all__ = ["ArrayCall", "FunctionText", "jax_debug_widgets", "runtime_text", "write_package"]
