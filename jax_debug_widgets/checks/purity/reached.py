"""Find the user's functions that a call may run, and the values that they name besides their arguments.

The names come from the bytecode. They are looked up without running any of the user's code.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from jax_debug_widgets._jax.compat.caching import cached_by_identity
from jax_debug_widgets._jax.passes.program_difference import UNKNOWN
from jax_debug_widgets.checks.purity.classes import brought_by, classes_of, methods_of, parts_of
from jax_debug_widgets.taps.reads import chains, inside, written
from jax_debug_widgets.watch import is_library

_DEEPEST = 4
"""How many nested wrappers of libraries are searched for a function of the user."""

_MOST_FUNCTIONS = 500

Given = Mapping[str, Any]
"""Name -> value of the arguments that are known while a function is traced: the object of a method, static objects."""

Reached = dict[FunctionType, Given]
"""A function -> its known arguments."""


def reached_by_call(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], jit: Any) -> Reached:
    """Find the user's functions that a call may run: also functions and methods that its arguments bring along.

    A method is found if a function names it. `jit` are the options of `jax.jit`; None without it.
    """
    classes, leaves = brought_by((args, kwargs))
    static = static_objects(function, args, kwargs, jit)
    found: Reached = {}
    todo: list[tuple[Any, int]] = [*((one, 0) for one in leaves if _is_code(one)), (function, 0)]
    while todo and len(found) < _MOST_FUNCTIONS:
        _reach(found, todo, static, classes)
        todo = [(one, 0) for one in _methods(classes, found) if one not in found]
    return found


def _methods(classes: Collection[type], found: Reached) -> Iterator[FunctionType]:
    """Yield the user's methods of classes that the functions name, and those of objects that can be called."""
    named = {"__call__"}.union(*(body.co_names for one in found for body in _bodies(one.__code__)))
    for one in classes:
        yield from (method for name, method in methods_of(one) if name in named)


def _reach(found: Reached, todo: list[tuple[Any, int]], static: Given, classes: set[type]) -> None:
    while todo and len(found) < _MOST_FUNCTIONS:
        one, depth = todo.pop()
        plain, owner = _plain(one)
        if plain is None or plain in found or depth > _DEEPEST:
            continue
        if is_library(plain.__code__.co_filename):
            todo += [(held, depth + 1) for held in _held(plain, one)]
            todo += [(MethodType(method, owner), 0) for _, method in methods_of(type(owner))]
            continue
        own = _bound(one, plain, owner)
        found[plain] = given = own if found else {**static, **own}
        values = [value for _, value, _ in named(plain, given)]
        values += [part for value in values if isinstance(value, list | tuple | dict) for part in parts_of(value)]
        classes.update(*(classes_of(value) for value in values))
        todo += [(value, 0) for value in values if _is_code(value)]
        todo += [(value, 0) for value in (plain.__defaults__ or ()) if _is_code(value)]


def named(function: FunctionType, given: Given) -> Iterator[tuple[str, Any, int]]:
    """Yield each expression that a function reads or assigns, except its traced arguments, with value and line."""
    code = function.__code__
    cells = {name: _content(cell) for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False)}
    for body in _bodies(code):
        local = {
            *body.co_varnames,
            *body.co_cellvars,
            *(set(body.co_freevars) - set(cells) if body is not code else ()),
        }
        for names, text, line in _chains(body):
            root, *steps = names
            if root in cells and root not in body.co_varnames:
                value = cells[root]
            elif root in given and (body is code or root not in body.co_varnames):
                value = given[root]
            elif root in local:
                continue
            else:
                value = function.__globals__.get(root, UNKNOWN)
            for number, step in enumerate(steps, 1):
                if _is_cached(value, step):
                    break
                part = _step(value, step)
                if part is UNKNOWN and value is not UNKNOWN:  # Such as a method of a list, or a computed index.
                    yield written(names[:number]), value, line
                value = part
            else:
                yield text, value, line


@cached_by_identity
def _chains(code: CodeType) -> tuple[tuple[tuple[Any, ...], str, int], ...]:
    """Return the chains of names that a function reads or assigns, each with its text and its line."""
    return tuple((names, written(names), line) for names, line in dict.fromkeys(chains(code, stores=True)))


def is_state(value: Any) -> bool:
    """Return whether a value may change: it is no function, class or module."""
    return not (isinstance(value, ModuleType | type | BuiltinFunctionType) or _is_code(value))


def code_of(value: Any) -> CodeType | None:
    """Return the code of a function of the user, also of a wrapped one; None for other values."""
    plain, owner = _plain(value) if _is_code(value) else (None, None)
    is_own = plain is not None and owner is None and not is_library(plain.__code__.co_filename)
    return plain.__code__ if plain is not None and is_own else None


def own_code(function: Any) -> CodeType | None:
    """Return the code that a call of a function, a method, a partial or an object runs; None if it is not Python code."""
    plain, _ = _plain(function) if callable(function) else (None, None)
    return None if plain is None else plain.__code__


