"""`--when 'abs(logits).max() > 10'`: when the watched values are taken, looked at on the device."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_debug_widgets.events.elementwise import compiled, names_in, parsed, why_not, words_of
from jax_debug_widgets.watch.naming.names import Named

_WORDS = {**words_of(jnp), "jax": jax, "lax": lax}
"""What an expression may call by itself; all else is a name of the program's source."""

_WANTS = "when wants an expression over names of the program (abs(logits).max() > 10)"

GRADIENT = "grad."
"""`grad.h` is the gradient of `h`."""


@dataclass(frozen=True)
class Holds:
    """A condition in one body of a program.

    Attributes:
      variables: what it looks at.
      of: their arrays -> whether it holds for any element: bool[].
    """

    variables: Sequence[Any]
    of: Callable[..., jax.Array]


class ConditionError(Exception):
    """A condition cannot be computed of what its names are: the message says why."""


class Condition:
    """A Python expression over names of the program's source.

    Args:
      text: `loss > 10`, `abs(logits).max() > 10`, `isnan(self.w)`, `0 < h < 1 and grad.h.max() > 1`. It is computed element by
        element, and holds where it does for any of them.

    Raises:
      ValueError: it is no expression, or names nothing of a program.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.names = sorted(names_in(parsed(text, _WANTS, _WORDS), _WORDS))
        if not self.names:
            raise ValueError(f"when={text!r} names no value of a program, as abs(logits).max() > 10 does")

    def within(self, named: Sequence[Named]) -> Holds | None:
        """The condition over what one body computes; None where that has not all of its names.

        Of a name that is assigned more than once there the last value counts.
        """
        available = {(GRADIENT if one.role == "gradient" else "") + one.name: one.variable for one in named}
        resolve = _Resolve(available, self.names)
        expression = resolve.visit(parsed(self.text, _WANTS, _WORDS))
        if resolve.missing:
            return None
        told = compiled(expression, jnp, _WORDS)

        def of(*arrays: Any) -> jax.Array:
            values = dict(zip(resolve.found.values(), arrays, strict=True))
            try:
                return jnp.any(jnp.asarray(told(values)).astype(bool))
            except Exception as error:
                kinds = ", ".join(f"{name} {jax.typeof(one)}" for name, one in zip(resolve.found, arrays, strict=True))
                raise ConditionError(f"when={self.text!r} of {kinds}: {why_not(self.text, error)}") from error

        return Holds([available[name] for name in resolve.found], of)


class _Resolve(ast.NodeTransformer):
    """Puts a variable where an expression names what is available: `params["w"]` as well as `logits`."""

    def __init__(self, available: dict[str, Any], names: Collection[str]) -> None:
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
