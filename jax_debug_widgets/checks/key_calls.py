"""PRNG keys that two calls use (S8): their numbers are compared each time a program that uses one up is called."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import jax.core
import numpy as np

from jax_debug_widgets._jax.origins.frames import Frame, is_users
from jax_debug_widgets._jax.passes.checked import Checked
from jax_debug_widgets._jax.passes.program_difference import on_host
from jax_debug_widgets.checks.calling import calling_line
from jax_debug_widgets.checks.keys import consumed
from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.events import Finding
from jax_debug_widgets.events.function_names import short_function

if TYPE_CHECKING:
    from jax_debug_widgets.taps.check_log import CheckLog, LineHits
    from jax_debug_widgets.taps.sites import NameFile

_LARGEST = 1 << 16
"""Bytes of an operand that are compared; of a larger one it is the object."""

_LARGEST_KEYS = 1 << 12
"""Bytes of an array of keys that are looked at."""

_LEGACY_SIZES = (2, 4)


@dataclass(frozen=True)
class _Use:
    """A use of a key: at which line, by which function, what it does, and what else it was called with."""

    frame: Frame
    function: str
    what: str
    others: Hashable


@dataclass(frozen=True)
class Reused:
    """A key that a call uses again.

    Attributes:
      function, what: who uses it, and how: `draws`.
      first: the line that has used it first; `did`: how.
      is_same_line: whether that is the same line, with other arguments.
    """

    function: str
    what: str
    first: Frame
    did: str
    is_same_line: bool


@dataclass
class KeyUses:
    """The keys that the calls of a capture have used.

    Attributes:
      first: the numbers of a key -> its first use.
      clones: the numbers of a key -> how often it may be used again, because somebody has cloned it.
      meant: the uses of keys that were cloned for them.
    """

    first: dict[bytes, _Use] = field(default_factory=dict)
    clones: Counter[bytes] = field(default_factory=Counter)
    meant: set[tuple[bytes, _Use]] = field(default_factory=set)


class KeyWatch:
    """See `_jax.running.around_traces.TraceObserver`."""

    def __init__(self, wants: Callable[[str], bool], log: Callable[[], CheckLog]) -> None:
        """Make it.

        Args:
          wants: whether the current thread's capture has asked for a check.
          log: what the checks of that capture have found.
        """
        self._wants, self._log = wants, log
        self._uses: weakref.WeakKeyDictionary[CheckLog, KeyUses] = weakref.WeakKeyDictionary()
        self._consumed: weakref.WeakKeyDictionary[Any, Mapping[int, str]] = weakref.WeakKeyDictionary()

    def look(self, function: Any, args: Any, kwargs: Any, jit: Any) -> _Look | None:
        """See `TraceObserver`."""
        if jit is None or not self._wants("keys"):
            return None
        leaves = jax.tree.leaves((args, kwargs))
        is_called = any(map(_may_be_key, leaves)) and not any(isinstance(one, jax.core.Tracer) for one in leaves)
        return _Look(self, function) if is_called else None

    def called(self, function: Any, program: Any, operands: Sequence[Any]) -> bool:
        """A program is called; whether it uses up a key."""
        name = getattr(function, "__name__", "")
        if name == "random_clone":
            self._uses_here().clones[_numbers(operands[0])] += 1
            return True
        if "fold_in" in name and not is_users(function.__code__.co_filename):
            return False  # What it gives depends on the number that is folded in as well.
        if program not in self._consumed:
            self._consumed[program] = consumed(program)
        known = self._consumed[program]
        line = calling_line() if known else None
        if line is None:
            return False
        others = id(program), tuple(_fingerprint(one) for number, one in enumerate(operands) if number not in known)
        for number, what in known.items():
            if number < len(operands) and operands[number].nbytes <= _LARGEST_KEYS:
                self._used(_numbers(operands[number]), _Use(line, name.lstrip("_"), what, others))
        return bool(known)

    def _used(self, numbers: bytes, use: _Use) -> None:
        uses = self._uses_here()
        first = uses.first.setdefault(numbers, use)
        is_here = first.frame == use.frame
        # The very same call once more is a repetition, and JAX may look up the program of one call twice; at one line it may
        # call several functions of its own.
        is_repeated = first == use or (numbers, use) in uses.meant
        if is_repeated or (is_here and (first.others == use.others or first.function != use.function)):
            return
        if uses.clones[numbers]:
            uses.clones[numbers] -= 1
            uses.meant.add((numbers, use))
            return
        found = Reused(use.function, use.what, first.frame, first.what, is_here)
        self._log().note(Checked("keys", "call", (use.frame,), found))

    def _uses_here(self) -> KeyUses:
        return self._uses.setdefault(self._log(), KeyUses())


class _Look:
    """See `_jax.running.around_traces.TraceVisitor`."""

    def __init__(self, watch: KeyWatch, function: Any) -> None:
        self._watch, self._function = watch, function

    def around(self) -> Any:
        """See `Look`."""
        return nullcontext()

    def found(
        self,
        program: Any,
        operands: Sequence[Any],
        *,
        is_traced: bool,  # noqa: ARG002 - a repeated call counts as well.
        differs: Callable[[], object],  # noqa: ARG002 - it compares the numbers of keys.
    ) -> bool:
        """See `Look`."""
        return self._watch.called(self._function, program, operands)


def key_of_two_calls(seen: LineHits, name_file: NameFile) -> Finding:
    """The finding."""
    frame = seen.checked.frames[0]
    reused: Reused = seen.checked.facts
    where, first = (f"{name_file(one.file)}:{one.line}" for one in (frame, reused.first))
    if reused.is_same_line:
        headline = "each call here uses the same key, with other arguments"
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


def _may_be_key(leaf: Any) -> bool:
    dtype = getattr(leaf, "dtype", None)
    if dtype is None:
        return False
    is_typed = jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)
    return is_typed or (dtype == np.uint32 and leaf.shape[-1:] in tuple((size,) for size in _LEGACY_SIZES))


def _numbers(key: Any) -> bytes:
    return on_host(key).tobytes()


def _fingerprint(operand: Any) -> Hashable:
    if isinstance(operand, bool | int | float | complex):
        return operand
    if getattr(operand, "nbytes", _LARGEST + 1) > _LARGEST:
        return id(operand)
    return on_host(operand).tobytes()
