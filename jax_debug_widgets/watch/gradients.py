"""The cotangents of what a statement assigns: what enters its transposed equations from outside.

The statement may be in another body than they are: the forward and the backward pass of a loop are two.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jax_debug_widgets._jax.frames import Level, asked_outside
from jax_debug_widgets._jax.uses import is_checkpointed, runs_program
from jax_debug_widgets.watch.body import LOOPS, Body, Call, Made, is_array, type_of
from jax_debug_widgets.watch.derivatives import WITH_FUNCTION, differentiating
from jax_debug_widgets.watch.escaping import what_escapes
from jax_debug_widgets.watch.instances import Frames, instances
from jax_debug_widgets.watch.mentions import is_part
from jax_debug_widgets.watch.source import Statement, Target

NOT_NAMED = object()
"""An execution's value that JAX leaves out, of which there is a gradient nevertheless."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """A statement of the source as a body of the forward pass runs it.

    Attributes:
      values: each name with what it is, of all executions.
      function: the name of the function that the statement is in.
      parts: the equations of each execution in one trace.
      repeats: whether it, or a call that leads to it, is in a loop of Python's.
      order: in which order its executions come to its places, see `order_of_frames`.
    """

    body: Body
    call: Call
    statement: Statement
    values: Sequence[tuple[str, Made]]
    function: str
    parts: Sequence[Sequence[int]]
    repeats: bool
    order: Mapping[Frames, int]

    @property
    def executions(self) -> int:
        """How often it is run in one trace."""
        return len(self.parts)

    def by_execution(self, name: str) -> list[Any]:
        """What of this name each execution makes, `NOT_NAMED` for one that makes nothing which is needed."""
        at = {number: place for place, part in enumerate(self.parts) for number in part}
        made: list[Any] = [NOT_NAMED] * len(self.parts)
        for own, (variable, number, _) in self.values:
            if own == name:
                made[at[number]] = variable
        return made


Gradient = tuple[str, Any, int, Any]
"""A name, its cotangent, the first equation that takes that, and the variable that it is of: None or `NOT_NAMED` if unknown."""


def gradients(body: Body, one: Assignment) -> Iterator[Gradient]:
    """Each name of a statement with its cotangents in `body`."""
    call, is_assigned = one.call, len(one.statement.targets) == 1
    within = [
        n
        for n in body.transposed
        if body.is_within(n, call) and body.is_backward(n, call.depth) and n not in body.tangents
    ]
    if not (body.transposed and is_assigned) or _are_of_others(body, one, within):
        return
    times, is_mapped = one.executions, _is_mapped(one)
    elements = len(one.values) if is_mapped else times * one.statement.elements
    if elements > times:
        each = list(_of_elements(body, one, within, elements))
        yield from each
        if each or not is_mapped:
            return
    repeats, several = one.repeats and times != 1, len({name for name, _ in one.values}) > 1
    parts = _transposed(body, one, within, repeats=repeats, executions=times)
    cotangents = [(part, _entering(body, part, several=several)) for part in parts]
    found: list[tuple[str, Any, int]] = []
    for part, entering in cotangents:
        names = _of_one(body, one, part, entering, several=several)
        found += [(name, variable, number) for name, (variable, number) in names.items()]
    found_of = Counter(name for name, _, _ in found)
    values = {name: [made[0] for own, made in one.values if own == name] for name in found_of}
    values = {
        name: own if len(own) == found_of[name] else one.by_execution(name) if found_of[name] == times > 1 else []
        for name, own in values.items()
    }
    if times > 1 and not _are_taken_in_turn(body, one, within, found):
        return
    for name, variable, number in found:  # Of several executions all or none: which is whose is told by their number.
        if times <= 1 or found_of[name] == times:
            own = values[name]  # The last is transposed first.
            value = own.pop() if own else NOT_NAMED if _is_left_out(body, one) else None
            if not is_array(value) or _is_as_large(body, variable, number, value):
                yield name, variable, number, value


def _is_as_large(body: Body, cotangent: Any, number: int, value: Any) -> bool:
    """Whether a cotangent has the size of a value, or that for each lane of a `vmap` in which the value has none.

    One of another size is that of what the value is made of: JAX does not tell all of the derivatives that an equation is in.
    """
    many, few = cotangent.aval.size, value.aval.size
    return many == few or (few > 0 and many % few == 0 and "vmap(" in body.stack_of(number))


def _is_left_out(body: Body, one: Assignment) -> bool:
    """Whether JAX leaves out what a statement assigns: the forward pass of its function is in this body, and has none of it."""
    return one.body is body and not one.values and one.call.outer in body.forward_outers


def _of_one(
    body: Body, one: Assignment, part: list[int], entering: dict[Any, int], *, several: bool
) -> dict[str, tuple[Any, int]]:
    """The cotangents of one execution, each with what takes it."""
    target = one.statement.targets[0]
    if target.is_plain and len(entering) == 1 and not several:
        return {target.text: next(iter(entering.items()))}
    by_maker = _of_checkpoint(body, one, part) or _by_maker(body, one, part) if several or target.parts else {}
    names = _of_split(body, one, part, entering)
    if not (names or by_maker) and (target.is_plain or (_is_named(one, target) and _is_told(one))):
        names = _by_type({name: made[0] for name, made in one.values}, list(entering))
    return {**by_maker, **{name: (variable, entering[variable]) for name, variable in names.items()}}


def _are_taken_in_turn(body: Body, one: Assignment, within: list[int], found: Sequence[tuple[str, Any, int]]) -> bool:
    """Whether of each execution that is taken first which comes from the place at which its value is made.

    Executions that Python's branches make different, of which the last has no activation, may have been told apart wrongly.
    """
    transposed = {body.levels[number] for number in within}
    for name in {name for name, _, _ in found}:
        makers = [one.body.levels[made[1]] for own, made in one.values if own == name]
        takers = [body.levels[number] for own, _, number in found if own == name]
        for maker, taker in zip(reversed(makers), takers, strict=False):
            if maker in transposed and taker != maker:
                return False
    return True


def _are_of_others(body: Body, one: Assignment, within: list[int]) -> bool:
    """Whether these transposed equations of a statement are not of its values alone.

    What is differentiated twice has gradients of its forward and of its backward pass, and beside what `jax.jvp` asks for
    there is a tangent, which has one, too. What `jax.vjp` gives may be taken by the backward pass that it begins.
    """
    # A sum of cotangents has the stack of what is added last, in a transposed `jax.checkpoint` with a `jvp` more.
    depth = one.call.depth
    # Of a loop that is differentiated twice, what comes from its backward pass is added where this loop's begins.
    runs = body.around.equation
    is_of_loop = runs is not None and runs.primitive.name in LOOPS and "checkpoint" not in str(body.place.stack)
    if is_of_loop and any(body.derived_from(number, depth) in _OF_FORWARD_PASS for number in within):
        return True
    if any(differentiating(one.body, made[1], depth) in WITH_FUNCTION for _, made in one.values):
        return True
    derived = {body.derived_from(n, depth) for n in within if body.equations[n].primitive.name != "add_any"}
    # What is transposed twice takes the cotangents of cotangents.
    is_of_backward_pass = any(sum(transposed) > 1 for transposed in derived)
    return len(derived) > 1 or is_of_backward_pass or _have_tangents(body, one, within)


def _have_tangents(body: Body, one: Assignment, within: list[int]) -> bool:
    """Whether what is transposed is tangents as well: of `jax.grad` of what calls `jax.jvp`, not of `jax.jvp` of a gradient."""
    is_of_loop = one.body.around.pushes_through and not body.around.pushes_through
    return is_of_loop or any(_transposes_tangents(body.uses.derived[number], body.levels[number]) for number in within)


def _transposes_tangents(derived: Sequence[bool], levels: Sequence[Level]) -> bool:
    first = asked_outside(derived, levels)
    for level in levels:
        own = derived[first : first + level.derivatives]
        if level.pushes and (level.differentiates == "linearize" or any(derived[:first]) or list(own) != sorted(own)):
            return True
        first += level.derivatives
    return False


_OF_FORWARD_PASS = ((True, False),)
"""What is transposed by the outer of two derivatives, of which the inner has a backward pass of its own."""


def _is_named(one: Assignment, target: Target) -> bool:
    """Whether each part of what it is assigned to has a value: one that the backward pass alone takes has none."""
    return all(any(is_part(name, part.text) for name, _ in one.values) for part in target.parts)


def _is_told(one: Assignment) -> bool:
    """Whether all that the statement gives to others has names: a cotangent may be that of something which has none."""
    body, depth = one.body, one.call.depth
    members = [number for number in body.calls[one.call] if not body.is_backward(number, depth)]
    known = {made[0] for _, made in one.values}
    return all(made[0] in known for made in what_escapes(body, members, depth) if is_array(made[0]))


def _is_mapped(one: Assignment) -> bool:
    """Whether it is what `jax.tree.map` gives, leaf by leaf, or a list that is comprehended, item by item."""
    is_mapped = all(one.body.levels[made[1]][one.call.depth].maps for _, made in one.values)
    is_list = _comprehends(one.statement.value) or isinstance(one.statement.value, ast.DictComp)
    return is_list or (is_mapped and one.executions == 1)


def _comprehends(value: ast.expr) -> bool:
    """Whether an expression is a list of what one computes again and again, or a tuple: `tuple(f(k) for k in ks)`."""
    match value:
        case ast.ListComp() | ast.Call(func=ast.Name(id="tuple" | "list"), args=[ast.GeneratorExp() | ast.ListComp()]):
            return True
    return False


def _of_elements(body: Body, one: Assignment, within: list[int], elements: int) -> Iterator[Gradient]:
    """Of `q, k, v = (x @ w for w in ws)`, where each has one: the last is transposed first.

    Args:
      elements: how many there are in all executions.
    """
    values = sorted(one.values, key=lambda named: named[1][1:], reverse=True)
    parts = _transposed(body, one, within, repeats=True, executions=elements, elements=elements)
    cotangents = [list(_entering(body, part).items()) for part in parts]
    if [*map(len, cotangents)] != [1] * len(values):
        return
    if all(type_of(own[0][0]) == type_of(made[0]) for (_, made), own in zip(values, cotangents, strict=True)):
        for (name, made), own in zip(values, cotangents, strict=True):
            yield name, *own[0], made[0]


def _transposed(
    body: Body, one: Assignment, within: list[int], *, repeats: bool, executions: int, elements: int = 1
) -> list[list[int]]:
    """The transposed equations of each execution of a statement, of the last execution first."""
    parts = instances(
        body, one.call, within, repeats=repeats, executions=executions, elements=elements, order=one.order
    )
    in_rule = any(level.runs_rule == "backward" for number in within for level in body.levels[number][: one.call.depth])
    order = body.uses.order_in_rules if in_rule else body.uses.forward_order
    return sorted(parts, key=lambda part: order[part[0]], reverse=True)


def _entering(body: Body, part: list[int], *, several: bool = False) -> dict[Any, int]:
    """The cotangents that these equations take from others, each with the first equation that takes it.

    Args:
      several: whether they may be of several values; of one there is that which is not only added to others.
    """
    made = {variable for number in part for variable in body.equations[number].outvars}
    entering: dict[Any, int] = {}
    spread: dict[Any, int] = {}
    for number in part:
        if body.equations[number].primitive.name == "add_any":
            continue  # It sums this cotangent with that of another use of the same value, further up.
        for atom in body.equations[number].invars:
            if is_array(atom) and atom not in made and _is_cotangent_of(body, atom, number):
                (spread if _is_only_added(body, number) else entering).setdefault(atom, number)
    if len(entering) > 1:
        back = _given_back(body, made, part)
        entering = {atom: number for atom, number in entering.items() if atom not in back}
    return {**entering, **spread} if several else entering or spread


def _is_cotangent_of(body: Body, atom: Any, number: int) -> bool:
    """Whether an operand is a cotangent of the derivative that has transposed an equation.

    What a derivative inside of that gives, `g` of `g = jax.grad(f)(x)`, is a value of the function that is differentiated.
    """
    if not body.uses.is_cotangent(atom) or atom not in body.makers:
        return body.uses.is_cotangent(atom)
    made, taken = body.uses.derived[body.makers[atom][1]], body.uses.derived[number]
    return all(one or not other for one, other in zip(made, taken, strict=False))


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


def _of_split(body: Body, one: Assignment, part: list[int], entering: dict[Any, int]) -> dict[str, Any]:
    """Of the parts of an array (`jnp.split`) the cotangents that are joined again, in the same order."""
    made_by = [one.body.equations[number] for number in {number for _, (_, number, _) in one.values}]
    pieces = {len(equation.outvars) if equation.primitive.name == "split" else 0 for equation in made_by}
    joined = [body.equations[number] for number in part if body.equations[number].primitive.name == "concatenate"]
    places = {(name, position) for name, (_, _, position) in one.values}  # Those of all executions.
    if len(joined) != 1 or pieces != {len(joined[0].invars)} or len(places) != len(dict(places)):
        return {}
    own = [(name, joined[0].invars[position]) for name, position in places]
    return {name: atom for name, atom in own if body.uses.is_cotangent(atom) and atom in entering}


def _by_maker(body: Body, one: Assignment, part: list[int]) -> dict[str, tuple[Any, int]]:
    """Each name with its cotangent and what takes that: the transposed equation of the one that makes the value.

    It is found by the place in the source: an expression, or a call of a jitted function, which takes the cotangents of what
    that gives in their order.
    """
    values = dict(one.values)
    found: dict[str, tuple[Any, int]] = {}
    for levels in dict.fromkeys(one.body.levels[number] for _, number, _ in values.values()):
        own = sorted((made[1:], name) for name, made in values.items() if one.body.levels[made[1]] == levels)
        there = [n for n in part if body.levels[n] == levels and body.equations[n].primitive.name != "add_any"]
        taken = _entering(body, there, several=True)
        from_outside = [told for item in taken.items() if (told := _from_outside(body, item, set(part)))]
        is_one_call = (
            len(there) == 1 and runs_program(body.equations[there[0]]) and len({at for (at, _), _ in own}) == 1
        )
        types = [type_of(values[name][0]) for _, name in own]
        if (len(own) == 1 or is_one_call) and [type_of(item[0]) for item in from_outside] == types:
            found |= {name: item for (_, name), item in zip(own, from_outside, strict=True)}
    return found


def _of_checkpoint(body: Body, one: Assignment, part: list[int]) -> dict[str, tuple[Any, int]]:
    """Each part of what a checkpointed function returns: the one transposed equation takes their cotangents in their order."""
    there = [n for n in part if body.equations[n].primitive.name != "add_any"]
    is_whole = one.statement.span == one.call.span and one.statement.whole is None
    if len(there) != 1 or not is_whole or not is_checkpointed(body.equations[there[0]]):
        return {}
    values = dict(one.values)
    names = [target.text for target in one.statement.targets[0].parts]
    taken = list(_entering(body, there, several=True).items())
    is_direct = len(body.levels[there[0]]) == one.call.depth + 1 and sorted(names) == sorted(values)
    if not is_direct or [type_of(atom) for atom, _ in taken] != [type_of(values[name][0]) for name in names]:
        return {}
    from_outside = [_from_outside(body, item, set(part)) for item in taken]
    return {name: item for name, item in zip(names, from_outside, strict=True) if item}


def _from_outside(body: Body, item: tuple[Any, int], part: set[int]) -> tuple[Any, int] | None:
    """What of a cotangent, which this equation takes, comes from others: one of several uses may be in the same statement."""
    atom, _ = item
    maker = body.makers.get(atom)
    if maker is None or maker[1] not in part:
        return item
    if body.equations[maker[1]].primitive.name != "add_any":
        return None
    summed = [_from_outside(body, (one, maker[1]), part) for one in body.equations[maker[1]].invars if is_array(one)]
    told = [one for one in summed if one]
    return told[0] if len(told) == 1 else None


def _by_type(values: dict[str, Any], cotangents: list[Any]) -> dict[str, Any]:
    """Each name with the one cotangent of its value's type, where there is just one of both."""
    found = {}
    for name, value in values.items():
        alike = [one for one in cotangents if type_of(one) == type_of(value)]
        if len(alike) == 1 and sum(type_of(other) == type_of(value) for other in values.values()) == 1:
            found[name] = alike[0]
    return found
