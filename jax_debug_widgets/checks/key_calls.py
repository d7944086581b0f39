"""Find PRNG keys that two calls use (S8).

At each call of a program that consumes a key, the numbers of the key are compared with those in earlier calls.
"""

from __future__ import annotations

import itertools
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.compat.arrays import numbers_array
from jax_debug_widgets._jax.origins.frames import Frame, is_users
from jax_debug_widgets._jax.passes.checked import Checked
from jax_debug_widgets._jax.passes.numbers import on_host
from jax_debug_widgets._jax.running.program_calls import Ended
from jax_debug_widgets.checks.calling import CallStack, are_within_library, calling_line, calling_stack, run_again
from jax_debug_widgets.checks.key_findings import ConstantKey, Reused
from jax_debug_widgets.checks.key_flow import may_be_key
from jax_debug_widgets.checks.keys import KeyFacts, facts_of, reuses
from jax_debug_widgets.checks.reuse import Reuse
from jax_debug_widgets.watch import is_library

if TYPE_CHECKING:
    from jax_debug_widgets.taps.check_log import CheckLog

_LARGEST = 1 << 16
"""The largest operand that is compared by content, in bytes; larger ones are compared by identity."""

_LARGEST_KEYS = 1 << 12
"""The largest array of keys that is examined, in bytes."""


@dataclass(frozen=True)
class _Use:
    """A use of a key.

    Attributes:
      frame: the line of the use.
      function: the function that uses the key.
      what: what the function does with it: `draws`, `splits`.
      others: the types of the function's results, and its other operands.
      stack: the calls on the Python stack.
      is_jaxs: whether the function is one of JAX's.
      made: how often functions of JAX had made this key by then, from a seed or another key.
    """

    frame: Frame
    function: str
    what: str
    others: Hashable
    stack: CallStack = field(compare=False)
    is_jaxs: bool = field(compare=False)
    made: int = field(compare=False)

    def is_of_a_library_as(self, other: _Use) -> bool:
        """Return whether this use and another one come from one call of the user's to a library."""
        return are_within_library(self.stack, other.stack, [file for file, *_ in (*self.stack, *other.stack)])


@dataclass
class KeyUses:
    """The keys that the calls of a capture have used.

    A clone has the same numbers as its key, and keys that are derived alike from the two have the same numbers, too. A tag
    distinguishes them: 0, or the number of the clone. If a program returned an array, its tag is found by the array's id. Any
    other array with the same numbers is taken to be the first of these keys that was not used yet.

    Attributes:
      first: (a key's numbers, its tag, and the part of it or the number folded into it) -> its first use.
      tags: numbers -> the tags of clones with these numbers.
      known: the id of an array -> the array, and the tag of its key.
      made: a key's numbers -> how often functions of JAX have made it.
      clones: the numbers for the next clones.
      constant: a program that draws with a key that is no argument -> the operands of its first call, and its stack.
    """

    first: dict[tuple[bytes, int, tuple[Hashable, ...]], _Use] = field(default_factory=dict)
    tags: defaultdict[bytes, list[int]] = field(default_factory=lambda: defaultdict(list))
    known: dict[int, tuple[weakref.ref[Any], int]] = field(default_factory=dict)
    made: Counter[bytes] = field(default_factory=Counter)
    clones: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    constant: weakref.WeakKeyDictionary[Any, tuple[Hashable, CallStack]] = field(
        default_factory=weakref.WeakKeyDictionary[Any, tuple[Hashable, CallStack]]
    )

    def tag(self, array: Any, numbers: bytes, folded: tuple[Hashable, ...]) -> int:
        """Return the tag of a key that is being used."""
        known = self.known_tag(array)
        if known is None:
            given = [0, *self.tags.get(numbers, ())]
            known = next((tag for tag in given if (numbers, tag, folded) not in self.first), 0)
            self.know(array, known)
        return known

    def known_tag(self, array: Any) -> int | None:
        """Return the tag of a key by the identity of its array; None if the array is not known."""
        found, tag = self.known.get(id(array), (lambda: None, 0))
        return tag if found() is array else None

    def know(self, array: Any, tag: int) -> None:
        """Note the tag of a key, for its array and for the array of its numbers."""
        for one in (array, numbers_array(array)):
            with suppress(TypeError):  # NumPy scalars do not support weak references.
                self.known[id(one)] = weakref.ref(one, partial(self._forget, id(one))), tag

    def _forget(self, number: int, _array: object) -> None:
        self.known.pop(number, None)


