"""Make the text that plain JAX would have written for a firing, byte for byte. It is made when the event is shown or read."""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jax_debug_widgets._jax.compat.arrays import on_cpu, shown
from jax_debug_widgets._jax.origins.equation import restore_types
from jax_debug_widgets.events.errors import error_line
from jax_debug_widgets.events.tap import Arguments
from jax_debug_widgets.events.texts import TextRecipe, as_numpy, call_text, recipe_of

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import DebugCall, OperandType

_MOST_NUMBERS, _EDGE = 1000, 3
"""The most numbers in the text of one event in a list of lines; a longer text shows `_EDGE` numbers at each edge. These are
NumPy's own limits for an array. The text of 90 000 numbers takes half a second."""


def unflattener(equation: DebugCall) -> Callable[[Sequence[Any]], Arguments]:
    """Make the function from the values of one event to `(args, kwargs)`; it puts the static leaves back."""
    tree, static = equation.in_tree, equation.static
    if tree is None:
        return lambda values: (tuple(values), {})
    if not (static or has_containers(tree)) and (flat := _flat_unflattener(tree)) is not None:
        return flat
    places = [position for position in range(tree.num_leaves) if position not in static]

    def unflatten(values: Sequence[Any]) -> Arguments:
        leaves: list[Any] = [static.get(position) for position in range(tree.num_leaves)]
        for position, value in zip(places, values, strict=True):
            leaves[position] = value
        return jax.tree.unflatten(tree, leaves)

    return unflatten


@functools.lru_cache(maxsize=256)
def _flat_unflattener(tree: Any) -> Callable[[Sequence[Any]], Arguments] | None:
    """Make the function for arguments without containers that are in order. It is ten times faster than unflattening."""
    args, kwargs = jax.tree.unflatten(tree, range(tree.num_leaves))
    if [*args, *kwargs.values()] != [*range(tree.num_leaves)]:
        return None
    count, names = len(args), list(kwargs)

    def unflatten(values: Sequence[Any]) -> Arguments:
        return tuple(values[:count]), dict(zip(names, values[count:], strict=True))

    return unflatten


