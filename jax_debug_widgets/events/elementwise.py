"""Compute conditions over arrays (`--when`, `--break-on`) element by element.

In `0 < h < 1`, `a and b`, `not a`, `a in (1, 2)` and `a if b else c`, Python needs one truth value. An array of several
elements has none, nor has a tracer. Here these operations apply to each element, as `&`, `|` and `~` do. For values that are
not arrays they work as in Python: `h.ndim == 2 and h.shape[1] > 3` reads `shape[1]` only if `h` has two axes.
"""

from __future__ import annotations

import ast
import copy
import difflib
import functools
import operator
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

import numpy as np

Words = Mapping[str, Any]
"""Name -> the function or module that an expression may use by this name."""

_OF_ONE_ELEMENT = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)


def words_of(xp: Any) -> dict[str, Any]:
    """Return the functions and modules for expressions, from NumPy or a module like it."""
    words = {name: getattr(xp, name) for name in ("abs", "sum", "any", "all", "isnan", "isinf", "isfinite")}
    several = {"max": _either(xp.max, xp.maximum), "min": _either(xp.min, xp.minimum)}
    return {**words, **several, "len": len, "np": xp, "jnp": xp}


def parsed(text: str, wants: str, words: Words) -> ast.Expression:
    """Parse a condition.

    Args:
      wants: the beginning of the error message, which says what the condition should be.

    Raises:
      ValueError: the text is not an expression, or cannot be computed for arrays.
    """
    wants = f"{wants}, got {text!r}"
    try:
        tree = ast.parse(text.strip(), "<condition>", "eval")
    except SyntaxError as error:
        raise ValueError(f"{wants}: {error.msg}") from None
    for node in ast.walk(tree):
        if isinstance(node, _OF_ONE_ELEMENT):
            raise ValueError(f"{wants}: {ast.unparse(node)!r} goes through elements; any(h > 0) asks all of them")  # noqa: TRY004
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in words:
            known = ", ".join(word for word, what in words.items() if not isinstance(what, ModuleType))
            raise ValueError(f"{wants}: there is no {node.func.id}(); there are {known}, what jnp has, and h.max()")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not _exists(node.func, words):
            near = difflib.get_close_matches(node.func.attr, dir(np.ndarray), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"{wants}: there is no {ast.unparse(node.func)}(){hint}")
    return tree


def _exists(function: ast.Attribute, words: Words) -> bool:
    """Whether a dotted function exists: a method of arrays, or a function of the module before the dot."""
    owner = function.value
    module = words.get(owner.id) if isinstance(owner, ast.Name) else None
    if isinstance(module, ModuleType):
        return hasattr(module, function.attr)
    is_below = isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.value.id in words
    return is_below or hasattr(np.ndarray, function.attr)


def names_in(tree: ast.AST, words: Words) -> set[str]:
    """Return the names of values in an expression. A word that is not called is such a name too."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and id(node) not in called and not isinstance(words.get(node.id), ModuleType)
    }


GRADIENT = "grad."
"""The beginning of a gradient's name: `grad.h` is the gradient of `h`."""


@dataclass(frozen=True)
class Resolved:
    """An expression in which a variable replaces each name of a value.

    Attributes:
      expression: the expression over the variables.
      variables: name of a value (`logits`, `params['w']`, `grad.h`) -> the variable that replaces it.
      missing: the names that are not available.
    """

    expression: ast.Expression
    variables: dict[str, str]
    missing: frozenset[str]


def resolved(tree: ast.Expression, available: Container[str], words: Words) -> Resolved:
    """Find the values that an expression names among the available names: `logits`, `params["w"]`, `grad.h`."""
    finder = _Finder(available, names_in(tree, words))
    expression = ast.fix_missing_locations(finder.visit(copy.deepcopy(tree)))
    return Resolved(expression, finder.found, frozenset(finder.missing))