class KeyWatch:
    """Observes calls of programs and notes keys that are used again; see `_jax.running.program_calls.Called`."""

    def __init__(self, wants: Callable[[str], bool], log: Callable[[], CheckLog]) -> None:
        """Start without uses.

        Args:
          wants: whether the current thread's capture has asked for a check.
          log: returns the log of that capture's checks.
        """
        self._wants, self._log = wants, log
        self._uses: weakref.WeakKeyDictionary[CheckLog, KeyUses] = weakref.WeakKeyDictionary()
        self._facts: weakref.WeakKeyDictionary[Any, KeyFacts | None] = weakref.WeakKeyDictionary()
        self._reuses: weakref.WeakKeyDictionary[Any, list[Reuse]] = weakref.WeakKeyDictionary()

    def called(self, name: str, program: Any, operands: Sequence[Any]) -> Ended | None:
        """Note the keys that a program consumes. Return a function that notes the keys among its results.

        It is None if the check is off, or if the program takes no keys and makes none from a seed.
        """
        if not self._wants("keys"):
            return None
        if program not in self._facts:
            self._facts[program] = facts_of(program)
            self._reuses[program] = reuses(program) if _is_jaxs(name, program) else []  # An un-jitted loop or branch.
        for one in self._reuses[program]:
            self._log().note(Checked("keys", "loop", (one.frame,), one))
        facts = self._facts[program]
        uses = self._uses.setdefault(self._log(), KeyUses())
        if facts is None:
            # All seeds are observed. Otherwise C++ would dispatch their program, and the seeds of libraries would not be seen.
            return partial(_seeded, uses, is_own=not _is_in_library()) if _is_jaxs(name, program, "seed") else None
        if facts.constant and not _is_jaxs(name, program) and _draws_again(uses, program, operands):
            for frame in facts.constant[:1]:
                self._log().note(Checked("keys", "constant", (frame,), ConstantKey(name)))
        small = [one for one in operands if may_be_key(one) and one.nbytes <= _LARGEST_KEYS]
        line = calling_line() if facts.consumed and not _is_jaxs(name, program, "fold_in") else None
        if line is not None:
            inputs = {number for number, _ in facts.consumed}
            # The program that `jax.checkpoint` recomputes is another object with the same types of results.
            kinds = name, *map(str, program.out_avals)
            others = kinds, tuple(_fingerprint(one) for at, one in enumerate(operands) if at not in inputs)
            stack = calling_stack()
            for (number, folded), does in facts.consumed.items():
                is_split = _is_jaxs(
                    name, program, "split"
                )  # Outside of a jitted function, `split` is a program that draws.
                function, what = ("split", "splits") if is_split else (name.lstrip("_"), does)
                key = operands[number]
                if key.nbytes <= _LARGEST_KEYS:
                    made = uses.made[_numbers(key)]
                    use = _Use(line, function, what, others, stack, _is_jaxs(name, program), made)
                    self._used(uses, key, folded, use)
        tags = {tag for one in small for tag in _tags(uses, one)}
        is_known = all(uses.known_tag(one) is not None for one in small)
        return partial(_given, uses, facts, tags, is_known=is_known, is_jaxs=_is_jaxs(name, program))

    def _used(self, uses: KeyUses, key: Any, folded: tuple[Hashable, ...], use: _Use) -> None:
        numbers = _numbers(key)
        first = uses.first.setdefault((numbers, uses.tag(key, numbers, folded), folded), use)
        is_here = first.frame == use.frame
        if first is use or first.is_of_a_library_as(use):
            return
        if (
            first == use
        ):  # The same call again is intended, except for a sampler that a loop or a second line runs again.
            is_reuse = use.is_jaxs and use.made == first.made
            lines = run_again(first.stack, use.stack, is_draw=use.what == "draws") if is_reuse else None
            if lines is not None:
                before, line = lines
                found = Reused(
                    use.function, use.what, before, first.what, is_same_line=before == line, is_same_call=True
                )
                self._log().note(Checked("keys", "call", (line,), found))
        elif not is_here or (first.others != use.others and first.function == use.function):
            # Two functions of JAX at one line are not reported: a single expression may call several.
            found = Reused(use.function, use.what, first.frame, first.what, is_here)
            self._log().note(Checked("keys", "call", (use.frame,), found))


def _draws_again(uses: KeyUses, program: Any, operands: Sequence[Any]) -> bool:
    """Return whether a program runs again, with other operands or in one run of the user's code."""
    call = tuple(map(_fingerprint, operands)), calling_stack()
    first = uses.constant.setdefault(program, call)
    return first is not call and (first[0] != call[0] or run_again(first[1], call[1], is_draw=True) is not None)


def _tags(uses: KeyUses, key: Any) -> Sequence[int]:
    """Return the tags that a key may have, besides 0."""
    known = uses.known_tag(key)
    if known is None:
        return uses.tags.get(_numbers(key), ()) if uses.tags else ()
    return (known,) if known else ()


def _seeded(uses: KeyUses, results: Sequence[Any], *, is_own: bool) -> None:
    """Note the keys made from a seed. A library's key from its own seed differs from the user's key from an equal seed."""
    for made in results:
        uses.made.update(_rows(made))
        if not is_own:
            uses.know(made, next(uses.clones))


def _is_in_library() -> bool:
    stack = calling_stack()
    return bool(stack) and is_library(stack[0][0])


def _given(
    uses: KeyUses, facts: KeyFacts, tags: set[int], results: Sequence[Any], *, is_known: bool, is_jaxs: bool
) -> None:
    """Note the keys that a call returns: clones, keys derived from clones, and keys that functions of JAX make."""
    for number in facts.results:
        given, own = results[number], tags
        if number in facts.cloned:
            own = {next(uses.clones)}
        if given.nbytes > _LARGEST_KEYS:
            continue
        if is_jaxs:
            uses.made.update(_rows(given))
        for tag in own:
            for numbers in _rows(given):
                uses.tags[numbers].append(tag)
        if is_known or number in facts.cloned or not own:
            uses.know(given, max(own, default=0))


def _is_jaxs(name: str, program: Any, function: str = "") -> bool:
    """Return whether a program is a function of JAX's, and not of the user's, with `function` in its name."""
    return function in name and not is_users(program.jaxpr.debug_info.func_filename or "")


def _numbers(key: Any) -> bytes:
    return on_host(key).tobytes()


def _rows(keys: Any) -> list[bytes]:
    """Return the numbers of an array of keys as bytes: of the whole array, and of each key."""
    numbers = on_host(keys)
    return list({one.tobytes() for one in (numbers, *numbers.reshape(-1, numbers.shape[-1]))})


def _fingerprint(operand: Any) -> Hashable:
    if isinstance(operand, bool | int | float | complex):
        return operand
    if getattr(operand, "nbytes", _LARGEST + 1) > _LARGEST:
        return id(operand)
    return on_host(operand).tobytes()