def static_objects(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], jit: Any) -> Given:
    """Return the static arguments of a call that may change but stay equal, such as `self` of a jitted method."""
    plain, owner = _plain(function)
    if jit is None or plain is None:
        return {}
    names, known = plain.__code__.co_varnames[: plain.__code__.co_argcount], set(_bound(function, plain, owner))
    numbers, static_names = set(jit.static_argnums or ()), set(jit.static_argnames or ())
    called = zip([name for name in names if name not in known], args, strict=False)
    static = {
        name: value
        for number, (name, value) in enumerate(called)
        if number in numbers or number - len(args) in numbers or name in static_names
    }
    static |= {name: value for name, value in kwargs.items() if name in static_names}
    return {name: value for name, value in static.items() if is_state(value) and hasattr(value, "__dict__")}


def _is_cached(value: Any, step: Any) -> bool:
    """Return whether a step leads to a `functools.cached_property`, which is meant to be computed once."""
    if isinstance(value, ModuleType):
        return False
    name = step[1:] if isinstance(step, str) and step.startswith(".") else ""
    return bool(name) and isinstance(inspect.getattr_static(type(value), name, None), cached_property)


def _step(value: Any, step: Any) -> Any:
    if isinstance(value, ModuleType) and is_library(getattr(value, "__file__", None) or "<frozen "):
        return UNKNOWN
    if (computing := _property(value, step)) is not None:
        return MethodType(computing, value)
    found = inside(value, step)
    is_method = isinstance(found, FunctionType) and isinstance(step, str) and found is not _own(value, step[1:])
    return MethodType(found, value) if is_method and not isinstance(value, ModuleType) else found


def _own(value: Any, name: str) -> Any:
    """Return an attribute in the dictionary of an object itself. A function there is not a method, and gets no `self`."""
    return vars(value).get(name) if inspect.getattr_static(value, "__dict__", None) is not None else None


def _property(value: Any, step: Any) -> FunctionType | None:
    """Return the user's function that computes an attribute; None if the attribute is no property of a class of the user."""
    if isinstance(value, ModuleType) or not (isinstance(step, str) and step.startswith(".")):
        return None
    computing = getattr(inspect.getattr_static(type(value), step[1:], None), "fget", None)
    return computing if isinstance(computing, FunctionType) and not is_library(computing.__code__.co_filename) else None


def _is_code(value: Any) -> bool:
    """Return whether a value is a Python function, wrapped or not, or an object of the user that can be called."""
    if isinstance(value, FunctionType | MethodType | partial):
        return True
    if isinstance(value, type) or value is UNKNOWN:
        return False
    if isinstance(inspect.getattr_static(value, "__wrapped__", None), FunctionType | MethodType | partial):
        return True
    called = inspect.getattr_static(type(value), "__call__", None)
    return isinstance(called, FunctionType) and not is_library(called.__code__.co_filename)


def _plain(function: Any) -> tuple[FunctionType | None, Any]:
    """Return the function of the user inside wrappers of libraries, and the object to which it is bound."""
    owner = None
    for _ in range(_DEEPEST):
        if isinstance(function, MethodType):
            function, owner = function.__func__, function.__self__
        elif isinstance(function, FunctionType) and not is_library(function.__code__.co_filename):
            break
        elif isinstance(function, partial):
            function = function.func
        elif (wrapped := inspect.getattr_static(function, "__wrapped__", None)) is not None:
            function = wrapped
        else:
            break
    if isinstance(function, FunctionType):
        return function, owner
    called = inspect.getattr_static(type(function), "__call__", None)
    return (called, function) if isinstance(called, FunctionType) else (None, None)


def _bound(function: Any, plain: FunctionType, owner: Any) -> Given:
    """Return the arguments that a method or a `functools.partial` has bound: the method's object, the partial's arguments."""
    given: list[Any] = []
    by_name: dict[str, Any] = {}
    for _ in range(_DEEPEST):
        if isinstance(function, partial):
            given[:0] = function.args
            by_name = {**function.keywords, **by_name}
            function = function.func
        elif (wrapped := inspect.getattr_static(function, "__wrapped__", None)) is not None:
            function = wrapped
    bound = given if owner is None else [owner, *given]
    return {**dict(zip(plain.__code__.co_varnames, bound, strict=False)), **by_name}


def _held(function: FunctionType, given: Any) -> Iterator[Any]:
    """Yield the functions that a function of a library wraps: in its closure, or as an argument of a partial."""
    values = [_content(cell) for cell in function.__closure__ or ()]
    if isinstance(given, partial):
        values += [*given.args, *given.keywords.values()]
    for value in values:
        one = value() if isinstance(value, weakref.ref) else value
        if _is_code(one):
            yield one


def _bodies(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function, and that of the functions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _bodies(constant)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNKNOWN
