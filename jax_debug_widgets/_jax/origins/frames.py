"""Find the user's frames around an equation in the tracebacks that JAX keeps."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.caching import cached_by_identity
from jax_debug_widgets._jax.compat.hidden_frames import FOLDER
from jax_debug_widgets._jax.compat.private import source_info_util, xla_client
from jax_debug_widgets._jax.origins.dedented import dedent_of
from jax_debug_widgets._jax.origins.inlining import Rule, rule_run_by
from jax_debug_widgets._jax.origins.locations import location_of


@dataclass(frozen=True)
class Frame:
    """The user's frame that made the equation; columns count from 0, -1 if unknown."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str


def is_ours(file: str) -> bool:
    """Return whether a file belongs to this package: its frames are not the user's."""
    return file.startswith(FOLDER)


def calling_frame() -> FrameType:
    """Return the innermost frame that is not ours: one of JAX or the user."""
    frame = sys._getframe(1)
    while is_ours(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def is_inside_ours() -> bool:
    """Return whether our code has called the user's code that calls us, as when garbage collection ends a generator."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (is_ours(file := frame.f_code.co_filename) or file == contextlib.__file__):
        frame = frame.f_back
    while frame is not None and not is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None


def users_stack() -> tuple[tuple[CodeType, int], ...]:
    """Return code and instruction of each user frame on the Python stack, innermost first, for `frame_at`."""
    found: list[tuple[CodeType, int]] = []
    frame: FrameType | None = calling_frame()
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def is_users(file: str) -> bool:
    """Return whether a file belongs neither to this package nor to JAX."""
    return source_info_util.is_user_filename(file) and not is_ours(file)


UNKNOWN_FRAME = Frame("<unknown>", 0, -1, 0, -1, "<unknown>")
"""The frame of equations without a user frame."""


def frame_of(traceback: Any) -> Frame:
    """Return the innermost user frame in a JAX traceback."""
    return next(iter(frames_of(traceback)), UNKNOWN_FRAME)


@functools.lru_cache(maxsize=16)
def frames_of(traceback: Any) -> tuple[Frame, ...]:
    """Return the user frames in a JAX traceback, innermost first; cached, because several callers need the same."""
    codes, offsets = traceback.raw_frames() if traceback is not None else ((), ())
    return tuple(
        frame_at(code, offset) for code, offset in zip(codes, list(offsets), strict=True) if is_users(code.co_filename)
    )


@cached_by_identity
def frame_at(code: CodeType, offset: int) -> Frame:
    """Return the frame of an instruction: its range in the file, with the columns in the file."""
    line, column, end_line, end_column = location_of(code, offset)
    dedent = dedent_of(code) if column >= 0 else 0
    return Frame(code.co_filename, line, column + dedent, end_line, end_column + dedent, code.co_qualname)


@contextmanager
def called_from_here() -> Iterator[None]:
    """Give the equations made inside this context the traceback of the current Python stack.

    In a derivative rule, JAX's traceback is that of the function's call; the user's own call is on the stack.
    """
    context = source_info_util._source_info_context
    outer = context.context
    context.context = outer.replace(traceback=xla_client.Traceback.get_traceback())
    try:
        yield
    finally:
        context.context = outer


def frames_inside(traceback: Any) -> tuple[Frame, ...]:
    """Return the user frames inside the program being lowered, innermost first, without those that call the program."""
    frames = frames_of(traceback)
    if versions.TRACEBACKS_LEAVE_THEIR_PROGRAM:
        outside = {(one.file, one.function) for one in frames_of(xla_client.Traceback.get_traceback())}
        while frames and (frames[-1].file, frames[-1].function) in outside:
            frames = frames[:-1]
    return frames


def frames_in_body(traceback: Any, jaxpr: Any, around: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Return the user frames of an equation in a body, without the frames `around` of the equation that runs the body.

    Before JAX 0.9, equations of the body have these frames, too, or those of another call for which it was traced. Then
    the equations of a JAX function cannot be told from those of the functions that it calls, and count as JAX's.
    """
    frames = frames_of(traceback)
    if not versions.TRACEBACKS_LEAVE_THEIR_PROGRAM or not around:
        return frames
    if frames[-len(around) :] == around:
        return frames[: -len(around)]
    file = jaxpr.debug_info.func_filename
    return frames if file is None or source_info_util.is_user_filename(file) else ()


def callers_of(traceback: Any, around: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Return the user frames that called `frame_of(traceback)`, innermost first; `around` called the program."""
    return joined(frames_inside(traceback) or (UNKNOWN_FRAME,), around)[1:]


def callers_now(traceback: Any) -> tuple[Frame, ...]:
    """Return the user frames that called an un-jitted equation's frame, innermost first, up to the module or cell."""
    callers = frames_of(traceback)[1:]
    modules = [number for number, frame in enumerate(callers) if frame.function == "<module>"]
    return callers[: modules[0] + 1] if modules else callers


def joined(inner: tuple[Frame, ...], outer: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Return the frames of an equation and those around it; in older JAX versions `inner` ends with `outer` already."""
    return inner if inner[len(inner) - len(outer) :] == outer else (*inner, *outer)


INLINED = ".<locals>.<comprehension>"
"""The end of the function name of a comprehension without a frame of its own."""


@dataclass(frozen=True)
class Level:
    """One user frame around an equation.

    Attributes:
      code_line: the line at which the code object of its function begins.
      differentiates: the name of JAX's function, called from here, that differentiates the next frame's function; else
        empty.
      derivatives: how many derivatives are taken there: two in `jax.grad(jax.grad(f))(x)`.
      pushes: how many of these functions of JAX push tangents forward, beside the values.
      maps: whether it is called for each leaf of a tree.
      runs_rule: which pass runs the next frame, if that is a rule for derivatives or `vmap`; else None.
      through: a hash of JAX's frames between this one and the next: `lax.associative_scan` calls a function from
        several lines.
    """

    file: str
    span: tuple[int, int, int, int]
    function: str
    code_line: int
    differentiates: str = ""
    maps: bool = False
    through: int = 0
    derivatives: int = 0
    pushes: int = 0
    runs_rule: Rule | None = None

    @property
    def is_inlined(self) -> bool:
        """Whether this is the frame of a comprehension that Python has inlined, as it does since 3.12."""
        return self.function.endswith(INLINED)


def levels_around_program() -> tuple[Level, ...]:
    """Return the user frames around a program being lowered; none if JAX cuts them off."""
    return levels_of(xla_client.Traceback.get_traceback()) if versions.TRACEBACKS_LEAVE_THEIR_PROGRAM else ()


VALUE_AND_GRADIENT = "value_and_grad_f"
"""The function of `jax.value_and_grad(f)`: the second of its two results is the gradient."""

GRADIENT = "grad_f"
"""The function of `jax.grad(f)`: all its results are gradients."""

GRADIENT_AND_AUX = "grad_f_aux"
"""The function of `jax.grad(f, has_aux=True)`: the first of its two results is the gradient."""

PUSHING = "_jvp"
"""The function of `jax.jvp`: the first of its two results is the value; the tangent is computed beside it."""

_DIFFERENTIATING = (
    VALUE_AND_GRADIENT,
    GRADIENT,
    GRADIENT_AND_AUX,
    "vjp",
    "linearize",
    "jacfun",
    "_vjp",
    "hessian",
    PUSHING,
)


GIVING_BACK = "give_back"
"""Our function that copies the results of a derivative: the copies are not part of the derivative."""


def levels_of(traceback: Any) -> tuple[Level, ...]:
    """Return the user frames in a JAX traceback, outermost first."""
    if traceback is None:
        return ()
    codes, offsets = traceback.raw_frames()
    levels: list[Level] = []
    differentiates, maps, comes_out = "", False, False
    asked: list[str] = []
    through: list[tuple[int, int]] = []
    rule: Rule | None = None
    for code, offset in zip(codes, offsets, strict=True):
        file = code.co_filename
        if runs := rule_run_by(code):
            rule = runs
        if is_ours(file):
            comes_out = comes_out or code.co_name == GIVING_BACK
            continue
        if not source_info_util.is_user_filename(file):
            if code.co_name in _DIFFERENTIATING and file.endswith(("api.py", "custom_derivatives.py")):
                differentiates = code.co_name
                asked.append(differentiates)
            maps = maps or file.endswith("tree_util.py")
            through.append((id(code), offset))
            continue
        if comes_out:
            differentiates, comes_out = "", False
            asked.clear()
        frame = frame_at(code, offset)
        span = (frame.line, frame.column, frame.end_line, frame.end_column)
        way = hash(tuple(through)) if levels else 0
        line, count, pushes = code.co_firstlineno, _derivatives(asked), sum(name in PUSHES for name in asked)
        levels.append(Level(file, span, frame.function, line, differentiates, maps, way, count, pushes, rule))
        rule = None
        differentiates, maps = "", False
        asked.clear()
        through.clear()
    if rule and levels:  # No user frame is around the rule: the function with the rule is itself differentiated.
        levels.append(Level("", (0, 0, 0, 0), "", 0, runs_rule=rule))
    return tuple(reversed(levels))


def frames_from(traceback: Any, users: int) -> list[tuple[CodeType, int, bool]]:
    """Return code, instruction and whether it is a user's, for each frame from the `users`-th user frame inward."""
    found: list[tuple[CodeType, int, bool]] = []
    codes, offsets = traceback.raw_frames()
    for code, offset in zip(codes, list(offsets), strict=True):
        is_of_user = is_users(code.co_filename)
        found.append((code, offset, is_of_user))
        users -= is_of_user
        if not users:
            break
    return found[::-1]


def users_lines(traceback: Any) -> tuple[tuple[CodeType, int], ...]:
    """Return code and line of the user frames in a JAX traceback, innermost first."""
    codes, offsets = traceback.raw_frames() if traceback is not None else ((), ())
    return tuple(
        (code, xla_client.Traceback.code_addr2line(code, offset))
        for code, offset in zip(codes, list(offsets), strict=True)
        if is_users(code.co_filename)
    )


def _derivatives(asked: Sequence[str]) -> int:
    """Return how many derivatives these functions take; a reverse one has several functions, not all on each stack."""
    reverse = max(asked.count(name) for name in (VALUE_AND_GRADIENT, "_vjp", "vjp", "linearize"))
    return max(reverse + asked.count(PUSHING), int(bool(asked)))


PUSHES = (PUSHING, "linearize")
"""The functions of JAX that compute tangents, beside the values or in a linear function that they return."""
