"""Estimate the cost of watching before a program runs, from what its equations compute and move."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.extend import core as jax_core

from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets.events import CallSite
from jax_debug_widgets.events.amounts import in_bytes, plural
from jax_debug_widgets.watch.statistics.statistics import native_target

_FLOP, _ELEMENT, _EQUATION = 0.003, 0.3, 60.0
"""Nanoseconds of one multiplication or addition in a matrix product, of one element of any other equation's result, and
of an equation of any size. They were fitted to training scans and the programs of
`tests/watch/test_real_programs.py` on two cores. The estimate is mostly right within a factor of two; only the
proportions matter.
"""

_CALL, _LEAF, _CALL_WATCHED = 6_000.0, 800.0, 250_000.0
"""Nanoseconds of a call of a program, of each of its arguments and results, and of the further time of a call that
hands over values from a loop. Such a call has effects, and JAX dispatches it from Python. For programs of a few
microseconds nothing else counts.
"""

_READ, _READ_NATIVELY, _VALUE, _HANDED = 1.2, 0.5, 1500.0, 12000.0
"""Nanoseconds of one element whose statistics are taken by XLA, and of one with Numba; of a watched value in a loop;
and of a body that hands its values over.
"""

_VALUE_OF_CALL = 5000.0
"""Nanoseconds of a watched value outside of loops: each is a further result of the program."""


_SMALL = 1e6
"""Nanoseconds below which the cost of a call dominates: the estimate for such a program also gives the time."""

_MANY = 100
"""Factors from here on are not rounded to two digits, which would be written with an exponent."""


@dataclass(eq=False)
class CostEstimate:
    """The estimated nanoseconds of one call of a program, and of watching it."""

    plain: float = _CALL
    watching: float = 0.0
    _is_called_back: bool = False

    def add(self, jaxpr: Any, taken: Sequence[Any], place: Place, every: int) -> None:
        """Add one body of the program to the estimate; it runs at `place`.

        Args:
          taken: the body's variables that are watched.
          every: the body is watched in each `every`-th execution.
        """
        times = math.prod(loop.length or 1 for loop in place.loops)
        self.plain += times * sum(map(_of_equation, jaxpr.eqns))
        if not (place.loops or place.callers):  # This is the whole program.
            self.plain += _LEAF * (len(jaxpr.invars) + len(jaxpr.outvars))
        if taken:
            elements = sum(_size(variable.aval) for variable in taken)
            read = _READ_NATIVELY if native_target() else _READ
            value = _VALUE if place.loops else _VALUE_OF_CALL
            self.watching += times / every * (read * elements + value * len(taken) + _HANDED)
            if place.loops and not self._is_called_back:
                self._is_called_back = True
                self.watching += _CALL_WATCHED


def _of_equation(equation: Any) -> float:
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
    return _EQUATION + _FLOP * flops + _ELEMENT * made


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
    with_numba = "" if native_target() else "; on a CPU Numba makes it cheaper (pip install 'jax-debug-widgets[fast]')"
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
