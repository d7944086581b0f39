"""The namespace of a frame for Python in the console: its variables, and those globals that none of its function's hides."""

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
    """The globals and the variables of a frame by name. A variable of its function that has no value here has none."""
    own = own_names(frame)
    seen = {name: value for name, value in frame.globals.items() if name not in own}
    return {**seen, **_trees(frame.variables)}


def values_seen_from(frame: StackFrame) -> dict[str, Any]:
    """The same, with what else is known where the frame is made of what has fired, and its gradients."""
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
    """The gradients that are known at a stop: `grad("h")`, `grad.h`. All else is what `grad` was before, `jax.grad` say."""

    def __init__(self, known: Mapping[str, Any], other: Any) -> None:
        self._known, self._other = known, other

    def __call__(self, name: Any, *args: Any, **options: Any) -> Any:
        """The gradient of that name."""
        if not isinstance(name, str):
            return self._other(name, *args, **options)
        return self._of(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._other, name) if hasattr(self._other, name) else self._of(name)

    def summarised_in(self, tree: ast.AST) -> list[str]:
        """The names that code asks for and that have statistics only: `grad('h')`."""
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
    """A variable as the console computes with it; what is no array and no plain container of arrays stays what it is."""
    if not isinstance(value, jax.Array | dict | list | tuple):
        return value
    try:
        return apart(value)
    except Exception:  # noqa: BLE001 - a dictionary whose keys have no order is no pytree; nor may be a user's own.
        return value


def own_names(frame: StackFrame) -> frozenset[str]:
    """The variables of a frame's function, those of the functions around it that it uses included."""
    return frozenset(
        name for code in _around(frame)[-1:] for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
    )


def enclosing_functions(frame: StackFrame) -> dict[str, str]:
    """The variables that a frame's function has of the functions around it -> the qualified name of the one that has each."""
    *outer, own = _around(frame) or [None]
    free = own.co_freevars if own else ()
    return {name: code.co_qualname for name in free for code in outer if code and name in code.co_cellvars}


def _around(frame: StackFrame) -> tuple[CodeType, ...]:
    """The code of a frame's function, innermost last, after that of the functions around it."""
    text = "".join(linecache.getlines(frame.file))
    return _functions_at(text, frame.line, frame.function.rpartition(".")[2])


def require_values(tree: ast.AST, frame: StackFrame, namespace: Mapping[str, Any]) -> None:
    """Refuse code that reads a variable of the function that has no value here: a global of its name is another one.

    Raises:
      NameError: it does.
    """
    missing = own_names(frame) - namespace.keys() - _bound(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in missing:
            msg = f"{node.id!r} is a variable of {short_function(frame.function)} that has no value at this stop: {frame.unset}"
            raise NameError(msg)


def summarised_in(tree: ast.AST, namespace: Mapping[str, Any]) -> list[str]:
    """The names that code computes with and that have statistics only; not where it asks for one of these, `h.nan`."""
    asked = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in asked]
    found = [name for name in dict.fromkeys(names) if isinstance(namespace.get(name), Summarised)]
    grad = namespace.get("grad")
    return [*found, *grad.summarised_in(tree)] if isinstance(grad, Gradients) else found


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
    """Each function in code, after those around it."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield (*around, constant)
            yield from _functions(constant, *around, constant)


def _has_line(code: CodeType, line: int) -> bool:
    return any(own == line for *_, own in code.co_lines())


class _Tree(dict[Any, Any]):
    """A variable whose leaves are known: `params['w']`, `model.layers[0].weight`."""

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


def root_of(name: str) -> str:
    """The variable that a value is part of: `model` of `model.layers[0]`."""
    return str(_path(name)[0])


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
