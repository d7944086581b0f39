"""Evaluate on the device when watched values are taken: `--when 'abs(logits).max() > 10'`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_debug_widgets.events.elementwise import GRADIENT, compiled, names_in, parsed, resolved, why_not, words_of
from jax_debug_widgets.watch.naming.named import Named

_WORDS = {**words_of(jnp), "jax": jax, "lax": lax}
"""The functions that an expression may call by itself; all else is a name of the program's source."""

_WANTS = "when wants an expression over names of the program (abs(logits).max() > 10)"


@dataclass(frozen=True)
class BodyCondition:
    """A condition in one body of a program.

    Attributes:
      variables: what it looks at.
      of: their arrays -> whether it holds for any element: bool[].
    """

    variables: Sequence[Any]
    of: Callable[..., jax.Array]


class ConditionError(Exception):
    """A condition cannot be computed from the values that its names have; the message says why."""


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

    def within(self, named: Sequence[Named]) -> BodyCondition | None:
        """The condition over the values of one body; None if the body does not compute all of its names.

        Of a name that is assigned more than once there the last value counts.
        """
        available = {(GRADIENT if one.role == "gradient" else "") + one.name: one.variable for one in named}
        found = resolved(parsed(self.text, _WANTS, _WORDS), available, _WORDS)
        if found.missing:
            return None
        told = compiled(found.expression, jnp, _WORDS)

        def of(*arrays: Any) -> jax.Array:
            values = dict(zip(found.variables.values(), arrays, strict=True))
            try:
                return jnp.any(jnp.asarray(told(values)).astype(bool))
            except Exception as error:
                kinds = ", ".join(
                    f"{name} {jax.typeof(one)}" for name, one in zip(found.variables, arrays, strict=True)
                )
                raise ConditionError(f"when={self.text!r} of {kinds}: {why_not(self.text, error)}") from error

        return BodyCondition([available[name] for name in found.variables], of)
