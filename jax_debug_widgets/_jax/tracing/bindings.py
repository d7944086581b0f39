"""Note what Python's variables are bound to while JAX traces a function, so that a program's variables get the source's names.

A program does not contain the source's names of its values. The frames of the traced function do: after each line that
assigns something, this module notes which tracers the assigned tree holds, and where in the tree.
"""

from __future__ import annotations

import inspect
import itertools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.guard import ReportFailure, quiet
from jax_debug_widgets._jax.compat.private import pe, source_info_util
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.compat.trees import leaves_with_paths
from jax_debug_widgets._jax.origins.context import captured_settings
from jax_debug_widgets._jax.origins.frames import calling_frame, is_users
from jax_debug_widgets._jax.origins.libraries import is_installed
from jax_debug_widgets._jax.origins.name_places import CallPlace, NamePlace, Span, place_of_arguments
from jax_debug_widgets._jax.origins.name_registry import book
from jax_debug_widgets._jax.tracing import by_monitoring, by_settrace, cotangents, rule_equations
from jax_debug_widgets._jax.tracing.copies import is_marking
from jax_debug_widgets._jax.tracing.cotangents import staged, tangent_of
from jax_debug_widgets._jax.tracing.expressions import Expression, Lines, LinesOf
from jax_debug_widgets._jax.tracing.followed import CallFollower
from jax_debug_widgets._jax.tracing.frame_values import fields_of, value_of
from jax_debug_widgets._jax.tracing.marked_tangents import with_marks
from jax_debug_widgets._jax.tracing.path_texts import text_in_flax, text_of


class BindingHooks(Replacing):
    """Installs the hooks, counted, so that captures may nest and overlap."""

    def __init__(self, lines_of: LinesOf) -> None:
        super().__init__()
        self._lines_of = lines_of

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.BINDINGS):
            replace.attribute(pe.DynamicJaxprTrace, "__init__", self._begin)
            replace.attribute(pe.JaxprStackFrame, "add_eqn", _add)
            replace.attribute(pe.JaxprStackFrame, "to_jaxpr", _end)
            cotangents.put_in(replace)

    def _begin(self, theirs: Callable[..., Any], trace: Any, *args: Any, **options: Any) -> None:
        """Follow the calls that JAX makes from the beginning of a trace until its tracing function returns.

        No frame of this package is around the user's function, so tracebacks of its exceptions do not show one.
        """
        theirs(trace, *args, **options)
        frame = calling_frame()
        if frame.f_code.co_name in _TRACING and _is_wanted() and not _is_on():
            follower = _follower(self._lines_of, _watched(), self._report_failure)
            if not by_monitoring.begin(frame, follower):
                by_settrace.begin(frame, follower)


_TRACING = ("trace_to_jaxpr", "trace_to_jaxpr_nocache", "trace_to_jaxpr_dynamic")
"""JAX's functions that trace a function."""

_here = threading.local()


@contextmanager
def noting(lines_of: LinesOf) -> Iterator[None]:
    """Note the names of all that the current thread traces, whether or not a capture is on."""
    with BindingHooks(lines_of).in_place():
        _here.is_noting = True
        try:
            yield
        finally:
            _here.is_noting = False


def _is_wanted() -> bool:
    return _is_noting() or _watched() is not None


def _is_noting() -> bool:
    return getattr(_here, "is_noting", False)


def _watched() -> Any:
    settings = captured_settings()
    return None if settings is None or _is_noting() else settings.watch


def _follower(lines_of: LinesOf, watched: Any, report: ReportFailure) -> CallFollower:
    def lines(code: CodeType) -> Lines | None:
        return lines_of(code, watched)

    return CallFollower(quiet(lines, report), quiet(_note, report), quiet(_note_arguments, report))


def _note(frame: FrameType, expressions: Sequence[Expression], line: int, returned: Any) -> None:
    for one in expressions:
        if one.before and not one.before[0] <= line <= one.before[1]:
            continue
        # The value may be missing, or of a user's class that cannot be flattened.
        with suppress(Exception):
            if one.node is not None:
                _note_tree(one.place, one.name, value_of(one.node, frame), is_last=one.is_last)
            elif returned is not None:
                _note_leaf(one, returned)


