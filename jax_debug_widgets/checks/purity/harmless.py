"""Decide whether a function may be traced again for a check: only if nothing that it names can have an effect."""

from __future__ import annotations

import builtins
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from jax_debug_widgets._jax.passes.program_difference import UNKNOWN
from jax_debug_widgets.checks.purity.reached import Reached, named
from jax_debug_widgets.watch import is_library

_HARMLESS = frozenset(
    [
        "_abc",
        "_collections",
        "_functools",
        "_operator",
        "abc",
        "blackjax",
        "builtins",
        "chex",
        "cmath",
        "collections",
        "dataclasses",
        "diffrax",
        "distrax",
        "einops",
        "enum",
        "equinox",
        "flax",
        "functools",
        "haiku",
        "itertools",
        "jax",
        "jaxlib",
        "jaxtyping",
        "jraph",
        "lineax",
        "math",
        "ml_dtypes",
        "numbers",
        "numpy",
        "numpyro",
        "operator",
        "optax",
        "optimistix",
        "penzai",
        "types",
        "typing",
        "typing_extensions",
    ]
)
"""The packages with functions that only compute."""

_HARMFUL = frozenset({"breakpoint", "exec", "eval", "input", "next", "open", "print", "setattr", "delattr"})
"""The built-in functions that may have an effect."""


def may_run_again(functions: Reached) -> bool:
    """Return whether these functions can run again without any effect outside of them."""
    for function, given in functions.items():
        for name, value, _ in named(function, given):
            root = name.partition(".")[0].partition("[")[0]
            if root not in function.__globals__ and hasattr(builtins, root) and root in _HARMFUL:
                return False
            if not _is_harmless(value):
                return False
    return True


def _is_harmless(value: Any) -> bool:
    if value is UNKNOWN or isinstance(value, np.generic):
        return True
    if isinstance(value, ModuleType):
        package, file = value.__name__, getattr(value, "__file__", None)
        is_own = file is not None and not is_library(file)
    else:
        is_defined = isinstance(value, type | BuiltinFunctionType) or hasattr(value, "__code__")
        package = getattr(value if is_defined else type(value), "__module__", None) or "builtins"
        code = getattr(value, "__code__", None)
        # A wrapper, such as that of `jax.vmap`, has the `__module__` of the function that it wraps.
        if isinstance(value, FunctionType):
            package = value.__globals__.get("__name__", package)
        is_own = code is not None and not is_library(code.co_filename)
    if package.startswith("numpy.random"):
        return False
    return is_own or package.partition(".")[0] in _HARMLESS or _is_own_class(value)


def _is_own_class(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    codes = (getattr(one, "__code__", None) for one in vars(kind).values())
    return any(code is not None and not is_library(code.co_filename) for code in codes)
