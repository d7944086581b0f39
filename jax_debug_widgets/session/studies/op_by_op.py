"""Search for the reason why a compiled program gives other numbers than the same program run op by op."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.studies.op_by_op import Key, Numbers, Path, compiled, op_by_op
from jax_debug_widgets._jax.studies.trace import Traced
from jax_debug_widgets.graphs.against_op_by_op import AS_OP_BY_OP, OTHER_NUMBERS, AgainstOpByOp, Cause, Observed
from jax_debug_widgets.graphs.figures import figure_of
from jax_debug_widgets.graphs.pins import fewest
from jax_debug_widgets.graphs.program import Equation, Program
from jax_debug_widgets.session.run.progress import progress
from jax_debug_widgets.session.studies.linked import lines_of_sources
from jax_debug_widgets.session.studies.outside_loops import outside_loops

if TYPE_CHECKING:
    from jax_debug_widgets.session.session import Session

SECONDS = 60.0
"""The seconds after which the search compiles nothing more."""

_WAYS: dict[str, dict[str, Any]] = {
    **{
        f"without the pass {name}": {"xla_disable_hlo_passes": name}
        for name in (
            "algsimp", "fusion", "cpu-instruction-fusion", "priority-fusion", "constant_folding", "dot_decomposer", "cse",
            "simplify-fp-conversions", "float-normalization-bf16", "reduce-window-rewriter", "gemm-rewriter",
        )
    },
    "LLVM without optimisation": {"xla_backend_optimization_level": 0},
    "no excess precision": {"xla_allow_excess_precision": False},
}  # fmt: skip


def against_op_by_op(session: Session, found: Traced, program: Program) -> AgainstOpByOp:
    """Return how far a compiled program is from the same program run op by op, and why.

    Raises:
      Exception: the error that running or compiling the program raises.
    """
    with session.capture.explaining():
        with progress(f"Running {program.name} op by op", "equations", outside_loops(program)) as advance:
            slow = op_by_op(found, advance)
        with progress(f"Compiling {program.name} in other ways", "programs") as advance:
            return _Search(found, program, slow, advance).find()


class _Search:
    def __init__(self, found: Traced, program: Program, slow: Numbers, advance: Callable[[], object]) -> None:
        """Begin the search; `slow` are the numbers op by op, and `advance` is called after each compilation."""
        self._found, self._program, self._slow, self._advance = found, program, slow, advance
        self._compiles = 0
        self._until = time.monotonic() + SECONDS
        self._equations = {(one.path, one.number): one for one in program.equations}

    def find(self) -> AgainstOpByOp:
        """Compare the outputs first; search for the cause only if they differ."""
        fast = self._numbers()
        outputs = [
            (path, figure_of(one, other))
            for path, one, other in zip(self._found.paths, fast.outputs, self._slow.outputs, strict=True)
        ]
        lines = lines_of_sources(self._program)
        if all(one.verdict == "equal" for _, one in outputs):
            return AgainstOpByOp(self._program, outputs, compiles=self._compiles, source_lines=lines)
        if any(one.has_effects for one in self._program.equations):
            notes = [
                "It calls the host: a search for the cause would repeat these calls many times, so there was no search."
            ]
            return AgainstOpByOp(self._program, outputs, "unknown", notes=notes, source_lines=lines)
        observed, is_same = self._observe(list(self._slow.values))
        first = min((one for one in observed if one.differs), key=self._when, default=None)
        pins: Sequence[Equation] = ()
        cause: Cause = "operation" if first else "unknown"
        if first is None and is_same:
            every = [key for key in self._slow.values if key in self._equations]
            pins = [self._equations[key] for key in fewest(every, self._is_enough, self._goes_on)]
            cause = "fusion"
        passes = self._passes(fast)
        return AgainstOpByOp(
            self._program,
            outputs,
            cause,
            first,
            pins,
            passes,
            observed,
            list(self._notes(first)),
            self._compiles,
            lines,
        )

    def _numbers(self, observed: Sequence[Key] = (), options: dict[str, Any] | None = None) -> Numbers:
        self._compiles += 1
        numbers = compiled(self._found, observed, options)
        self._advance()
        return numbers

    def _observe(self, keys: Sequence[Key]) -> tuple[list[Observed], bool]:
        """Compile the program with these equations as further results.

        Return how each differs, and whether the outputs now equal those of op by op.
        """
        numbers = self._numbers(keys)
        found = [
            Observed(
                self._equations[key], *_apart(numbers.values[key], self._slow.values[key], key[0], self._equations)
            )
            for key in keys
            if key in numbers.values and key in self._equations
        ]
        return found, _is_same(numbers.outputs, self._slow.outputs)

    def _when(self, one: Observed) -> list[tuple[int, float]]:
        """Return a key for the order in which the values of a program are ready.

        A loop runs all of a step before the next, and is ready after its last step.
        """
        steps = iter(one.step)
        when: list[tuple[int, float]] = []
        for loop, number in _around(one.equation.path, self._equations):
            step = next(steps, 0) if loop is not None and loop.primitive == "scan" else 0
            when.append((number, -step if _runs_backwards(loop) else step))
        return [*when, (one.equation.number, math.inf)]

    def _is_enough(self, keys: Sequence[Key]) -> bool:
        return _is_same(self._numbers(keys).outputs, self._slow.outputs)

    def _goes_on(self) -> bool:
        return time.monotonic() < self._until

    def _passes(self, fast: Numbers) -> list[tuple[str, str]]:
        """Return the changes of XLA's options that change the numbers. XLA ignores the names of passes that it lacks."""
        results: list[tuple[str, str]] = []
        for name, options in _WAYS.items():
            if not self._goes_on():
                break
            try:
                outputs = self._numbers((), options).outputs
            except Exception:  # noqa: BLE001, S112 - this XLA does not have the option.
                continue
            if _is_same(outputs, self._slow.outputs):
                results.append((name, AS_OP_BY_OP))
            elif not _is_same(outputs, fast.outputs):
                results.append((name, OTHER_NUMBERS))
        return results

    def _notes(self, first: Observed | None) -> Any:
        if not self._goes_on():
            yield f"The search ended after {SECONDS:g} s: the cause that it found may not be the smallest one."
        if first is not None:
            key = first.equation.path, first.equation.number
            (alone,), _ = self._observe([key])
            if not alone.differs:
                yield "It differs only where all values are results of the program, which changes what XLA fuses."


