"""Estimate the cost of watching before a program runs, from what its equations compute and move."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.extend import core as jax_core

from jax_debug_widgets._jax.compat.cuda import memory_bandwidth
from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets.events import CallSite
from jax_debug_widgets.events.amounts import in_bytes, plural
from jax_debug_widgets.watch.statistics.statistics import cuda_target, native_target


@dataclass(frozen=True)
class Rates:
    """The nanoseconds that parts of a program take on a platform. Only the proportions matter.

    Attributes:
      flop: a multiplication or addition in a matrix product, in float32 or wider types.
      short_flop: the same in types of two bytes or one.
      byte: a byte of any other equation's result, as far as fusions write it.
      width: the bytes that any element counts as; 0 for the bytes of its type. On a CPU narrow types are no faster.
      equation: an equation of any size.
      call: a call of a program.
      leaf: each argument and result of a call.
      call_watched: the further time of a call that hands over values from a loop: JAX dispatches it from Python.
      read: a byte whose statistics are taken, and which XLA must write for that.
      value: a watched value in a loop.
      value_of_call: a watched value outside of loops: each is a further result of the program.
      handed: a body that hands its values over.
    """

    flop: float
    short_flop: float
    byte: float
    width: int
    equation: float
    call: float
    leaf: float
    call_watched: float
    read: float
    value: float
    value_of_call: float
    handed: float


def _rates_of_cpu() -> Rates:
    """Return rates fitted to training scans and the programs of `tests/watch/test_real_programs.py` on two cores.

    The estimate is mostly right within a factor of two.
    """
    return Rates(
        flop=0.003,
        short_flop=0.003,
        byte=0.075,
        width=4,
        equation=60.0,
        call=6_000.0,
        leaf=800.0,
        call_watched=250_000.0,
        read=0.125 if native_target() else 0.3,
        value=1_500.0,
        value_of_call=5_000.0,
        handed=12_000.0,
    )


def _rates_of_gpu(bytes_per_s: float) -> Rates:
    """Return rates for a GPU with this bandwidth, fitted to training steps of transformers on an H200.

    Of the bytes of all results, fusions write about a quarter. A value that is watched must be written and is read: three
    times its bytes move. XLA reads it in six passes. A launch takes some 2.5 µs: one for four equations, and four for a body
    that is watched. Matrix products do not depend on the bandwidth, but GPUs with more of it compute them faster.
    """
    ns_per_byte, of_h200 = 1e9 / bytes_per_s, 4.3e12 / bytes_per_s
    return Rates(
        flop=1.1e-5 * of_h200,
        short_flop=5e-6 * of_h200,
        byte=0.25 * ns_per_byte,
        width=0,
        equation=600.0,
        call=10_000.0,
        leaf=300.0,
        call_watched=50_000.0,
        read=ns_per_byte * (3 if cuda_target() else 14),
        value=300.0,
        value_of_call=300.0,
        handed=10_000.0,
    )


def _rates() -> Rates:
    return _rates_of_gpu(memory_bandwidth()) if jax.default_backend() == "gpu" else _rates_of_cpu()


_SMALL = 1e6
"""Nanoseconds below which the cost of a call dominates: the estimate for such a program also gives the time."""

_MANY = 100
"""Factors from here on are not rounded to two digits, which would be written with an exponent."""


@dataclass(eq=False)
class CostEstimate:
    """The estimated nanoseconds of one call of a program, and of watching it."""

    rates: Rates = field(default_factory=_rates)
    plain: float = 0.0
    watching: float = 0.0
    _is_called_back: bool = False

    def __post_init__(self) -> None:
        self.plain += self.rates.call

    def add(self, jaxpr: Any, taken: Sequence[Any], place: Place, every: int) -> None:
        """Add one body of the program to the estimate; it runs at `place`.

        Args:
          taken: the body's variables that are watched.
          every: the body is watched in each `every`-th execution.
        """
        rates, times = self.rates, math.prod(loop.length or 1 for loop in place.loops)
        self.plain += times * sum(_of_equation(equation, rates) for equation in jaxpr.eqns)
        if not (place.loops or place.callers):  # This is the whole program.
            self.plain += rates.leaf * (len(jaxpr.invars) + len(jaxpr.outvars))
        if taken:
            nbytes = sum(_bytes(variable.aval, rates) for variable in taken)
            value = rates.value if place.loops else rates.value_of_call
            self.watching += times / every * (rates.read * nbytes + value * len(taken) + rates.handed)
            if place.loops and not self._is_called_back:
                self._is_called_back = True
                self.watching += rates.call_watched


def _of_equation(equation: Any, rates: Rates) -> float:
    if any(isinstance(one, jax_core.Jaxpr | jax_core.ClosedJaxpr) for one in equation.params.values()):
        return 0.0  # The programs that it runs are bodies of their own.
    made = sum(_size(variable.aval) for variable in equation.outvars)
    flops = 0
    if equation.primitive.name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        left = equation.invars[0].aval.shape
        flops = 2 * made * math.prod(left[axis] for axis in contracted)
    elif equation.primitive.name == "conv_general_dilated":
        kernel = equation.invars[1].aval.shape
        flops = 2 * made * math.prod(kernel) // max(kernel[equation.params["dimension_numbers"].rhs_spec[0]], 1)
    flop = rates.short_flop if _is_short(equation) else rates.flop
    return (
        rates.equation + flop * flops + rates.byte * sum(_bytes(variable.aval, rates) for variable in equation.outvars)
    )


def _is_short(equation: Any) -> bool:
    """Return whether the result of an equation has a type of two bytes or one."""
    types = [getattr(variable.aval, "dtype", None) for variable in equation.outvars]
    return bool(types) and types[0] is not None and types[0].itemsize < np.dtype(np.float32).itemsize


def _bytes(aval: Any, rates: Rates) -> int:
    return _size(aval) * (rates.width or getattr(getattr(aval, "dtype", None), "itemsize", 0))


def _size(aval: Any) -> int:
    return math.prod(getattr(aval, "shape", ()))


def price(sites: Collection[CallSite], works: Collection[CostEstimate]) -> str:
    """Return a sentence with the cost of watching all of these; empty for none."""
    if not sites:
        return ""
    slowdown = expected_slowdown(works)
    times = f"{f'{slowdown:.2g}' if slowdown < _MANY else f'{slowdown:.0f}'} times as long"
    if all(one.plain < _SMALL for one in works):  # A large factor of a tiny time misleads: report the time too.
        times = f"{max((one.watching for one in works), default=0) * 1e-6:.2g} ms longer a call, {times}"
    where, is_fast = ("GPU", cuda_target()) if jax.default_backend() == "gpu" else ("CPU", native_target())
    with_numba = "" if is_fast else f"; on a {where} Numba makes it cheaper (pip install 'jax-debug-widgets[fast]')"
    nbytes = sum(math.prod(one.watch.shape) * np.dtype(one.watch.dtype).itemsize for one in sites if one.watch)
    # A line of the panel has room only for the beginning.
    return (
        f"With {plural(len(sites), 'watched value')} ({in_bytes(nbytes)} a step) programs are expected to take about {times}. "
        "It is an estimate: `%jaxdebug verify F(X)` measures it, and whether the results stay the same to the bit. "
        f"To pay less name some of them (--watch NAMES), or watch every N-th step (--every N){with_numba}."
    )


def expected_slowdown(works: Collection[CostEstimate]) -> float:
    """Return the expected slow-down of all programs together, as a factor."""
    plain = sum(one.plain for one in works)
    return 1 + sum(one.watching for one in works) / plain if plain else 1.0
