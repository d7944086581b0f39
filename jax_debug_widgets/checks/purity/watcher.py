"""Compare the values that the user's functions name before and after each trace, and at each call of a program."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import CodeType, FrameType, FunctionType
from typing import Any

from jax_debug_widgets._jax.origins.frames import Frame, frame_at, is_ours
from jax_debug_widgets._jax.origins.libraries import is_of_jax
from jax_debug_widgets._jax.passes.checked import Checked
from jax_debug_widgets._jax.passes.program_difference import UNKNOWN
from jax_debug_widgets._jax.running.around_traces import Differs, LaterCall, SeesCalls
from jax_debug_widgets._jax.running.cached_programs import CachedProgram, ChangedName
from jax_debug_widgets.checks.lists import numbers_in
from jax_debug_widgets.checks.purity import source
from jax_debug_widgets.checks.purity.harmless import may_run_again
from jax_debug_widgets.checks.purity.impure import calls_seen, random_state
from jax_debug_widgets.checks.purity.marks import Marks
from jax_debug_widgets.checks.purity.prints import ABSENT, PartChange, Print, change_of, is_cleared, print_of
from jax_debug_widgets.checks.purity.reached import Reached, code_of, is_state, named, own_code, reached_by_call

FUNCTION = "function"
"""The kind of the print of a function of the user: its code, which a new definition replaces."""

Snapshot = Mapping[tuple[Callable[[], Any], str], tuple[Print, int]]
"""(A weak reference to a function, an expression in it) -> the print of the expression's value, and its line."""


@dataclass(frozen=True)
class Effect:
    """An effect that happens while a function is traced, and not when its program runs.

    Attributes:
      kind: `changed`, `advanced` (an iterator), `called` (a clock, a file), `random` (NumPy's global random generator).
      name: the expression or function: `log`, `self.calls`, `time.time`.
      traced: the function that was traced.
      before, after: the value before and after, as text.
      is_loop: whether the body of a loop or branch was traced.
      taken: what takes the elements of an iterator; empty if unknown.
      is_endless: whether the iterator has no end.
      is_tracer: whether the new value is a tracer, or contains one. If the value is kept, it is a leak.
    """

    kind: str
    name: str
    traced: str
    before: str = ""
    after: str = ""
    is_loop: bool = False
    taken: str = ""
    is_endless: bool = False
    is_tracer: bool = False


@dataclass
class _Known:
    """The known facts about a program.

    Attributes:
      snapshot: the values with which it was traced.
      has_effects: whether tracing its function has effects, so that it must not be traced again.
      stale: the report about a changed value that is known to make another program; None if there is none.
    """

    snapshot: Snapshot
    has_effects: bool
    stale: CachedProgram | None = None


