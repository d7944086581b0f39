"""Functions that run, compared: with another one, and with themselves in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.studies.evaluate import evaluate
from jax_debug_widgets._jax.studies.shadow import MOST_IN_LOOPS, Shadowed, shadow
from jax_debug_widgets.graphs import AgainstFloat64, Comparison, Ran, compare
from jax_debug_widgets.graphs.against_float64 import against_float64
from jax_debug_widgets.graphs.rounding import figure_beside
from jax_debug_widgets.session.studies.linked import lines_of_sources
from jax_debug_widgets.session.studies.programs import traced

if TYPE_CHECKING:
    from jax_debug_widgets.session.session import Session

Against = AgainstFloat64 | Comparison


def comparison_of(
    session: Session,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    rtol: float | None = None,
    against: str | None = None,
) -> Against:
    """How a function compares with another one, the first of the arguments, or with itself: `jax_debug_widgets.compare`.

    Raises:
      TypeError: there is nothing to compare with. ValueError: an unknown way. Exception: what tracing or running raises.
    """
    if against is None:
        if not args or not callable(args[0]):
            raise TypeError('compare takes two functions and their arguments, or one function and against="float64"')
        before, after = (_ran(session, one, args[1:], kwargs) for one in (function, args[0]))
        return compare(before, after, rtol)
    if against not in WAYS:
        raise ValueError(f"against={against!r} is none of {', '.join(WAYS)}")
    return WAYS[against](session, function, args, kwargs)


def _ran(session: Session, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Ran:
    found, program = traced(session, function, args, kwargs)
    with session.capture.explaining():
        return Ran(program, found.paths, *evaluate(found))


def _float64(
    session: Session, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> AgainstFloat64:
    found, program = traced(session, function, args, kwargs)
    with session.capture.explaining():
        ran = shadow(found)
    outputs = [(path, figure_beside(*both)) for path, both in zip(found.paths, ran.outputs, strict=True)]
    return against_float64(program, outputs, ran.measures, ran.first, _notes_of(ran), lines_of_sources(program))


def _notes_of(ran: Shadowed) -> list[str]:
    names = [f"{name} ({count})" for name, count in ran.not_followed.items() if count]
    notes = [f"Not run in float64, taken as they are: {', '.join(names)}."] if names else []
    if ran.long:
        notes.append(
            f"Loops run step by step for {MOST_IN_LOOPS:,} equations in all; {ran.long} of them, or what was left of them, "
            "ran as a whole: lines inside are not told there."
        )
    return notes


WAYS: dict[str, Callable[..., Against]] = {"float64": _float64}
