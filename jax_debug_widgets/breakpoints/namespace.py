"""Make the namespace of a frame for the console: the frame's variables, and the globals that no local variable hides."""

from __future__ import annotations

import ast
import functools
import linecache
import warnings
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

import jax

from jax_debug_widgets._jax.compat.arrays import apart
from jax_debug_widgets._jax.origins.stack import StackFrame
from jax_debug_widgets.breakpoints.summarised import Summarised
from jax_debug_widgets.events.function_names import short_function


def variables_seen_from(frame: StackFrame) -> dict[str, Any]:
    """Return the globals and variables of a frame by name. A local variable without a value here hides its global."""
    own = own_names(frame)
    seen = {name: value for name, value in frame.globals.items() if name not in own}
    return {**seen, **_trees(frame.variables)}


def values_seen_from(frame: StackFrame) -> dict[str, Any]:
    """Return what `variables_seen_from` does, with the values that are known in other functions, and the known gradients."""
    hidden = own_names(frame)
    elsewhere = {name: value for name, value in _trees(frame.elsewhere).items() if name not in hidden}
    found = {**elsewhere, **variables_seen_from(frame)}
    known = {**frame.elsewhere, **frame.variables}
    gradients = {name.removeprefix(GRADIENT_OF): value for name, value in known.items() if name.startswith(GRADIENT_OF)}
    if gradients and "grad" not in hidden:
        found["grad"] = Gradients(gradients, found.get("grad"))
    return found


GRADIENT_OF = "grad/"
"""The beginning of a gradient's name: `grad/h`."""


class Gradients:
    """Gives access to the known gradients of a stop: `grad("h")`, `grad.h`.

    For other arguments and attributes it passes on to what `grad` was before, such as `jax.grad`.
    """

    def __init__(self, known: Mapping[str, Any], other: Any) -> None:
        self._known, self._other = known, other

    def __call__(self, name: Any, *args: Any, **options: Any) -> Any:
        """Return the gradient of a name; other arguments go to what `grad` was before."""
        if not isinstance(name, str):
            return self._other(name, *args, **options)
        return self._of(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._other, name) if hasattr(self._other, name) else self._of(name)

    def summarised_in(self, tree: ast.AST) -> list[str]:
        """Return the gradients that code uses and that have only statistics: `grad('h')`."""
        found: dict[str, None] = {}
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="grad"), args=[ast.Constant(value=str(name)), *_]):
                    found[name.removeprefix(GRADIENT_OF)] = None
                case ast.Attribute(value=ast.Name(id="grad"), attr=name):
                    found[name] = None
                case _:
                    pass
        return [f"grad({name!r})" for name in found if isinstance(self._known.get(name), Summarised)]

    def _of(self, name: str) -> Any:
        wanted = name.removeprefix(GRADIENT_OF).replace('"', "'")
        if wanted not in self._known:
            raise NameError(f"no gradient of {wanted!r} is known at this stop; there are {', '.join(self._known)}")
        return to_compute_with(self._known[wanted])

    def __dir__(self) -> list[str]:
        return [name for name in self._known if name.isidentifier()]

    def __repr__(self) -> str:
        return f"the gradients of {', '.join(self._known)}: grad({next(iter(self._known))!r})"


def to_compute_with(value: Any) -> Any:
    """Make a copy of a variable for the console to compute with. A value that is not an array or a plain container stays."""
    if not isinstance(value, jax.Array | dict | list | tuple):
        return value
    try:
        return apart(value)
    except Exception:  # noqa: BLE001 - dictionaries with keys that cannot be sorted, and some user types, are not pytrees.
        return value


def own_names(frame: StackFrame) -> frozenset[str]:
    """Return the variables of a frame's function, including those that it takes from enclosing functions."""
    return frozenset(
        name for code in _around(frame)[-1:] for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
    )


def enclosing_functions(frame: StackFrame) -> dict[str, str]:
    """Return the variables that a frame's function takes from enclosing functions -> the qualified name of that function."""
    *outer, own = _around(frame) or [None]
    free = own.co_freevars if own else ()
    return {name: code.co_qualname for name in free for code in outer if code and name in code.co_cellvars}


def _around(frame: StackFrame) -> tuple[CodeType, ...]:
    """Return the code of a frame's function, after the code of its enclosing functions, outermost first."""
    text = "".join(linecache.getlines(frame.file))
    return _functions_at(text, frame.line, frame.function.rpartition(".")[2])


def require_values(tree: ast.AST, frame: StackFrame, namespace: Mapping[str, Any]) -> None:
    """Refuse code that reads a local variable without a value here; a global of the same name is another variable.

    Raises:
      NameError: the code reads such a variable.
    """
    missing = own_names(frame) - namespace.keys() - _bound(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in missing:
            msg = f"{node.id!r} is a variable of {short_function(frame.function)} that has no value at this stop: {frame.unset}"
            raise NameError(msg)


def summarised_in(tree: ast.AST, namespace: Mapping[str, Any]) -> list[str]:
    """Return the names that code computes with and that have only statistics. Reading a statistic, `h.nan`, does not count."""
    asked = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in asked]
    found = [name for name in dict.fromkeys(names) if isinstance(namespace.get(name), Summarised)]
    grad = namespace.get("grad")
    return [*found, *grad.summarised_in(tree)] if isinstance(grad, Gradients) else found


def assigned(tree: ast.AST) -> set[str]:
    """Return the variables that code assigns, as a whole or in part."""
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
    """Return the names that code binds itself, including the parameters of its functions."""
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


@functools.lru_cache(maxsize=64)
def _functions_at(text: str, line: int, function: str) -> tuple[CodeType, ...]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The user saw them when the program was compiled.
            module = compile(text, "<source>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError):
        return ()
    found = [codes for codes in _functions(module) if codes[-1].co_name == function and _has_line(codes[-1], line)]
    return found[-1] if found else ()  # The innermost one comes last.


def _functions(code: CodeType, *around: CodeType) -> Iterator[tuple[CodeType, ...]]:
    """Yield each function in code, after its enclosing functions."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield (*around, constant)
            yield from _functions(constant, *around, constant)


def _has_line(code: CodeType, line: int) -> bool:
    return any(own == line for *_, own in code.co_lines())


class _Tree(dict[Any, Any]):
    """A variable with known leaves only: `params['w']`, `model.layers[0].weight`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            msg = f"{name!r} has no value at this stop"
            raise AttributeError(msg) from None


def _trees(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return variables by name. A variable with known leaves only becomes a tree of its leaves."""
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


def root_of(name: str) -> str:
    """Return the variable that a value is part of: `model` for `model.layers[0]`."""
    return str(_path(name)[0])


def _path(name: str) -> list[Any]:
    """Split a name: `model.layers[0]` -> `model`, `layers`, 0; return the whole name if it is not such a path."""
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