class Renderer:
    """Makes the text of an event from its values: the formatted print, or the callback's call with its arguments.

    If the format raises, the text contains the error, see `can_be_formatted`.
    """

    def __init__(self, equation: DebugCall) -> None:
        self._equation = equation
        self._unflatten = unflattener(equation)
        self._as_jax = (
            needs_jax_arrays(equation.format)
            or has_containers(equation.in_tree)
            or any(kind.key is not None for kind in equation.types)
        )
        self._options = dict(equation.text_options)
        # These shapes include the lanes. An event that is not long with all lanes is not long alone.
        self._may_be_long = self._numbers(equation.shapes) > _MOST_NUMBERS

    @property
    def recipe(self) -> TextRecipe | None:
        """The recipe that makes the text without JAX; None if the text needs `jax.Array`s or the user's types."""
        equation = self._equation
        if self._as_jax and equation.text is not None:
            return None
        return recipe_of(equation.format, self._options, is_call=equation.text is None)

    def __call__(self, values: Sequence[Any]) -> str:
        """Return the text of one event."""
        return self.many([values])[0]

    def many(self, rows: Iterable[Sequence[Any]]) -> list[str]:
        """Return the texts of many events; NumPy's options are set once."""
        equation, unflatten = self._equation, self._unflatten
        if equation.text is None:
            # A column gives NumPy scalars, an event gives arrays; their texts must agree.
            return [call_text(equation.format, *unflatten([*map(np.asarray, values)])) for values in rows]
        with np.printoptions(**self._options):
            return [self._printed(equation.text, values) for values in rows]

    def brief(self, rows: Sequence[Sequence[Any]]) -> list[str]:
        """Return the texts of events for a list of lines. A very long one shows the numbers at its edges, and their count."""
        if not self._may_be_long:
            return self.many(rows)
        return [self._brief(values) for values in rows]

    def _brief(self, values: Sequence[Any]) -> str:
        shapes = [np.shape(value) for value in values]
        text = self._equation.text
        if text is None or self._numbers(shapes) <= _MOST_NUMBERS:
            return self(values)
        options = {**self._options, "threshold": max(_MOST_NUMBERS // len(shapes), 2 * _EDGE), "edgeitems": _EDGE}
        with np.printoptions(**options):
            return f"{self._printed(text, values)} … {sum(map(math.prod, shapes)):,} numbers in all"

    def _numbers(self, shapes: Sequence[tuple[int, ...]]) -> int:
        """Return how many numbers the text of values of these shapes shows."""
        most, edge = self._options.get("threshold", _MOST_NUMBERS), self._options.get("edgeitems", _EDGE)
        sizes = [(shape, math.prod(shape)) for shape in shapes]
        return sum(size if size <= most else math.prod(min(n, 2 * edge) for n in shape) for shape, size in sizes)

    def _printed(self, text: Callable[..., str], values: Sequence[Any]) -> str:
        if self._as_jax:
            operands = restore_types([shown(np.asarray(value)) for value in values], self._equation.types)
        else:
            operands = [as_numpy(value) for value in values]
        args, kwargs = self._unflatten(operands)
        try:
            return text(args, kwargs)
        except Exception as error:  # noqa: BLE001 - a `__format__` of the user's may raise anything.
            return f"<{type(error).__name__} while formatting {self._equation.format!r}: {error}>"


def can_be_formatted(equation: DebugCall) -> bool:
    """Whether the format of a print takes values of its operands' types."""
    return not why_unformattable(equation)


def why_unformattable(equation: DebugCall) -> str:
    """Return the error that the format of a print raises for its operands' types, as `{x:.3f}` for a vector; empty for none.

    Called when the program is compiled, because a print is not formatted when it fires.
    """
    tree = equation.in_tree
    if equation.text is None:
        return ""
    if not (tree is None or equation.static or has_containers(tree)) and _shows_anything(equation.format, tree):
        return ""
    mapped = zip(equation.shapes, equation.lanes.mapped, strict=True)
    types = [(shape[sum(axes) :], dtype) for (shape, axes), dtype in zip(mapped, equation.dtypes, strict=True)]
    kinds = equation.types or (None,) * len(types)
    operands = [
        _zero(dtype, kind) if not shape else _zeros(shape, dtype, kind)
        for (shape, dtype), kind in zip(types, kinds, strict=True)
    ]
    # Showing few numbers raises the same error as showing all; the text of 90 000 zeros takes half a second.
    few = {**dict(equation.text_options), "threshold": 0, "edgeitems": 1} if equation.text_options else {}
    try:
        with np.printoptions(**few) if few and any(shape for shape, _ in types) else nullcontext():
            equation.text(*unflattener(equation)(operands))
    except Exception as error:  # noqa: BLE001 - a `__format__` of the user's may raise anything.
        listed = ", ".join(f"{dtype}[{','.join(map(str, shape))}]" for shape, dtype in types)
        return f"{error_line(error)} (its values are {listed}; `:.3f` and the like are for single numbers)"
    return ""


@functools.lru_cache(maxsize=1024)
def _shows_anything(format_string: str, tree: Any) -> bool:
    """Whether a format takes arrays of every type: each field is an argument in the structure `tree`, and has no options."""
    args, kwargs = jax.tree.unflatten(tree, [""] * tree.num_leaves)
    try:
        fields = list(string.Formatter().parse(format_string))
        format_string.format(*args, **kwargs)
    except (ValueError, LookupError, AttributeError):
        return False
    placeholders = [one for one in fields if one[1] is not None]
    is_plain = all(
        (not name or name.isidentifier() or name.isdecimal()) and not spec and not conversion
        for _, name, spec, conversion in placeholders
    )
    return is_plain and bool(placeholders or not kwargs)


def _zeros(shape: tuple[int, ...], dtype: Any, kind: OperandType | None) -> Any:
    (made,) = restore_types([on_cpu(np.zeros(shape, dtype))], (kind,) if kind else ())
    return made


@functools.lru_cache(maxsize=64)
def _zero(dtype: Any, kind: OperandType | None) -> Any:
    """Make a zero of a dtype. It is cached, because most prints are of single numbers."""
    return _zeros((), dtype, kind)


def needs_jax_arrays(format_string: str) -> bool:
    """Whether a format needs its arguments as `jax.Array`s: `{x!r}`, `{x.dtype}`, `{x[0]}`."""
    try:
        fields = list(string.Formatter().parse(format_string))
    except ValueError:
        return True
    return any(
        conversion in ("r", "a") or "." in (name or "") or "[" in (name or "") or "{" in (spec or "")
        for _, name, spec, conversion in fields
    )


def has_containers(tree: Any) -> bool:
    """Whether any argument is a container such as a list or a dict. Containers format their elements with `repr`.

    Structures with containers must not be compared, so nothing of them is cached: a class of the user's may keep an array
    beside its leaves, and arrays have no truth value.

    Args:
      tree: the structure of `(args, kwargs)`, or None.
    """
    if tree is None:
        return False
    args, kwargs = tree.children()
    return not all(map(jax.tree_util.treedef_is_leaf, (*args.children(), *kwargs.children())))
