"""Make a call of a run once more, with the inputs that it had, and look closer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.session.options import Options
from jax_debug_widgets.session.studies.questions import result_by_steps

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.session.session import Session


@dataclass(frozen=True)
class Replay:
    """A call that was made once more.

    Attributes:
      result: what it has given.
      run: what was seen of it.
    """

    result: Any
    run: Run


def replay_of(
    session: Session,
    run: Run,
    call: int,
    function: Callable[..., Any] | None,
    *,
    watch: str | Sequence[str] | bool | None,
    step: bool,
    options: dict[str, Any],
) -> Replay:
    """See `jax_debug_widgets.replay`."""
    if not hasattr(run, "inputs"):
        raise TypeError(f"replay(run, call=N) takes a run of this process, not a {type(run).__name__}")
    inputs = run.inputs.of(call)
    again = inputs.function if function is None else function
    name = getattr(again, "__name__", "a function")
    with session.run(f"replay of {name}", Options.of(watch=watch, **options)) as replayed:
        if step:
            result = result_by_steps(session, again, *inputs.args, **inputs.kwargs)
        else:
            result = again(*inputs.args, **inputs.kwargs)
    return Replay(result, replayed)
