"""Find the fields of the classes that a file calls: `State(x + v, v)` makes `state.pos` and `state.vel`."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import re
import sys
from typing import Any

Fields = tuple[tuple[str, tuple[str, ...]], ...]
"""The name of a class as the source writes it, `shapes.Box`, with the fields that its arguments become, in order."""

_CALLED = re.compile(r"(?<![\w.])(?:\w+\.)*[A-Z]\w*(?=\()")


def fields_in(file: str, text: tuple[str, ...]) -> Fields:
    """Return the named tuples and dataclasses that a file calls, as its module knows them now."""
    called = _called(text)
    namespace = _namespace(file) if called else {}
    found = ((name, _fields_of(_at(namespace, name))) for name in called)
    return tuple((name, fields) for name, fields in found if fields)


@functools.lru_cache(maxsize=512)
def _called(text: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({name for line in text for name in _CALLED.findall(line)}))


def _namespace(file: str) -> dict[str, Any]:
    return vars(sys.modules.get(_module_of(file)) or sys.modules["__main__"])


@functools.lru_cache(maxsize=512)
def _module_of(file: str) -> str:
    """Return the name of the module of a file; notebook cells belong to `__main__`."""
    modules = ((name, getattr(module, "__dict__", {})) for name, module in list(sys.modules.items()))
    return next((name for name, namespace in modules if namespace.get("__file__") == file), "__main__")


def _at(namespace: dict[str, Any], name: str) -> Any:
    first, *rest = name.split(".")
    found = namespace.get(first)
    for part in rest:  # `getattr` may import a module.
        found = getattr(found, "__dict__", {}).get(part)
    return found


@functools.lru_cache(maxsize=1024)
def _fields_of(value: Any) -> tuple[str, ...]:
    """Return the parameters of a class if each is a field of the same name, else ()."""
    if not isinstance(value, type):
        return ()
    fields = getattr(value, "_fields", ())
    if dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value)]
    try:
        parameters = tuple(inspect.signature(value).parameters) if fields else ()
    except (TypeError, ValueError):
        return ()
    return parameters if set(parameters) <= set(fields) else ()


def with_written(fields: Fields, tree: ast.Module) -> Fields:
    """Return `fields` and those of the classes that the file defines and its module does not know by that name.

    These are classes in functions, and classes that store their arguments unchanged. If classes of one name differ,
    none is taken.
    """
    found: dict[str, set[tuple[str, ...]]] = {name: {own} for name, own in fields}
    at_top = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not (node.name in at_top and node.name in found):
            found.setdefault(node.name, set()).add(_written(node))
    return tuple((name, own) for name, (own, *others) in sorted(found.items()) if own and not others)


def _written(node: ast.ClassDef) -> tuple[str, ...]:
    """Return the parameters of a class definition if each is a field of the same name; () if that is unknown."""
    methods = [
        one
        for one in node.body
        if isinstance(one, ast.FunctionDef) and one.name in ("__init__", "__new__", "__post_init__")
    ]
    if methods:
        return _kept_by(methods[0]) if len(methods) == 1 and not node.bases else ()
    decorators = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    is_tuple = [last_name(one) for one in node.bases] == ["NamedTuple"]
    if not (is_tuple or (not node.bases and "dataclass" in map(last_name, decorators))):
        return ()
    own = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    texts = [ast.unparse(one) for one in own]
    if any(word in text for text in texts for word in ("ClassVar", "InitVar", "KW_ONLY", "kw_only", "init=")):
        return ()
    return tuple(one.target.id for one in own if isinstance(one.target, ast.Name))


def last_name(node: ast.expr) -> str:
    """`grad` of `jax.grad`."""
    return ast.unparse(node).rpartition(".")[2]


def _kept_by(init: ast.FunctionDef) -> tuple[str, ...]:
    """Return the parameters of `__init__` if it only stores each one in the field of its name, else ()."""
    given = init.args
    names = tuple(one.arg for one in given.args[1:])
    if init.name != "__init__" or given.vararg or given.kwarg or given.posonlyargs or not names:
        return ()
    assigned = [(left, right) for one in init.body if isinstance(one, ast.Assign) for left, right in _sides(one)]
    is_all = len(assigned) == len(names) and all(isinstance(one, ast.Assign | ast.Expr) for one in init.body)
    return names if is_all and set(assigned) == {(f"self.{name}", name) for name in names} else ()


def _sides(statement: ast.Assign) -> list[tuple[str, str]]:
    """Split `self.a, self.b = a, b` into two assignments."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = zip(target.elts, value.elts, strict=True)
        return [(ast.unparse(left), ast.unparse(right)) for left, right in pairs]
    return [(ast.unparse(target), ast.unparse(value))]