class PurityWatch:
    """Observes traces for the checks `purity`, `stale` and `lists`; see `_jax.running.around_traces.TraceObserver`."""

    def __init__(
        self, wants: Callable[[str], bool], note: Callable[[Checked], object], stale: Callable[[CachedProgram], object]
    ) -> None:
        """Start without known programs.

        Args:
          wants: whether the current thread's capture has asked for a check.
          note: takes a record of what was found at a line.
          stale: takes a function whose program was made with a value that has changed since.
        """
        self._wants, self._note, self._stale = wants, note, stale
        self._known: weakref.WeakKeyDictionary[Any, _Known] = weakref.WeakKeyDictionary()
        self._here = _Here()

    def look(self, function: Any, args: Any, kwargs: Any, jit: Any) -> _Look | None:
        """See `TraceObserver`."""
        code = own_code(function)
        is_asked = self._wants("purity") or (jit is not None and (self._wants("stale") or self._wants("lists")))
        if code is None or not is_asked or is_ours(code.co_filename):
            return None
        if jit is not None and is_of_jax(code.co_filename):  # Only bodies of loops and branches hold a user's function.
            return None
        functions = reached_by_call(function, args, kwargs, jit)
        if not functions:
            return None
        look = _Look(self, function, functions, is_body=jit is None)
        if jit is not None and not self._here.depth and self._wants("lists"):
            look.arguments = partial(numbers_in, function, args, kwargs, jit)
        return look

    @contextmanager
    def tracing(self, look: _Look) -> Iterator[None]:
        """Count the nesting of look-ups, and watch for impure calls during the outermost one."""
        here = self._here
        here.depth += 1
        try:
            if here.depth == 1 and self._wants("purity"):
                with calls_seen(look.calls, look.ran):
                    yield
            else:
                yield
        finally:
            here.depth -= 1

    def found(self, look: _Look, program: Any, differs: Differs, *, is_traced: bool) -> SeesCalls | None:
        """Handle the end of a look-up, see `TraceVisitor.found`."""
        known = None if is_traced else self._known.get(program)
        effects = list(self._effects(look)) if is_traced else []
        for checked in (*(look.arguments() if is_traced else ()), *(effects if self._wants("purity") else ())):
            self._note(checked)
        if look.is_body or not self._wants("stale"):
            return None
        if known is None:
            # A trace that was not observed may have had effects.
            has_effects = look.has_effects or not is_traced or not may_run_again(look.functions)
            self._known[program] = known = _Known(look.snapshot() if is_traced else look.before, has_effects)
            is_stale = False
        else:
            is_stale = self._is_stale(known, look, differs)
        if not look.before:
            return None
        marks = Marks()
        if not is_stale:
            marks.take(look.functions)
        return partial(self._called, known, marks)

    def _is_stale(self, known: _Known, look: _Look, differs: Differs) -> bool:
        """Compare the values that a program was traced with to the present ones. Report a change that makes another program."""
        if not (changes := list(_changes(known.snapshot, look.before))):
            return False
        known.stale = known.stale or (None if known.has_effects else _with_names(differs(_in_place(changes)), changes))
        if known.stale is None:  # The program does not depend on the changed value, or that is not known.
            known.snapshot = look.before
            return False
        self._stale(known.stale)
        return True

    def _called(self, known: _Known, marks: Marks, call: LaterCall) -> None:
        """See `SeesCalls`."""
        if not self._wants("stale") or marks.are_the_same():
            return
        look = self.look(call.function, call.args, call.kwargs, call.jit)
        if look is not None and not self._is_stale(known, look, call.differs):
            marks.take(look.functions)

    def _effects(self, look: _Look) -> Iterator[Checked]:
        """Yield the effects of a trace; a value with several names is listed once, at the place that changes it."""
        is_inner = self._here.depth > 0
        found = [one for one in _changes(look.before, look.snapshot()) if one[3].after.kind != FUNCTION]
        look.has_effects = bool(found or look.called or look.draws())
        reported: dict[Frame, Checked] = {}
        seen: dict[tuple[str, str], tuple[Frame, Effect]] = {}
        for function, name, line, change in found:
            is_iterator = "iterator" in (change.before.kind, change.after.kind)
            if is_inner and not is_iterator:
                continue
            whole = f"{name}{change.path}"
            find = source.advancing if is_iterator else source.changing
            node = find(function, whole) or find(function, name)
            if not is_iterator and (is_cleared(change) or source.fills_a_cache(look.functions, name, change)):
                continue
            kind = "advanced" if is_iterator else "random" if change.before.kind == "random" else "changed"
            effect = Effect(
                *(kind, whole, look.name, change.before.text, change.after.text, look.is_body),
                taken=source.taking(node, whole) if is_iterator else "",
                is_endless="endless" in change.before.text,
                is_tracer=change.after.has_tracer(),
            )
            frame = source.frame_at(function, node, line)
            if node is not None and (not look.ran or function.__code__ in look.ran):
                reported[frame] = Checked("purity", whole, (frame,), effect)
            else:
                seen.setdefault((change.before.text, change.after.text), (frame, effect))
        if not reported:
            reported = {frame: Checked("purity", one.name, (frame,), one) for frame, one in seen.values()}
        if not is_inner:
            yield from look.called
            yield from look.drawn()
        yield from reported.values()


