"""Evaluate on the device the condition under which watched values are taken: `--when 'abs(logits).max() > 10'`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_debug_widgets.events.elementwise import GRADIENT, compiled, names_in, parsed, resolved, why_not, words_of
from jax_debug_widgets.watch.naming.named import Named

_CASTS = {kind.__name__: partial(jnp.asarray, dtype=kind) for kind in (float, int, bool)}

_WORDS = {**words_of(jnp), **_CASTS, "jax": jax, "lax": lax}
"""The functions that an expression may call by a bare name; all other names are names of the program's source."""

_WANTS = "when wants an expression over names of the program (abs(logits).max() > 10)"


@dataclass(frozen=True)
class BodyCondition:
    """A condition in one body of a program.

    Attributes:
      variables: the variables that it reads.
      of: a function from their arrays to bool[]: whether the condition holds for any element.
    """

    variables: Sequence[Any]
    of: Callable[..., jax.Array]


class ConditionError(Exception):
    """A condition cannot be computed from the values that its names have; the message says why."""


class Condition:
    """A Python expression over names of the program's source.

    Args:
      text: `loss > 10`, `abs(logits).max() > 10`, `isnan(self.w)`, `0 < h < 1 and grad.h.max() > 1`. It is computed
        element by element, and holds if it holds for any element.

    Raises:
      ValueError: the text is not an expression, or has no name of a program.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.names = sorted(names_in(parsed(text, _WANTS, _WORDS), _WORDS))
        if not self.names:
            raise ValueError(f"when={text!r} names no value of a program, as abs(logits).max() > 10 does")

    def within(self, named: Sequence[Named]) -> BodyCondition | None:
        """Return the condition over the values of one body; None if the body does not compute all of its names.

        If a name is assigned more than once in the body, the last value is used.
        """
        available = {(GRADIENT if one.role == "gradient" else "") + one.name: one.variable for one in named}
        found = resolved(parsed(self.text, _WANTS, _WORDS), available, _WORDS)
        if found.missing:
            return None
        indexed = _indexed(found.expression)
        evaluate = compiled(found.expression, jnp, _WORDS)

        def of(*arrays: Any) -> jax.Array:
            values = dict(zip(found.variables.values(), arrays, strict=True))
            try:
                for name, index in indexed:
                    _require_within(values[name], index)
                return jnp.any(jnp.asarray(evaluate(values)).astype(bool))
            except Exception as error:
                kinds = ", ".join(
                    f"{name} {jax.typeof(one)}" for name, one in zip(found.variables, arrays, strict=True)
                )
                raise ConditionError(f"when={self.text!r} of {kinds}: {why_not(self.text, error)}") from error

        return BodyCondition([available[name] for name in found.variables], of)


def _indexed(tree: ast.Expression) -> list[tuple[str, Any]]:
    """Return the variables that an expression indexes by literal numbers, each with its index."""
    found: list[tuple[str, Any]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            computed = any(isinstance(part, ast.Name | ast.Call) for part in ast.walk(node.slice))
            if not computed:
                itself = ast.Subscript(ast.Name("index", ast.Load()), node.slice, ast.Load())
                code = compile(ast.fix_missing_locations(ast.Expression(itself)), "<condition>", "eval")
                found.append((node.value.id, eval(code, {"__builtins__": {}, "index": np.s_})))  # noqa: S307 - literals.
    return found


def _require_within(array: Any, index: Any) -> None:
    """Raise an IndexError where JAX would clamp the index and take another element."""
    np.broadcast_to(np.zeros((), bool), array.shape)[index]
