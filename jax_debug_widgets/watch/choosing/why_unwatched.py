"""Explain for each name in a file whether it can be watched, and if not, why."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.origins.libraries import is_library
from jax_debug_widgets.watch.syntax.literals import STATIC_ATTRIBUTES, elements_of
from jax_debug_widgets.watch.syntax.mentions import is_part
from jax_debug_widgets.watch.syntax.source import SourceFile, source_of
from jax_debug_widgets.watch.syntax.statements import Function, Span, Statement, Target, is_alias

if TYPE_CHECKING:
    from jax_debug_widgets.watch.choosing.compile_report import CompiledPrograms

NOT_WATCHED = "not watched: name it with --watch, or use --watch-all"
NOT_BY_THIS_NAME = "not watched by this name"
NOT_COMPILED = "its function is not part of a compiled program"
UNJITTED = "computed outside any function, where nothing is compiled"
WHILE_TRACING = "known while tracing: no array operation computes it"
IS_KEY = "a PRNG key: there are no numbers in it"
NOT_NEEDED = (
    "no operation of the program computes it here: it is unused, empty or no array, or it is another value unchanged "
    "(a cast to the dtype it has), or JAX gives another line for it"
)
MINGLED = "several values come from this call, and nothing that takes them tells which of them it is"
SEVERAL = "several values: each is shown where it is computed"
RETURNED = "shown at the line that assigns it"
RULE = (
    "in a rule for derivatives: JAX says that it is computed where the function is called"
    if versions.TRACEBACKS_LEAVE_THEIR_PROGRAM
    else "in a rule for derivatives, which no program has run that was compiled here"
)


_UNEXPLAINING = (NOT_COMPILED, UNJITTED, RETURNED)
"""The reasons that apply to one place only, and do not explain why the name has no values anywhere."""

_INSIDE = ".<locals>."

MOST_LEAVES = 100
"""The most leaves of one tree that are offered; the others can be watched by name."""


@dataclass(frozen=True)
class NamedPlace:
    """A name, the range that computes it (columns in characters), and why it is not watched; `why` is empty if it is watched.

    `root` is the name of the tree that a leaf belongs to, empty for other names.
    """

    name: str
    span: Span
    why: str
    root: str = ""

    @property
    def is_watchable(self) -> bool:
        """Whether the name is not watched, but can be."""
        return self.why.startswith((NOT_WATCHED, NOT_BY_THIS_NAME))

    def pattern(self, file: str) -> str:
        """Return the pattern by which the next run can watch the name; empty if it is watched, or no pattern would help."""
        if not self.is_watchable:
            return ""
        return f"{self.name}@{file}" if is_library(file) else self.name


def named_places(file: str, seen: CompiledPrograms | None) -> tuple[SourceFile, list[NamedPlace]]:
    """Return the names in `file`, as far as the programs in `seen` have them; a tree comes before its leaves."""
    source = source_of(file)
    known: dict[Span, dict[str, bool]] = {}
    keys = [(span, name) for its_file, span, name in (seen.keys if seen else ()) if its_file == file]
    for (its_file, span, name), watched in seen.places.items() if seen else ():
        if its_file == file:
            known.setdefault(span, {})[name] = watched
    found: dict[tuple[str, Span], NamedPlace] = {}
    for statement in source.statements:
        for name in _names(source, statement):
            values = _values_of(name, known.get(statement.span, {}))
            why = NOT_WATCHED if seen is None else _why(source, file, statement, values, seen)
            key = name, statement.whole or statement.span
            # Of the parts of `x = f(y)[0]` and of `x = a if c else b`, one is computed. The others need no reason.
            if not (why and key in found):
                found[key] = NamedPlace(name, _in_characters(source, statement.span), why)
            found |= _leaves(source, name, statement.span, values)
    for span in sorted(known.keys() - {one.span for one in source.statements}):  # These are the arguments.
        for name in dict.fromkeys(map(_root_of, known[span])):
            values = _values_of(name, known[span])
            why = "" if any(values.values()) else NOT_WATCHED
            found[name, span] = NamedPlace(name, _in_characters(source, span), why)
            found |= _leaves(source, name, span, values)
    for span, name in sorted(keys):
        found[name, span] = NamedPlace(name, _in_characters(source, span), IS_KEY)
    return source, list(found.values())


def without_values(name: str, seen: CompiledPrograms) -> str:
    """Return a sentence about why a name of the user's own source has no values to watch; empty for other names.

    It is empty too if the name has values in another program, and nothing explains why it has none in this one.
    """
    name = name.replace('"', "'")
    unexplained = _UNEXPLAINING if name in seen.names else ()
    places = (one for one in _places_called(name, seen) if not one.is_watchable)
    found = next((one for one in places if one.why not in unexplained), None)
    return f"{name!r} (line {found.span.line}) has no values: {found.why}." if found else ""


def why_unwatched(name: str, seen: CompiledPrograms) -> str:
    """Return why a run has no value of that name: it was not requested, or see `without_values`."""
    name = name.replace('"', "'")
    found = next((place for place in _places_called(name, seen) if place.is_watchable), None)
    return f"{name!r} (line {found.span.line}) is {found.why}." if found else without_values(name, seen)


def in_library(name: str, seen: CompiledPrograms) -> str:
    """Return a sentence about a library's variable of that name, with its pattern; empty if no library that ran has one."""
    for file in sorted({file for file, _ in seen.functions if is_library(file)}):
        source = source_of(file)
        if not any(name in line for line in source.lines):
            continue
        run = (one for one in source.statements if one.function and _is_traced(file, one.function, seen))
        if any(name == own for one in run for target in one.targets for own in _of_target(target)):
            asked = f"{name}@{os.path.basename(file)}"
            return f"{name!r} is a variable of a library: `--watch {asked}` (watch={asked!r}) asks for it."
    return ""


