"""Find what a line reads besides the arguments of its function: globals, variables of enclosing functions, attributes, items.

The names come from the bytecode. Their values are looked up without running the user's code.
"""

from __future__ import annotations

import dis
import gc
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from jax_debug_widgets._jax.passes.program_difference import UNKNOWN


@dataclass(frozen=True)
class Read:
    """An expression that a line reads, and its value now; UNKNOWN if it cannot be looked up."""

    expression: str
    value: Any

    @property
    def is_data(self) -> bool:
        """Whether the value is data that a program may contain: not a function, class or module."""
        return not isinstance(self.value, ModuleType | type) and not callable(self.value)


def reads_at(code: CodeType, line: int | None, function: Any) -> list[Read]:
    """Return the expressions that a code object reads, each once, and only the longest of a chain: `cfg.lr`, not `cfg`.

    Args:
      line: the only line that counts; None for all lines of the code.
      function: the function that JAX traces. It may be another function that calls this code.
    """
    scopes = list(_scopes(code, function))
    found: dict[str, Read] = {}
    for names, _ in chains(code, line):
        for scope in scopes:
            value = scope.get(names[0], UNKNOWN)
            for step in names[1:]:
                value = inside(value, step)
            one = Read(written(names), value)
            if value is not UNKNOWN or names[0] in scope:
                found[one.expression] = one
                break
        else:
            if len(names) > 1 and names[0] in code.co_varnames:
                found[written(names)] = Read(written(names), UNKNOWN)
    return [one for one in found.values() if one.is_data or one.value is UNKNOWN]


def _scopes(code: CodeType, function: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the variables that each function with this code sees: its globals, its closure and its `self`.

    If no function with this code exists any more, yield the globals of the traced function.
    """
    traced, own = _plain(function)
    functions = [one for one in gc.get_referrers(code) if isinstance(one, FunctionType)]
    for one in functions:
        cells = {name: _content(cell) for name, cell in zip(code.co_freevars, one.__closure__ or (), strict=False)}
        mine = {code.co_varnames[0]: own} if one is traced and own is not None and code.co_argcount else {}
        yield {**_seen(one.__globals__, code), **cells, **mine}
    if not functions and traced is not None:
        yield _seen(traced.__globals__, code)


def _seen(names: Mapping[str, Any], code: CodeType) -> Mapping[str, Any]:
    """Return the globals that no local variable of the code hides."""
    return {name: value for name, value in names.items() if name not in code.co_varnames}


def _plain(function: Any) -> tuple[FunctionType | None, Any]:
    """Unwrap a callable: return its Python function, and the object that the function is a method of; None for either."""
    while isinstance(function, partial) or hasattr(function, "__wrapped__"):
        function = function.func if isinstance(function, partial) else function.__wrapped__
    if isinstance(function, MethodType):
        return _plain(function.__func__)[0], function.__self__
    if isinstance(function, FunctionType):
        return function, None
    call: Any = type(function).__call__ if callable(function) else None
    return (call, function) if isinstance(call, FunctionType) else (None, None)


def chains(code: CodeType, line: int | None = None, *, stores: bool = False) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Yield each chain of names that a code object reads, with its line: `("cfg", ".lr")` for `cfg.lr`.

    An item has no dot: `("cfg", "lr")` stands for `cfg["lr"]`.

    Args:
      line: the only line that counts; None for all.
      stores: whether assignments to globals, closures and attributes count as well.
    """
    loads = (*_LOADS, *_STORES) if stores else _LOADS
    attributes = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR") if stores else ("LOAD_ATTR", "LOAD_METHOD")
    names: list[Any] = []
    constant: Any = UNKNOWN
    begun = 0
    for one in dis.get_instructions(code):
        if one.opname in _NOTHING:
            continue
        here = (one.positions.lineno if one.positions is not None else None) or 0
        if names and one.opname in attributes:
            names.append(f".{one.argval}")
        elif names and constant is UNKNOWN and one.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
            constant = one.argval
            continue
        elif names and constant is not UNKNOWN and (one.opname == "BINARY_SUBSCR" or one.argrepr == "[]"):
            names.append(constant)
        else:
            if names:
                yield tuple(names), begun
            is_here = line is None or here == line
            is_read = is_here and one.opname.startswith(loads) and not _is_of_closure(code, one)
            names, begun = ([_last(one.argval)] if is_read else []), here
        constant = UNKNOWN
    if names:
        yield tuple(names), begun


_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR", "LOAD_FAST")
_STORES = ("STORE_GLOBAL", "STORE_DEREF")
_NOTHING = ("PUSH_NULL", "PRECALL", "CACHE", "RESUME", "EXTENDED_ARG", "COPY_FREE_VARS", "NOT_TAKEN", "NOP", "COPY")


def _is_of_closure(code: CodeType, one: dis.Instruction) -> bool:
    """Return whether an instruction only passes a variable on to an inner function: it reads the cell, not the value."""
    return one.opname.startswith("LOAD_FAST") and _last(one.argval) in (*code.co_cellvars, *code.co_freevars)


def _last(loaded: Any) -> Any:
    """Return the name that an instruction leaves on top of the stack: the last one where it loads two variables."""
    return loaded[-1] if isinstance(loaded, tuple) else loaded


def written(names: tuple[Any, ...]) -> str:
    """Write a chain as Python does: `cfg.lr`."""
    steps = [one if isinstance(one, str) and one.startswith(".") else f"[{one!r}]" for one in names[1:]]
    return "".join([str(names[0]), *steps])


def inside(value: Any, step: Any) -> Any:
    """Look up the value at a step of a chain without running the user's code; UNKNOWN if that is not possible."""
    if value is UNKNOWN:
        return UNKNOWN
    if not (isinstance(step, str) and step.startswith(".")):
        try:
            return value[step] if type(value) in (dict, list, tuple) else UNKNOWN
        except LookupError:
            return UNKNOWN
    name = step[1:]
    own = inspect.getattr_static(value, "__dict__", None)
    kept = vars(value) if own is not None else {}
    if isinstance(kept, Mapping) and name in kept:
        return kept[name]
    found = inspect.getattr_static(value, name, UNKNOWN)
    if isinstance(found, MemberDescriptorType):
        return getattr(value, name, UNKNOWN)
    return UNKNOWN if hasattr(type(found), "__get__") and not isinstance(found, FunctionType) else found


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNKNOWN
