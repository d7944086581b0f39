"""Find the values of a program that the variables of its source stand for.

Each equation knows the range of the source that made it, and the ranges of the calls around it. The equations of the
range on the right of an assignment compute what is assigned: of their results, the one that other equations use. That
holds for inlined library calls (`h = jax.nn.gelu(x @ w)` is a dozen equations with one result that is used), and it
tells the value from what differentiation computes beside it: only the backward pass uses that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jax_debug_widgets.watch.arguments import arguments
from jax_debug_widgets.watch.body import Body, Call, Made, is_array
from jax_debug_widgets.watch.instances import has_twins, instances
from jax_debug_widgets.watch.parts import assigned
from jax_debug_widgets.watch.source import Span, Statement, is_library

Role = Literal["value", "gradient"]


@dataclass(frozen=True, eq=False)
class Named:
    """A variable of a program and what it is called.

    Attributes:
      variable: of the jaxpr.
      name: the Python variable, or the expression.
      assigned: whether it is assigned, returned or an argument, as opposed to a part of an expression.
      file, span, function: the range that computes it.
      equation: the number of the equation that makes it, -1 for arguments.
      primitive: its name; `argument` for arguments.
      stack: JAX's name stack.
      carried: whether it is what the iteration before has made.
    """

    variable: Any
    name: str
    role: Role
    assigned: bool
    file: str
    span: Span
    function: str
    equation: int
    primitive: str
    stack: str
    carried: bool = False


def label_of(name: str, role: Role) -> str:
    """What a value is called in a run."""
    return f"grad/{name}" if role == "gradient" else name


def named_values(body: Body, wanted: Callable[[str], bool]) -> list[Named]:
    """The values and gradients in `body` that have a name in the files that `wanted` tells, in the order they are made."""
    calls, stack = body.calls(), str(body.place.stack)
    found: list[Named] = [
        Named(
            one.variable, one.name, "value", True, one.file, one.span, one.function, -1, "argument", stack, one.carried
        )
        for one in arguments(body, wanted)
    ]
    for call, members in calls.items():
        if not wanted(call.file):
            continue
        for statement in body.source(call.file).statements_at(call.span):
            if statement.whole and Call(call.outer, call.file, statement.whole) in calls:
                continue  # An array's own items and properties (`f(x)[0]`, `f(x).T`) are operations.
            function = _function_name(body, members[0], call)
            repeats = statement.repeats or _is_repeated(body, members, call)
            forward = [one for one in members if not body.is_backward(one, call.depth)]
            parts = instances(body, call, forward, repeats=repeats)
            values = [one for part in parts for one in assigned(body, call, statement, part, calls)]
            found += [_named(body, made[0], made[1], name, "value", call, function) for name, made in values]
            found += _gradients(body, call, statement, values, function, len(parts), repeats=repeats)
    found.sort(key=lambda one: one.equation)
    return _distinct(found)


def every_value(body: Body, named: Sequence[Named]) -> list[Named]:
    """`named`, and every other result of an equation by the expression that made it."""
    known = {one.variable for one in named}
    found = list(named)
    for number, equation in enumerate(body.equations):
        levels = body.levels[number]
        for variable in equation.outvars:
            if variable in known or not is_array(variable) or not levels:
                continue
            own = next((one for one in reversed(levels) if not is_library(one.file)), levels[-1])
            span = Span(*own.span)
            name = body.source(own.file).text(span) or equation.primitive.name
            if body.uses.is_cotangent(variable):
                name = f"{name} (transposed)"
            stack = body.stack_of(number)
            found.append(
                Named(
                    variable,
                    name,
                    "value",
                    False,
                    own.file,
                    span,
                    own.function,
                    number,
                    equation.primitive.name,
                    stack,
                )
            )
    found.sort(key=lambda one: one.equation)
    return found


def _gradients(
    body: Body,
    call: Call,
    statement: Statement,
    values: Sequence[tuple[str, Made]],
    function: str,
    executions: int,
    *,
    repeats: bool,
) -> Iterator[Named]:
    """The cotangent of what a statement assigns: the one that enters its transposed equations from outside."""
    if statement.is_return or len(statement.targets) != 1:
        return
    target = statement.targets[0]
    within = [
        number
        for number in range(len(body.equations))
        if body.uses.transposed[number] and body.is_within(number, call) and body.is_backward(number, call.depth)
    ]
    parts = instances(body, call, within, repeats=repeats, executions=executions)
    cotangents = [(part, _entering(body, part)) for part in parts]
    if len(values) == 1 and not repeats and not any(entering for _, entering in cotangents):
        cotangents = [([], _of_sum(body, values[0][1]))]
    for part, entering in cotangents:
        if target.is_plain and len(entering) == 1 and len({name for name, _ in values}) <= 1:
            names = {target.text: next(iter(entering))}
        else:
            alike = {name: made[0] for name, made in values}
            names = _of_split(body, values, part, entering) or _by_type(alike, list(entering))
        for name, variable in names.items():
            yield _named(body, variable, entering[variable], name, "gradient", call, function)


def _of_sum(body: Body, made: Made) -> dict[Any, int]:
    """The cotangent of a plain sum, as `_entering` gives it: transposed it is no equation.

    It is that of an operand which nothing else uses, and which may be such a sum itself.
    """
    variable, number, _ = made
    equation = body.equations[number]
    summed = {"add": 2, "add_any": 2, "sub": 1}.get(equation.primitive.name, 0)
    for atom in equation.invars[:summed]:
        is_once = is_array(atom) and sum(one is atom for one in equation.invars) == 1
        maker = body.makers.get(atom) if is_once else None
        users = {one for one in body.uses.consumers.get(atom, ()) if not body.uses.transposed[one]} if maker else set()
        if maker is None or users != {number} or atom in body.uses.results or _type(atom) != _type(variable):
            continue
        place = body.levels[maker[1]]
        transposed = [one for one, is_one in enumerate(body.uses.transposed) if is_one and body.levels[one] == place]
        found = _entering(body, transposed) or _of_sum(body, maker)
        if len(found) == 1 and _type(next(iter(found))) == _type(variable):
            return found
    return {}


def _entering(body: Body, part: list[int]) -> dict[Any, int]:
    """The cotangents that these equations take from others, each with the first equation that takes it."""
    made = {variable for number in part for variable in body.equations[number].outvars}
    entering: dict[Any, int] = {}
    spread: dict[Any, int] = {}
    for number in part:
        if body.equations[number].primitive.name == "add_any":
            continue  # It sums this cotangent with that of another use of the same value, further up.
        for atom in body.equations[number].invars:
            if body.uses.is_cotangent(atom) and atom not in made and is_array(atom):
                (spread if _is_only_added(body, number) else entering).setdefault(atom, number)
    if len(entering) > 1:
        back = _given_back(body, made, part)
        entering = {atom: number for atom, number in entering.items() if atom not in back}
    return entering or spread


def _given_back(body: Body, made: set[Any], part: list[int]) -> set[Any]:
    """What these equations select of what others have computed of theirs: the branches of a `cond` under `vmap`."""
    selected = {
        atom
        for one in part
        if body.equations[one].primitive.name == "select_n"
        for atom in body.equations[one].invars
        if is_array(atom)
    }
    if not selected:
        return set()
    derived = set(made)
    for equation in body.equations[part[0] : part[-1]]:
        if any(is_array(atom) and atom in derived for atom in equation.invars):
            derived.update(equation.outvars)
    return (selected & derived) - made


def _is_only_added(body: Body, number: int) -> bool:
    """Whether an equation makes a cotangent as large as another use's, to add them: `vmap` does so."""
    equation = body.equations[number]
    users = [user for variable in equation.outvars for user in body.uses.consumers.get(variable, ())]
    is_added = all(body.equations[user].primitive.name == "add_any" for user in users)
    return equation.primitive.name == "broadcast_in_dim" and bool(users) and is_added


