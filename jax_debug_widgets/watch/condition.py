"""`--when 'abs(logits).max() > 10'`: when the watched values are taken, looked at on the device."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_debug_widgets.watch.names import Named


def _either(reduce: Callable[..., Any], pairwise: Callable[..., Any]) -> Callable[..., Any]:
    """`max(x)` of an array, and `max(x, y)`."""
    return lambda first, *rest: functools.reduce(pairwise, rest, first) if rest else reduce(first)


_KNOWN: dict[str, Any] = {
    "jnp": jnp, "jax": jax, "lax": lax, "abs": jnp.abs, "sum": jnp.sum, "any": jnp.any, "all": jnp.all,
    "isnan": jnp.isnan, "isinf": jnp.isinf, "isfinite": jnp.isfinite,
    "max": _either(jnp.max, jnp.maximum), "min": _either(jnp.min, jnp.minimum),
}  # fmt: skip
"""What an expression may call by itself; all else is a name of the program's source."""

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


class Condition:
    """A Python expression over names of the program's source.

    Args:
      text: `loss > 10`, `abs(logits).max() > 10`, `isnan(self.w)`, `grad.h.max() > 1`.

    Raises:
      ValueError: it is no expression, or names nothing of a program.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree = ast.parse(text.strip(), "<--when>", "eval")
        except SyntaxError as error:
            raise ValueError(
                f"when wants an expression over names of the program (abs(logits).max() > 10), got {text!r}: {error.msg}"
            ) from None
        self.names = sorted(
            {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name) and node.id not in _KNOWN}
        )
        if not self.names:
            raise ValueError(f"when={text!r} names no value of a program, as abs(logits).max() > 10 does")

    def within(self, named: Sequence[Named]) -> Holds | None:
        """The condition over what one body computes; None where that has not all of its names.

        Of a name that is assigned more than once there the last value counts.
        """
        available = {(GRADIENT if one.role == "gradient" else "") + one.name: one.variable for one in named}
        resolve = _Resolve(available)
        expression = ast.fix_missing_locations(resolve.visit(ast.parse(self.text.strip(), "<--when>", "eval")))
        if resolve.missing:
            return None
        code = compile(expression, "<--when>", "eval")
        names = list(resolve.found)

        def of(*arrays: Any) -> jax.Array:
            values = dict(zip(resolve.found.values(), arrays, strict=True))
            # The user's own expression, typed into the user's own kernel.
            told = eval(code, {"__builtins__": {}, **_KNOWN}, values)  # noqa: S307
            return jnp.any(jnp.asarray(told).astype(bool))

        return Holds([available[name] for name in names], of)


class _Resolve(ast.NodeTransformer):
    """Puts a variable where an expression names what is available: `params["w"]` as well as `logits`."""

    def __init__(self, available: dict[str, Any]) -> None:
        self._available = available
        self.found: dict[str, str] = {}
        self.missing: set[str] = set()

    def visit(self, node: ast.AST) -> Any:
        text = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) else ""
        if text in self._available:
            return ast.Name(self.found.setdefault(text, f"value_{len(self.found)}"), ast.Load())
        if isinstance(node, ast.Name) and node.id not in _KNOWN:
            self.missing.add(node.id)
        return super().visit(node)
