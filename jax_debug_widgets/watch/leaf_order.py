"""Which leaf of a tree is which, of one that has the structure of another and of which several leaves are of one type.

JAX makes gradients in the order of the backward pass. What takes them tells: a leaf meets its own parameter, `p - rate * g`,
and what goes through a whole tree takes its leaves in their order.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from typing import Any

from jax_debug_widgets._jax.frames import Level
from jax_debug_widgets.watch.body import Body, Call, Made, is_array, outer_of, type_of
from jax_debug_widgets.watch.classes import last_name
from jax_debug_widgets.watch.mapped import Leaves
from jax_debug_widgets.watch.source import Function, Span, is_library


def paths_like(
    body: Body, call: Call, leaves: Leaves, made: Sequence[Made], inside: set[int], trees: Collection[str]
) -> list[tuple[str, Made]]:
    """The paths of what a call gives, in a tree of these leaves; none where they cannot be told.

    Args:
      inside: the equations of the call.
      trees: what the source calls the one tree and the other.
    """
    if len(leaves) != len(made):
        return []
    if len({type_of(one[0]) for one in made}) == len(made):
        return _by_type(leaves, made)
    met = _by_what_they_meet(body, leaves, made, inside)
    return met or _by_type(leaves, _as_made(body, call, made) or _as_taken(body, call, made, inside, trees))


def _by_type(leaves: Leaves, made: Sequence[Made]) -> list[tuple[str, Made]]:
    """Each leaf's path with the next of its type."""
    rest, found = list(made), []
    for path, variable in leaves if len(rest) == len(leaves) else ():
        one = next((one for one in rest if type_of(one[0]) == type_of(variable)), None)
        if one is None:
            return []
        rest.remove(one)
        found.append((path, one))
    return found


def _by_what_they_meet(body: Body, leaves: Leaves, made: Sequence[Made], inside: set[int]) -> list[tuple[str, Made]]:
    """Each with the path of the leaf that one line takes together with it, where that is another one for each."""
    known = {variable: path for path, variable in leaves if is_array(variable)}
    types = {path: type_of(variable) for variable, path in known.items()}
    found = {}
    for one in made:
        users = [number for number in body.uses.consumers.get(one[0], ()) if number not in inside]
        met = next((path for number in users if (path := _met(body, number, known))), None)
        if met is None or met in found or types[met] != type_of(one[0]):
            return []
        found[met] = one
    return [(path, found[path]) for path, _ in leaves] if len(found) == len(leaves) else []


def _met(body: Body, number: int, known: Mapping[Any, str]) -> str | None:
    """The path of the one leaf that a line takes which begins with this equation."""
    lines, seen, rest = _lines(body, number), {number}, [number]
    while rest:
        equation = body.equations[rest.pop(0)]
        paths = {known[atom] for atom in equation.invars if is_array(atom) and atom in known}
        if paths:
            return paths.pop() if len(paths) == 1 else None
        users = {user for made in equation.outvars for user in body.uses.consumers.get(made, ())}
        following = sorted(user for user in users - seen if _lines(body, user) == lines)
        seen.update(following)
        rest += following
    return None


def _lines(body: Body, number: int) -> list[tuple[str, int]]:
    return [(level.file, level.span[0]) for level in body.levels[number]]


def _as_made(body: Body, call: Call, made: Sequence[Made]) -> list[Made]:
    """In their order, where one line of a library's makes them one after the other."""
    numbers = {number for _, number, _ in made}
    levels = {body.levels[number] for number in numbers}
    is_forward = not any(body.uses.transposed[number] for number in numbers)
    if len(numbers) < len(made) or len(levels) != 1 or not is_forward:
        return []
    (own,) = levels
    is_of_library = any(is_library(level.file) for level in own[call.depth :])
    return sorted(made, key=lambda one: one[1]) if is_of_library else []


def _as_taken(body: Body, call: Call, made: Sequence[Made], inside: set[int], trees: Collection[str]) -> list[Made]:
    """In the order in which one line takes them that goes through all of them, or the body gives them."""
    users = [[number for number in body.uses.consumers.get(one[0], ()) if number not in inside] for one in made]
    if not any(users):
        return sorted(made, key=lambda one: min(body.uses.results.get(one[0], ()), default=0))
    for levels in dict.fromkeys(body.levels[number] for number in users[0]):
        taking = [next((number for number in own if body.levels[number] == levels), None) for own in users]
        if None not in taking and _goes_through(body, call, levels, trees):
            order = [
                (number, body.equations[number].invars.index(one[0]))
                for number, one in zip(taking, made, strict=True)
                if number is not None
            ]
            return [one for _, one in sorted(zip(order, made, strict=True), key=lambda taken: taken[0])]
    return []


def _goes_through(body: Body, call: Call, levels: Sequence[Level], trees: Collection[str]) -> bool:
    """Whether what these frames lead to goes through a whole tree, leaf by leaf in its order."""
    # Of what a function gives to its caller the frames that both have are fewer than those around the call.
    both = zip(outer_of(levels), call.outer, strict=False)
    shared = len([*takewhile(lambda frames: frames[0] == frames[1], both)])
    for level in levels[shared:]:
        if level.maps or is_library(level.file):
            return True
        source, span = body.source(level.file), Span(*level.span)
        own = source.loops_around(call.span) if level.file == call.file else []
        through = [one for one in source.loops_around(span) if not any(one is other for other in own)]
        function = source.function_at(level.code_line, level.function)
        node = source.expressions.get(span)
        if not all(_is_in_order(one, function, trees) for one in through):
            return False
        if not through and (node is None or any(map(_is_written, ast.walk(node)))):
            return False
    return bool(levels)


def _is_written(node: ast.AST) -> bool:
    """Whether it is one item of something, by a constant: then what takes it need not take all of them in their order."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)


_WHOLE = frozenset({"items", "values", "leaves", "tree_leaves", "flatten", "tree_flatten", "sorted", "range"})
"""Functions that give the parts of a tree in its order: of a dictionary of JAX's that is the order of its keys."""


def _is_in_order(through: ast.expr, function: Function | None, trees: Collection[str]) -> bool:
    """Whether a loop goes through a tree in its order; a list of keys that somebody has written may be in another one."""
    match through:
        case ast.Call(func=ast.Name(id="zip" | "enumerate"), args=parts):
            return all(_is_in_order(one, function, trees) for one in parts)
        case ast.Call(keywords=[]):
            return last_name(through.func) in _WHOLE
        case ast.Name(id=name):
            return name in trees or (function is not None and name in function.arguments)
    return False