def _of_split(
    body: Body, values: Sequence[tuple[str, Made]], part: list[int], entering: dict[Any, int]
) -> dict[str, Any]:
    """Of the parts of an array (`jnp.split`) the cotangents that are joined again, in the same order."""
    made_by = {number for _, (_, number, _) in values}
    pieces = [body.equations[one].outvars for one in made_by if body.equations[one].primitive.name == "split"]
    joined = [body.equations[one].invars for one in part if body.equations[one].primitive.name == "concatenate"]
    if len(made_by) != 1 or [*map(len, pieces)] != [*map(len, joined)] or len(joined) != 1:
        return {}
    own = [(name, joined[0][position]) for name, (_, _, position) in values]
    return {name: one for name, one in own if body.uses.is_cotangent(one) and one in entering}


def _by_type(values: dict[str, Any], cotangents: list[Any]) -> dict[str, Any]:
    """Each name with the one cotangent of its value's type, where there is just one of both."""
    found = {}
    for name, value in values.items():
        alike = [one for one in cotangents if _type(one) == _type(value)]
        if len(alike) == 1 and sum(_type(other) == _type(value) for other in values.values()) == 1:
            found[name] = alike[0]
    return found


def _type(variable: Any) -> tuple[Any, Any]:
    return variable.aval.shape, variable.aval.dtype


def _named(body: Body, variable: Any, number: int, name: str, role: Role, call: Call, function: str) -> Named:
    primitive = body.equations[number].primitive.name
    return Named(variable, name, role, True, call.file, call.span, function, number, primitive, body.stack_of(number))


def _function_name(body: Body, number: int, call: Call) -> str:
    return body.levels[number][call.depth].function


def _is_repeated(body: Body, members: list[int], call: Call) -> bool:
    """Whether the way to this place leads through a loop of Python's, or is cut off and leads to it several times."""
    levels = body.levels[members[0]]
    loops = any(
        level.maps or any(one.repeats for one in body.source(level.file).statements_at(Span(*level.span)))
        for level in levels[: call.depth]
    )
    return loops or (not body.is_own(levels[0]) and has_twins(body, members))


def _distinct(found: list[Named]) -> list[Named]:
    """Without what is said twice: an assignment in a `return`, a name of the same value in two frames."""
    seen: set[tuple[Any, ...]] = set()
    kept = []
    for one in found:
        key = (one.variable, one.name, one.role, one.file, one.span)
        if key not in seen:
            seen.add(key)
            kept.append(one)
    return kept