class _Look:
    """Observes one look-up of a program, see `_jax.running.around_traces.TraceVisitor`."""

    def __init__(self, watch: PurityWatch, function: Any, functions: Reached, *, is_body: bool) -> None:
        self._watch, self.functions, self.is_body = watch, functions, is_body
        plain = next(iter(functions))
        name = getattr(function, "__name__", "") or type(function).__name__
        self.name = plain.__name__ if is_body or isinstance(function, partial) else name
        self.before = self.snapshot()
        self._random = random_state()
        self.called: list[Checked] = []
        self.ran: set[CodeType] = set()
        self.has_effects = False
        self.arguments: Callable[[], Iterable[Checked]] = tuple

    def around(self) -> Any:
        """See `TraceVisitor`."""
        return self._watch.tracing(self)

    def found(self, program: Any, _operands: Any, *, is_traced: bool, differs: Differs) -> SeesCalls | None:
        """See `TraceVisitor`."""
        return self._watch.found(self, program, differs, is_traced=is_traced)

    def calls(self, frame: FrameType, name: str) -> None:
        """Note that a line of the user has called a clock, a random generator or a file."""
        place = frame_at(frame.f_code, frame.f_lasti)
        if name.startswith("time.") and any(one.primitive.startswith("time.") for one in self.called):
            return  # A second look at the clock measures the time since the first.
        self.called.append(Checked("purity", name, (place,), Effect("called", name, self.name)))

    def draws(self) -> bool:
        """Return whether NumPy's global random generator has advanced."""
        return random_state() != self._random

    def drawn(self) -> Iterator[Checked]:
        """Yield records of the lines that draw from NumPy's global random generator."""
        for function in self.functions if self.draws() else ():
            node = source.drawing(function)
            if node is not None:
                frame = source.frame_at(function, node)
                yield Checked("purity", "np.random", (frame,), Effect("random", "np.random", self.name))

    def snapshot(self) -> Snapshot:
        """Return the prints of the values that the functions name, as they are now."""
        found: dict[tuple[Callable[[], Any], str], tuple[Print, int]] = {}
        for function, given in self.functions.items():
            key = weakref.ref(function)
            for name, value, line in named(function, given):
                if (key, name) not in found and (shown := _print(value)) is not None:
                    found[key, name] = shown, line
        return found


def _print(value: Any) -> Print | None:
    if value is UNKNOWN:
        return ABSENT
    if is_state(value):
        return print_of(value)
    code = code_of(value)
    return None if code is None else Print(FUNCTION, code, "a function")


class _Here(threading.local):
    """The state of the current thread: how many nested look-ups it is in."""

    depth = 0


def _changes(before: Snapshot, after: Snapshot) -> Iterator[tuple[FunctionType, str, int, PartChange]]:
    for (function, name), (now, line) in after.items():
        was = before.get((function, name))
        change = change_of(was[0], now) if was is not None else None
        if change is not None:
            yield function(), name, line, change


def _in_place(changes: Iterable[tuple[FunctionType, str, int, PartChange]]) -> frozenset[int]:
    """Return the addresses of the NumPy arrays that were changed in place."""
    parts = (one for *_, one in changes)
    return frozenset(one.after.address for one in parts if one.before.address == one.after.address) - {0}


def _with_names(
    program: CachedProgram | None, changes: Iterable[tuple[FunctionType, str, int, PartChange]]
) -> CachedProgram | None:
    """Add to a report the expressions that have changed. One of them may be the reason."""
    if program is None:
        return None
    names = (
        ChangedName(function.__code__, line, f"{name}{one.path}", one.before.text, one.after.text)
        if FUNCTION not in (one.before.kind, one.after.kind)
        else ChangedName(function.__code__, line, name, is_code=True)
        for function, name, line, one in changes
    )
    return replace(program, changed=tuple(names))
