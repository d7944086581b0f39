"""Make findings about PRNG keys that several calls use (S8); `key_calls` finds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.reuse import Reuse, of_key
from jax_debug_widgets.events import Finding
from jax_debug_widgets.events.function_names import short_function

if TYPE_CHECKING:
    from jax_debug_widgets.taps.check_log import LineHits
    from jax_debug_widgets.taps.sites import NameFile


@dataclass(frozen=True)
class Reused:
    """A key that a call uses again.

    Attributes:
      function: the function that uses the key.
      what: what the function does with it: `draws`, `splits`.
      first: the line of the first use.
      did: what the first use did.
      is_same_line: whether both uses are at one line.
      is_same_call: whether the other arguments are the same, too.
    """

    function: str
    what: str
    first: Frame
    did: str
    is_same_line: bool
    is_same_call: bool = False


@dataclass(frozen=True)
class ConstantKey:
    """A key that is no argument of the function that draws with it: JAX has kept it when it traced the function."""

    function: str


def key_of_two_calls(seen: LineHits, name_file: NameFile) -> Finding:
    """Make the finding about a key that two calls use, or one un-jitted loop or branch."""
    frame = seen.checked.frames[0]
    if isinstance(seen.checked.facts, Reuse):
        return of_key(seen.checked.facts, name_file)
    if isinstance(seen.checked.facts, ConstantKey):
        return _of_constant(seen, seen.checked.facts, name_file)
    reused: Reused = seen.checked.facts
    where, first = (f"{name_file(one.file)}:{one.line}" for one in (frame, reused.first))
    if reused.is_same_line:
        headline = "each call here uses the same key, with other arguments"
        if reused.is_same_call:
            headline = f"each iteration {reused.what} with the same key"
        advice = (
            "Split it for each call: key, sub = jax.random.split(key); or fold a number in: jax.random.fold_in(key, i)."
        )
    else:
        function = short_function(reused.function)
        headline = f"a key is used again: `{function}` {reused.what}, and it already {reused.did} at {first}"
        advice = "Split it first: k1, k2 = jax.random.split(key); or say that it is meant: jax.random.clone(key)."
    why = "The same key gives the same numbers."
    span = frame.line, frame.column, frame.end_line, frame.end_column
    return Finding.at(Kind.KEY.word, where, headline, why, (), advice, file=frame.file, span=span, seen=seen.count)


def _of_constant(seen: LineHits, facts: ConstantKey, name_file: NameFile) -> Finding:
    frame, function = seen.checked.frames[0], short_function(facts.function)
    headline = f"each call of `{function}` draws the same numbers"
    why = "Its key is no argument. JAX keeps the key that the function read when it was traced."
    advice = (
        "Pass a key, another one for each call: key, sub = jax.random.split(key); or say that it is meant: "
        "jax.random.clone(key)."
    )
    span = frame.line, frame.column, frame.end_line, frame.end_column
    where = f"{name_file(frame.file)}:{frame.line}"
    return Finding.at(Kind.KEY.word, where, headline, why, (), advice, file=frame.file, span=span, seen=seen.count)
