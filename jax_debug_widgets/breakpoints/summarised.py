"""Stand for a watched array among the variables of a stop, where only its statistics have left the program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from jax_debug_widgets.transport.stops import ArrayStatistics

KEEP = "its numbers are kept with --values"

_COUNTS = ("zeros", "nan", "posinf", "neginf")


class Summarised:
    """What is known of the array: its shape, dtype and statistics, `logp.nan`.

    Attributes:
      statistics: by name.
    """

    def __init__(self, shape: tuple[int, ...], dtype: str, statistics: Mapping[str, Any]) -> None:
        self.shape, self.dtype = shape, dtype
        numbers = {name: value.item() for name, value in statistics.items() if value.ndim == 0}
        self.statistics = {name: int(number) if name in _COUNTS else number for name, number in numbers.items()}

    def __getattr__(self, name: str) -> Any:
        # Python asks for attributes of objects that are being copied, too, before they have any.
        statistics = self.__dict__.get("statistics", {})
        if name not in statistics:
            msg = f"of this array only statistics are there ({', '.join(statistics)}): {KEEP}"
            raise AttributeError(msg)
        return statistics[name]

    def __dir__(self) -> list[str]:
        return ["dtype", "shape", *self.statistics]

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {value:.6g}" for name, value in self.statistics.items())
        return f"{self.dtype}[{','.join(map(str, self.shape))}] with {told}; {KEEP}"

    def message(self) -> ArrayStatistics:
        """The statistics as the browser takes those of any array."""
        told = self.statistics
        low, high, mean, std = (_finite(told.get(name, math.nan)) for name in ("min", "max", "mean", "std"))
        return {
            "size": math.prod(self.shape),
            "nan": told.get("nan", 0),
            "inf": told.get("posinf", 0) + told.get("neginf", 0),
            "zero": told.get("zeros", 0),
            "min": low,
            "max": high,
            "mean": mean,
            "std": std,
        }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
