"""Name the values that a debugging call passes by the expressions in its source text."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax

from jax_debug_widgets.taps.source import CallText
from jax_debug_widgets.taps.text import has_containers

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import DebugCall


def value_names(equation: DebugCall, text: CallText) -> tuple[str, ...]:
    """Return the source expression of each array that the equation passes; a leaf of a pytree has its path: `params['w']`."""
    if equation.stop is not None and len(equation.stop.names) == len(equation.shapes):
        return equation.stop.names
    if equation.in_tree is None:
        return tuple(map(nameless, range(len(equation.shapes))))
    if equation.kind in ("pure", "io"):  # The types of the results come before the values.
        text = replace(text, positional=text.positional[1:])
    return tuple(_root_name(path, text) + jax.tree_util.keystr(path[2:]) for path in _value_paths(equation))


def value_aliases(equation: DebugCall, text: CallText) -> tuple[str, ...]:
    """Return the other name of each array that is passed as a keyword; empty for positional arguments."""
    if equation.in_tree is None:
        return ("",) * len(equation.shapes)
    roots = [(_names_of(_keyword(path), text)[1], jax.tree_util.keystr(path[2:])) for path in _value_paths(equation)]
    return tuple(root + rest if root else "" for root, rest in roots)


def _value_paths(equation: DebugCall) -> list[tuple[Any, ...]]:
    """Return the path of each array in `(args, kwargs)`."""
    tree = equation.in_tree
    leaves = _leaves_of(tree) if has_containers(tree) else _flat_leaves_of(tree)
    return [path for path, leaf in leaves if leaf not in equation.static]


def _leaves_of(tree: Any) -> list[tuple[Any, int]]:
    """Return path and number of each leaf of a structure."""
    return jax.tree_util.tree_leaves_with_path(jax.tree.unflatten(tree, range(tree.num_leaves)))


_flat_leaves_of = functools.lru_cache(maxsize=256)(_leaves_of)


def _keyword(path: tuple[Any, ...]) -> str:
    return "" if getattr(path[0], "idx", None) == 0 else str(getattr(path[1], "key", ""))


def _root_name(path: tuple[Any, ...], text: CallText) -> str:
    """Return the expression of the argument that contains a leaf of `(args, kwargs)`."""
    keyword = _keyword(path)
    if keyword:
        return _names_of(keyword, text)[0]
    index = getattr(path[1], "idx", 0)
    return text.positional[index] if index < len(text.positional) else nameless(index)


_PLAIN = re.compile(r"""[^\W\d]\w+|[^\W\d]\w*[.\[][\w.\[\]'"]*""")
"""A variable with a name of two or more letters, or an attribute or item of a variable."""


def _names_of(keyword: str, text: CallText) -> tuple[str, str]:
    """Return the two names of a value that is passed as a keyword, the more telling one first: keyword or expression.

    `loss` for `loss=l` and for `loss=jnp.mean(errors)`; `total` for `loss=total`, `x.sum()` for `x=x.sum()`.
    """
    expression = text.keywords.get(keyword, keyword)
    if not keyword or len(keyword) == 1 or _PLAIN.fullmatch(expression):
        return expression, keyword
    return keyword, expression


def nameless(index: int) -> str:
    """Make the name of an argument if the source does not show its expression."""
    return f"args[{index}]"