def _places_called(name: str, seen: CompiledPrograms) -> list[NamedPlace]:
    """Return the places where the user's own source has the name without values.

    Those with the least useful reason come last.
    """
    files = sorted({file for file, _ in seen.functions if not is_library(file)})
    mentioning = [file for file in files if any(_root_of(name) in line for line in source_of(file).lines)]
    places = [place for file in mentioning for place in named_places(file, seen)[1] if place.name == name and place.why]
    return sorted(places, key=lambda one: one.why in _UNEXPLAINING)


def _values_of(name: str, known: dict[str, bool]) -> dict[str, bool]:
    """Return the value of that name, or its leaves, each with whether it is watched."""
    return {own: watched for own, watched in known.items() if is_part(own, name)}


def _root_of(name: str) -> str:
    return name.partition("[")[0].partition(".")[0]


def _leaves(source: SourceFile, root: str, span: Span, values: dict[str, bool]) -> dict[tuple[str, Span], NamedPlace]:
    leaves = [name for name, watched in values.items() if name != root and not watched]
    place = _in_characters(source, span)
    return {(name, span): NamedPlace(name, place, NOT_WATCHED, root) for name in leaves[:MOST_LEAVES]}


def _in_characters(source: SourceFile, span: Span) -> Span:
    return Span(
        span.line,
        source.character(span.line, span.column),
        span.end_line,
        source.character(span.end_line, span.end_column),
    )


def _names(source: SourceFile, statement: Statement) -> Iterator[str]:
    if statement.is_return:
        yield source.text(statement.span)
    for target in statement.targets:
        yield from _of_target(target)


def _of_target(target: Target) -> Iterator[str]:
    if target.is_plain and target.text != "_":
        yield target.text.removeprefix("*")
    for part in target.parts:
        yield from _of_target(part)


def _why(source: SourceFile, file: str, statement: Statement, values: dict[str, bool], seen: CompiledPrograms) -> str:
    if values:
        return "" if any(values.values()) else _why_not_taken(statement)
    function = statement.function
    if function is None:
        return UNJITTED
    if not _is_traced(file, function, seen):
        return RULE if function.name.rpartition(".")[2] in source.rules else NOT_COMPILED
    if elements_of(statement.value) and not statement.whole:
        return SEVERAL
    if statement.is_return and is_alias(statement.value):
        return RETURNED
    return _why_unknown(file, statement, seen)


def _is_traced(file: str, function: Function, seen: CompiledPrograms) -> bool:
    """Whether a program was compiled for the function.

    In a body that is compiled separately, as by marimo, it is an outermost function.
    """
    parts = function.name.split(_INSIDE)
    return any((file, _INSIDE.join(parts[first:])) in seen.functions for first in range(len(parts)))


def _why_unknown(file: str, statement: Statement, seen: CompiledPrograms) -> str:
    """Return why no value is known for a name in a function that was traced."""
    if (file, statement.span) in seen.mingled:
        return MINGLED
    return _why_not_computed(
        statement.value, seen, is_part_of=bool(statement.body) or any(target.parts for target in statement.targets)
    )


def _why_not_taken(statement: Statement) -> str:
    """Return why `--watch-all` did not take a value: it has only the name with which it was computed."""
    is_plain = [target.is_plain for target in statement.targets] == [True] and not statement.body
    name = ast.unparse(statement.value)
    return (
        f"{NOT_BY_THIS_NAME}: the same value as {name}; name either with --watch"
        if is_plain and is_alias(statement.value)
        else NOT_WATCHED
    )


def _why_not_computed(value: ast.expr, seen: CompiledPrograms, *, is_part_of: bool) -> str:
    if _makes_keys(value):
        return IS_KEY
    if is_alias(value):
        name = ast.unparse(value)
        how = f"; watch that (--watch {name})" if any(is_part(one, name) for one in seen.names) else ""
        return f"{'a part of' if is_part_of else 'the same value as'} {name}{how}"
    return WHILE_TRACING if _is_static(value) else NOT_NEEDED


def _makes_keys(node: ast.expr) -> bool:
    called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    return called.endswith(("random.split", "random.key", "random.fold_in", "random.PRNGKey"))


_STATIC_CALLS = frozenset({"len", "range", "int", "float", "str", "tuple", "list", "dict", "partial", "isinstance"})


def _is_static(node: ast.expr) -> bool:
    """Whether an expression clearly contains only Python values: constants, shapes, functions."""
    if isinstance(node, ast.Constant | ast.Lambda | ast.JoinedStr):
        return True
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and one.attr in STATIC_ATTRIBUTES:
            return True
        if isinstance(one, ast.Call):
            name = one.func.attr if isinstance(one.func, ast.Attribute) else getattr(one.func, "id", "")
            return name in _STATIC_CALLS
    return False
