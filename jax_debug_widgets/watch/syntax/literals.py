"""Find values that are assigned part by part: elements of a tuple, list or dictionary literal, and fields of an object.

`state = State(pos=x + v, vel=v - g)` assigns `state.pos` and `state.vel`, as `state = {"pos": x + v}` assigns `state['pos']`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jax_debug_widgets.taps.parsing import parse_expression
from jax_debug_widgets.watch.syntax.classes import Fields

STATIC_ATTRIBUTES = frozenset({"shape", "ndim", "dtype", "size"})
"""The attributes of an array that are known while a program is traced."""

MAY_DO_NOTHING = frozenset(
    {
        *("astype", "reshape", "ravel", "flatten", "squeeze", "transpose", "asarray", "array", "broadcast_to"),
        *("atleast_1d", "atleast_2d", "atleast_3d", "convert_element_type", "stop_gradient"),
    }
)
"""Methods and functions that return an array unchanged if it has the type already: JAX then traces no operation."""

_MODULE = re.compile(r"(jax|jnp|lax|np|numpy)(\.\w+)*")

_MAKES_FIELDS = re.compile(r"[A-Z]\w*|_?replace|dict")
"""The functions whose keywords are names of fields: a class, `namedtuple._replace`, `dataclasses.replace`, `dict`."""


class Element(NamedTuple):
    """An element, and the text that selects it from the whole: `[0]`, `['w']`, `.pos`."""

    path: str
    value: ast.expr


class InnerExpression(NamedTuple):
    """The inner expression `f(x)` of `f(x)[0]`, of `f(x).mean`, or of `f(x).astype(dtype)`.

    Attributes:
      outside: the expressions around it, outermost first.
    """

    value: ast.expr
    outside: tuple[ast.expr, ...]


def pairs(
    target: ast.expr, value: ast.expr, fields: Fields
) -> Iterator[tuple[ast.expr, ast.expr, InnerExpression | None]]:
    """Split an assignment: `a, (b, c) = x, (y, z)` into three, `a = [x, y]` into two, `a = x if c else y` into both cases.

    Each comes with None, and again with each inner expression that may be its value, see `inner_of`.
    """
    if isinstance(value, ast.IfExp):
        yield from pairs(target, value.body, fields)
        yield from pairs(target, value.orelse, fields)
        return
    elements = _elements(target, value)
    if elements:
        for part, own in elements:
            yield from pairs(part, own, fields)
        return
    built = [] if isinstance(target, ast.Tuple | ast.List) else elements_of(value, fields)
    # A call may compute something itself, and `{**state, "w": w}` has more elements than are written.
    if not built or not isinstance(value, ast.Tuple | ast.List | ast.Dict) or _unpacks(value):
        yield target, value, None
        for inner in inner_of(value):
            yield target, inner.value, inner
    for path, own in built:
        yield from pairs(parse_expression(f"{ast.unparse(target)}{path}"), own, fields)


def _elements(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Pair the elements of a written tuple with their targets: in `a, *b = x, y`, `y` belongs to `b[0]`."""
    if not isinstance(target, ast.Tuple | ast.List) or not isinstance(value, ast.Tuple | ast.List):
        return []
    if any(isinstance(one, ast.Starred) for one in value.elts):
        return []
    targets: list[ast.expr] = []
    for one in target.elts:
        taken = range(len(value.elts) - len(target.elts) + 1) if isinstance(one, ast.Starred) else ()
        starred = ast.unparse(one.value) if isinstance(one, ast.Starred) else ""
        targets += [parse_expression(f"{starred}[{number}]") for number in taken] if starred else [one]
    return list(zip(targets, value.elts, strict=True)) if len(targets) == len(value.elts) else []


def elements_of(value: ast.expr, fields: Fields = ()) -> list[Element]:
    """Return the elements of a tuple, list, dictionary or object that an expression builds; none if one is unknown.

    For `{**state, "w": w}` and `state | {"w": w}` return only the written elements.
    """
    if isinstance(value, ast.Tuple | ast.List) and not any(isinstance(one, ast.Starred) for one in value.elts):
        return [Element(f"[{number}]", own) for number, own in enumerate(value.elts)]
    if isinstance(value, ast.Dict):
        return _items(value)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr) and is_dict(value.right):
        return elements_of(value.right)
    if isinstance(value, ast.Call):
        return _fields(value, dict(fields))
    return []


def _items(value: ast.Dict) -> list[Element]:
    """Return the items of a dictionary literal. Items before `**rest` are left out, because `rest` may replace them."""
    after = max((number + 1 for number, key in enumerate(value.keys) if key is None), default=0)
    items = list(zip(value.keys, value.values, strict=True))[after:]
    if not all(isinstance(key, ast.Constant) for key, _ in items):
        return []
    return [Element(f"[{ast.unparse(key)}]", own) for key, own in items if key]


def _unpacks(value: ast.expr) -> bool:
    return isinstance(value, ast.Dict) and None in value.keys


def is_dict(value: ast.expr) -> bool:
    """Whether an expression is a dictionary literal or call: `{"w": w}`, `dict(w=w)`."""
    return isinstance(value, ast.Dict) or (isinstance(value, ast.Call) and ast.unparse(value.func) == "dict")


def _fields(call: ast.Call, fields: dict[str, tuple[str, ...]]) -> list[Element]:
    """Return the keyword arguments of a call as fields, and the positional ones of a class; of an unknown class as items."""
    path = ast.unparse(call.func)
    called = path.rpartition(".")[2]
    if not _MAKES_FIELDS.fullmatch(called):
        return []
    items = call.args if called[0].isupper() and not any(isinstance(one, ast.Starred) for one in call.args) else []
    given = [one for one in call.keywords if one.arg]  # `**rest` has no name here.
    named = [Element(f"[{one.arg!r}]" if called == "dict" else f".{one.arg}", one.value) for one in given]
    paths = [f".{name}" for name in fields.get(path, ())] or [f"[{number}]" for number in range(len(items))]
    return [*map(Element, paths, items), *named]


def inner_of(value: ast.expr) -> Iterator[InnerExpression]:
    """Yield the inner expressions whose value an expression returns unchanged, or takes a part of."""
    node, outside, is_array = value, (), False
    while (inside := _inside(node)) is not None:
        outside, (node, is_of_array) = (*outside, node), inside
        is_array |= is_of_array
        if isinstance(node, ast.Call) or (is_array and isinstance(node, ast.BinOp | ast.UnaryOp)):
            yield InnerExpression(node, outside)


def _inside(node: ast.expr) -> tuple[ast.expr, bool] | None:
    """Return the expression inside another one, and whether it must be an array; None if there is none."""
    match node:
        case ast.Subscript(value=value, slice=ast.Constant()):
            return value, False
        case ast.Subscript(value=value, slice=taken) if _is_slice(taken):
            return value, True
        case ast.Attribute(value=value, attr=name) if name not in STATIC_ATTRIBUTES:
            return value, False
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args) if name in MAY_DO_NOTHING:
            inside = args[:1] if is_of_arrays(owner) else [owner]
            return (inside[0], True) if inside and not isinstance(inside[0], ast.Starred) else None
    return None


def is_of_arrays(owner: ast.expr) -> bool:
    """Whether an expression is a module, such as `jnp` or `jax.nn`, whose functions compute arrays."""
    return bool(_MODULE.fullmatch(ast.unparse(owner)))


def _is_slice(taken: ast.expr) -> bool:
    parts = taken.elts if isinstance(taken, ast.Tuple) else [taken]
    return all(isinstance(one, ast.Slice) or (isinstance(one, ast.Constant) and one.value is ...) for one in parts)
