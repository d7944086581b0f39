"""Send a function and its arguments to another process without pickle: as sources, plain values and types of arrays."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import symtable
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

Word = list[Any]
"""A value as JSON: its kind, and the parts from which `received.py` makes it."""

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_CONTAINERS = (list, tuple, set, frozenset, dict)


LAMBDA = "<lambda>"
"""The name of every lambda."""


class CannotBeSentError(ValueError):
    """Raised for a value that cannot be sent to another process."""


class HitsAndFinding:
    """Collects the words from which another process makes a function and its arguments.

    Attributes:
      words: the words; a word refers to others by their numbers.
      files: the lines of the files that sources come from.
    """

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.files: dict[str, list[str]] = {}
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []
        """The values that must stay alive, because `_numbers` has their `id`."""

    def add(self, value: Any, name: str) -> int:
        """Add a value to the words. Return its number.

        Args:
          name: the name of the value in error messages.

        Raises:
          CannotBeSentError: the value has no source, and cannot be imported.
        """
        if id(value) in self._numbers:
            return self._numbers[id(value)]
        self._alive.append(value)
        number = self._numbers[id(value)] = len(self.words)
        self.words.append([])
        self.words[number] = self._word(value, name)
        return number

    def _word(self, value: Any, name: str) -> Word:
        if isinstance(value, _PLAIN):
            return ["plain", "..." if value is Ellipsis else repr(value)]
        if isinstance(value, types.ModuleType):
            return ["module", value.__name__]
        if isinstance(value, jax.Array | np.ndarray | np.generic | jax.ShapeDtypeStruct):
            return _array(value)
        return _imported(value) or self._of_callable(value, name) or self._container(value, name)

    def _of_callable(self, value: Any, name: str) -> Word | None:
        """Return the word of a function or class that cannot be imported, or of a callable around one; None otherwise."""
        match value:
            case functools.partial():
                return ["partial", self.add((value.func, value.args, value.keywords), name)]
            case types.MethodType():
                return ["method", self.add(value.__self__, name), value.__func__.__name__]
            case types.FunctionType():
                return self._source(value, {**value.__globals__, **inspect.getclosurevars(value).nonlocals}, name)
            case type():
                return self._source(value, vars(sys.modules[value.__module__]), name)
        is_jitted = callable(value) and inspect.unwrap(value) is not value
        return ["same", self.add(inspect.unwrap(value), name)] if is_jitted else None

    def _container(self, value: Any, name: str) -> Word:
        if type(value) not in _CONTAINERS:
            return self._object(value, name)
        if isinstance(value, dict):
            pairs = [(self.add(key, name), self.add(one, f"{name}[{key!r}]")) for key, one in value.items()]
            return ["dict", pairs]
        return [type(value).__name__, [self.add(one, f"{name}[{at}]") for at, one in enumerate(value)]]

    def _object(self, value: Any, name: str) -> Word:
        kind = type(value)
        if isinstance(value, tuple):
            return ["named", self.add(kind, name), [self.add(one, f"{name}[{at}]") for at, one in enumerate(value)]]
        state = getattr(value, "__dict__", None)
        if state is None or isinstance(value, types.BuiltinFunctionType | types.GeneratorType):
            raise CannotBeSentError(f"`{name}`, a {kind.__name__}, cannot be sent to another process")
        own = {key: self.add(one, f"{name}.{key}") for key, one in state.items()}
        return ["object", self.add(kind, f"the class of {name}"), own]

    def _source(self, value: Any, namespace: Mapping[str, Any], name: str) -> Word:
        """Return the word of a function or class: its source, and the values of the names in it."""
        try:
            lines, first = inspect.getsourcelines(value)
            file = inspect.getsourcefile(value) or inspect.getfile(value)
        except (OSError, TypeError):
            raise CannotBeSentError(f"the source of {name} was not found; define it in a file") from None
        text = textwrap.dedent("".join(lines))
        own = _own_source(text, value.__name__, name)
        self.files[file] = linecache.getlines(file)
        outer = dict(_outer_values(own, namespace))
        names = {key: self.add(one, key) for key, one in outer.items() if one is not value}
        source = {
            "text": text,
            "file": file,
            "line": first,
            "column": len(lines[0]) - len(lines[0].lstrip()),
            "name": value.__name__,
            "names": names,
        }
        return ["source", source]


def _own_source(text: str, called: str, name: str) -> str:
    """Return the source of a function: of a lambda only the lambda, which must be the only one in its statement."""
    refused = CannotBeSentError(f"`{name}` is written inside another statement; give it a `def` of its own")
    try:
        tree = ast.parse(text)
    except SyntaxError:  # A part of a statement of several lines.
        raise refused from None
    if called != LAMBDA:
        return text
    lambdas = [one for one in ast.walk(tree) if isinstance(one, ast.Lambda)]
    if len(lambdas) != 1:
        raise refused
    return ast.unparse(lambdas[0])


def _outer_values(text: str, namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return the names in a source that are defined outside of it, with their values."""
    names = dict.fromkeys(_outer_names(symtable.symtable(text, "source", "exec")))
    return ((name, namespace[name]) for name in names if name in namespace)


def _outer_names(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names that a scope and those inside it read, and that none of them defines."""
    yield from (one.get_name() for one in table.get_symbols() if one.is_global() and one.is_referenced())
    for inner in table.get_children():
        yield from _outer_names(inner)


def _imported(value: Any) -> Word | None:
    """Return the word that imports a class or function; None if that is impossible: in the main program or in a function."""
    module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if module in (None, "__main__") or path is None or not isinstance(path, str) or module not in sys.modules:
        return None
    found: Any = sys.modules[module]
    if getattr(found, "__spec__", None) is None:
        return None
    for part in path.split("."):
        found = getattr(found, part, None)
    return ["import", module, path] if found is value else None


def _array(value: Any) -> Word:
    """Return the word of an array's type. A trace does not need the numbers."""
    dtype = value.dtype
    if dtype.kind == "O":
        raise CannotBeSentError("an array of Python objects cannot be sent to another process")
    if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return ["key", str(jax.random.key_impl(value)), list(value.shape)]
    return ["array" if isinstance(value, jax.Array | jax.ShapeDtypeStruct) else "numpy", str(dtype), list(value.shape)]


def as_words(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what another process needs to trace `function(*args, **kwargs)`, as JSON.

    Raises:
      CannotBeSentError: a value cannot be sent; the message says which.
    """
    found = HitsAndFinding()
    name = getattr(function, "__name__", type(function).__name__)
    first = found.add(function, name)
    given = found.add(tuple(args), "argument")
    named = found.add(dict(kwargs), "argument")
    return {
        "words": found.words, "files": found.files, "call": [first, given, named], "path": sys.path,
        "x64": jax.config.jax_enable_x64,  # pyright: ignore[reportAttributeAccessIssue]
    }  # fmt: skip
