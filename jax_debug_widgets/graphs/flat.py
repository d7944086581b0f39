"""Inline the calls of a body, and hash what each operation computes.

The operands of an inlined operation are values of the body, and not arguments of the function that the operation was in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from jax_debug_widgets.graphs.program import CALLS, Body, Equation, Operand

Edge = tuple[Any, ...]
"""Where an operand comes from: `("result", node, position)`, `("input", key)`, or `("constant", digest)`."""

_COMMUTATIVE = frozenset({"add", "add_any", "mul", "max", "min", "and", "or", "xor", "eq", "ne"})

_ALSO = {"add_any": "add", "empty2": "empty"}
"""JAX's name of an operation in derivatives -> its name elsewhere."""

CHECKPOINTS = frozenset({"checkpoint", "remat2"})
"""What JAX calls `jax.checkpoint`."""

_RULES = ("custom_jvp_call", "custom_vjp_call")


@dataclass(eq=False)
class FlatOperation:
    """An operation of a flat body.

    Attributes:
      number: its position in the flat body.
      equation: the equation that it was.
      operands: the origins of its operands.
      name: the name of its result in the source; empty if it has none.
      rules: the functions with custom derivative rules around it.
      checkpoints: the calls of `jax.checkpoint` around it that are inlined, the outermost first.
      label: a hash of the operation without its operands; `down`: with all that it is computed from; `up`: with all
        that uses it.
      order: a hash of what its bodies compute, in order.
    """

    number: int
    equation: Equation
    operands: tuple[Edge, ...]
    name: str
    rules: tuple[str, ...]
    checkpoints: tuple[Equation, ...] = ()
    label: str = ""
    down: str = ""
    up: str = ""
    order: str = ""

    @cached_property
    def itself(self) -> str:
        """The operation without its bodies and operands, as text that is equal for equal operations."""
        equation = self.equation
        primitive = _ALSO.get(equation.primitive, equation.primitive)
        params = {} if primitive == "empty" else equation.params  # Its type describes it completely.
        return f"{primitive!r}, {sorted(params.items())!r}, {[str(one) for one in equation.types]!r}"

    @property
    def commutes(self) -> bool:
        """Whether its operands may be swapped."""
        return self.equation.primitive in _COMMUTATIVE


@dataclass(eq=False)
class FlatProgram:
    """The operations of a body in order, and the origins of its results, which have these texts."""

    nodes: list[FlatOperation]
    results: list[Edge]
    texts: list[str]


def flat_of(body: Body, inputs: Sequence[Edge], *, checkpoints: bool = False) -> FlatProgram:
    """Make the flat program of a body.

    Args:
      body: the body.
      inputs: the origins of the body's inputs.
      checkpoints: whether calls of `jax.checkpoint` are inlined too.
    """
    flat = FlatProgram([], [], [one.text for one in body.results])
    flat.results = _inlined(body, list(inputs), flat, _Within((), () if checkpoints else None))
    return flat


@dataclass(frozen=True)
class _Within:
    """The calls around an operation; `checkpoints` is None if those are not inlined."""

    rules: tuple[str, ...]
    checkpoints: tuple[Equation, ...] | None

    def inside(self, equation: Equation) -> _Within:
        if equation.primitive in CHECKPOINTS:
            return replace(self, checkpoints=(*(self.checkpoints or ()), equation))
        if equation.primitive in _RULES:
            return replace(self, rules=(*self.rules, equation.params.get("name", equation.primitive)))
        return self


def _inlined(body: Body, inputs: Sequence[Edge], flat: FlatProgram, within: _Within) -> list[Edge]:
    results: dict[int, list[Edge]] = {}

    def read(one: Operand) -> Edge:
        if one.kind == "result":
            return results[one.number][one.position]
        return inputs[one.number] if one.kind == "input" else ("constant", one.digest, one.text)

    for equation in body.equations:
        operands = [read(one) for one in equation.operands]
        named = next((name for name, noted in zip(equation.names, equation.noted, strict=True) if noted), "")
        if _gives_what_it_takes(equation):
            results[equation.number] = operands
            continue
        if is_inlined(equation, CALLS if within.checkpoints is None else CALLS | CHECKPOINTS):
            (inner,) = equation.bodies
            given = [operands[at] for at in inner.given if at is not None]
            results[equation.number] = made = _inlined(inner, given, flat, within.inside(equation))
            for edge in made:
                if edge[0] == "result" and named and not flat.nodes[edge[1]].name:
                    _give_name(flat.nodes[edge[1]], edge[2], named)
            continue
        around = within.rules, within.checkpoints or ()
        flat.nodes.append(FlatOperation(len(flat.nodes), equation, tuple(operands), named, *around))
        results[equation.number] = [("result", len(flat.nodes) - 1, at) for at in range(len(equation.types))]
    return [read(one) for one in body.results]


