"""Run and compare functions: with another function, or with themselves in float64, op by op, on a CPU, or at another time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from jax_debug_widgets._jax.studies.evaluate import evaluate, given_to
from jax_debug_widgets._jax.studies.shadow import MOST_IN_LOOPS, Shadowed, shadow
from jax_debug_widgets._jax.studies.trace import Traced
from jax_debug_widgets.graphs import (
    AgainstFloat64,
    AgainstOpByOp,
    Comparison,
    ExecutedProgram,
    Program,
    SavedValues,
    compare,
    saved,
)
from jax_debug_widgets.graphs.against_float64 import against_float64
from jax_debug_widgets.graphs.rounding import figure_beside
from jax_debug_widgets.session.run.progress import progress
from jax_debug_widgets.session.studies.linked import lines_of_sources
from jax_debug_widgets.session.studies.op_by_op import against_op_by_op
from jax_debug_widgets.session.studies.outside_loops import outside_loops
from jax_debug_widgets.session.studies.programs import traced

if TYPE_CHECKING:
    from jax_debug_widgets.session.session import Session

Against = AgainstFloat64 | AgainstOpByOp | Comparison | SavedValues

SAVED = "saved:"
"""The beginning of `against` for a file of saved values."""


def comparison_of(
    session: Session,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    rtol: float | None = None,
    against: str | PathLike[str] | None = None,
    save: str | PathLike[str] | None = None,
) -> Against:
    """Compare a function with another one, which is the first argument, or with itself. See `jax_debug_widgets.compare`.

    Raises:
      TypeError: there is nothing to compare with. ValueError: the way is unknown, or not possible on this machine.
      OSError: a file cannot be read or written. Exception: the error that tracing or running raises.
    """
    if save is not None:
        if against is not None:
            raise ValueError("save keeps the values of a run to compare with later: it takes no against")
        refuse_overwriting(save)
        return saved.save(_ran(session, function, args, kwargs), Path(save).expanduser())
    if against is None:
        if not args or not callable(args[0]):
            raise TypeError('compare takes two functions and their arguments, or one function and against="float64"')
        before, after = (_ran(session, one, args[1:], kwargs) for one in (function, args[0]))
        with session.capture.explaining():  # It runs the steps of loops that differ.
            return compare(before, after, rtol)
    against = against if isinstance(against, str) else f"{SAVED}{fspath(against)}"
    refuse_unknown(against)
    if against.startswith(SAVED):
        return _with_saved(session, function, args, kwargs, Path(against.removeprefix(SAVED)).expanduser(), rtol)
    if against == "cpu":
        return _cpu(session, function, args, kwargs, rtol)
    found, program = traced(session, function, args, kwargs)
    if against == "op-by-op":
        return against_op_by_op(session, found, program)
    measured = _float64(session, found, program)
    session.program_views.measured.appendleft(measured)
    return measured


def refuse_overwriting(save: str | PathLike[str]) -> None:
    """Refuse to overwrite saved values, because they may exist nowhere else.

    Raises:
      FileExistsError: the file exists.
    """
    if Path(save).expanduser().exists():
        raise FileExistsError(
            f"{save} is there already: choose another name, or remove it to save these values instead"
        )


WAYS = ("float64", "op-by-op", "cpu", f"{SAVED}FILE")


def refuse_unknown(against: str) -> None:
    """Refuse an unknown or impossible `against`; the error says what a function can be compared with.

    Raises:
      ValueError: the way is unknown, or not possible here.
    """
    if against.startswith(SAVED):
        file = Path(against.removeprefix(SAVED)).expanduser()
        if not file.is_file():
            how = f"%jaxdebug compare f -- x --save {file}, or jdw.compare(f, x, save={str(file)!r}), writes it"
            raise ValueError(f"there is no file {file}: {how}")
    elif against not in WAYS:
        raise ValueError(f"against {against!r} is none of {', '.join(WAYS)}")
    if against == "cpu" and _accelerator() is None:
        raise ValueError(
            "against cpu compares an accelerator with the CPU, and JAX has only a CPU here: float64 and op-by-op tell what "
            "rounding and XLA do on it"
        )


def _with_saved(
    session: Session,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    file: Path,
    rtol: float | None,
) -> Comparison:
    before, after = saved.load(file), _ran(session, function, args, kwargs)
    return compare(_called(before, f"{before.program.name} in {file.name}"), after, rtol)


def _cpu(
    session: Session, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], rtol: float | None
) -> Comparison:
    accelerator, cpu = _accelerator(), jax.devices("cpu")[0]
    found, program = traced(session, function, args, kwargs)
    ran: list[ExecutedProgram] = []
    for device in (cpu, accelerator):
        with session.capture.explaining(), jax.default_device(device):
            moved = replace(
                found,
                consts=[jax.device_put(one, device) for one in found.consts],
                operands=[jax.device_put(one, device) for one in found.operands],
            )
            ran.append(_called(_executed(moved, program), f"{program.name} on {device.platform}"))
    with session.capture.explaining():
        return compare(ran[0], ran[1], rtol)


def _accelerator() -> Any:
    """Return the device on which programs run; None if it is a CPU."""
    device = jax.devices()[0]
    return None if device.platform == "cpu" else device


def _called(ran: ExecutedProgram, name: str) -> ExecutedProgram:
    return replace(ran, program=replace(ran.program, name=name))


def _ran(
    session: Session, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> ExecutedProgram:
    found, program = traced(session, function, args, kwargs)
    with session.capture.explaining():
        return _executed(found, program)


def _executed(found: Traced, program: Program) -> ExecutedProgram:
    with progress(f"Running {program.name} equation by equation", "equations", outside_loops(program)) as advance:
        own = evaluate(found, advance)
    return ExecutedProgram(program, found.paths, own.outputs, own.values, given_to(found), own.inside)


def _float64(session: Session, found: Traced, program: Program) -> AgainstFloat64:
    with (
        session.capture.explaining(),
        progress(f"Running {program.name} in float64", "equations", outside_loops(program)) as advance,
    ):
        ran = shadow(found, advance)
    outputs = [(path, figure_beside(*both)) for path, both in zip(found.paths, ran.outputs, strict=True)]
    return against_float64(program, outputs, ran.measures, ran.first, _notes_of(ran), lines_of_sources(program))


def _notes_of(ran: Shadowed) -> list[str]:
    names = [f"{name} ({count})" for name, count in ran.not_followed.items() if count]
    notes = [f"Not run in float64; their results were used as they are: {', '.join(names)}."] if names else []
    if ran.long:
        notes.append(
            f"Loops run step by step for at most {MOST_IN_LOOPS:,} equations in total. After that, {ran.long} of them "
            "ran as a whole: their lines are not compared."
        )
    return notes
