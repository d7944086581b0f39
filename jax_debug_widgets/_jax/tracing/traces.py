"""The record of one trace of a jitted function: its arguments, and where it was called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Leaf:
    """The type of one array that a function was traced for.

    Attributes:
      type: as JAX writes it, `float32[3]`.
      weak: whether the type is weak: of a Python number.
      kind: `array`, or the Python type of a number: `float`.
    """

    type: str
    weak: bool
    kind: str

    def __str__(self) -> str:
        return f"{self.type} (a Python {self.kind})" if self.weak and self.kind != "array" else self.type


@dataclass(frozen=True)
class Static:
    """The value of a static argument.

    Attributes:
      text: its `repr`, cut.
      key: equal for values that Python calls equal.
      type: its class.
      by_identity: whether its class has no `__eq__` of its own, so that equal-looking values are different.
      parts: path -> what is there, of a value that is put together of others: `[0].act`.
    """

    text: str
    key: int
    type: str
    by_identity: bool
    parts: Mapping[str, Static] = field(default_factory=dict[str, "Static"])


@dataclass(frozen=True)
class Trace:
    """A function was traced.

    Attributes:
      function: its name; `file`, `line`: where it is defined.
      identity: a number for the function object: a lambda that is made anew has another one.
      callers: file and line of what called it outside of JAX, innermost first.
      leaves: path of each traced argument -> its type: `p['w']`.
      statics: static argument -> its value.
      options: a number for the options of `jax.jit`.
      seconds: how long the trace took.
      is_ours: whether a call of ours has asked for it: such a trace is none that the user can save.
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