def live_in(flat: FlatProgram) -> set[int]:
    """Return the operations that a result or an effect needs."""
    todo = [edge[1] for edge in flat.results if edge[0] == "result"]
    todo += [one.number for one in flat.nodes if one.equation.has_effects]
    found: set[int] = set()
    while todo:
        number = todo.pop()
        if number not in found:
            found.add(number)
            todo += [edge[1] for edge in flat.nodes[number].operands if edge[0] == "result"]
    return found


def _give_name(node: FlatOperation, position: int, name: str) -> None:
    """Name a result of an inlined operation as the source names the result of the call."""
    names = list(node.equation.names)
    names[position] = node.name = name
    node.equation = replace(node.equation, names=tuple(names))


def _gives_what_it_takes(equation: Equation) -> bool:
    """Return whether an equation asks for the type, the shape or the sharding that its operand already has.

    JAX writes such casts where only the weakness of the type changes, or where a value of all devices becomes one of each.
    """
    if equation.primitive == "pvary":
        return True
    if equation.primitive == "reshard":
        return not equation.params.get("dst_sharding")
    if (
        equation.primitive == "psum"
    ):  # Without axes it comes from the derivative of a `psum` over an axis that `vmap` maps.
        return not equation.params.get("axes")
    if equation.primitive not in ("convert_element_type", "broadcast_in_dim") or equation.params.get("sharding"):
        return False
    (made,), (taken,) = equation.types, equation.operands
    return (made.dtype, made.shape) == (taken.type.dtype, taken.type.shape)  # `nbytes` of a number is not known.


def is_inlined(equation: Equation, calls: frozenset[str] = CALLS) -> bool:
    """Return whether an equation is one of these calls, and only runs its body with its operands."""
    return equation.primitive in calls and len(equation.bodies) == 1 and None not in equation.bodies[0].given


def digest(*parts: Any) -> str:
    """Return a hash that is equal for equal parts."""
    return _hash_of_text(repr(parts))


def _hash_of_text(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def hash_down(flat: FlatProgram, known: Mapping[Edge, str] | None = None) -> list[str]:
    """Set the `down` and `order` of each node; return the hash of each result, and of each effect.

    `known` has the hashes of inputs. Other inputs, and constants, are hashed by their edges.
    """
    known = dict(known or {})
    for node in flat.nodes:
        node.down, node.order = _hash_of_node(node, [_hash_of(edge, flat, known) for edge in node.operands])
    effects = [node.down for node in flat.nodes if node.equation.has_effects]
    return [*(_hash_of(edge, flat, known) for edge in flat.results), *effects]


def hash_up(flat: FlatProgram) -> None:
    """Set the `label`, `order` and `up` of each node."""
    users: dict[int, list[str]] = {}
    for at, edge in enumerate(flat.results):
        if edge[0] == "result":
            users.setdefault(edge[1], []).append(digest("result", at, edge[2]))
    for node in reversed(flat.nodes):
        node.label, node.order = _hash_of_node(node, ["x"] * len(node.operands))
        node.up = digest(node.label, sorted(users.get(node.number, ())))
        for at, edge in enumerate(node.operands):
            if edge[0] == "result":
                users.setdefault(edge[1], []).append(digest(node.up, 0 if node.commutes else at, edge[2]))


def _hash_of(edge: Edge, flat: FlatProgram, known: dict[Edge, str]) -> str:
    if edge not in known:
        known[edge] = digest(flat.nodes[edge[1]].down, edge[2]) if edge[0] == "result" else digest(*edge[:2])
    return known[edge]


def _hash_of_node(node: FlatOperation, operands: list[str]) -> tuple[str, str]:
    """Return a hash of what an operation computes from these operands, and its `order`."""
    hashed = [_hash_of_body(body, operands) for body in node.equation.bodies]
    bodies = [results for results, _ in hashed]
    inside = {at for body in node.equation.bodies for at in body.given}
    rest = [one for at, one in enumerate(operands) if at not in inside]
    computed = _hash_of_text(f"({node.itself}, {bodies!r}, {sorted(rest) if node.commutes else rest!r})")
    return computed, _hash_of_text(repr([order for _, order in hashed])) if hashed else ""


def _hash_of_body(body: Body, operands: Sequence[str]) -> tuple[list[str], list[str]]:
    """Hash the computation of a body: each result, and each operation in order.

    Inputs that change from run to run are identified by their position and type.
    """
    changing = iter(range(len(body.inputs)))
    edges: list[Edge] = [("input", place) for place in range(len(body.inputs))]
    known = {
        edge: operands[at] if at is not None else digest("in", next(changing), str(one.type))
        for edge, at, one in zip(edges, body.given, body.inputs, strict=True)
    }
    flat = flat_of(body, edges)
    return hash_down(flat, known), [part for node in flat.nodes for part in (node.down, node.order)]
