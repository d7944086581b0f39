"""What Python in the console sees of a frame: its variables, and those globals that none of its function's hides."""

from __future__ import annotations

import ast
import functools
import linecache
import warnings
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from jax_debug_widgets._jax.origins.stack import StackFrame


def variables_seen_from(frame: StackFrame) -> dict[str, Any]:
    """The globals and the variables of a frame by name. A variable of its function that has no value here has none."""
    own = own_names(frame)
    seen = {name: value for name, value in frame.globals.items() if name not in own}
    return {**seen, **_trees(frame.variables)}


def own_names(frame: StackFrame) -> frozenset[str]:
    """The variables of a frame's function, those of the functions around it that it uses included."""
    text = "".join(linecache.getlines(frame.file))
    return _own_names(text, frame.line, frame.function.rpartition(".")[2])


def require_values(tree: ast.AST, frame: StackFrame, namespace: Mapping[str, Any]) -> None:
    """Refuse code that reads a variable of the function that has no value here: a global of its name is another one.

    Raises:
      NameError: it does.
    """
    missing = own_names(frame) - namespace.keys() - _bound(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in missing:
            msg = f"{node.id!r} is a variable of {frame.function} that has no value at this stop: {frame.unset}"
            raise NameError(msg)


def assigned(tree: ast.AST) -> set[str]:
    """The variables that code assigns, or parts of them."""
    targets: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
            targets.append(node.target)
    return {name for target in targets for name in _roots(target)}


def _roots(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _roots(part)
        case ast.Starred(value=inner) | ast.Subscript(value=inner) | ast.Attribute(value=inner):
            yield from _roots(inner)
        case _:
            pass


def _bound(tree: ast.AST) -> set[str]:
    """The names to which code gives a value of its own, parameters of lambdas included."""
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


@functools.lru_cache(maxsize=64)
def _own_names(text: str, line: int, function: str) -> frozenset[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # They were told when it was compiled for its user.
            module = compile(text, "<source>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError):
        return frozenset()
    found = [code for code in _functions(module) if code.co_name == function and _has_line(code, line)]
    # The innermost one comes last.
    return frozenset(name for code in found[-1:] for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars))


def _functions(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _functions(constant)


def _has_line(code: CodeType, line: int) -> bool:
    return any(own == line for *_, own in code.co_lines())


class _Tree(dict[Any, Any]):
    """A variable of which leaves are known: `params['w']`, `model.layers[0].weight`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            msg = f"{name!r} has no value at this stop"
            raise AttributeError(msg) from None


def _trees(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Variables by name; where only leaves of one are there, it is a tree of these."""
    found = {name: value for name, value in variables.items() if name.isidentifier()}
    trees: dict[str, Any] = {}
    for name, value in variables.items():
        root, *keys = _path(name)
        if keys and root not in found:
            node = trees.setdefault(root, _Tree())
            for key in keys[:-1]:
                node = node.setdefault(key, _Tree())
            node[keys[-1]] = value
    return {**trees, **found}


def _path(name: str) -> list[Any]:
    """`model.layers[0]` -> `model`, `layers`, 0; the whole name where it is no such path."""
    keys: list[Any] = []
    try:
        node = ast.parse(name, mode="eval").body
    except SyntaxError:
        return [name]
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=inner, attr=key) | ast.Subscript(value=inner, slice=ast.Constant(value=key)):
                keys.append(key)
                node = inner
            case _:
                return [name]
    return [node.id, *reversed(keys)]
