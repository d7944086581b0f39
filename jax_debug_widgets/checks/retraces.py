"""Find functions that JAX traces again and again (S14).

A finding says how often, how long that took, and what changed from trace to trace.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from jax_debug_widgets._jax.tracing.traces import STRUCTURE, Leaf, Static, Trace
from jax_debug_widgets.checks.definitions import span_of_argument
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.watch import is_library

FEWEST = 3
"""The fewest traces of one function that make a finding. Two traces make one only if the second is for a wider dtype."""

_MOST_REASONS = 3
_MOST_NAMES = 3
_MOST_STEPS = 4
_TO = " → "
_SAME_ARGUMENTS = "the arguments have the same types: JAX's cache was cleared, or a setting of JAX's is another"
_ONE_WAY = "Pass it the same way in each call"


@dataclass(frozen=True)
class TraceChange:
    """One difference between two traces.

    Attributes:
      what: the part that differs, for people: `x`.
      difference: `float32[3] → float32[4]`.
      advice: what to do about it.
      path: the part of the arguments that differs.
    """

    what: str
    difference: str
    advice: str
    path: str = ""


@dataclass(frozen=True)
class FunctionTraces:
    """The traces of one function.

    Attributes:
      file: the file of its `def`; for a function of a library, the file of the user's line that called it first.
      span: the range of the argument in the `def` that has changed most often; for a function of a library, that line.
      count: how often it was traced.
      seconds: how long all traces took, without compiling.
      headline: the fact, without the place.
      reasons: why it was traced again, a sentence each, the most frequent first.
    """

    file: str
    span: tuple[int, int, int, int]
    count: int
    seconds: float
    headline: str
    reasons: tuple[str, ...]


def counted_as(trace: Trace) -> Hashable:
    """Return a key that is equal for traces that count as traces of one function, see `retraced`."""
    return trace.file, trace.line, trace.code, trace.callers if is_library(trace.file) else ()


def retraced(traces: Iterable[Trace], name_file: Callable[[str], str] = str) -> list[FunctionTraces]:
    """Return the functions traced at least `FEWEST` times, or for a wider dtype, ordered by their first trace.

    A lambda or inner function that is defined anew each time counts as one function, because it is the same code. A function
    of a library is counted separately for each stack of callers: `equinox.error_if` is one function for all checks.
    """
    by_code: dict[Hashable, list[Trace]] = {}
    for trace in traces:
        by_code.setdefault(counted_as(trace), []).append(trace)
    return [_retraced(own, name_file) for own in by_code.values() if len(own) >= FEWEST or _has_widened(own)]


def _has_widened(traces: Sequence[Trace]) -> bool:
    """Return whether an argument came as float32 and then, with the same shape, as float64."""
    return any(
        path in before.leaves and _is_wider(before.leaves[path], leaf)
        for before, now in itertools.pairwise(traces)
        if before.identity == now.identity
        for path, leaf in now.leaves.items()
    )


def _is_wider(before: Leaf, now: Leaf) -> bool:
    narrow, shape = before.type.removeprefix("float32"), now.type.removeprefix("float64")
    return narrow == shape != now.type and not (before.weak or now.weak)


def _retraced(traces: Sequence[Trace], name_file: Callable[[str], str]) -> FunctionTraces:
    first, seconds = traces[0], sum(trace.seconds for trace in traces)
    callers = [_own_line(trace) for trace in traces]
    sites = dict.fromkeys(f"{name_file(file)}:{line}" for file, line in callers)
    called = ", ".join(list(sites)[:_MOST_NAMES])
    reasons: dict[str, list[Sequence[TraceChange]]] = {}
    for number, trace in enumerate(traces[1:], 1):
        changes = _changes(trace, traces[:number])
        reasons.setdefault(",".join(one.what or one.advice for one in changes), []).append(changes)
    most = sorted(reasons.values(), key=len, reverse=True)[:_MOST_REASONS]
    sentences = [f"{plural(len(each), 'time')}: {_sentence(each)}" for each in most]
    times = plural(len(traces), "time")
    headline = f"`{first.function}` was traced {times} ({seconds:.2g} s without compiling), called from {called}"
    if is_library(first.file):
        file, line = callers[0]
        span = line, -1, line, -1
    else:
        file, span = first.file, span_of_argument(first.file, first.line, most[0][-1][0].path)
    return FunctionTraces(file, span, len(traces), seconds, headline, tuple(sentences))


def _own_line(trace: Trace) -> tuple[str, int]:
    """Return the line that called the function; if a library called it, the user's line that called the library."""
    return next((caller for caller in trace.callers if not is_library(caller[0])), trace.callers[0])


