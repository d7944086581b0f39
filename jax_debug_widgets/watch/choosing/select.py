"""Select the values to watch: by names, lines, primitives and scopes."""

from __future__ import annotations

import difflib
import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.origins.libraries import is_library
from jax_debug_widgets.events.identifiers import as_python_has, is_like
from jax_debug_widgets.watch.choosing.condition import Condition
from jax_debug_widgets.watch.choosing.stop_conditions import NO_STOPS, Stops
from jax_debug_widgets.watch.naming.named import Named
from jax_debug_widgets.watch.statistics.layout import SCALAR, STATISTICS

_LINES = re.compile(r"^(?P<file>.*):(?P<first>\d+)(?:-(?P<last>\d+))?$")
_GRADIENT = "grad/"
BY_LANE = "lanes/"
"""The prefix of a pattern that asks for each lane of a `vmap` separately."""
_EXECUTION = re.compile(r"#\d+$")
_EXPRESSION = re.compile(r"[ (]")


@dataclass(frozen=True)
class Watch:
    """The values to watch, and how much of them. Hashable: it is part of the key that programs are compiled by.

    Attributes:
      names: patterns, see `Pattern`; with `everything` only those by lane.
      everything: whether to watch all values with a name in the user's files, and their gradients.
      ops: whether to watch the result of every equation.
      every: only each n-th step.
      values: whether to take the whole values as well as their statistics.
      histograms: whether to count magnitudes, see `watch.statistics.histogram`.
      lanes: whether to take statistics of each lane of a `vmap`, see `watch.choosing.lanes`; the pattern `lanes/h` does
        so for `h`.
      when: an expression over names of the program, see `watch.choosing.condition`: values are taken where it holds.
        Empty: always.
      added: names that the Code view has added; it is no problem if a program does not have them.
      of_taken_calls: whether the program runs only in those calls that are watched, see `_jax.running.sampled_calls`.
      stops: the conditions that may stop the program. With `everything`, the inputs of an iteration that have their
        names are taken too.
    """

    names: tuple[str, ...] = ()
    everything: bool = False
    ops: bool = False
    every: int = 1
    values: bool = False
    histograms: bool = False
    when: str = ""
    added: tuple[str, ...] = ()
    lanes: bool = False
    stops: Stops = NO_STOPS
    of_taken_calls: bool = False

    def beside(self, added: Iterable[str]) -> Watch:
        """Return the watch with these names added."""
        return replace(self, added=tuple(name for name in added if name not in self.names))

    def in_calls(self, *, taken: bool) -> Watch:
        """Return the watch for programs that run only in the calls that are watched, or in all calls."""
        return replace(self, of_taken_calls=taken)

    def by_lane(self, names: Iterable[str]) -> Watch:
        """Return the watch with only those patterns that ask for lanes."""
        return replace(self, names=tuple(name for name in names if name.startswith(BY_LANE)))

    def stopping(self, stops: Stops) -> Watch:
        """Return the watch with values that may stop the program."""
        return replace(self, stops=stops)

    @classmethod
    def of(
        cls,
        watch: str | Sequence[str] | bool | None,
        *,
        ops: bool = False,
        every: int = 1,
        values: bool = False,
        histograms: bool = False,
        when: str | None = None,
        lanes: bool = False,
    ) -> Watch | None:
        """Return the watch that `jdw.capture(watch=..., ops=...)` asks for; None if it asks for nothing.

        Args:
          watch: patterns, in one string separated by commas, or several; True for every value that has a name.
          ops, every, values, histograms, when, lanes: see the class.

        Raises:
          TypeError: `watch` or `when` has another type. ValueError: `every` is not positive, `when` is not a condition,
            or an option about watched values is set and nothing is watched.
        """
        if isinstance(every, bool) or not isinstance(every, Integral) or every < 1:
            raise ValueError(f"every must be a whole number from 1 on (every=10 takes one step of ten), got {every!r}")
        for name, wish in {"ops": ops, "values": values, "histograms": histograms, "lanes": lanes}.items():
            if not isinstance(wish, bool | np.bool_):
                raise TypeError(f"{name} must be True or False (which values: watch='h'), got {wish!r}")
        names = _names_of(watch)
        if not (isinstance(when, str) or when is None):
            raise TypeError(f"when must be an expression in a string ('loss > 10'), got {when!r}")
        asked = bool(names or watch is True or ops)
        if when is not None:
            _ = Condition(when)
            if not asked:
                raise ValueError(
                    "when says at which steps watched values are taken: say which as well, with watch (--watch NAMES)"
                )
        further = {"values": values, "histograms": histograms, "lanes": lanes}
        for name in (name for name, is_wanted in further.items() if is_wanted and not asked):
            raise ValueError(
                f"{name} says what is taken of watched values: say which as well, with watch (--watch NAMES)"
            )
        every = int(every)
        return cls(names, watch is True, ops, every, values, histograms, when or "", lanes=lanes) if asked else None