def _note_arguments(frame: FrameType) -> None:
    """Note the arguments of a function that JAX or a library calls; inside `noting`, those of any function."""
    code, caller = frame.f_code, frame.f_back
    by = caller.f_code.co_filename if caller else ""
    places: list[NamePlace] = []
    if not is_users(by) or is_installed(by):
        places.append(place_of_arguments(code.co_filename, code.co_firstlineno))
    if _is_noting():  # The debugger steps through the program, and shows each function that is called.
        places.append((code.co_filename, CallPlace(code.co_firstlineno, tuple(_callers(caller)))))
    if places:
        names, extra, keywords, values = inspect.getargvalues(frame)
        for name in (*names, *filter(None, (extra, keywords))):
            for place in places:
                with suppress(Exception):
                    _note_tree(place, name, values[name])


def _callers(frame: FrameType | None) -> Iterator[tuple[str, Span]]:
    """Yield file and source range of the current call in each user frame from `frame` outwards, innermost first."""
    while frame is not None:
        code = frame.f_code
        if is_users(code.co_filename):
            line, last, column, end = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None))
            yield code.co_filename, (line or 0, column or 0, last or 0, end or 0)
        frame = frame.f_back


def _note_leaf(one: Expression, tree: Any) -> None:
    book.places.add(one.place)
    for path, leaf in leaves_with_paths(tree):
        if "".join(map(text_of, path)) == one.path and (tracer := staged(leaf)) is not None:
            book.add(tracer, tangent_of(leaf), one.place, one.name, is_last=one.is_last)


def _note_tree(place: NamePlace, name: str, tree: Any, *, is_last: bool = True, is_outermost: bool = True) -> None:
    """Note the tracers among the leaves of `tree`, and among the fields of leaves that are other objects."""
    book.places.add(place)
    if isinstance(tree, list | tuple | dict) and len(tree) > _LARGEST:
        return
    is_of_flax = any(one.__module__.startswith("flax.nnx") for one in type(tree).__mro__)
    key_text = text_in_flax if is_of_flax else text_of
    for path, leaf in leaves_with_paths(tree, _is_function):
        text, tracer = name + "".join(map(key_text, path)), staged(leaf)
        if tracer is not None:
            book.add(tracer, tangent_of(leaf), place, text, is_last=is_last)
        elif is_outermost and not (isinstance(leaf, _WITHOUT_FIELDS) or _is_function(leaf)):
            for field, value in fields_of(leaf):
                _note_tree(place, f"{text}.{field}", value, is_last=is_last, is_outermost=False)


_LARGEST = 10_000
"""A list, tuple or dict with more items counts as data, and is not searched for tracers."""

_WITHOUT_FIELDS = (jax.Array, np.ndarray, type, ModuleType, FunctionType, MethodType)


def _is_function(node: Any) -> bool:
    """Whether a tree node is a function, such as the one that `jax.vjp` returns: the residuals in it have no names.

    Named tuples of JAX are not functions but results, such as that of `jnp.linalg.qr`.
    """
    is_of_jax = type(node).__module__.startswith("jax.") and not isinstance(node, tuple)
    return is_of_jax or isinstance(node, jax.tree_util.Partial)


def _add(theirs: Callable[..., Any], frame: Any, equation: Any) -> None:
    theirs(frame, equation)
    # A transformation sets the traceback of the equation that it transforms; tracing sets none.
    is_traced = source_info_util._source_info_context.context.traceback is None
    rule_equations.add(frame, equation)
    if is_traced:
        cotangents.add(equation)
    if _is_on():
        book.add_equation(equation, is_traced=is_traced)


def _end(theirs: Callable[..., Any], frame: Any, *args: Any, **options: Any) -> Any:
    jaxpr, constants = theirs(frame, *args, **options)
    rule_equations.forget(frame)
    if _is_on():
        book.add_program(jaxpr)
    return (with_marks(jaxpr) if is_marking() else jaxpr), constants


def is_hindered() -> bool:
    """Whether nothing is noted in this thread, because another trace function is installed."""
    return not (_is_on() or by_monitoring.can_be()) and sys.gettrace() is not None


def _is_on() -> bool:
    return by_monitoring.is_on() or by_settrace.is_on()