class _Finder(ast.NodeTransformer):
    """Replaces each available name in an expression by a variable."""

    def __init__(self, available: Container[str], names: Container[str]) -> None:
        self._available = available
        self._names = names
        self.found: dict[str, str] = {}
        self.missing: set[str] = set()

    def visit(self, node: ast.AST) -> Any:
        text = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) else ""
        if text in self._available:
            return ast.Name(self.found.setdefault(text, f"value_{len(self.found)}"), ast.Load())
        if isinstance(node, ast.Name) and node.id in self._names:
            self.missing.add(node.id)
        return super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        if not isinstance(node.func, ast.Name):
            node.func = self.visit(node.func)
        node.args = [self.visit(one) for one in node.args]
        node.keywords = [self.visit(one) for one in node.keywords]
        return node


def compiled(tree: ast.Expression, xp: Any, words: Words) -> Callable[[Mapping[str, Any]], Any]:
    """Make the function from the values of an expression's names to its value, which may be an array."""
    rewritten = ast.fix_missing_locations(_Elementwise().visit(tree))
    code: CodeType = compile(rewritten, "<condition>", "eval")
    # The expression is the user's own, typed into the user's own kernel. NumPy imports modules at a method's first call.
    known = {"__builtins__": {"__import__": __import__}, **words, **_connectives(xp)}
    return lambda values: eval(code, {**known, **values})  # noqa: S307


def why_not(text: str, error: Exception) -> str:
    """Return why a condition could not be computed.

    For `h > 3 & g > 1`, which was meant to join two conditions, return what to write.
    """
    why = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    text = text.strip()
    compared = (one for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Compare) for one in node.comparators)
    is_joined = any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.BitAnd | ast.BitOr) for one in compared)
    if not (is_joined and isinstance(error, TypeError)):
        return why
    return (
        f"{why.removesuffix('.')}. Python takes & and | before >: write {text.replace('&', 'and').replace('|', 'or')}"
    )


class _Elementwise(ast.NodeTransformer):
    """Replaces operations that need one truth value by calls of `_connectives`, which have Python keywords as names."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        lefts = [node.left, *node.comparators[:-1]]
        tests = [_compared(*one) for one in zip(lefts, node.ops, node.comparators, strict=True)]
        return tests[0] if len(tests) == 1 else _call("and", map(_later, tests))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        return _call("and" if isinstance(node.op, ast.And) else "or", map(_later, node.values))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return _call("not", [node.operand]) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        return _call("if", [node.test, _later(node.body), _later(node.orelse)])


def _compared(left: ast.expr, how: ast.cmpop, right: ast.expr) -> ast.expr:
    if isinstance(how, ast.In | ast.NotIn):
        within = _call("in", [left, right])
        return within if isinstance(how, ast.In) else _call("not", [within])
    return ast.Compare(left, [how], [right])


def _call(name: str, arguments: Iterable[ast.expr]) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _later(node: ast.expr) -> ast.expr:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), node)


def _connectives(xp: Any) -> dict[str, Callable[..., Any]]:
    either = functools.partial(_connected, xp.logical_or, True)

    def is_within(value: Any, several: Any) -> Any:
        if isinstance(several, tuple | list):
            return either(*(functools.partial(operator.eq, value, one) for one in several))
        return xp.isin(value, several) if _is_array(several) else value in several

    def chosen(test: Any, body: Callable[[], Any], other: Callable[[], Any]) -> Any:
        return xp.where(_truth(test), body(), other()) if _is_array(test) else (body if test else other)()

    return {
        "and": functools.partial(_connected, xp.logical_and, False),
        "or": either,
        "not": lambda value: xp.logical_not(value) if _is_array(value) else not value,
        "in": is_within,
        "if": chosen,
    }


def _connected(combine: Callable[[Any, Any], Any], stops: bool, *parts: Callable[[], Any]) -> Any:
    """Combine truth values from the left; stop at one that is not an array and decides the result."""
    result: Any = not stops
    for part in parts:
        value = _truth(part())
        result = combine(result, value) if _is_array(result) or _is_array(value) else value
        if result is stops:
            break
    return result


def _truth(value: Any) -> Any:
    return value.astype(bool) if _is_array(value) else bool(value)


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype")


def _either(reduce: Callable[..., Any], pairwise: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that takes `max(x)` of an array and `max(x, y)` of several."""
    return lambda first, *rest: functools.reduce(pairwise, rest, first) if rest else reduce(first)
