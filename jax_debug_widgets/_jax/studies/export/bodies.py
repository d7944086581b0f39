"""Write the equations of a body as lines of Python."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.export.forms import forms_of
from jax_debug_widgets._jax.studies.export.literals import RefusedError, number, tuple_of
from jax_debug_widgets._jax.studies.export.module import Names, WrittenModule, identifier, indented
from jax_debug_widgets._jax.studies.export.own_programs import own_program
from jax_debug_widgets._jax.studies.export.pieces import Piece, joined, needed
from jax_debug_widgets._jax.studies.export.proofs import variables_of, written
from jax_debug_widgets._jax.studies.programs import as_typed, body_of, opened
from jax_debug_widgets._jax.studies.texts import asks_for_nothing
from jax_debug_widgets.graphs.program import Body, Equation


@dataclass
class ExportedStep:
    """An equation that is to be written.

    Attributes:
      read: the equation as frozen data.
      x: its operands as text; `names`: the same, but empty for numbers.
      made: the names of its results.
      makers: for each variable, the step of the equation that makes it.
      uses: the names that its text reads.
    """

    module: WrittenModule
    equation: core.JaxprEqn
    read: Equation
    names: Sequence[str]
    made: Sequence[str]
    used: Names
    makers: Mapping[Any, ExportedStep]
    uses: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.uses = {name for name in self.names if name}

    @property
    def x(self) -> list[str]:
        """The operands of the equation as text."""
        return written(self.equation, self.names, typed=True)

    @property
    def variables(self) -> list[str]:
        """The names of its variables, each once."""
        named = {
            one: name
            for one, name in zip(self.equation.invars, self.names, strict=True)
            if not isinstance(one, core.Literal)
        }
        return [named[one] for one in variables_of(self.equation)]

    def called(self, text: str) -> str:
        """The line of a call that gives what `bare` writes."""
        return f"{', '.join(self.made)} = {text}" if self.made else text

    def outer(self, first: int, end: int) -> dict[int, Outer]:
        """What the inputs of its body are that are always the same: these of its operands."""
        pairs = zip(self.equation.invars[first:end], self.names[first:end], strict=True)
        return {place: one if isinstance(one, core.Literal) else name for place, (one, name) in enumerate(pairs)}

    def body(self, key: str) -> Body:
        """One of the programs that it runs, as frozen data."""
        return next(one for one in self.read.bodies if one.key == key)

    def name(self, wanted: str) -> str:
        """A name in this function."""
        return self.module.local(wanted, self.used)


Write = Callable[[ExportedStep], list[str]]

Outer: TypeAlias = "str | core.Literal"
"""What an input of a body is outside: a name, or a number."""

WRITERS: dict[str, Write] = {}
"""How the primitives are written that run programs; others have forms."""


class ClosedOverError(Exception):
    """A derivative rule reads a traced value that is not among its arguments."""


@dataclass(frozen=True)
class ExportedFunction:
    """A body as Python: names of its parameters, lines, and results."""

    params: Sequence[str]
    lines: Sequence[str]
    results: Sequence[str]

    def defined(
        self, name: str, params: str | None = None, first: Iterable[str] = (), gives: str | None = None
    ) -> list[str]:
        """The lines of its `def`."""
        taken = ", ".join(self.params) if params is None else params
        return [f"def {name}({taken}):", *indented([*first, *self.lines, f"return {gives or bare(self.results)}"])]


def sequence(names: Sequence[str]) -> str:
    """`(a, b)`, `(a,)`, `()`."""
    return tuple_of(names) if names else "()"


def bare(names: Sequence[str]) -> str:
    """`a`, `(a, b)`, `()`: what a function returns, or what takes it."""
    return names[0] if len(names) == 1 else sequence(names)


def write_function(
    module: WrittenModule,
    program: Any,
    body: Body,
    outer: Mapping[int, Outer] | None = None,
    used: Iterable[str] = (),
    wanted: Sequence[str] | None = None,
) -> ExportedFunction:
    """Write a program.

    Args:
      outer: maps the number of an input to the name outside, or to the number, that it always is.
      used: names that nothing in the text may have, as it reads them from outside.
      wanted: the names for the inputs of a program of ours, which has no lines of the user's.

    Raises:
      ClosedOverError: a constant of the program is a value of another trace.
    """
    jaxpr, consts = opened(program)
    if any(isinstance(one, core.Tracer) for one in consts):
        raise ClosedOverError("it closes over a value that is computed outside it")
    outer = outer or {}
    jaxpr = _with_numbers(jaxpr, {place: one for place, one in outer.items() if isinstance(one, core.Literal)})
    taken = Names({*module.used, *used})
    known: dict[Any, str] = {one: module.constant(value) for one, value in zip(jaxpr.constvars, consts, strict=True)}
    params: list[str] = []
    names = wanted or getattr(jaxpr.debug_info, "arg_names", None) or ()
    for place, variable in enumerate(jaxpr.invars):
        if place in outer:
            known[variable] = str(outer[place])
            continue
        name = (names[place] if len(names) == len(jaxpr.invars) else None) or body.inputs[place].text
        if not name.isidentifier() and body.inputs[place].text.isidentifier():  # `carry[0]`, which it calls `h`.
            name = body.inputs[place].text
        known[variable] = module.local(identifier(name, "x") if _NAME.fullmatch(name) else "x", taken)
        params.append(known[variable])
    results = {atom for atom in jaxpr.outvars if not isinstance(atom, core.Literal)}
    pieces = _pieces(module, jaxpr, body, known, taken, with_lines=wanted is None)
    given = [text_of_atom(atom, known) for atom in jaxpr.outvars]
    kept = needed(pieces, {known[one] for one in results})
    module.refused += [one.refused for one in kept if one.refused]
    lines = joined(kept)
    return ExportedFunction(params, lines, given)


def _with_numbers(jaxpr: core.Jaxpr, numbers: Mapping[int, core.Literal]) -> core.Jaxpr:
    """A program in which some inputs are not read: numbers stand for them."""
    if not numbers:
        return jaxpr
    instead = {jaxpr.invars[place]: core.Literal(one.val, jaxpr.invars[place].aval) for place, one in numbers.items()}

    def replaced(atoms: Sequence[Any]) -> list[Any]:
        return [one if isinstance(one, core.Literal) else instead.get(one, one) for one in atoms]

    equations = [one.replace(invars=replaced(one.invars)) for one in jaxpr.eqns]
    return jaxpr.replace(eqns=equations, outvars=replaced(jaxpr.outvars))


def text_of_atom(atom: Any, known: Mapping[Any, str]) -> str:
    """A number, or the name of a variable."""
    return known[atom] if not isinstance(atom, core.Literal) else _number(atom)


def _number(atom: Any) -> str:
    return number(as_typed(atom), typed=not getattr(atom.aval, "weak_type", False))


def _pieces(
    module: WrittenModule, jaxpr: core.Jaxpr, body: Body, known: dict[Any, str], used: Names, *, with_lines: bool
) -> list[Piece]:
    pieces: list[Piece] = []
    makers: dict[Any, ExportedStep] = {}
    for equation, read in zip(jaxpr.eqns, body.equations, strict=True):
        names = ["" if isinstance(one, core.Literal) else known[one] for one in equation.invars]
        for variable, name, noted in zip(equation.outvars, read.names, read.noted, strict=True):
            is_unused = isinstance(variable, core.DropVar)
            is_name = noted and _NAME.fullmatch(name) is not None
            wanted = identifier(name, "x") if is_name else _plain_name(equation)
            known[variable] = "_" if is_unused else module.local(wanted, used)
        made = [known[one] for one in equation.outvars]
        step = ExportedStep(module, equation, read, names, made, used, makers)
        makers |= dict.fromkeys(equation.outvars, step)
        lines, refused = _written(step)
        about = _about(read) if with_lines else ""
        pieces.append(Piece(lines, set(made), step.uses, bool(equation.effects), about, refused))
    return pieces


_NAME = re.compile(r"""[\w.\[\]'"#/]+""")
"""Matches the names to use for variables; the name of a returned value may be any expression."""


def _written(step: ExportedStep) -> tuple[list[str], str]:
    """The lines of an equation; why there are none, which matters only if a result needs them."""
    name = step.equation.primitive.name
    try:
        if name in WRITERS:
            return WRITERS[name](step), ""
        return by_form(step), ""
    except RefusedError as refused:
        if (lines := _by_own_program(step)) is not None:
            return lines, ""
        return [], f"{step.read.primitive} ({step.read.source or 'made by JAX'}): {refused}"


def by_form(step: ExportedStep) -> list[str]:
    """Write an equation in the most readable form that is proven."""
    text = step.module.proofs.text(forms_of, step.equation, step.names)
    return _unproven(step) if text is None else [step.called(text)]


def _unproven(step: ExportedStep) -> list[str]:
    """Write an equation that no form gives back: a cast without effect is left out.

    Raises:
      RefusedError: any other, such as a collective, which needs a mesh to be traced.
    """
    equation = step.equation
    if equation.primitive.name == "reshard" and asks_for_nothing(equation.params["dst_sharding"]):
        return [f"{step.made[0]} = {step.x[0]}"]
    if equation.primitive.name in ("convert_element_type", "broadcast_in_dim", "pvary", "copy") and len(step.made) == 1:
        before: Any = equation.invars[0].aval
        after: Any = equation.outvars[0].aval
        if (before.dtype, before.shape) == (after.dtype, after.shape) and equation.primitive.name != "pvary":
            return [f"{step.made[0]} = {step.x[0]}"]
    types = ", ".join(one.aval.str_short() for one in (*equation.invars, *equation.outvars))
    raise RefusedError(_WHY.get(equation.primitive.name, f"JAX traces no form of it again as it is ({types})"))


_OF_REF = "a `Ref` is changed in place; write the function with arrays, `x = x.at[i].set(y)`"
_WHY = {
    **dict.fromkeys(("new_ref", "get", "swap", "addupdate", "freeze"), _OF_REF),
    "pallas_call": "a Pallas kernel is not written; export what is computed before it and after it, each as a function",
}
"""Why some operations are refused, and what to do."""


def _by_own_program(step: ExportedStep) -> list[str] | None:
    """Write an operation that has no form as a function of the operations that JAX makes of it; None if it tells none."""
    program = own_program(step.equation)
    if program is None:
        return None
    name, module = step.read.primitive, step.module
    body = body_of(program.jaxpr, program.consts, name, module.reading)
    inputs = [f"x{place}" for place in range(len(program.jaxpr.invars))]
    own = module.shared(
        module.keep(step.equation),
        identifier(name, "operation").lower(),
        lambda own: ["@jax.jit", *write_function(module, program, body, wanted=inputs).defined(own)],
    )
    about = "without rules of its own for derivatives and batches"
    module.note(f"{name} is written as the operations that JAX makes of it, {about}")
    return [step.called(f"{own}({', '.join(step.variables)})")]


_NAMES = {
    "dot_general": "dot", "broadcast_in_dim": "spread", "convert_element_type": "cast", "reduce_sum": "total",
    "reduce_max": "largest", "reduce_min": "least", "select_n": "chosen", "while": "state", "scan": "scanned", "cond": "taken",
    "integer_pow": "power", "dynamic_slice": "window", "custom_jvp_call": "result", "custom_vjp_call": "result",
}  # fmt: skip


def _plain_name(equation: core.JaxprEqn) -> str:
    name = equation.primitive.name
    if name in ("jit", "pjit") or (name.startswith("custom_") and isinstance(equation.params.get("name"), str)):
        name = str(equation.params["name"]).lstrip("_") + "_out"
    return identifier(_NAMES.get(name, name), "x")


def _about(read: Equation) -> str:
    """`# train.py:27  h = jnp.tanh(x)`."""
    if read.source is None:
        return ""
    back = {"forward": "", "backward": "backward of ", "recompute": "again "}[read.role]
    text = linecache.getline(read.source.file, read.source.line).strip()
    return f"# {back}{read.source}  {text}".rstrip()