def _changes(trace: Trace, before: Sequence[Trace]) -> Sequence[TraceChange]:
    """Return how a trace differs from the earlier trace that is most like it; of several, the newest."""
    same = [one for one in before if one.identity == trace.identity]
    if not same:
        advice = "is a new function object each time. Define it, and call jax.jit, once, outside the loop"
        return [TraceChange("", "", f"`{trace.function}` {advice}")]
    changes = min((changed(one, trace) for one in reversed(same)), key=len)
    return changes or [TraceChange("", "", _SAME_ARGUMENTS)]


def why_again(trace: Trace, before: Sequence[Trace]) -> str:
    """Return why a function was traced again, in a few words: `x`: float32[3] → float32[4]. Empty for its first trace."""
    if not before:
        return ""
    changes = _changes(trace, before)
    more = f" and {len(changes) - _MOST_NAMES} more" if len(changes) > _MOST_NAMES else ""
    differences = "; ".join(f"{one.what} {one.difference}".strip() for one in changes[:_MOST_NAMES])
    return differences + more or changes[0].advice


def _sentence(each: Sequence[Sequence[TraceChange]]) -> str:
    """Describe traces with the same kind of change in one sentence: `x: float32[3] → float32[4] → float32[5]`."""
    newest = each[-1]
    differences = "; ".join(
        f"{one.what} {_in_a_row([changes[place].difference for changes in each])}".strip()
        for place, one in enumerate(newest[:_MOST_NAMES])
    )
    more = f" and {len(newest) - _MOST_NAMES} more" if len(newest) > _MOST_NAMES else ""
    return f"{differences}{more}. {newest[0].advice}" if differences else newest[0].advice


def _in_a_row(differences: Sequence[str]) -> str:
    """Join differences: `a → b` and `b → c` become `a → b → c`, others `with x, then with y`.

    Of many differences, the first and the last are shown.
    """
    rows: list[list[str]] = []
    for difference in dict.fromkeys(differences):
        before, *after = difference.split(_TO)
        if after and rows and rows[-1][-1] == before:
            rows[-1] += after
        else:
            rows.append([before, *after])
    return ", then ".join(_ends([_TO.join(_ends(row)) for row in rows]))


def _ends(steps: Sequence[str]) -> Sequence[str]:
    return steps if len(steps) <= _MOST_STEPS else [*steps[:2], "…", steps[-1]]


def changed(before: Trace, now: Trace) -> list[TraceChange]:
    """Return the differences between two traces of one function object."""
    names = dict.fromkeys((*before.statics, *now.statics))
    changes = [one for name in names if (one := _static_changed(name, before, now)) is not None]
    was_static = {one.path for one in changes}
    added = [path for path in now.leaves if path not in before.leaves and path not in was_static]
    gone = [path for path in before.leaves if path not in now.leaves and path not in was_static]
    if added or gone:
        parts = [
            f"{word} {', '.join(paths[:_MOST_NAMES])}" for word, paths in (("with", added), ("without", gone)) if paths
        ]
        advice = "Pass the same keys and lengths in each call: pad lists, or use one array"
        changes.append(TraceChange("the structure of the arguments:", " and ".join(parts), advice, (added or gone)[0]))
    changes += [
        _leaf_changed(path, before.leaves[path], leaf)
        for path, leaf in now.leaves.items()
        if path in before.leaves and (before.leaves[path].type, before.leaves[path].weak) != (leaf.type, leaf.weak)
    ]
    changes += [
        TraceChange(f"`{name}` is passed", _TO.join(_passed(name, one) for one in (before, now)), _ONE_WAY, name)
        for name in sorted(before.keywords ^ now.keywords)
        if any(path.startswith(name) for one in (before.leaves, before.statics) for path in one)
        and any(path.startswith(name) for one in (now.leaves, now.statics) for path in one)
    ]
    if before.options != now.options:
        changes.append(TraceChange("the options of jax.jit", "", "Make the jitted function once"))
    return changes or _structures_changed(before, now)


def _passed(name: str, trace: Trace) -> str:
    return "by keyword" if name in trace.keywords else "by position"


