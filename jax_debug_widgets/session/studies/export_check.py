"""Hold the result of running an exported package and the original function on the same arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from jax_debug_widgets._jax.passes.numbers import on_host
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.graphs.diff import Diff


@dataclass(frozen=True)
class ExportCheck:
    """The answer of `Exported.check`: all results are equal bit by bit.

    Attributes:
      name: the name of the function.
      results: the number of arrays that it returns.
      is_same: whether the package, traced now, computes the same results by the same operations.
      difference: how its equations differ from those of the original.
    """

    name: str
    results: int
    is_same: bool
    difference: Diff

    def __repr__(self) -> str:
        verdict = "the same program" if self.is_same else f"by other equations: {self.difference.headline}"
        return f"{self.name}: {plural(self.results, 'result')}, equal to the bit; {verdict}"


def ran(run: Callable[[], Sequence[Any]], unfilled: Sequence[str]) -> Sequence[Any]:
    """Return the results of running a package, whose `unfilled` host functions raise if they are called.

    A library's function that only raises an error is not called where there is none.

    Raises:
      NotImplementedError: one of them is called. Exception: what the package raises.
    """
    try:
        found = jax.block_until_ready(run())
        if unfilled:
            jax.effects_barrier()
    except Exception as error:
        called = [one for one in unfilled if f"write {one} in host.py" in str(error)] or unfilled
        if not called:
            raise
        raise NotImplementedError(f"fill in {', '.join(called)} in host.py first") from error
    return found


def first_that_differs(expected: Sequence[Any], found: Sequence[Any]) -> int | None:
    """Return the index of the first result with other bits or another dtype; None if all are equal."""
    pairs = enumerate(zip(expected, found, strict=True))
    return next((place for place, (one, other) in pairs if _bits_of(one) != _bits_of(other)), None)


def _bits_of(array: Any) -> tuple[Any, bytes]:
    return array.dtype, on_host(array).tobytes()
