"""The leaves of a tree that has the structure of another one have their paths: `grads['w']` for `grads[1]`.

A gradient has the structure of what it is taken for, what `jax.tree.map` gives that of its arguments, what optax updates that
of what it was, and what an inlined function returns that of what it has made.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from jax_debug_widgets._jax.frames import GRADIENT_AND_AUX, VALUE_AND_GRADIENT, may_run_rule
from jax_debug_widgets.watch.arguments import Argument
from jax_debug_widgets.watch.body import Body, Call, Made, Outer, is_array, outer_of, type_of
from jax_debug_widgets.watch.derivatives import WITH_FUNCTION, differentiating
from jax_debug_widgets.watch.differentiated import asked_for, pulled_back, with_gradients
from jax_debug_widgets.watch.inlined import inlined_at
from jax_debug_widgets.watch.leaf_order import paths_like
from jax_debug_widgets.watch.literals import leaves_of
from jax_debug_widgets.watch.mapped import Leaves, by_leaf, given_at, in_order_of, name_at, trees_of
from jax_debug_widgets.watch.mentions import is_part, texts_of
from jax_debug_widgets.watch.parts import assigned
from jax_debug_widgets.watch.pushed import pushed
from jax_debug_widgets.watch.returned import put_together
from jax_debug_widgets.watch.rounds import HandedOn
from jax_debug_widgets.watch.source import Function, Span, Statement, Target, span_of

_LEAF = re.compile(r"(\w+)([\[.].*)")
_ROOT = re.compile(r"[\[.]")
_OPTAX = re.compile(r"[\\/]optax[\\/]")


class Trees:
    """The trees that a body has come to so far, by the frames around it and their names."""

    def __init__(
        self,
        body: Body,
        arguments: Iterable[Argument],
        parameters: Container[str],
        given_back: Callable[[int], dict[int, str]],
        handed_on: HandedOn,
    ) -> None:
        self._body, self._given_back, self._handed_on = body, given_back, handed_on
        self._leaves: dict[tuple[Outer, str], Leaves] = {}
        self._told: dict[tuple[Outer, str], dict[Any, str]] = {}
        """What is known of the leaves of a tree since something went through it: by the frames around it and its name."""
        self._parameters = parameters
        """Which of the leaves of arguments flax.nnx differentiates for."""
        self.gradients_of: dict[Any, list[Made]] = {}
        """Of what a derivative is taken for each variable with its gradients."""
        self._kept: set[tuple[Outer, str]] = set()
        """The names that were assigned something of which leaves are known, or parts of it."""
        self._numbered: set[tuple[Outer, str]] = set()
        """Those whose leaves have numbers in place of paths."""
        for one in arguments:
            root, path = leaf.groups() if (leaf := _LEAF.fullmatch(one.name)) else (one.name, "")
            self._leaves.setdefault(((), root), []).append((path, one.variable))
        if not body.argument_names:
            self._numbered.update(name for name, leaves in self._leaves.items() if _is_numbered(leaves))

    def assigned(self, call: Call, statement: Statement, members: list[int]) -> list[tuple[str, Made]]:
        """What one execution of a statement assigns, each name with what it is."""
        for target in statement.targets:
            for name, _ in _plain(target):
                is_numbered = (call.outer, name) in self._numbered
                leaves = self._of(call.outer, members[0], name)
                self._handed_on.follow(self._body, call, name, members, leaves, is_numbered=is_numbered)
        mapped = self._mapped(call, statement, members)
        values = mapped or pushed(self._body, call, statement, members)
        values = values or list(assigned(self._body, call, statement, members))
        values = self._named(call, statement, members, values)
        if not mapped:
            self._tell_arguments(call, statement, members, values)
        for asked in asked_for(self._body, call, statement, members):
            if self._is_another(call, statement, asked[1]):
                continue
            leaves = self._of(call.outer, members[0], asked[1]) or self._gone_through(call, members, _read(asked[1]))
            for variable, made in with_gradients(self._body, asked, values, leaves):
                self.gradients_of.setdefault(variable, []).append(made)
        return values

    def _is_another(self, call: Call, statement: Statement, tree: str) -> bool:
        """Whether a tree is no more what it was: before this statement it is assigned what has no leaves, `ws[:1] + us`."""
        root = _ROOT.split(tree, maxsplit=1)[0]
        before = (
            [one for one in statement.function.statements if one.span < statement.span] if statement.function else []
        )
        is_assigned = any(root == text for one in before for target in one.targets for text in texts_of(target))
        return is_assigned and (call.outer, root) not in self._kept

    def path_told(self, outer: Outer, name: str, variable: Any) -> str | None:
        """What a leaf is called that had a number, `state[1]`, since its path is known."""
        root, _, number = name.rpartition("[")
        path = self._told.get((outer, root), {}).get(variable) if number.removesuffix("]").isdigit() else None
        return None if path is None else root + path

    def _mapped(self, call: Call, statement: Statement, members: list[int]) -> list[tuple[str, Made]]:
        """What `jax.tree.map` gives of trees of which the paths of one are known; the others are like it."""
        trees = trees_of(statement.value)
        if not trees or not all(self._body.levels[one][call.depth].maps for one in members):
            return []
        named = [ast.unparse(one) for one in trees]
        for leaves in [self._gone_through(call, members, one) for one in trees]:
            parts = by_leaf(self._body, members, leaves)
            if not parts:
                continue
            self._tell(call, members, named, parts, [path for path, _ in leaves])
            given = given_at(self._body, call, parts, leaves)
            return [
                (name, one) for target in statement.targets for path, one in given if (name := name_at(target, path))
            ]
        return []

    def _tell_arguments(
        self, call: Call, statement: Statement, members: list[int], values: list[tuple[str, Made]]
    ) -> None:
        """What `jax.tree.map` goes through has the paths of what it gives, where these are known."""
        trees = [ast.unparse(one) for one in trees_of(statement.value)]
        texts = [target.text for target in statement.targets if target.is_plain]
        if not trees or len(texts) != 1 or (call.outer, texts[0]) in self._numbered:
            return
        in_order = sorted(values, key=lambda one: one[1][1])
        paths = [name.removeprefix(texts[0]) for name, _ in in_order]
        parts = by_leaf(self._body, members, [(path, None) for path in paths])
        if all(made[1] in part for (_, made), part in zip(in_order, parts, strict=False)):
            self._tell(call, members, trees, parts, paths)

    def _tell(self, call: Call, members: list[int], trees: list[str], parts: list[list[int]], paths: list[str]) -> None:
        """Note the paths of the leaves of these trees, where they had numbers: each part takes one of them."""
        for tree in trees:
            leaves = self._of(call.outer, members[0], tree) if (call.outer, tree) in self._numbered else []
            order = in_order_of(self._body, parts, leaves) if leaves else []
            self._told.setdefault((call.outer, tree), {}).update(
                (variable, path) for variable, path in zip(order, paths, strict=False) if variable is not None
            )

    def _named(
        self, call: Call, statement: Statement, members: list[int], values: list[tuple[str, Made]]
    ) -> list[tuple[str, Made]]:
        """The same with their paths, where they are known."""
        for target in statement.targets:
            for name, part in _plain(target):
                own = [one for one in values if is_part(one[0], name)]
                if [full for full, _ in own] == [name] and isinstance(statement.value, ast.Call):
                    # Of what it returns nothing else may be used: then this one is `y['h']`, not `y`.
                    path = self._path_of_lone(call, statement, name, part, members, own[0][1])
                    values = [(f"{name}{path}", one[1]) if one == own[0] else one for one in values]
                    own = [(f"{name}{path}", own[0][1])]
                elif _is_numbered([(full.removeprefix(name), made) for full, made in own]):
                    by = {made[0]: made for _, made in own}
                    paths = (
                        [(path, by[one]) for one, path in self._handed_on.paths(by).items()]
                        or self._pulled_back(call, statement, name, members, [*by.values()])
                        or self._of_aux(call, statement, name, members, [*by.values()])
                        or self._paths(call, statement.value, part, members, [*by.values()])
                        or self._handed_on.as_before(self._body, call, name, members, by.values())
                    )
                    renamed = {made: f"{name}{path}" for path, made in paths}
                    values = [(renamed.get(made, old) if (old, made) in own else old, made) for old, made in values]
                    own = [(full, made) for made, full in renamed.items()] or own
                    self._numbered.discard((call.outer, name))
                    if not paths:
                        self._numbered.add((call.outer, name))
                told = [(full.removeprefix(name), made) for full, made in own]
                if told and (call.outer, name) not in self._numbered:
                    self._handed_on.note(call, name, members, told)
                self._keep(call.outer, name, [(path, made[0]) for path, made in told])
        return values

    def _path_of_lone(
        self, call: Call, statement: Statement, name: str, part: int | None, members: list[int], made: Made
    ) -> str:
        """Where in a tree the one leaf is that others use of what a call gives: `['h']`; `[?]` of a gradient where unknown."""
        levels = self._body.levels[members[0]][call.depth :]
        if statement.whole or statement.outside or any(map(may_run_rule, levels)):  # It is taken out of that already.
            return ""
        if not self._body.uses.transposed[made[1]]:
            is_derivative = differentiating(self._body, made[1], call.depth)
            of_aux = self._of_aux(call, statement, name, members, [made]) if is_derivative else []
            told = of_aux if is_derivative else self._returned(call, part, members, [made])
            return next((path for path, _ in told), "")
        for root, argument in asked_for(self._body, call, statement, members):
            leaves = self._gone_through(call, members, _read(argument)) if root == name else []
            if len(leaves) > 1:
                alike = [path for path, one in leaves if one is None or type_of(one) == type_of(made[0])]
                return alike[0] if len(alike) == 1 else "[?]"
        return ""

    def _of_aux(
        self, call: Call, statement: Statement, name: str, members: list[int], made: Sequence[Made]
    ) -> list[tuple[str, Made]]:
        """What a differentiated function returns beside its value, `loss, {"kl": kl}`, with its paths."""
        if not made or any(self._body.uses.transposed[number] for _, number, _ in made):
            return []
        by = differentiating(self._body, made[0][1], call.depth)
        parts = [one.parts for one in statement.targets if one.parts]
        spots: list[tuple[Target, int | None]] = []
        for own in parts:
            if by == VALUE_AND_GRADIENT:
                spots += [(own[0], None), *zip(own[0].parts, (0, 1), strict=False)]
            elif by == GRADIENT_AND_AUX:
                spots += [(one, 1) for one in own[1:2]]
            elif by in WITH_FUNCTION:
                spots += [(own[0], 0), *((one, 1) for one in own[2:3])]
        place = next((place for spot, place in spots if spot.is_plain and spot.text == name), -1)
        inside = [one for one in members if len(self._body.levels[one]) > call.depth + 1]
        return self._returned(call, place, inside, made) if place != -1 and inside else []

    def _pulled_back(
        self, call: Call, statement: Statement, name: str, members: list[int], made: Sequence[Made]
    ) -> list[tuple[str, Made]]:
        """What the function gives that comes from `jax.vjp`, with the paths of what that was taken for."""
        for root, argument in pulled_back(statement, self._body.source(call.file)):
            leaves = self._of(call.outer, members[0], argument) if root == name else []
            if [type_of(one) for _, one in leaves] == [type_of(one[0]) for one in sorted(made, key=lambda one: one[1])]:
                return _mapped(leaves, made)
        return []

    def _keep(self, outer: Outer, name: str, leaves: Leaves) -> None:
        """Note what a name stands for now, also as a part: `t[0]` of `t`."""
        self._leaves[outer, name] = leaves
        self._kept.add((outer, _ROOT.split(name, maxsplit=1)[0]))
        part = _LEAF.fullmatch(name)
        if part:
            root, path = part[1], part[2]
            known = self._leaves.get((outer, root), [])
            first = next((n for n, one in enumerate(known) if is_part(one[0], path)), len(known))
            rest = [one for one in known if not is_part(one[0], path)]
            own = [(path + inner, variable) for inner, variable in leaves]
            self._leaves[outer, root] = [*rest[:first], *own, *rest[first:]]

    def _paths(
        self, call: Call, node: ast.expr, part: int | None, members: list[int], made: Sequence[Made]
    ) -> list[tuple[str, Made]]:
        """What a call gives, or part `part` of it, in the order of the tree, with its paths in the argument that it is like."""
        if not isinstance(node, ast.Call) or not members:
            return []
        told = self._told_by_program(part, made)
        if told:
            return told
        own, *inner = self._body.levels[members[0]][call.depth :]
        is_alike = differentiating(self._body, members[0], call.depth) or (inner and _OPTAX.search(inner[0].file))
        for one in node.args if is_alike or own.maps else ():
            tree = ast.unparse(one)
            leaves = [] if (call.outer, tree) in self._numbered else self._of(call.outer, members[0], tree)
            if len(leaves) > len(made):
                leaves = [leaf for leaf in leaves if f"{tree}{leaf[0]}" in self._parameters]
            paths = (
                _mapped(leaves or self._gone_through(call, members, one), made)
                if own.maps
                else paths_like(
                    self._body, call, leaves, made, set(members), {_ROOT.split(tree)[0], *self._names_of(call)}
                )
            )
            if paths:
                return paths
        return [] if is_alike or own.maps else self._returned(call, part, members, made)

    def _names_of(self, call: Call) -> Iterator[str]:
        """What the source calls what a call gives."""
        for statement in self._body.source(call.file).statements_at(call.span):
            for target in statement.targets:
                yield from (name for name, _ in _plain(target))

    def _told_by_program(self, part: int | None, made: Sequence[Made]) -> list[tuple[str, Made]]:
        """The paths of what one equation gives, or of part `part` of it, where the names inside its program tell."""
        numbers = {number for _, number, _ in made}
        told = self._given_back(*numbers) if len(numbers) == 1 else {}
        within = "" if part is None else f"[{part}]"
        paths = [told.get(position, "<unknown>") for _, _, position in made]
        if not all(path.startswith(within) and path != "<unknown>" for path in paths):
            return []
        return [(path.removeprefix(within), one) for path, one in zip(paths, made, strict=True)]

    def _gone_through(self, call: Call, members: list[int], node: ast.expr) -> Leaves:
        """The leaves of a tree through which these equations go leaf by leaf; none where they have numbers."""
        parts = leaves_of(node, self._body.source(call.file).fields)
        if parts:
            own = [(one.path, self._gone_through(call, members, one.value) or [("", None)]) for one in parts]
            return [(path + inner, variable) for path, leaves in own for inner, variable in leaves]
        if isinstance(node, ast.Call):
            return self._of_call(replace(call, span=span_of(node)), members, node)
        tree = ast.unparse(node)
        return [] if (call.outer, tree) in self._numbered else self._of(call.outer, members[0], tree)

    def _of_call(self, call: Call, members: list[int], node: ast.Call) -> Leaves:
        """The leaves of what a call gives to these equations, in the order in which they take them."""
        makers, inner = self._body.makers, self._body.calls.get(call, [])
        atoms = [atom for number in members for atom in self._body.equations[number].invars if is_array(atom)]
        made = [one for atom in dict.fromkeys(atoms) if (one := makers.get(atom)) and one[1] in inner]
        forward = [one for one in made if not self._body.uses.transposed[one[1]]]
        is_beside_gradient = len(forward) == 1 < len(made) and differentiating(self._body, inner[0], call.depth)
        if not is_beside_gradient:
            return [(path, one[0]) for path, one in self._paths(call, node, None, inner, made)]
        gradient = self._paths(call, node, 1, inner, [one for one in made if one not in forward])
        return [("[0]", forward[0][0]), *((f"[1]{path}", one[0]) for path, one in gradient)]

    def _returned(
        self, call: Call, part: int | None, members: list[int], made: Sequence[Made]
    ) -> list[tuple[str, Made]]:
        """The paths of what an inlined function returns, or of an element of it."""
        levels, depth = self._body.levels[members[0]], call.depth + 1
        inlined = inlined_at(self._body, levels, depth) if levels[depth:] else None
        if inlined is None or inlined.only is None:
            return []
        node, file, outer = inlined.only, inlined.file, inlined.outer
        if part is not None and isinstance(node, ast.Tuple):
            if not 0 <= part < len(node.elts):
                return []
            node, part = node.elts[part], None
        if part is None:

            def leaves(node: ast.expr) -> Leaves:
                name = ast.unparse(node)
                if not isinstance(node, ast.Call):
                    return [] if (outer, name) in self._numbered else self._leaves.get((outer, name), [])
                inner = Call(outer, file, span_of(node))
                within = [one for one in self._body.calls.get(inner, ()) if one in members]
                given = [one for one in made if one[1] in within]
                return [(path, one[0]) for path, one in self._paths(inner, node, None, within, given)]

            found = put_together(self._body, node, inlined, members, made, leaves)
            if found or isinstance(node, ast.Name):
                return found
        inner = Call(outer, file, span_of(node))
        within = [one for one in self._body.calls.get(inner, ()) if one in members]
        return self._paths(inner, node, part, within, made)

    def _function_in(self, outer: Outer, number: int) -> Function | None:
        """The function that the frames around an equation lead to, where they are these."""
        levels = self._body.levels[number]
        if len(levels) <= len(outer) or outer_of(levels[: len(outer)]) != outer:
            return None
        level = levels[len(outer)]
        return self._body.source(level.file).function_at(level.code_line, level.function)

    def _of(self, outer: Outer, number: int, tree: str) -> Leaves:
        """The leaves of a tree in the frame that these frames lead to: its own, its caller's, or a function's around it."""
        root = _ROOT.split(tree, maxsplit=1)[0]
        path = tree.removeprefix(root)
        found = self._leaves.get((outer, tree)) or [
            (own.removeprefix(path), variable)
            for own, variable in self._leaves.get((outer, root), [])
            if is_part(own, path)
        ]
        function = self._function_in(outer, number) if outer else None
        if found or function is None:
            return found
        given = _given(function, self._body.source(outer[-1][0]).expressions.get(Span(*outer[-1][1])))
        if root in given:
            return self._of(outer[:-1], number, ast.unparse(given[root]) + path)
        assigned = {name for one in function.statements for target in one.targets for name in texts_of(target)}
        around = function.name.rpartition(".<locals>.")[0]
        depth = next((d for d in reversed(range(len(outer))) if self._is_function(outer[:d], number, around)), None)
        is_own = depth is None or root in assigned or root in function.arguments
        return [] if is_own else self._of(outer[:depth], number, tree)

    def _is_function(self, outer: Outer, number: int, name: str) -> bool:
        function = self._function_in(outer, number)
        return function is not None and function.name == name


def _read(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _is_numbered(leaves: Sequence[tuple[str, Any]]) -> bool:
    """Whether numbers stand for paths: for those of all leaves, or beside fields, where they can be none."""
    numbers = [path == f"[{number}]" for number, (path, _) in enumerate(leaves)]
    return all(numbers) or (any(numbers) and any(path.startswith((".", "['")) for path, _ in leaves))


def _mapped(leaves: Leaves, made: Sequence[Made]) -> list[tuple[str, Made]]:
    """What is made leaf by leaf, in their order, with their paths."""
    in_order = sorted(made, key=lambda one: one[1:])
    return [(path, one) for (path, _), one in zip(leaves, in_order, strict=True)] if len(leaves) == len(made) else []


def _given(function: Function, call: ast.expr | None) -> dict[str, ast.expr]:
    """What a call gives to each argument of a function; `jax.grad(f)(x)` what `f(x)` would."""
    if not isinstance(call, ast.Call):
        return {}
    names = function.arguments[function.arguments[:1] == ("self",) :]
    by_position = takewhile(lambda one: not isinstance(one, ast.Starred), call.args)
    return {**dict(zip(names, by_position, strict=False)), **{one.arg: one.value for one in call.keywords if one.arg}}


def _plain(target: Target, part: int | None = None) -> Iterator[tuple[str, int | None]]:
    """The names of a target, each with the part of what is assigned that it takes."""
    if target.is_plain:
        yield target.text, part
    for number, one in enumerate(target.parts):
        yield from _plain(one, number if part is None else -1)
