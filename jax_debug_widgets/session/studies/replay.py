"""Make a call of a run again with its kept inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jax_debug_widgets._jax.compat.silence import without_prints
from jax_debug_widgets._jax.origins.context import tracing_for_us
from jax_debug_widgets._jax.running.inputs import copied
from jax_debug_widgets.session.options import Options
from jax_debug_widgets.session.run.filtered_inputs import (
    are_of_filter_jit,
    arguments_before_filter_jit,
    filtered_arguments,
    of_filter_jit,
)
from jax_debug_widgets.session.run.input_trees import arguments_of
from jax_debug_widgets.session.run.loaded import LoadedRun
from jax_debug_widgets.session.run.view import RunView
from jax_debug_widgets.session.studies.questions import result_by_steps
from jax_debug_widgets.session.studies.replayed_source import note_about
from jax_debug_widgets.widgets import running_kernel

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.session.session import Session


_MOST_KINDS = 6
"""The most types of arrays in the text of a replay."""

_RAW = (
    "`result` is what JAX has of a function under equinox.filter_jit: arrays apart from all else. "
    "replay(run, call, f) with the function itself gives its own."
)


@dataclass(frozen=True)
class Replay:
    """A call that was made again.

    Attributes:
      result: the result of the call.
      run: the run that captured the call.
    """

    result: Any
    run: Run

    def __repr__(self) -> str:
        """Write the run, and the types of the result's arrays, which may have millions of numbers."""
        kinds = Counter(
            f"{one.dtype}{list(one.shape)}" for one in jax.tree.leaves(self.result) if hasattr(one, "dtype")
        )
        arrays = ", ".join(
            kind if count == 1 else f"{count} of {kind}" for kind, count in [*kinds.items()][:_MOST_KINDS]
        )
        more = ", …" if len(kinds) > _MOST_KINDS else ""
        return f"<Replay: result of {type(self.result).__name__} with {arrays or 'no array'}{more}; run: {self.run!r}>"


def replay_of(
    session: Session,
    run: Run | LoadedRun,
    call: int,
    function: Callable[..., Any] | None,
    *,
    like: Sequence[Any],
    watch: str | Sequence[str] | bool | None,
    step: bool,
    options: dict[str, Any],
) -> Replay:
    """Make a call again in a capture, see `jax_debug_widgets.replay`."""
    again, args, kwargs, note = call_again(run, call, function, like)
    title = f"replay of {getattr(again, '__name__', 'a function')}"
    asked = Options.of(watch=None if step else watch, **options)  # The debugger shows all values itself.
    with session.run(title, asked) as replayed, tracing_for_us():
        if note:
            replayed.note(note)
        if step and running_kernel() is not None:  # The debugger is in the panel.
            replayed.panel.show()
        result = replayed_by_steps(session, again, *args, **kwargs) if step else again(*args, **kwargs)
    return Replay(result, replayed)


def replayed_by_steps(session: Session, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run `function(*args, **kwargs)` equation by equation in the debugger. Return the result of the compiled function.

    The function runs once more for that, outside the capture and without its prints: XLA fuses operations, so the last bits
    of what the steps compute differ.
    """
    result_by_steps(session, function, *copied(args), **copied(kwargs))
    with without_prints(), session.capture.explaining():
        return function(*args, **kwargs)


def _require_valid(run: object, call: object, function: object, like: object) -> None:
    """Refuse arguments of a wrong type; the error says which is wanted."""
    if not isinstance(run, RunView):
        raise TypeError(f"replay(run, call=N) takes a run, not a {type(run).__name__}")
    if not isinstance(call, int | np.integer):
        raise TypeError(f"replay(run, call=N) takes the number of a call, not {call!r:.40}; f= is the function")
    if function is not None and not callable(function):
        raise TypeError(f"f= takes the function to call with these inputs, not {function!r:.40}")
    if type(like) not in (list, tuple):
        raise TypeError(
            f"like= takes a tuple with an example for each argument, like=(state,), not a {type(like).__name__}"
        )


def call_again(
    run: Run | LoadedRun, call: int, function: Callable[..., Any] | None, like: Sequence[Any] = ()
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], str]:
    """Return the function of a call, its arguments, and a note about them; the note may be empty.

    Raises:
      LookupError: the inputs of this call are not kept. TypeError: an argument has a wrong type, or a file's function is
        missing. ValueError: a part of the inputs is not in the file.
    """
    _require_valid(run, call, function, like)
    if not isinstance(run, LoadedRun):
        inputs = run.inputs.of(call)
        args, kwargs = inputs.args, inputs.kwargs
        if any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in jax.tree.leaves((args, kwargs))):
            raise LookupError(f"an array that call {call} was given has since been deleted or donated (donate_argnums)")
        is_filtered = are_of_filter_jit(args)
        if function is None:
            return inputs.function, args, kwargs, _RAW if is_filtered else ""
        if is_filtered:
            args, kwargs = arguments_before_filter_jit(args)
        return function, *copied((args, kwargs)), ""
    stored = run.inputs.of(call)
    name, devices = stored.tree.get("name", ""), stored.tree.get("devices", 1)
    if function is None:
        raise TypeError(f"a file has no functions: give `{name}` itself, replay(run, {call}, {name})")
    if of_filter_jit(stored.tree):
        args, kwargs = filtered_arguments(stored, like), {}
    else:
        args, kwargs = arguments_of(stored, like)
    where = (
        f"The arrays of this call were on {devices} devices. Here they are on one: sums may differ in the last bits."
    )
    note = note_about(function, name, run.saved.sources)
    return function, args, kwargs, " ".join(filter(None, (where if devices != 1 else "", note)))
