"""Make findings of the side effects that a function has while it is traced (S1, S4)."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.running.indexing import DroppedUpdate
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.written import written_at
from jax_debug_widgets.events import Finding

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.frames import Frame
    from jax_debug_widgets.checks.purity.watcher import Effect
    from jax_debug_widgets.taps.check_log import LineHits
    from jax_debug_widgets.taps.sites import NameFile

_LONGEST = 40
"""The most characters of code in a headline."""

_WHY = "Python runs once for each trace. The compiled program, which the later calls run, does not do this."
_WHY_LOOP = "JAX traces the body once, and the compiled loop or branch runs what was traced: Python does not run again."


def side_effect(seen: LineHits, name_file: NameFile) -> Finding:
    """Make the finding of a side effect."""
    frame = seen.checked.frames[0]
    effect: Effect | DroppedUpdate = seen.checked.facts
    is_dropped = isinstance(effect, DroppedUpdate)
    headline, why, fix, advice = _dropped(frame) if is_dropped else _WORDS[effect.kind](effect)
    where = f"{name_file(frame.file)}:{frame.line}"
    span = frame.line, frame.column, frame.end_line, frame.end_column
    kind = Kind.ITERATOR if not is_dropped and effect.kind == "advanced" else Kind.SIDE_EFFECT
    return Finding.at(kind.word, where, headline, why, fix, advice, file=frame.file, span=span, seen=seen.count)


_Said = tuple[str, str, tuple[str, ...], str]


def _changed(effect: Effect) -> _Said:
    headline = f"`{effect.name}` changed while `{effect.traced}` was traced: {effect.before} → {effect.after}"
    advice = "Return the value and change it outside; or let the program do it: jax.debug.callback."
    return headline, _WHY_LOOP if effect.is_loop else _WHY, (), advice


def _advanced(effect: Effect) -> _Said:
    headline = f"{effect.taken or f'`next({effect.name})`'} ran once, while `{effect.traced}` was traced"
    if not effect.is_loop:
        outside = f"Take the elements outside of it, and pass them as arguments: f(x, next({effect.name}))"
        whole = "" if effect.is_endless else f"; or pass all as an array: jnp.array(list({effect.name}))"
        return headline, _WHY, (), f"{outside}{whole}."
    fix = () if effect.is_endless else (f"xs = jnp.array(list({effect.name}))",)
    advice = "Then index it, xs[i], or scan over it: jax.lax.scan(body, carry, xs)."
    if effect.is_endless:
        advice = f"Compute it from the step, or make an array of as many elements as there are steps. {advice}"
    return headline, _WHY_LOOP, fix, advice


def _called(effect: Effect) -> _Said:
    headline = f"`{effect.name}` ran while `{effect.traced}` was traced, and not in later calls"
    if effect.name.startswith(("random.", "uuid.", "secrets.", "os.urandom")):
        return headline, f"{_WHY} All calls use the value of the trace.", (), _RANDOM
    if effect.name.startswith("logging."):
        return headline, f"{_WHY} A tracer has no value that could be written.", (), _LOGGING
    if effect.name.endswith(("write", "writelines")):
        return headline, _WHY, (), "Write it outside, or with jax.debug.callback."
    advice = (
        "Call it outside and pass the value as an argument; to measure, wait for the result: jax.block_until_ready."
    )
    return headline, f"{_WHY} All calls use the value of the trace.", (), advice


def _dropped(frame: Frame) -> _Said:
    written = written_at(frame)
    text = "" if written is None or len(written.text) > _LONGEST else f"`{written.text}`"
    headline = f"the result of {text or 'an update'} is dropped: no array changes"
    fix = ()
    match written.node if written is not None else None:
        case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Attribute(value=array, attr="at")))) as call:
            fix = (f"{ast.unparse(array)} = {ast.unparse(call)}",)
    return headline, "JAX arrays do not change. `.at[...]` gives a changed copy.", fix, ""


def _random(effect: Effect) -> _Said:
    source = "np.random" if effect.name == "np.random" else f"`{effect.name}`"
    headline = f"{source} drew while `{effect.traced}` was traced: all later calls use these numbers"
    return headline, _WHY, (), _RANDOM


_RANDOM = "Draw in the program: jax.random with a key that is an argument; or draw outside and pass the numbers."

_LOGGING = "Log it when the program runs: jax.debug.callback(lambda x: log.info('%s', x), x); or jax.debug.print."

_WORDS = {"changed": _changed, "advanced": _advanced, "called": _called, "random": _random}
