"""Parse `%jaxdebug replay [RUN] CALL`: find the call, and the function to call again."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from jax_debug_widgets.magics.options import parse
from jax_debug_widgets.magics.sites import words_of
from jax_debug_widgets.session.loading import load
from jax_debug_widgets.session.run.loaded import LoadedRun
from jax_debug_widgets.session.run.run import Run
from jax_debug_widgets.session.studies.replay import call_again
from jax_debug_widgets.watch import Watch

if TYPE_CHECKING:
    from jax_debug_widgets.session import Options, Session

_USAGE = (
    "write `%jaxdebug replay [RUN] CALL [--step] [--with F] [--watch NAMES]`, e.g. `%jaxdebug replay run.jdw 7 --step`"
)

_STEP = re.compile(r"(?:^|\s)--step(?=\s|$)")
_WITH = re.compile(r"(?:^|\s)--with[=\s]+(\S+)")


@dataclass(frozen=True)
class Replayed:
    """A call to make again.

    Attributes:
      function, args, kwargs: the function and its kept inputs.
      note: a note about the inputs; empty without one.
      title: the title of the new run.
      options: the options of the new run.
      steps: whether the call runs equation by equation.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    note: str
    title: str
    options: Options
    steps: bool


def replayed(session: Session, line: str, namespace: dict[str, Any], *, echo_by_default: bool = False) -> Replayed:
    """Return the call that `%jaxdebug replay LINE` means. Names are looked up in the namespace.

    Raises:
      UsageError: the line means no call; the message says why.
    """
    with_ = _WITH.search(line)
    line, steps = _WITH.sub("", line), _STEP.search(line) is not None
    before, dashes, rest = _STEP.sub("", line).partition("--")
    options, after = parse(dashes + rest, echo_by_default=echo_by_default)
    if not steps:  # The debugger shows all values itself.
        options = replace(options, watch=options.watch or Watch.of(True, every=options.every))
    words = words_of(f"{before} {after}")
    number = words.pop() if words and re.fullmatch(r"-?\d+", words[-1]) else "-1"
    if len(words) > 1:
        raise UsageError(f"jaxdebug: {_USAGE}")
    try:
        run = _run(session, words[0] if words else "", namespace)
        found = _function(run, int(number), with_ and with_[1], namespace)
        function, args, kwargs, note = call_again(run, int(number), found)
    except (ImportError, LookupError, OSError, TypeError, ValueError) as error:
        raise UsageError(f"jaxdebug: {error.args[0] if error.args else error}") from None
    name = getattr(function, "__name__", "a function")
    which = "the last call" if number == "-1" else f"call {number}"
    return Replayed(function, args, kwargs, note, f"replay of {name}, {which}", options, steps)


def _run(session: Session, word: str, namespace: dict[str, Any]) -> Any:
    """Return the run that a word means, a variable or a file; without a word, the newest run that keeps inputs."""
    if not word:
        if session.current is None:
            raise ValueError("nothing has been captured yet")
        return next((run for run in reversed(session.runs()) if isinstance(run, Run) and run.inputs), session.current)
    return namespace[word] if word in namespace else load(session, word)


def _function(run: Any, call: int, name: str | None, namespace: dict[str, Any]) -> Callable[..., Any] | None:
    """Return the function to call; None for the run's own. A file has no functions, so its name is looked up."""
    if name is None and isinstance(run, LoadedRun):
        name = str(run.inputs.of(call).tree.get("name", ""))
        if name not in namespace:
            raise ValueError(
                f"this call was one of `{name}`, which is not here: define it, or add --with F for a function F"
            )
    return None if name is None else _named(name, namespace)


def _named(name: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    """Return the function with this name, or dotted name (`module.f`), in the namespace."""
    root, *parts = name.split(".")
    found = namespace.get(root)
    for part in parts:
        found = getattr(found, part, None)
    if not callable(found):
        raise TypeError(f"{name} is no function here")
    return found
