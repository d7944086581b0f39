"""Represent a watched array among the variables of a stop if only its statistics have left the program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from jax_debug_widgets.transport.stops import ArrayStatistics

KEEP = "--values records its elements"

ONLY = f"only statistics of this array were recorded ({{}}): {KEEP}"
"""The message for an operation that needs the elements; takes the names of the statistics."""

_COUNTS = ("zeros", "nan", "posinf", "neginf")


class NumbersNotKeptError(TypeError):
    """Raised when code computes with an array that has only statistics here."""


class _NoAttributeError(NumbersNotKeptError, AttributeError):
    """Raised for a method or attribute; it is an `AttributeError`, so that `hasattr` works."""


_OPERATIONS = (
    *("abs", "add", "and", "bool", "complex", "contains", "divmod", "eq", "float", "floordiv", "ge", "getitem", "gt", "index"),
    *("int", "invert", "iter", "le", "len", "lshift", "lt", "matmul", "mod", "mul", "ne", "neg", "or", "pos", "pow", "radd"),
    *("rand", "rdivmod", "rfloordiv", "rlshift", "rmatmul", "rmod", "rmul", "ror", "round", "rpow", "rrshift", "rshift"),
    *("rsub", "rtruediv", "rxor", "setitem", "sub", "truediv", "xor", "array", "jax_array"),
)  # fmt: skip
"""The operations of arrays without their underscores, and the conversions that NumPy and JAX use."""


def _refusing(cls: type[Summarised]) -> type[Summarised]:
    """Give a class all operations of arrays; each raises an error that says why it is not possible."""

    def refuse(self: Summarised, *_args: Any, **_options: Any) -> Any:
        raise NumbersNotKeptError(ONLY.format(", ".join(self.statistics)))

    for name in _OPERATIONS:
        setattr(cls, f"__{name}__", refuse)
    return cls


class _Number(float):
    """A statistic with the name of an array's method, `h.mean`; calling it raises an error."""

    def __call__(self, *_args: Any, **_options: Any) -> Any:
        raise NumbersNotKeptError(f"it is the number {float(self):.6g} here, computed from the finite elements: {KEEP}")


@_refusing
class Summarised:
    """Represents an array by its shape, dtype and statistics: `logp.shape`, `logp.nan`.

    Attributes:
      statistics: name -> statistic.
    """

    def __init__(self, shape: tuple[int, ...], dtype: str, statistics: Mapping[str, Any]) -> None:
        self.shape, self.dtype = shape, dtype
        numbers = {name: value.item() for name, value in statistics.items() if value.ndim == 0}
        self.statistics = {
            name: int(number) if name in _COUNTS else _Number(number) for name, number in numbers.items()
        }

    def __getattr__(self, name: str) -> Any:
        # While an object is copied, Python asks for attributes before it has any.
        statistics = self.__dict__.get("statistics", {})
        if name not in statistics:
            raise _NoAttributeError(ONLY.format(", ".join(statistics)))
        return statistics[name]

    def __dir__(self) -> list[str]:
        return ["dtype", "shape", *self.statistics]

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} {value:.6g}" for name, value in self.statistics.items())
        return f"{self.dtype}[{','.join(map(str, self.shape))}] with {listed}; {KEEP}"

    def message(self) -> ArrayStatistics:
        """Return the statistics in the form in which the browser takes those of any array."""
        statistics: dict[str, Any] = self.statistics
        low, high, mean, std = (_finite(statistics.get(name, math.nan)) for name in ("min", "max", "mean", "std"))
        return {
            "size": math.prod(self.shape),
            "nan": statistics.get("nan", 0),
            "inf": statistics.get("posinf", 0) + statistics.get("neginf", 0),
            "zero": statistics.get("zeros", 0),
            "min": low,
            "max": high,
            "mean": mean,
            "std": std,
        }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
