"""Keep the call sites of functions that JAX inlines: checkpointed functions, and rules of `custom_jvp` and similar.

A function that JAX traces by itself (a jitted function, a loop's body, the function of `jax.checkpoint`) has tracebacks that
begin in it; the equation that runs it has the traceback of the call. When JAX differentiates a `jax.checkpoint`, it evaluates
the forward pass equation by equation, and the equation with the call is lost. A mark in the name stack, which shows in no
text, keeps the call.

JAX runs the rule of a function for `jvp`, `vjp` or `vmap` when it differentiates or batches, which may be long after it has
traced the function. It gives the rule's equations the traceback of the function's call, without the rule's own lines. Here,
they get these lines, and a mark has the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from types import CodeType
from typing import Any, Literal

from jax_debug_widgets._jax.compat.private import source_info_util

Rule = Literal["forward", "backward", "batching"]
"""The transformation that runs a rule: a derivative's forward pass, its backward pass, or `vmap`."""


@dataclass(frozen=True)
class CalledFrom:
    """A part of a name stack that holds the traceback of the call."""

    traceback: Any

    def wrap(self, stack: list[str]) -> None:
        """Add nothing to the text of the name stack."""


@dataclass(frozen=True)
class CalledByRule(CalledFrom):
    """A part of a name stack that holds the traceback of a rule's call, and the kind of the rule."""

    rule: Rule


@dataclass(frozen=True)
class JoinedTraceback:
    """The traceback of an inlined equation, joined with those of the calls that led to its program, innermost first."""

    parts: tuple[Any, ...]

    def raw_frames(self) -> tuple[list[Any], list[int]]:
        """Return code and instruction of each frame, innermost first, in JAX's form."""
        parts = [part.raw_frames() for part in self.parts]
        return [code for codes, _ in parts for code in codes], [at for _, offsets in parts for at in offsets]


@dataclass(frozen=True)
class OfRule:
    """The part of a traceback inside a rule; the frames around it belong to the code that differentiates or batches."""

    traceback: Any
    rule: Rule

    def raw_frames(self) -> tuple[list[Any], list[int]]:
        """Return code and instruction of each frame, innermost first; the last frame runs the rule."""
        codes, offsets = self.traceback.raw_frames()
        end = next((number for number, code in enumerate(codes) if rule_run_by(code)), len(codes))
        return [*codes[:end], _RUNNING[self.rule]], [*offsets[:end], 0]


def evaluate_checkpointed(theirs: Any, *args: Any, **params: Any) -> Callable[[], Any]:
    """Wrap JAX's rule that evaluates the known part of a `checkpoint`, the forward pass.

    It marks the equations with the call.
    """
    called = source_info_util.current().traceback

    def evaluate() -> Any:
        with _marked(CalledFrom(called), called):
            return theirs(*args, **params)

    return evaluate


def run_forward_rule(rule: Callable[..., Any], /, *args: Any, **params: Any) -> Any:
    """Run a rule that computes values, with tangents or residuals, as JAX does."""
    with _from_here("forward"):
        return rule(*args, **params)


def run_batching_rule(rule: Callable[..., Any], /, *args: Any, **params: Any) -> Any:
    """Run a rule that computes the values of all lanes, as JAX does."""
    with _from_here("batching"):
        return rule(*args, **params)


def run_backward_rule(rule: Callable[..., Any], *args: Any) -> Any:
    """Run a rule that computes cotangents, as JAX does."""
    with _from_here("backward"):
        return rule(*args)


_RUNNING: dict[Rule, CodeType] = {
    "forward": run_forward_rule.__code__,
    "backward": run_backward_rule.__code__,
    "batching": run_batching_rule.__code__,
}
"""The code objects of the functions that run rules; in tracebacks they show where a rule runs."""

_RULES: dict[int, Rule] = {id(code): rule for rule, code in _RUNNING.items()}
"""Maps the `id` of that code to the rule: comparing code objects by content for each frame would be slow."""


def rule_run_by(code: CodeType) -> Rule | None:
    """Return the kind of rule that a frame with this code runs; None if it runs none."""
    return _RULES.get(id(code))


def _from_here(rule: Rule) -> AbstractContextManager[None]:
    """Give the equations made inside the Python stack as traceback, and a mark with the one that JAX would give."""
    traceback = source_info_util._source_info_context.context.traceback
    return nullcontext() if traceback is None else _marked(CalledByRule(traceback, rule), None)


@contextmanager
def _marked(mark: Any, traceback: Any) -> Iterator[None]:
    """Give the equations made inside the mark and this traceback; None stands for the traceback at each equation."""
    context = source_info_util._source_info_context
    outer = context.context
    stack = outer.name_stack + source_info_util.NameStack((mark,))
    context.context = source_info_util.SourceInfo(traceback, stack)
    try:
        yield
    finally:
        context.context = outer


@contextmanager
def as_what_makes(equation: Any) -> Iterator[None]:
    """Give the equations made inside the traceback of this equation."""
    context = source_info_util._source_info_context
    outer = context.context
    context.context = source_info_util.SourceInfo(equation.source_info.traceback, source_info_util.NameStack())
    try:
        yield
    finally:
        context.context = outer


def inlined_from(equation: Any) -> list[Any]:
    """Return the tracebacks of the calls of checkpointed functions inlined around an equation, outermost first."""
    own, marks = equation.source_info.traceback, equation.source_info.name_stack.stack
    calls = [one.traceback for one in marks if isinstance(one, CalledFrom) and not isinstance(one, CalledByRule)]
    return [
        one for one in calls if one is not own
    ]  # In the backward pass, equations have the traceback of the call itself.


def traceback_of(source_info: Any) -> Any:
    """Return the traceback of an equation; None if it has none.

    If JAX has inlined the equation, the tracebacks of the calls around its program are added.
    """
    own = source_info.traceback
    marks: list[CalledFrom] = [one for one in source_info.name_stack.stack if isinstance(one, CalledFrom)]
    # In the backward pass, equations have the traceback of the call itself.
    callers = [one.traceback for one in reversed(marks) if one.traceback is not None and one.traceback is not own]
    if own is None or not callers:
        return own
    rules: list[Rule] = [one.rule for one in marks if isinstance(one, CalledByRule)]
    return JoinedTraceback((OfRule(own, rules[-1]) if rules else own, *callers))