def _apart(
    one: Sequence[Any], other: Sequence[Any], path: Path, equations: Mapping[Key, Equation]
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Return how far results are apart, and the first step at which they differ."""
    figures = tuple(figure_of(a, b) for a, b in zip(one, other, strict=True))
    loops = [loop for loop, _ in _around(path, equations) if loop is not None and loop.primitive == "scan"]
    if not loops or all(figure.verdict == "equal" for figure in figures):
        return figures, ()
    orders = [range(length) for length in one[0].shape[: len(loops)]]
    orders = [order[::-1] if _runs_backwards(loop) else order for loop, order in zip(loops, orders, strict=True)]
    steps = product(*orders)
    return figures, next(step for step in steps if not _is_same([a[step] for a in one], [b[step] for b in other]))


def _around(path: Path, equations: Mapping[Key, Equation]) -> Iterator[tuple[Equation | None, int]]:
    """Yield the equations that run the bodies along a path, outermost first, with their numbers."""
    for at, (number, _) in enumerate(path):
        yield equations.get((path[:at], number)), number


def _runs_backwards(loop: Equation | None) -> bool:
    return loop is not None and loop.params.get("reverse") == "True"


def _is_same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return all(figure_of(a, b).verdict == "equal" for a, b in zip(one, other, strict=True))
