"""Make a function and its arguments from the words of `sending.py`, and trace it. It runs in a fresh interpreter."""

from __future__ import annotations

import ast
import functools
import importlib
import json
import linecache
import operator
import sys
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


class _Made:
    """Makes the values of words, each once."""

    def __init__(self, words: list[Any], files: dict[str, list[str]]) -> None:
        self._words, self._values, self._making = words, dict[int, Any](), set[int]()
        self._later: list[tuple[dict[str, Any], str, int]] = []
        """The names in sources with values that are not made yet: namespace, name, number of the word."""
        for file, lines in files.items():
            linecache.cache[file] = (sum(map(len, lines)), None, lines, file)

    def all(self, numbers: Sequence[int]) -> list[Any]:
        """Return the values of these words, after making all values that they use."""
        found = [self.of(number) for number in numbers]
        for namespace, name, number in self._later:
            namespace[name] = self.of(number)
        return found

    def of(self, number: int) -> Any:
        """Return the value of a word."""
        if number not in self._values:
            if number in self._making:
                raise _InTheMakingError
            self._making.add(number)
            kind, *rest = self._words[number]
            self._values[number] = getattr(self, f"_{kind}")(number, *rest)
            self._making.remove(number)
        return self._values[number]

    def _plain(self, _number: int, text: str) -> Any:
        known = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
        return known[text] if text in known else ast.literal_eval(text)

    def _module(self, _number: int, name: str) -> Any:
        return importlib.import_module(name)

    def _import(self, _number: int, module: str, path: str) -> Any:
        return operator.attrgetter(path)(importlib.import_module(module))

    def _array(self, _number: int, dtype: str, shape: list[int]) -> Any:
        return jnp.zeros(shape, dtype)

    def _numpy(self, _number: int, dtype: str, shape: list[int]) -> Any:
        return np.zeros(shape, np.dtype(dtype))

    def _key(self, _number: int, impl: str, shape: list[int]) -> Any:
        one = jax.random.key(0, impl=impl)
        return jnp.broadcast_to(one, shape) if shape else one

    def _same(self, _number: int, other: int) -> Any:
        return self.of(other)

    def _partial(self, _number: int, parts: int) -> Any:
        function, args, kwargs = self.of(parts)
        return functools.partial(function, *args, **kwargs)

    def _method(self, _number: int, owner: int, name: str) -> Any:
        return getattr(self.of(owner), name)

    def _dict(self, number: int, pairs: list[list[int]]) -> Any:
        made = self._values[number] = dict[Any, Any]()
        for key, one in pairs:
            made[self.of(key)] = self.of(one)
        return made

    def _list(self, number: int, parts: list[int]) -> Any:
        made = self._values[number] = list[Any]()
        made += map(self.of, parts)
        return made

    def _tuple(self, _number: int, parts: list[int]) -> Any:
        return tuple(map(self.of, parts))

    def _set(self, _number: int, parts: list[int]) -> Any:
        return set(map(self.of, parts))

    def _frozenset(self, _number: int, parts: list[int]) -> Any:
        return frozenset(map(self.of, parts))

    def _named(self, _number: int, kind: int, parts: list[int]) -> Any:
        return self.of(kind)(*map(self.of, parts))

    def _object(self, number: int, kind: int, state: dict[str, int]) -> Any:
        made = self._values[number] = object.__new__(self.of(kind))
        made.__dict__.update({key: self.of(one) for key, one in state.items()})
        return made

    def _source(self, _number: int, source: dict[str, Any]) -> Any:
        """Run a `def` in its own module, and return the function."""
        tree = _parsed(source)
        namespace: dict[str, Any] = {"__name__": "__main__"}
        for key, number in source["names"].items():
            try:
                namespace[key] = self.of(number)
            except _InTheMakingError:  # The two functions use each other.
                self._later.append((namespace, key, number))
        # Variables of the closure become names of the module, so that functions that use each other find each other.
        if source["name"] == "<lambda>":  # The only one in its statement.
            (own,) = (one for one in ast.walk(tree) if isinstance(one, ast.Lambda))
            return eval(compile(ast.Expression(own), source["file"], "eval"), namespace)  # noqa: S307 - as below.
        exec(compile(tree, source["file"], "exec"), namespace)  # noqa: S102 - the user's own source.
        return namespace[source["name"]]


class _InTheMakingError(Exception):
    """Raised when the making of a word needs the word itself."""


def _parsed(source: dict[str, Any]) -> ast.Module:
    """Parse a `def` at the lines and columns that it has in its file."""
    tree = ast.parse(source["text"])
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr | ast.arg | ast.keyword):
            node.lineno += source["line"] - 1
            node.end_lineno = (node.end_lineno or 0) + source["line"] - 1
            node.col_offset += source["column"]
            node.end_col_offset = (node.end_col_offset or 0) + source["column"]
    return tree


def traced(about: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Return the equations of the program in order, each as text, file and line; the last item is a digest of the program."""
    from jax_debug_widgets.graphs.flat import digest, flat_of, hash_down
    from jax_debug_widgets.graphs.program import text_of

    jax.config.update("jax_enable_x64", about["x64"])
    make = _Made(about["words"], about["files"])
    function, args, kwargs = make.all(about["call"])
    ours = importlib.import_module("jax_debug_widgets")  # As a user would, because this is another process.
    program = ours.table(function, *args, xla=False, **kwargs).program
    inputs = [("input", number) for number in range(len(program.body.inputs))]
    lines = [
        (text_of(one), one.source.file if one.source else "", one.source.line if one.source else 0)
        for one in program.equations
    ]
    return [*lines, (digest(hash_down(flat_of(program.body, inputs)), program.structure), "", 0)]


def main() -> None:
    """Read the words from the standard input, and write the traced program. Prints of the function go to stderr."""
    about, out = json.load(sys.stdin), sys.stdout
    sys.stdout = sys.stderr
    sys.path[:] = about["path"]
    json.dump(traced(about), out)


if __name__ == "__main__":
    main()
