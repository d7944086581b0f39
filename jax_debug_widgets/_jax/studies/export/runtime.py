"""The run-time part of a written package: `bind`, `weak`, and its arrays. The text of this file is written beside it."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.extend.core.primitives
import jax.numpy as jnp
import numpy as np

_PRIMITIVES: dict[str, Any] = {}


def bind(name: str, /, *operands: Any, **params: Any) -> Any:
    """An operation of JAX's that no public function gives with these parameters. Only here are JAX's private names."""
    if not _PRIMITIVES:
        private = importlib.import_module("jax._src.lax")
        paths = [one.name for one in pkgutil.iter_modules(private.__path__, "jax._src.lax.")]
        for module in (jax.extend.core.primitives, *map(importlib.import_module, paths)):
            for key, one in vars(module).items():
                if key.endswith("_p") and hasattr(one, "bind"):
                    _PRIMITIVES.setdefault(one.name, one)
    return _PRIMITIVES[name].bind(*operands, **params)


def weak(x: Any, dtype: Any) -> Any:
    """`x` as a Python number counts: another dtype in the same operation has precedence over `dtype`."""
    return bind("convert_element_type", x, new_dtype=jnp.dtype(dtype), weak_type=True, sharding=None)


def load_arrays(path: Path) -> dict[str, Any]:
    """The arrays of a file by their names, empty where there is none; nothing in it is executed."""
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as stored, jax.enable_x64(True):  # Or JAX makes 64-bit arrays narrower.
        return {entry.partition(".")[0]: _read(stored[entry], entry.partition(".")[2]) for entry in stored.files}


def _read(array: np.ndarray, kind: str) -> Any:
    """`kind`: empty, `key-threefry2x32`, or a dtype that NumPy does not have, as whole numbers of its size."""
    if kind.startswith("key-"):
        return jax.random.wrap_key_data(jnp.asarray(array), impl=kind[4:])
    return jnp.asarray(array.view(jnp.dtype(kind)) if kind else array)


def in_64_bits(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that has 64-bit numbers, whether `jax_enable_x64` is set or not."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return run


def like(tree: Any, leaves: Any) -> Any:
    """A pytree of the structure of `tree` with other leaves."""
    return jax.tree.unflatten(jax.tree.structure(tree), leaves)
