"""Define the record of one trace of a jitted function: its arguments, and where it was called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

STRUCTURE = " structure"
"""The suffix of an argument's name in the name of its structure."""


@dataclass(frozen=True)
class Leaf:
    """The type of one array that a function was traced for.

    Attributes:
      type: JAX's text for the type, `float32[3]`.
      weak: whether the type is weak, as for a Python number.
      kind: `array`, or the Python type of a number: `float`.
    """

    type: str
    weak: bool
    kind: str

    def __str__(self) -> str:
        if not self.weak:
            return self.type
        return f"{self.type} (weakly typed)" if self.kind == "array" else f"{self.type} (a Python {self.kind})"


@dataclass(frozen=True)
class Static:
    """The value of a static argument.

    Attributes:
      text: its `repr`, shortened.
      key: equal for values that Python calls equal.
      type: the name of its class.
      by_identity: whether its class has no `__eq__` of its own, so that values that look equal are different.
      parts: the parts of a nested value, by their paths: `[0].act`.
    """

    text: str
    key: int
    type: str
    by_identity: bool
    parts: Mapping[str, Static] = field(default_factory=dict[str, "Static"])


@dataclass(frozen=True)
class Trace:
    """One trace of a function.

    Attributes:
      function: the function's name; `file`, `line`: where it is defined.
      identity: a number for the function object: a lambda that is created again has another number.
      callers: file and line of the frames outside of JAX that called it, innermost first.
      leaves: the type of each traced argument, by its path: `p['w']`.
      statics: the value of each static argument, and of each static field of a traced one, `state.apply_fn`; the
        structure of each traced argument, by its name and `STRUCTURE`.
      options: a number for the options of `jax.jit`.
      seconds: how long the trace took.
      code: a number for its code and its wrappers: two lambdas in one line have different numbers, and so have `f` and
        `jax.grad(f)`.
      keywords: the arguments that the call passed by keyword.
      is_ours: whether this package caused it; the user cannot avoid such a trace.
    """

    function: str
    file: str
    line: int
    identity: int
    callers: tuple[tuple[str, int], ...]
    leaves: dict[str, Leaf]
    statics: dict[str, Static]
    options: int
    seconds: float
    is_ours: bool = False
    code: int = 0
    keywords: frozenset[str] = frozenset()