def _names_of(watch: Any) -> tuple[str, ...]:
    """Return the patterns of `jdw.capture(watch=...)`; () for True, False and None."""
    if watch is None or isinstance(watch, bool):
        return ()
    several = separated(watch) if isinstance(watch, str) else watch
    if not (isinstance(several, Sequence) and all(isinstance(one, str) for one in several)):
        raise TypeError(f"watch must be True, a name or several names (watch='h' or ['h', 'loss']), got {watch!r}")
    # A name that contains a file, such as `model.py:40-60`, is not an identifier.
    names = tuple(one if ":" in one else as_python_has(one) for one in several if one.strip())
    if not names:
        raise ValueError(f"watch names nothing: give names (watch='h,loss'), True for all, or None, not {watch!r}")
    return names


def separated(text: str) -> list[str]:
    """Split a text at the commas that are not in brackets: `a, p["x,y"]`."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "[(") - (sign in "])")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


class Pattern:
    """A pattern that selects values by name, line, primitive or scope.

    `logits`, `self.w`, `h*` (a name or glob), `grad/logits` (its gradient alone), `lanes/h` (by lane), `logits@model.py`,
    `logits@model.py:12#2` (as runs call it: each execution of that line), `model.py:40-60` and `In [3]:4` (lines),
    `layer*/mlp` (a named scope), `dot_general|exp` and `mlp` (primitives, and a scope, where no name matches).
    """

    def __init__(self, text: str, name_file: Callable[[str], str]) -> None:
        self.text = text.strip()
        self._name_file = name_file
        self._role: str | None = None
        self._file = self._lines = None
        self.by_lane = self.text.startswith(BY_LANE)
        rest = self.text.removeprefix(BY_LANE)
        if rest.startswith(_GRADIENT):
            self._role, rest = "gradient", rest.removeprefix(_GRADIENT)
        rest = _EXECUTION.sub("", rest)
        lines = _LINES.match(rest)
        if lines is not None:
            name, at, file = lines["file"].partition("@")
            is_named = bool(at) and not re.search(r"[/\\]", name)  # A folder's name may contain `@` too.
            first = int(lines["first"])
            self._file, self._lines = file if is_named else lines["file"], (first, int(lines["last"] or first))
            rest = name if is_named else ""
        elif "@" in rest:
            rest, _, self._file = rest.partition("@")
        self._name = rest

    def wants_file(self, file: str) -> bool:
        """Whether values of this file may match. Files of libraries match only if the pattern names them."""
        if self._file:
            return self._is_file(file)
        return not is_library(file)

    def matches(self, one: Named) -> bool:
        """Whether the pattern matches this value by name, line or scope."""
        # An exact match counts even if the text contains `@` or `:`.
        if one.name == self.text and not is_library(one.file):
            return True
        if self._role is not None and one.role != self._role:
            return False
        if not self.wants_file(one.file):
            return False
        if self._lines is not None and (one.span.line > self._lines[1] or one.span.end_line < self._lines[0]):
            return False
        if not self._name:
            return True
        return self._is_name(one) or ("/" in self._name and not one.is_alias and self._is_scope(one.stack))

    def matches_value(self, one: Named) -> bool:
        """Whether the pattern matches this value by name, line, scope, or a regular expression for its primitive."""
        try:
            is_primitive = not (self._file or self._role) and re.fullmatch(self._name, one.primitive) is not None
        except re.error:
            is_primitive = False
        is_scope = bool(self._name) and not (self._role or self._lines or one.is_alias) and self._is_scope(one.stack)
        return is_primitive or (is_scope and self.wants_file(one.file)) or self.matches(one)

    def _is_name(self, one: Named) -> bool:
        # A name may contain characters that are special in a glob (`params["w"]`), or be the root of a tree (`params`).
        name, wanted = (text.replace('"', "'") for text in (one.name, self._name))
        if name == wanted:
            return True
        if _EXPRESSION.search(one.name):  # A returned expression matches only as it is written.
            return False
        if name.startswith((f"{wanted}[", f"{wanted}.")):
            return True
        qualified = f".{one.function.replace('.<locals>', '')}.{name}"
        return is_like(name, wanted) or is_like(qualified, f"*.{wanted}")

    def _is_scope(self, stack: str) -> bool:
        scopes = scope_of(stack).split("/")
        wanted = self._name.split("/")
        return any(
            all(fnmatch.fnmatchcase(scope, want) for scope, want in zip(scopes[start:], wanted, strict=False))
            for start in range(len(scopes) - len(wanted) + 1)
        )

    def _is_file(self, file: str) -> bool:
        assert self._file is not None
        own = self._file.replace(os.sep, "/")
        path = file.replace(os.sep, "/")
        return path == own or path.endswith(f"/{own}") or self._name_file(file) == self._file


def wants_file(patterns: Iterable[Pattern], file: str) -> bool:
    """Whether some pattern may match values of this file; see `Pattern.wants_file`."""
    return not is_library(file) or any(pattern.wants_file(file) for pattern in patterns)


def scope_of(stack: str) -> str:
    """Return the named scopes of a name stack, without transformations and loops: `jit(f)/jvp(layer0)/mlp` -> `layer0/mlp`."""
    scopes = []
    for part in stack.split("/"):
        inner = re.sub(r"^(?:\w+\()+|\)+$", "", part)
        is_structure = inner in _STRUCTURE or inner in versions.CALLS or _BRANCH.fullmatch(inner)
        if inner and "jit(" not in part and not is_structure:
            scopes.append(inner)
    return "/".join(scopes)


_BRANCH = re.compile(r"branch_\d+_fun")
_STRUCTURE = frozenset({
    "while", "body", "cond", "scan", "checkpoint", "rematted_computation", "shard_map", "custom_jvp_call", "custom_vjp_call",
})  # fmt: skip


def unmatched(
    patterns: Iterable[str], names: Iterable[str], scopes: Iterable[str], primitives: Iterable[str]
) -> Iterator[str]:
    """Yield sentences for patterns that matched nothing, with similar names, scopes and primitives.

    A list of what could be matched comes once, after all the sentences that it belongs to.
    """
    known, scopes = sorted(set(names)), sorted(set(scopes))
    lists: dict[str, str] = {}
    for pattern in patterns:
        sentences, there_are = _unmatched(pattern, known, scopes, primitives)
        lists[there_are] = f"{lists[there_are]} {sentences}" if there_are in lists else sentences
    return (f"{sentences}{there_are}" for there_are, sentences in lists.items())


def _unmatched(pattern: str, known: list[str], scopes: list[str], primitives: Iterable[str]) -> tuple[str, str]:
    """Return the sentence about a pattern that matched nothing, and a sentence that lists what could be matched."""
    bare = pattern.removeprefix(BY_LANE).removeprefix(_GRADIENT).partition("@")[0]
    if pattern in known:
        return f"{pattern!r} is in none of the programs that ran here; in an earlier one it was.", ""
    if pattern == f"{_GRADIENT}{bare}" and bare in known:
        return f"Nothing that ran here differentiates {bare!r}: it has no gradient.", ""
    name, _, statistic = bare.rpartition(".")
    if name in known and statistic in (*STATISTICS, *SCALAR):
        wanted = pattern.partition("@")[0].removesuffix(f".{statistic}")
        read = f"run[{wanted.removeprefix(BY_LANE)!r}]{'.lanes' if pattern.startswith(BY_LANE) else ''}[{statistic!r}]"
        return f"{pattern!r} is a statistic: watch {wanted!r}, and read {read}.", ""
    near = difflib.get_close_matches(bare, {*known, *scopes}, n=3, cutoff=0.5)
    near = near or difflib.get_close_matches(bare, set(primitives), n=1)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    if "/" in bare and scopes:
        return f"Nothing to watch is in the scope {pattern!r}.{hint}", f" There are the scopes {some_of(scopes)}."
    return f"Nothing to watch is called {pattern!r}.{hint}", f" There are: {some_of(known)}."


def some_of(names: Iterable[str]) -> str:
    """Return the first names in alphabetical order, as many as fit a line."""
    known = sorted(set(names))
    some = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")  # noqa: PLR2004 - what fits a line
    return some or "no names in the programs compiled here"