def _static_changed(name: str, before: Trace, now: Trace) -> TraceChange | None:
    """Return how a static argument differs; None if it does not, and for the structure of a pytree."""
    known = before.statics.get(name), now.statics.get(name)
    if name.endswith(STRUCTURE) or (known[0] and known[1] and known[0].key == known[1].key):
        return None
    if known[0] and known[1]:
        return _value_changed(name, known[0], known[1])
    leaves = before.leaves.get(name), now.leaves.get(name)
    texts = _TO.join(
        value.text if value else str(leaf) if leaf else "not given" for value, leaf in zip(known, leaves, strict=True)
    )
    if any(leaves):
        advice = f"Pass an array each time: what is none is static. jnp.asarray({name}) makes one"
        return TraceChange(f"`{name}`:", texts, advice, name)
    return TraceChange(f"static `{name}`:", texts, f"Pass `{name}` in each call, or in none", name)


def _structures_changed(before: Trace, now: Trace) -> list[TraceChange]:
    advice = "What is no array in it, such as a number of a layer, must stay the same"
    return [
        TraceChange(f"the structure of `{owner}` has changed", "", advice, owner)
        for name, one in now.statics.items()
        if name.endswith(STRUCTURE) and name in before.statics and before.statics[name].key != one.key
        for owner in [name.removesuffix(STRUCTURE)]
    ]


def _value_changed(name: str, before: Static, now: Static) -> TraceChange:
    text = _but_for_address(now.text)
    parts = [path for path, one in now.parts.items() if path in before.parts and before.parts[path].key != one.key]
    if parts and parts != [""]:
        path = parts[0]
        part = _value_changed(f"{name}{path}", before.parts[path], now.parts[path])
        if _but_for_address(before.parts[path].text) != _but_for_address(now.parts[path].text):
            return part
        other = _bare(_but_for_address(now.parts[path].text))
        return TraceChange(part.what, f"another {other} each time", "Make it once, outside the loop", name)
    if now.type in _FUNCTIONS and _but_for_address(before.text) == text:
        return TraceChange(
            f"static `{name}`:", f"another {_bare(text)} each time", "Make it once, outside the loop", name
        )
    what, instead = (
        ("argument", f"leave `{name}` traced") if name.isidentifier() else ("field", f"make `{name}` an array")
    )
    advice = f"Each value of a static {what} is a program of its own; {instead} if only arithmetic uses it"
    if now.by_identity and now.type == before.type:
        advice = f"Give {now.type} __eq__ and __hash__ (a frozen dataclass has them), or make it once"
    return TraceChange(f"static `{name}`:", f"{before.text} → {now.text}", advice, name)


_FUNCTIONS = frozenset({"function", "method", "functools.partial", "partial", "PjitFunction"})
"""The types of functions. A loop may make such a static argument anew each time, with the same code."""


def _but_for_address(text: str) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def _bare(text: str) -> str:
    """Return a text without the brackets of a `repr`: `<function f>` becomes `function f`."""
    return text[1:].removesuffix(">") if text.startswith("<") else text


def _leaf_changed(path: str, before: Leaf, now: Leaf) -> TraceChange:
    if _shape(before.type) != _shape(now.type):
        advice = f"Pad `{path}` to a few sizes, such as powers of two, or use jax.lax.map over it"
    elif _unplaced(before.type) == _unplaced(now.type) and before.type != now.type:
        advice = f"Place `{path}` before the loop as the program returns it: jax.device_put({path}, a sharding)"
    elif before.weak != now.weak:
        advice = f"A Python number has a weak type: pass the same kind each time, such as jnp.float32({path})"
    elif _is_wider(before, now):
        advice = (
            f"A NumPy number is float64, and makes that of what it meets: float(...) of it leaves `{path}` as it is; "
            f"or convert `{path}` once, before the loop"
        )
    else:
        advice = f"Convert `{path}` to one dtype before the loop"
    return TraceChange(f"`{path}`:", f"{before} → {now}", advice, path)


def _shape(type_: str) -> str:
    plain = _unplaced(type_)
    return plain[plain.index("[") :] if "[" in plain else plain


def _unplaced(type_: str) -> str:
    """Return the text of a type without the devices that have it: `float32[4@d]` becomes `float32[4]`."""
    return re.sub(r"@(\([^)]*\)|[^,\]]*)| on a mesh .*", "", type_)
