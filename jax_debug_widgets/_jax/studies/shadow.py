"""Run a program equation by equation, as it is and in float64 beside it, and measure the differences.

Booleans, whole numbers, random bits, branches and numbers of steps are those of the program as it is, in both. So each value
has a float64 partner, however much the numbers differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.inventory import programs_in
from jax_debug_widgets._jax.passes.numbers import on_host
from jax_debug_widgets._jax.studies.magnitudes import is_float, on_host_or_none, scale_in, size_in
from jax_debug_widgets._jax.studies.own_width import in_own_width
from jax_debug_widgets._jax.studies.programs import as_typed, opened, runs_one_call
from jax_debug_widgets._jax.studies.repeats import solving_of
from jax_debug_widgets._jax.studies.stepping import bind
from jax_debug_widgets._jax.studies.trace import Traced
from jax_debug_widgets._jax.studies.widening import ENTERED, TAKES_BITS, bind_wide, draws, only_program, widened
from jax_debug_widgets.graphs.rounding import Measure, is_inexact

if TYPE_CHECKING:
    import numpy as np

Path = tuple[tuple[int, str], ...]

MOST_IN_LOOPS = 10_000
"""How many equations are run one by one in bodies of loops; after that, loops run as a whole."""


@dataclass(frozen=True, eq=False)
class ShadowPair:
    """A value of the program, the same in float64, and the error of the first.

    Attributes:
      size: the root mean square of the float64 value, or its scale.
      scale: the size of the numbers that cancel to zero in it, see `graphs/zeros.py`; 0 if it is not zero.
    """

    narrow: Any
    wide: Any
    error: float = 0.0
    size: float = 0.0
    scale: float = 0.0


@dataclass(frozen=True, eq=False)
class Shadowed:
    """A program that has run beside itself.

    Attributes:
      outputs: each as it is, and in float64, with its scale.
      measures: the path and number of an equation, as in `graphs.Program` -> what was measured.
      first: the key of the equation that was beyond the tolerance first.
      not_followed: primitives that only run as they are -> how many equations; loops that did not run step by step to their end
        are `long` ones.
    """

    outputs: Sequence[tuple[np.ndarray, np.ndarray, float]]
    measures: dict[tuple[Path, int], Measure]
    first: tuple[Path, int] | None
    not_followed: Counter[str]
    long: int


@in_own_width
def shadow(traced: Traced, advance: Callable[[], object]) -> Shadowed:
    """Run a program as it is and in float64, and measure the differences.

    `advance` is called after each equation outside of loops.

    Raises:
      Exception: what an equation raises.
    """
    run = _Run(advance)
    consts = [_exact(one) for one in traced.consts]
    operands = [_exact(jnp.asarray(one)) for one in traced.operands]
    results = run.program(traced.jaxpr, consts, operands, (), (), is_whole=True)
    outputs = [(on_host(one.narrow), on_host(one.wide), one.scale) for one in results]
    return Shadowed(outputs, run.measures, run.first, run.not_followed, run.long)


def _exact(value: Any) -> ShadowPair:
    """Make the pair of an input or constant: both of its numbers are the same at first."""
    with jax.enable_x64(True):
        wide = widened(value)
    return ShadowPair(value, wide, size=size_in(on_host_or_none(wide)))


class _Run:
    def __init__(self, advance: Callable[[], object]) -> None:
        self._advance = advance
        self.measures: dict[tuple[Path, int], Measure] = {}
        self.first: tuple[Path, int] | None = None
        self.not_followed: Counter[str] = Counter()
        self.long = 0
        self._left = MOST_IN_LOOPS

    def program(
        self,
        jaxpr: core.Jaxpr,
        consts: Sequence[ShadowPair],
        operands: Sequence[ShadowPair],
        path: Path,
        steps: tuple[int, ...],
        *,
        is_whole: bool = False,
    ) -> list[ShadowPair]:
        """The results of a program, which lies there, in these steps of the loops around it."""
        known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *operands), strict=True))

        def read(atom: Any) -> ShadowPair:
            return _exact(as_typed(atom)) if isinstance(atom, core.Literal) else known[atom]

        for number, equation in enumerate(jaxpr.eqns):
            self._left -= bool(steps)
            inputs = [read(atom) for atom in equation.invars]
            inner = only_program(equation, len(inputs)) if equation.primitive.name in ENTERED else None
            loop = _LOOPS.get(equation.primitive.name)
            if inner is not None:
                within = path if is_whole and runs_one_call(jaxpr) else (*path, (number, _key_of(equation)))
                results = self.program(inner[0], list(map(_exact, inner[1])), inputs, within, steps)
            else:
                results = loop(self, equation, inputs, (path, number), steps) if loop else None
                results = self.equation(equation, inputs, (path, number), steps) if results is None else results
                if not steps:
                    self._advance()
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def equation(
        self, equation: core.JaxprEqn, inputs: Sequence[ShadowPair], key: tuple[Path, int], steps: tuple[int, ...]
    ) -> list[ShadowPair]:
        """Run one equation twice."""
        results = bind(equation, [one.narrow for one in inputs])
        return self.measured(equation, inputs, results, self._wide(equation, inputs, results), key, steps)

    def _wide(self, equation: core.JaxprEqn, inputs: Sequence[ShadowPair], results: Sequence[Any]) -> Sequence[Any]:
        if not any(is_float(one) for one in results):
            decides = equation.primitive.name in _DECIDES and any(is_float(one.narrow) for one in inputs)
            if not decides:
                return results
        with jax.enable_x64(True):
            try:
                return bind_wide(equation, [one.wide for one in inputs])
            except Exception:  # noqa: BLE001 - whatever it cannot do in float64, the program goes on as it is.
                self.not_followed[equation.primitive.name] += not (
                    equation.primitive.name in TAKES_BITS or draws(equation)
                )
                return [widened(one) for one in results]

    def measured(
        self,
        equation: core.JaxprEqn,
        inputs: Sequence[ShadowPair],
        narrow: Sequence[Any],
        wide: Sequence[Any],
        key: tuple[Path, int],
        steps: tuple[int, ...],
        found: Sequence[ShadowPair] = (),
    ) -> list[ShadowPair]:
        """Note how far the results of an equation are apart; `found` are the results that its bodies gave."""
        measure = self.measures.setdefault(key, Measure())
        arrays = [on_host_or_none(one) for one in narrow]
        others = [on_host_or_none(one) for one in wide]
        before = max((one.error for one in inputs), default=0.0)
        errors = [0.0] * len(arrays)
        kept = [at for at, one in enumerate(arrays) if one is not None and others[at] is not None]
        own: list[Any] = [arrays[at] for at in kept]
        its: list[Any] = [others[at] for at in kept]
        dtypes = [one.narrow.dtype for one in inputs if is_float(one.narrow)]
        sizes = [size_in(one) for one in others]
        scales = [one.scale for one in found] or [scale_in(equation, inputs, size) for size in sizes]
        noted = measure.note(own, its, [scales[at] for at in kept], dtypes, before, steps)
        for at, error in zip(kept, noted, strict=True):
            errors[at] = error
        if self.first is None and measure.first is not None:
            self.first = key
        if equation.primitive.name in _DECIDES:
            measure.otherwise += sum(
                int((a != b).sum()) for a, b in zip(own, its, strict=True) if not is_inexact(a) and a.shape == b.shape
            )
        return [
            ShadowPair(one, other if is_float(one) else one, error, max(size, scale), scale)
            for one, other, error, size, scale in zip(narrow, wide, errors, sizes, scales, strict=True)
        ]


_DECIDES = frozenset({
    "eq", "ne", "lt", "le", "gt", "ge", "argmax", "argmin", "is_finite", "convert_element_type", "sort", "top_k", "sign",
})  # fmt: skip
"""Primitives that make booleans or whole numbers of floats."""


def _key_of(equation: core.JaxprEqn) -> str:
    return next(key for key, _ in programs_in(equation))


def _both(make: Callable[..., Any], *pairs: ShadowPair) -> ShadowPair:
    """Call `make` with the values, and with the float64 values; pair its results."""
    narrow = make(*(one.narrow for one in pairs))
    error, size, scale = (max((getattr(one, key) for one in pairs), default=0.0) for key in ("error", "size", "scale"))
    if not is_float(narrow):
        return ShadowPair(narrow, narrow, error)
    with jax.enable_x64(True):
        return ShadowPair(narrow, make(*(one.wide for one in pairs)), error, size, scale)


def _scan(
    run: _Run, equation: core.JaxprEqn, inputs: Sequence[ShadowPair], key: tuple[Path, int], steps: tuple[int, ...]
) -> list[ShadowPair] | None:
    params = equation.params
    (of_consts, of_carry), length = versions.scan_counts(params), params["length"]
    jaxpr, consts = opened(params["jaxpr"])
    if not 0 < length <= run._left // max(len(jaxpr.eqns), 1):
        run.long += length > 0
        return None
    read, carry, xs = inputs[:of_consts], inputs[of_consts : of_consts + of_carry], inputs[of_consts + of_carry :]
    own, rows = list(map(_exact, consts)), []
    order = range(length - 1, -1, -1) if params["reverse"] else range(length)
    for step in order:
        sliced = [_both(lambda array, at=step: array[at], one) for one in xs]
        within = (*key[0], (key[1], "jaxpr"))
        outputs = run.program(jaxpr, own, [*read, *carry, *sliced], within, (*steps, step))
        carry = outputs[:of_carry]
        rows.append(outputs[of_carry:])
    rows = rows[::-1] if params["reverse"] else rows
    stacked = [_both(lambda *parts: jnp.stack(parts), *column) for column in zip(*rows, strict=True)]
    return _noted(run, equation, inputs, [*carry, *stacked], key, steps)


def _while(
    run: _Run, equation: core.JaxprEqn, inputs: Sequence[ShadowPair], key: tuple[Path, int], steps: tuple[int, ...]
) -> list[ShadowPair] | None:
    params = equation.params
    of_cond, of_body = params["cond_nconsts"], params["body_nconsts"]
    cond, body = opened(params["cond_jaxpr"]), opened(params["body_jaxpr"])
    decides: Any = cond[0].outvars[0].aval
    if decides.shape:  # After `vmap`: each lane ends by itself.
        return None
    of_both, carry = inputs[: of_cond + of_body], list(inputs[of_cond + of_body :])
    own = [list(map(_exact, consts)) for _, consts in (cond, body)]
    step = 0
    while True:
        there = [(*key[0], (key[1], name)) for name in ("cond_jaxpr", "body_jaxpr")]
        (goes_on,) = run.program(cond[0], own[0], [*of_both[:of_cond], *carry], there[0], (*steps, step))
        if not bool(goes_on.narrow):
            return _noted(run, equation, inputs, carry, key, steps)
        if run._left <= 0:
            run.long += 1
            return run.equation(equation, [*of_both, *carry], key, steps)
        carry = run.program(body[0], own[1], [*of_both[of_cond:], *carry], there[1], (*steps, step))
        step += 1


def _cond(
    run: _Run, equation: core.JaxprEqn, inputs: Sequence[ShadowPair], key: tuple[Path, int], steps: tuple[int, ...]
) -> list[ShadowPair]:
    branches = equation.params["branches"]
    taken = min(max(int(inputs[0].narrow), 0), len(branches) - 1)
    jaxpr, consts = opened(branches[taken])
    within = (*key[0], (key[1], f"branch_{taken}_fun"))
    found = run.program(jaxpr, list(map(_exact, consts)), inputs[1:], within, steps)
    return _noted(run, equation, inputs, found, key, steps)


def _noted(
    run: _Run,
    equation: core.JaxprEqn,
    inputs: Sequence[ShadowPair],
    found: Sequence[ShadowPair],
    key: tuple[Path, int],
    steps: tuple[int, ...],
) -> list[ShadowPair]:
    narrow, wide = [one.narrow for one in found], [one.wide for one in found]
    return run.measured(equation, inputs, narrow, wide, key, steps, found)


def _solve(
    run: _Run, equation: core.JaxprEqn, inputs: Sequence[ShadowPair], key: tuple[Path, int], steps: tuple[int, ...]
) -> list[ShadowPair]:
    name, program, operands = solving_of(equation, inputs)
    jaxpr, consts = opened(program)
    found = run.program(jaxpr, list(map(_exact, consts)), operands, (*key[0], (key[1], name)), steps)
    return _noted(run, equation, inputs, found, key, steps)


_LOOPS: dict[str, Any] = {"scan": _scan, "while": _while, "cond": _cond, "custom_linear_solve": _solve}
"""Primitives with programs that run otherwise than once, with all operands."""
