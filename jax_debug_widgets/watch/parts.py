"""Which part of what is assigned a variable of the program is: of a tuple, a tree, what a function returned."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence

from jax.extend import core as jax_core

from jax_debug_widgets._jax import versions
from jax_debug_widgets._jax.copies import leaf_given_back
from jax_debug_widgets._jax.frames import GRADIENT, VALUE_AND_GRADIENT
from jax_debug_widgets.watch.body import LOOPS, Body, Call, Made, is_array
from jax_debug_widgets.watch.derivatives import (
    WITH_FUNCTION,
    differentiating,
    parts_given_back,
    parts_of_derivative,
    taken_or_returned,
    without_changed_state,
)
from jax_debug_widgets.watch.escaping import is_taken, what_escapes
from jax_debug_widgets.watch.inlined import Inlined, inlined_at, inlined_by
from jax_debug_widgets.watch.instances import instances
from jax_debug_widgets.watch.literals import leaves_of
from jax_debug_widgets.watch.loads import (
    comprehends,
    fields_of,
    is_called,
    is_taken_by_name,
    items_of_slice,
    items_taken,
    parts_by_use,
)
from jax_debug_widgets.watch.mentions import is_in_branch, is_part, texts_of
from jax_debug_widgets.watch.results import kind_of, parts_by_path, result_paths, results_of
from jax_debug_widgets.watch.source import Function, Span, Statement, Target, is_library, span_of
from jax_debug_widgets.watch.stored import is_stored

_PAIR = ("value", "aux")
"""What a function returns that is differentiated with `has_aux`."""

_FLAX = re.compile(r"[\\/](flax|haiku)[\\/]")
_NEW_VARIABLES = frozenset({"param", "variable"})
"""What makes the variables of a module of flax."""


def assigned(body: Body, call: Call, statement: Statement, members: list[int]) -> Iterator[tuple[str, Made]]:
    """Each name of a statement with the variable of one execution of it."""
    escaping = [
        one
        for one in what_escapes(body, members, call.depth)
        if is_array(one[0])
        and (is_taken(body, one[0], set(members), call.depth) or not _is_of_module(body, one[1], call.depth))
        and not is_stored(body, one[1], call.depth)
    ]
    escaping = [one for part in parts_given_back(body, escaping, call.depth) for one in part] or escaping
    escaping = without_changed_state(body, call, statement, escaping, members)
    if not escaping or (statement.is_array and len(escaping) > 1):
        return
    if statement.is_return and len(escaping) == 1:
        yield body.source(call.file).text(call.span), escaping[0]
    for written in statement.targets:
        target = _without_star(written, body, call, escaping, members)
        if target is None or is_called(statement, target.text):
            continue
        if target.is_plain:
            parts = [(target, _whole(body, call, statement, escaping, members))]
        else:
            made = _taken_apart(body, call, statement, target, escaping, members)
            if differentiating(body, members[0], call.depth) in WITH_FUNCTION:
                made[1:2] = [[]]
            parts = list(zip(target.parts, made, strict=False))
        for part, made in parts:
            within = "" if target.is_plain else f"[{target.parts.index(part)}]"
            yield from _leaves(body, call, statement, part, made, set(members), within)


def _is_of_module(body: Body, number: int, depth: int) -> bool:
    """Whether an equation makes what a module of flax keeps, not what the statement that calls it gives.

    That is a new variable, `kernel = self.param(...)`, or what it is from now on, `mean.value = ...`.
    """
    for level in body.levels[number][depth + 1 :]:
        source, span = body.source(level.file), Span(*level.span)
        node = source.expressions.get(span)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _NEW_VARIABLES:
            return True
        if any(target.text.endswith(".value") for one in source.statements_at(span) for target in one.targets):
            return True
    return False


def _without_star(target: Target, body: Body, call: Call, escaping: list[Made], members: list[int]) -> Target | None:
    """`a, *rest` as `a, rest[0], rest[1]`, where three values are assigned; None where it is not known how many."""
    star = next((n for n, part in enumerate(target.parts) if part.text.startswith("*")), None)
    if star is None:
        return target
    equations = {number: body.equations[number] for _, number, _ in escaping}
    inner = inlined_by(body, call, members)
    tuples = [one.elts for one in inner.returned if isinstance(one, ast.Tuple)] if inner else []
    counts = {len(elements) for elements in tuples}
    if len(equations) == 1:
        ((number, equation),) = equations.items()
        told = parts_by_path(body, number)
        counts = {max(told) + 1} if told else {len(equation.outvars)} if equation.primitive.name == "split" else counts
    if len(counts) != 1:
        return None
    name = target.parts[star].text.removeprefix("*")
    rest = [Target(f"{name}[{number}]") for number in range(counts.pop() - len(target.parts) + 1)]
    return Target(target.text, (*target.parts[:star], *rest, *target.parts[star + 1 :]))


def _whole(
    body: Body,
    call: Call,
    statement: Statement,
    found: list[Made],
    members: list[int],
) -> list[Made]:
    """What one target stands for: a value, or the leaves of a tree in its order."""
    if comprehends(statement.value) or body.levels[members[0]][call.depth].maps:
        return found  # In the order in which they are made.
    before = {one: before_lanes_moved(body, one) for one in found}
    makers = {number for _, number, _ in before.values()}
    if len(makers) == 1 and not body.uses.transposed[makers.pop()]:
        return sorted(found, key=lambda one: before[one][2])
    if len(found) > 1:
        found = _without_state(body, call, statement, found, members)
    if len(found) > 1 and not differentiating(body, members[0], call.depth):
        returned = _returned(body, call, members, len(found)) or []
        elements = [one for part in returned for one in part]
        if all(len(part) == 1 for part in returned) and set(elements) == set(found):
            return elements
    return _in_order_of_use(body, found, set(members))


def before_lanes_moved(body: Body, one: Made) -> Made:
    """What a value was before `vmap` has moved its lanes to where they are asked for, or a derivative has given it."""
    while body.equations[one[1]].primitive.name == "transpose" or leaf_given_back(body.equations[one[1]]):
        before = body.maker_of(body.equations[one[1]].invars[0])
        if before is None:
            break
        one = before
    return one


def _without_state(body: Body, call: Call, statement: Statement, found: list[Made], members: list[int]) -> list[Made]:
    """Without what modules of flax make unseen beside what they return: `x = nn.BatchNorm()(x)` makes new means."""

    def is_of_flax(number: int, end: int | None) -> bool:
        return any(_FLAX.search(level.file) for level in body.levels[number][call.depth + 1 : end])

    if is_of_flax(members[0], call.depth + 2):
        used = [one for one in found if is_taken(body, one[0], set(members), call.depth)]
        if len(used) > 1:
            used = [one for one in used if is_taken_by_name(body, call, statement, one[0], set(members))]
        return used if len(used) == 1 else found
    returned = _returned_value(body, call, members)
    if returned and all(one in returned or is_of_flax(one[1], None) for one in found):
        return returned
    return found


def _taken_apart(
    body: Body,
    call: Call,
    statement: Statement,
    target: Target,
    escaping: list[Made],
    members: list[int],
) -> list[list[Made]]:
    """What each part of a tuple target stands for; nothing where the parts cannot be told."""
    count, inside = len(target.parts), set(members)
    if count == len(escaping) and _is_of_one_expression(body, statement, escaping):
        return [[one] for one in escaping]
    in_rule = any(level.runs_rule == "backward" for level in body.levels[members[0]][: call.depth])
    kind = kind_of(body.equations[escaping[0][1]]) if len({number for _, number, _ in escaping}) == 1 else ""
    by = differentiating(body, members[0], call.depth)
    if given := parts_given_back(body, escaping, call.depth):
        return given
    # What differentiates gives other things; and before jax 0.9 a single equation may be a part of what is called.
    is_whole = not kind or kind in LOOPS or not versions.TRACEBACKS_LEAVE_THEIR_PROGRAM
    is_inlined = is_whole and not by
    returned = _returned(body, call, members, count, of_one=bool(kind)) if is_inlined else None
    if returned is None and kind and not by:
        found = results_of(body, escaping, target)
    else:
        found = [[one for one in part if one in escaping] for part in returned or ()]
    if any(found):
        return found
    if not kind and (by or not in_rule):
        derived = _of_derivative(body, call, by, statement, target, escaping, inside)
        if derived:
            return derived
    used = parts_by_use(body, call, statement, target, [one[0] for one in escaping], inside)
    # Gradients come in the order of the backward pass, and to that a rule's are all alike.
    is_in_order = kind not in LOOPS and (kind or by != GRADIENT) and not in_rule
    if count == len(escaping) and is_in_order and all(used.get(one[0], n) == n for n, one in enumerate(escaping)):
        return [[one] for one in escaping]
    parts = [[one for one in escaping if used.get(one[0]) == number] for number in range(count)] if used else []
    return [_in_order_of_use(body, part, inside) for part in parts]


def _of_derivative(
    body: Body, call: Call, by: str, statement: Statement, target: Target, escaping: list[Made], inside: set[int]
) -> list[list[Made]]:
    """What each part of a tuple target stands for that a derivative gives; nothing where none does."""
    forward, backward = (
        _in_order_of_use(
            body, [one for one in escaping if _is_of_gradient(body, one[1], call.depth) is is_backward], inside
        )
        for is_backward in (False, True)
    )
    if by == VALUE_AND_GRADIENT and not backward:
        forward = taken_or_returned(body, call, statement, forward, sorted(inside))
    derived = parts_of_derivative(by, statement, target, forward, backward)
    has_aux = by in WITH_FUNCTION and bool(derived) and len(target.parts) > len(_PAIR)
    pair = _value_and_aux(body, call, forward, inside) if has_aux else None
    return [pair[0], [], pair[1]] if pair else derived


def _is_of_gradient(body: Body, number: int, depth: int) -> bool:
    """Whether a statement that differentiates makes this for its gradient: transposed, or zeros where it hangs on nothing."""
    if body.uses.transposed[number]:
        return True
    own, *inner = body.levels[number][depth:]
    equation = body.equations[number]
    is_constant = equation.primitive.name == "broadcast_in_dim" and isinstance(equation.invars[0], jax_core.Literal)
    return bool(own.differentiates) and not inner and is_constant


def _is_of_one_expression(body: Body, statement: Statement, escaping: Sequence[Made]) -> bool:
    """Whether they are what one expression gives again and again: `q, k, v = (split(x @ w) for w in ws)`."""
    return statement.elements > 1 and len({(body.levels[number], position) for _, number, position in escaping}) == 1


def _leaves(
    body: Body,
    call: Call,
    statement: Statement,
    target: Target,
    made: Sequence[Made],
    inside: set[int],
    within: str,
) -> Iterator[tuple[str, Made]]:
    """The names of what goes to one target: of several the leaves of a tree, by field or in order.

    Args:
      within: where the target is in what the statement assigns, `[1]`.
    """
    variables = [variable for variable, _, _ in made]
    leaves = [leaf_given_back(body.equations[number]) for _, number, _ in made]
    if all(leaf and leaf.count == len(target.parts) for leaf in leaves) and all(part.is_plain for part in target.parts):
        for leaf, one in zip(leaves, made, strict=True):
            yield (target.parts[leaf.number].text if leaf else ""), one
        return
    if target.parts:
        pair = _value_and_aux(body, call, made, inside) if within == "[0]" and len(target.parts) == len(_PAIR) else None
        if pair:
            used = {one[0]: number for number, own in enumerate(pair) for one in own}
        else:
            used = parts_by_use(body, call, statement, target, variables, inside)
        if not pair and len(used) < len(made) == len(target.parts) and _are_all_carried(body, made):
            in_order = dict(zip(variables, range(len(made)), strict=True))
            used = in_order if used.items() <= in_order.items() else used
        for number, part in enumerate(target.parts):
            own = [one for one in made if used.get(one[0]) == number]
            yield from _leaves(body, call, statement, part, own, inside, f"{within}[{number}]")
        return
    fields = _told_fields(body, call, statement, target, made, within) or fields_of(
        body, call, statement, target.text, variables, inside
    )
    items = items_taken(statement, target.text)
    # What is not taken of them JAX leaves out.
    places = items if len(items) == len(made) else items_of_slice(statement, target.text, len(made))
    places = places or [f"[{number}]" for number in range(len(made))]
    for one, field, place in zip(made, fields, places, strict=True):
        if field is not None and fields.count(field) == 1:
            yield field, one
        else:
            yield target.text if len(made) == 1 and not items else f"{target.text}{place}", one


def _are_all_carried(body: Body, made: Sequence[Made]) -> bool:
    """Whether they are all that a loop hands on, if they come from one: what others do not use is not among them."""
    number = made[0][1]
    equation = body.equations[number]
    if equation.primitive.name != "scan" or any(one != number for _, one, _ in made):
        return True
    return len(made) in (versions.scan_counts(equation.params)[1], len(equation.outvars))


def _told_fields(
    body: Body, call: Call, statement: Statement, target: Target, made: Sequence[Made], within: str
) -> list[str | None]:
    """Of each leaf what JAX says of it, `out['w']`, where the statement is the call of what returns it."""
    found: list[str | None] = []
    for _, number, position in made:
        own, *inner = body.levels[number][call.depth :]
        paths = result_paths(body, number)
        is_it = not (statement.whole or inner or own.maps or own.differentiates) and bool(paths)
        if not is_it or not paths[position].startswith(within) or "<" in paths[position]:
            return []
        found.append(target.text + paths[position].removeprefix(within))
    return found


def _in_order_of_use(body: Body, made: Sequence[Made], inside: set[int]) -> list[Made]:
    """Leaves of a tree in the order in which others take them: that is the tree's, where these go through it.

    Of the results of one equation their own order is the tree's, but not of its operands, for which there are gradients.
    """
    if len({number for _, number, _ in made}) == 1 and not body.uses.transposed[made[0][1]]:
        return sorted(made, key=lambda one: one[2])

    def first_use(one: Made) -> tuple[int, int]:
        users = [number for number in body.uses.consumers.get(one[0], ()) if number not in inside]
        if users:
            return (min(users), list(body.equations[min(users)].invars).index(one[0]))
        return (len(body.equations), min(body.uses.results.get(one[0], ()), default=0))

    return sorted(made, key=first_use)


def _returned(
    body: Body, call: Call, members: list[int], count: int, *, of_one: bool = False
) -> list[list[Made]] | None:
    """What an inlined function returned: the variable of each element of a tuple, nothing of those that cannot be told.

    Args:
      of_one: whether it is of one equation, so that what functions give on of others is told as well.

    Returns:
      None where nothing says it, or the function gives on all that the equation gives.
    """
    inner = inlined_by(body, call, members)
    if inner is None:
        return None
    for value in reversed(inner.returned):
        if isinstance(value, ast.Tuple) and len(value.elts) == count:
            return [made_by(body, element, inner, set(members)) for element in value.elts]
    if of_one and isinstance(inner.only, ast.Call):
        called = Call(inner.outer, inner.file, span_of(inner.only))
        within = [number for number in body.calls.get(called, ()) if number in members]
        return _returned(body, called, within, count, of_one=True) if within else None
    if of_one and isinstance(inner.only, ast.Name) and _is_part_of_others(inner.function, inner.only.id):
        made = made_by(body, inner.only, inner, set(members))
        return [[one] for one in made] if len(made) == count else [[] for _ in range(count)]
    return None


def _is_part_of_others(function: Function, name: str) -> bool:
    """Whether a variable is assigned together with others: `state` of `state, _ = lax.scan(...)`."""
    return any(name in texts_of(target) and target.parts for one in function.statements for target in one.targets)


def _value_and_aux(
    body: Body, call: Call, forward: Sequence[Made], inside: set[int]
) -> tuple[list[Made], list[Made]] | None:
    """Of what a differentiated function gives that returns `loss, aux` which is of which; None where that cannot be told.

    JAX leaves out the loss where only its gradient is used.
    """
    if not forward or not differentiating(body, forward[0][1], call.depth):
        return None
    levels = body.levels[forward[0][1]]
    for depth in range(call.depth + 1, len(levels)):
        level = levels[depth]
        if is_library(level.file):
            continue
        inner = inlined_at(body, levels, depth)
        value = inner.only if inner else None
        if inner and isinstance(value, ast.Tuple) and len(value.elts) == len(_PAIR):
            values, aux = ([one for one in forward if one in made_by(body, each, inner, inside)] for each in value.elts)
            is_told = bool(values) or {*aux} == {*forward}
            return (values, [one for one in forward if one not in values]) if is_told else None
        if not isinstance(value, ast.Call):
            break
    return None


def _returned_value(body: Body, call: Call, members: list[int]) -> list[Made]:
    """What an inlined function returned that ends with `return out` or the like; nothing if that cannot be told."""
    inner = inlined_by(body, call, members)
    return made_by(body, inner.only, inner, set(members)) if inner and inner.only else []


def made_by(
    body: Body, node: ast.expr, inner: Inlined, within: set[int], before: tuple[int, ...] = (sys.maxsize,)
) -> list[Made]:
    """The variables that an expression in a function stands for.

    Args:
      before: the place in the source up to which a variable may have been assigned.
    """
    function, file, outer, _ = inner
    elements = leaves_of(node, body.source(file).fields)
    if elements:
        return [one for element in elements for one in made_by(body, element.value, inner, within, before)]

    def members_of(call: Call) -> list[int]:
        return [one for one in body.calls.get(call, ()) if one in within and not body.is_backward(one, call.depth)]

    assignments: list[Statement | None] = [None]
    if isinstance(node, ast.Name):
        assignments = [
            one
            for one in reversed(function.statements)
            if any(node.id in texts_of(target) for target in one.targets) and _begin_of(one) < before
        ]
    for one in assignments:
        if one and isinstance(one.value, ast.Name):  # `u, v = v, u`
            is_sure = not one.repeats and not is_in_branch(one)
            return made_by(body, one.value, inner, within, _begin_of(one)) if is_sure else []
        call = Call(outer, file, one.span if one else span_of(node))
        parts = instances(body, call, members_of(call), repeats=one.repeats if one else False)
        members = parts[-1] if parts else []
        if one and any(target.parts for target in one.targets):
            named = assigned(body, call, one, members) if members and not one.repeats else ()
            escaping = [made for name, made in named if is_part(name, ast.unparse(node))]
        else:
            made = [each for each in what_escapes(body, members, call.depth) if is_array(each[0])] if members else []
            escaping = _in_order_of_use(body, made, set(members)) if made else []
        if escaping:
            return escaping
    root = _root_of(node)  # An array's own items and properties are operations, and have been found.
    return _item_of(body, node, root, inner, within) if root is not None and root is not node else []


def _begin_of(statement: Statement) -> tuple[int, ...]:
    return tuple((statement.whole or statement.span)[:2])


def _root_of(node: ast.expr) -> ast.Name | None:
    """The variable of which an expression is an item or a field, `parts` of `parts["kl"]`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return None
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _item_of(body: Body, node: ast.expr, root: ast.Name, inner: Inlined, within: set[int]) -> list[Made]:
    """The same of an item of what another function returned, `return loss, {"kl": kl}`."""
    function, file, outer, _ = inner
    text, path = root.id, ast.unparse(node).removeprefix(root.id)
    for one in reversed(function.statements):
        for target in one.targets:
            place = next((number for number, part in enumerate(target.parts) if part.text == text), None)
            if target.text != text and place is None:
                continue
            call = Call(outer, file, one.span)
            members = [number for number in body.calls.get(call, ()) if number in within]
            called = inlined_by(body, call, members) if members else None
            value = called.only if called else None
            if place is not None:
                is_told = isinstance(value, ast.Tuple) and len(value.elts) == len(target.parts)
                value = value.elts[place] if is_told and isinstance(value, ast.Tuple) else None
            if called is None or value is None:
                return []
            items = [part.value for part in leaves_of(value, body.source(called.file).fields) if part.path == path]
            return [made for item in items for made in made_by(body, item, called, within)]
    return []
