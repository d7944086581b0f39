"""Find why each trace of a function may make another program: the order of a set, random numbers, the time."""

from __future__ import annotations

import ast
import linecache
import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Cause:
    """A line, and why it may differ from trace to trace."""

    line: int
    why: str


def causes_in(file: str, lines: Collection[int], namespace: Mapping[str, Any]) -> list[Cause]:
    """Find the causes in those functions of a file that contain the given lines, and in those of the file that these call.

    Args:
      file: the file.
      lines: the lines.
      namespace: the values of the file's global names.
    """
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return []
    found: dict[Cause, None] = {}
    functions = [one for one in ast.walk(tree) if isinstance(one, _FUNCTIONS)]
    classes = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)]
    todo = [one for one in functions if any(_contains(one, line) for line in lines)]
    seen: set[ast.AST] = set()
    while todo:
        function = todo.pop()
        if function not in seen:
            seen.add(function)
            found |= dict.fromkeys(_Finder(function, namespace).find(function))
            called = _called_in(function)
            todo += [one for one in functions if not isinstance(one, ast.Lambda) and one.name in called]
            made = [part for one in classes if one.name in called for part in one.body]
            todo += [one for one in made if isinstance(one, ast.FunctionDef) and one.name in _MAKES]
    return sorted(found, key=lambda one: one.line)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

_MAKES = frozenset({"__init__", "__post_init__", "setup"})
"""The methods that run when an object of a class is made; `setup` is that of flax.linen."""

_KEEPS_ORDER = frozenset({"list", "tuple", "enumerate", "zip", "map", "filter", "iter", "sum", "next"})
"""The built-in functions that process their argument in its order."""

_METHODS_THAT_KEEP_ORDER = frozenset({"fromkeys", "join", "extend", "from_iterable", "reduce", "chain"})
"""The methods, and functions of modules, that process their argument in its order."""

_GIVES_SET = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy"})
"""The methods of a set that return another set."""

_LOSES_ORDER = frozenset({"sorted", "set", "frozenset", "len", "max", "min", "any", "all"})
"""The built-in functions with results that do not depend on the order."""

_ELSEWHERE = {
    "random": "draws a random number that is no jax.random",
    "numpy.random": "draws a random number that is no jax.random",
    "time": "reads the clock",
    "datetime": "reads the clock",
    "os.environ": "reads the environment",
    "os.getenv": "reads the environment",
    "os.getpid": "reads the number of the process",
    "os.urandom": "draws a random number that is no jax.random",
    "socket.gethostname": "reads the name of the machine",
    "tempfile": "makes a name that is new each time",
    "threading.Thread": "runs a thread, and threads end in any order",
    "concurrent.futures": "runs threads, which end in any order",
    "uuid": "makes an identifier that is new each time",
    "os.listdir": "lists a folder",
    "os.scandir": "lists a folder",
    "glob": "lists a folder",
    "secrets": "draws a random number that is no jax.random",
}
"""The first part of the full name of a function -> what the function does."""

_TELLS_NOTHING = frozenset({"time.sleep"})
"""The functions of these modules that give nothing."""

_TAKES_SEED = frozenset({"default_rng", "RandomState", "SeedSequence", "Random", "seed"})
"""The functions of these modules that give the same each time if they are given a seed."""

_DEPENDS = "depends on PYTHONHASHSEED, or on addresses"

_NUMBER = int | float | complex
"""What has the same hash in each process."""

_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)

_BUILTIN = {"id": "uses `id`, the address of an object", "hash": "uses `hash`, which differs from process to process"}


