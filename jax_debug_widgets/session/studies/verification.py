"""Find out whether a watched program gives the same bits as unwatched, and how much longer it takes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jax_debug_widgets._jax.origins.context import calling_for_us
from jax_debug_widgets.events.amounts import in_time

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.run import Run


_MEASURED = 2


@dataclass(frozen=True)
class ResultDifference:
    """One array of the result that is not equal bit by bit.

    Attributes:
      path: its place in the result: `[0]['w']`; empty for the result itself.
      count, size: the number of elements that differ, and of all elements.
      largest: the largest |watched - plain|; NaN if only one of the two is NaN.
      relative: the largest |watched - plain| divided by the larger magnitude of the two.
      ulp: the largest distance in representable numbers between the two; None if they are not floats.
    """

    path: str
    count: int
    size: int
    largest: float
    relative: float
    ulp: int | None

    def __str__(self) -> str:
        steps = "" if self.ulp is None else f", {self.ulp} ulp"
        where = f"result{self.path}"
        size = f"by at most {self.largest:.3g} (relative {self.relative:.3g}{steps})"
        if math.isnan(self.largest):
            size = "some of them NaN in one of the two only"
        return f"{where}: {self.count} of {self.size} elements differ, {size}"


@dataclass(frozen=True)
class Verification:
    """The result of comparing a watched call with an unwatched one.

    Attributes:
      run: the run of the watched calls.
      result: the result of the watched call.
      arrays: the number of compared arrays.
      differences: the arrays that are not equal, in the order of the result.
      repeats: whether the unwatched program gave the same result twice; True without differences.
      plain_seconds, watched_seconds: the seconds of a call: the faster one of two after the first, which compiles.
    """

    run: Run
    result: Any
    arrays: int
    differences: tuple[ResultDifference, ...]
    repeats: bool
    plain_seconds: float
    watched_seconds: float

    @property
    def equal(self) -> bool:
        """Whether all results are equal bit by bit."""
        return not self.differences

    @property
    def slowdown(self) -> float:
        """How many times as long the watched call took."""
        return self.watched_seconds / self.plain_seconds

    def __str__(self) -> str:
        took = (
            f"It took {self.slowdown:.2f} times as long as unwatched ({in_time(self.plain_seconds)}, "
            f"{in_time(self.watched_seconds)} watched). The run has three watched calls: the first compiles. These "
            "are the faster of the other two, and of two unwatched ones."
        )
        if self.equal:
            result = "the result is" if self.arrays == 1 else f"all {self.arrays} arrays of the result are"
            return f"Verified: {result} bitwise equal to the unwatched program's. {took}"
        more = len(self.differences) - 1
        others = f" ({more} of {self.arrays} arrays {'differs' if more == 1 else 'differ'} as well)" if more else ""
        why = (
            "XLA fuses differently around what is read, which can move the last bits. exact=True (--exact) gives the "
            "program's own results and runs the watched one beside it; watching fewer names keeps more fusions."
            if self.repeats
            else "Unwatched the program did not give the same twice either."
        )
        return f"Not bitwise equal to the unwatched program. First {self.differences[0]}{others}. {why} {took}"

    __repr__ = __str__


def verify(
    run: Run,
    uncaptured: Callable[[], AbstractContextManager[None]],
    unwatched: Callable[[], AbstractContextManager[None]],
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> Verification:
    """Call `function` three times in the capture of `run`, three times unwatched and once uncaptured, with the same inputs.

    Args:
      uncaptured: makes a context in which programs are compiled as in plain JAX. The results are compared with these.
      unwatched: makes a context in which programs are captured without watching. The times are compared with these, because a
        print in plain JAX takes forty times as long as in a capture.
    """

    def call() -> tuple[Any, float]:
        own_args, own_kwargs = jax.tree.map(_copied, (tuple(args), kwargs))  # The function may donate them.
        start = time.perf_counter()
        result = jax.block_until_ready(function(*own_args, **own_kwargs))
        return result, time.perf_counter() - start

    def within(context: Callable[[], AbstractContextManager[None]]) -> tuple[Any, float]:
        with context():
            return call()

    with calling_for_us():
        plain, _ = within(uncaptured)
        within(unwatched)
    call()  # This is the user's own call: its traces count.
    with calling_for_us():
        rounds = [(within(unwatched), call()) for _ in range(_MEASURED)]
    plain_seconds, watched_seconds = (min(seconds for _, seconds in side) for side in zip(*rounds, strict=True))
    (repeated, _), (result, _) = rounds[-1]
    differences = differences_of(result, plain)
    repeats = not differences or not differences_of(repeated, plain)
    arrays = len(jax.tree.leaves(result))
    found = Verification(run, result, arrays, tuple(differences), repeats, plain_seconds, watched_seconds)
    run.note(str(found))
    return found


def differences_of(watched: Any, plain: Any) -> list[ResultDifference]:
    """Return the leaves of two trees of the same structure that are not equal bit by bit. All NaNs count as equal."""
    pairs = zip(jax.tree_util.tree_leaves_with_path(watched), jax.tree.leaves(plain), strict=True)
    compared = ((jax.tree_util.keystr(path), _host(one), _host(other)) for (path, one), other in pairs)
    numbers = ((path, one, other) for path, one, other in compared if one.dtype != object)  # A token has no numbers.
    found = [_difference(path, one, other) for path, one, other in numbers if one.tobytes() != other.tobytes()]
    return [difference for difference in found if difference.count]


def _copied(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, jax.Array) else leaf


def _host(leaf: Any) -> np.ndarray:
    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


def _difference(path: str, one: np.ndarray, other: np.ndarray) -> ResultDifference:
    width = f"u{one.dtype.itemsize}" if one.dtype.itemsize in (1, 2, 4, 8) else None
    bits = [array.view(width) if width else array for array in (np.atleast_1d(one), np.atleast_1d(other))]
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        a, b = (np.atleast_1d(array.astype(wide)) for array in (one, other))
        are_nan = np.isnan(a) & np.isnan(b)
        bits[1] = np.where(are_nan, bits[0], bits[1])
        count = int(((bits[0] != bits[1]) & ~are_nan).sum())
        apart = np.where((a == b) | are_nan, 0, np.abs(a - b))
        size = np.maximum(np.abs(a), np.abs(b))
        relative = np.where(apart == 0, 0, apart / size)
    is_float = one.dtype.kind == "f" or (one.dtype.kind == "V" and one.dtype.name.startswith(("bfloat", "float")))
    ulp = _ulps(*bits) if is_float and width and np.isfinite(apart).all() else None
    return ResultDifference(path, count, one.size, float(apart.max()), float(relative.max()), ulp)


def _ulps(one: np.ndarray, other: np.ndarray) -> int:
    """Return the largest distance of floats in representable numbers. Their bits count up from zero on each side."""
    sign = 1 << (8 * one.dtype.itemsize - 1)

    def place(bits: np.ndarray) -> list[int]:
        return [int(sign - bit) if bit >= sign else int(bit) for bit in bits.ravel().tolist()]

    return max(abs(a - b) for a, b in zip(place(one), place(other), strict=True))