class _Finder:
    """Finds the causes in one function."""

    def __init__(self, function: ast.AST, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._assigned: dict[str, list[ast.expr]] = {}
        for node in ast.walk(function):
            for target, value in _assigned_in(node):
                self._assigned.setdefault(target, []).append(value)

    def find(self, node: ast.AST) -> Iterator[Cause]:
        """Yield the causes in a node and its children."""
        if isinstance(node, ast.Call) and _name_of(node.func) in _LOSES_ORDER:
            parts = [part for part in ast.walk(node) if part is not node]
            yield from (cause for part in parts for cause in self._of_names(part))
            return
        yield from (self._of_set(one) for one in self._gone_through(node) if self._is_set(one))
        yield from self._of_names(node)
        for part in ast.iter_child_nodes(node):
            yield from self.find(part)

    def _gone_through(self, node: ast.AST) -> list[ast.expr]:
        match node:
            case ast.For(iter=one) | ast.Starred(value=one):
                return [one]
            case (
                ast.ListComp(generators=several)
                | ast.DictComp(generators=several)
                | ast.GeneratorExp(generators=several)
            ):
                return [each.iter for each in several]
            case ast.Call(func=ast.Name(id=name), args=args) if name in _KEEPS_ORDER:
                return args
            case ast.Call(func=ast.Attribute(attr=name), args=args) if name in _METHODS_THAT_KEEP_ORDER:
                return args
        return []

    def _of_set(self, node: ast.expr) -> Cause:
        text = ast.unparse(node)
        why = f"iterates over a set, `{text}`: its order {_DEPENDS}; write sorted({text}), or use dict.fromkeys(…)"
        return Cause(node.lineno, why)

    def _is_set(self, node: ast.expr) -> bool:
        match node:
            case (
                ast.Set(elts=elements)
                | ast.Call(
                    func=ast.Name(id="set" | "frozenset"),
                    args=[ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements)],
                )
            ):
                return not all(isinstance(one, ast.Constant) and isinstance(one.value, _NUMBER) for one in elements)
            case ast.SetComp() | ast.Call(func=ast.Name(id="set" | "frozenset")):
                return True
            case ast.Name(id=name):
                return self._is_name_of_set(name, node)
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in _GIVES_SET:
                return self._is_set(owner)
            case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor(), right=right):
                return self._is_set(left) or self._is_set(right) or _is_of_keys(left)
        return False

    def _is_name_of_set(self, name: str, node: ast.expr) -> bool:
        """Whether a variable holds a set here: by its last assignment above, or as a global."""
        if name not in self._assigned:
            return _is_large(self._namespace.get(name))
        before = [one for one in self._assigned[name] if _is_before(one, node)]
        return bool(before) and self._is_set(max(before, key=_place))

    def _of_names(self, node: ast.AST) -> Iterator[Cause]:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BUILTIN:
            yield Cause(node.lineno, _BUILTIN[node.func.id])
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="pop"), args=[]) if self._is_set(owner):
                yield Cause(node.lineno, f"takes any element of a set, `{ast.unparse(node)}`: which one {_DEPENDS}")
            case ast.Call(func=ast.Name(id="next"), args=[ast.Name(id=name), *_]) if self._is_global_iterator(name):
                yield Cause(node.lineno, f"takes the next element of `{name}`, which an earlier trace has advanced")
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name))) if self._is_global_generator(name):
                yield Cause(node.lineno, f"draws a number from `{name}`, which an earlier trace has advanced")
            case _:
                pass
        called = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Subscript) else None
        full = self._full_name(called)
        for prefix, why in _ELSEWHERE.items() if full else ():
            if (full == prefix or full.startswith(f"{prefix}.")) and not _is_repeatable(full, node):
                yield Cause(getattr(node, "lineno", 0), f"{why}, `{ast.unparse(node)}`, while it is traced")

    def _is_global_iterator(self, name: str) -> bool:
        return name not in self._assigned and hasattr(self._namespace.get(name), "__next__")

    def _is_global_generator(self, name: str) -> bool:
        return name not in self._assigned and isinstance(self._namespace.get(name), _GENERATORS)

    def _full_name(self, node: ast.expr | None) -> str:
        """Return the full name of a function: `numpy.random.normal` for `np.random.normal`; empty if it has no name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        value = self._namespace.get(node.id)
        module = getattr(value, "__module__", None) or ""
        root = getattr(value, "__name__", "") if hasattr(value, "__path__") or hasattr(value, "__spec__") else ""
        if not root:
            root = (
                f"{module}.{getattr(value, '__name__', node.id)}" if value is not None and callable(value) else node.id
            )
        return ".".join([root, *reversed(parts)])


def _is_repeatable(full: str, node: ast.AST) -> bool:
    """Whether a call of a function with this full name gives the same each time."""
    is_seeded = (
        full.rpartition(".")[2] in _TAKES_SEED and isinstance(node, ast.Call) and bool(node.args or node.keywords)
    )
    return is_seeded or full in _TELLS_NOTHING


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _is_before(value: ast.expr, node: ast.expr) -> bool:
    """Whether the source has the value of an assignment before a use of the variable, which is not in that value."""
    return (value.end_lineno or 0, value.end_col_offset or 0) < _place(node)


def _assigned_in(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the variables that a statement or an expression assigns, each with the expression for its value."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((one.id, value) for one in targets if isinstance(one, ast.Name))
        case (
            ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            | ast.NamedExpr(target=ast.Name(id=name), value=value)
        ):
            yield name, value
        case _:
            pass


def _called_in(function: ast.AST) -> set[str]:
    """Return the names of the functions, and of the methods of its own object, that a function calls."""
    names: set[str] = set()
    for node in ast.walk(function):
        match node:
            case (
                ast.Call(func=ast.Name(id=name))
                | ast.Call(func=ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name))
            ):
                names.add(name)
            case _:
                pass
    return names


def _is_of_keys(node: ast.expr) -> bool:
    """Return whether an expression is the keys or items of a dictionary, whose union with others is a set."""
    match node:
        case ast.Call(func=ast.Attribute(attr="keys" | "items"), args=[]):
            return True
    return False


def _contains(function: Any, line: int) -> bool:
    return function.lineno <= line <= (function.end_lineno or function.lineno)


def _name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_large(value: Any) -> bool:
    is_set = isinstance(value, set | frozenset) and len(value) > 1
    return is_set and not all(isinstance(one, _NUMBER) for one in value)
