"""Test that watching does not follow the lines of libraries while JAX traces, which would be slow."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from types import FunctionType, ModuleType

import jax
import jax.numpy as jnp
import pytest

from jax_debug_widgets._jax.tracing.followed import FollowedCall
from jax_debug_widgets.watch.syntax import source

LAYERS = """
import jax.numpy as jnp

class Module:
    def __init__(self, **fields):
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __getattribute__(self, name):
        own = object.__getattribute__(self, name)
        return own

class Layer(Module):
    def __call__(self, x, depth):
        if depth:
            return self(x, depth - 1)
        scaled = x * self.scale
        return self.then(scaled)

def called(function, x):
    given = x + 1
    return function(given)
"""


@pytest.fixture
def layers(tmp_path, monkeypatch) -> ModuleType:
    """Return a module of an installed library.

    Its class has its own `__getattribute__` and calls itself deeply.
    """
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "layers_for_tests.py").write_text(LAYERS)
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module("layers_for_tests")
    del sys.modules["layers_for_tests"]


@pytest.fixture
def lines(monkeypatch) -> Counter[str]:
    """Return the number of reported lines for each function."""
    counted: Counter[str] = Counter()
    theirs = FollowedCall.go_on

    def go_on(self, frame, line):
        counted[frame.f_code.co_qualname] += 1
        theirs(self, frame, line)

    monkeypatch.setattr(FollowedCall, "go_on", go_on)
    return counted


@pytest.fixture
def read(monkeypatch) -> list[str]:
    """Return the files whose source is read."""
    files: list[str] = []
    theirs = source._parsed
    monkeypatch.setattr(source, "_parsed", lambda file, *given: (files.append(file), theirs(file, *given))[1])
    return files


TRANSFORMS = {"plain": lambda f: f, "vmap": jax.vmap, "grad": jax.value_and_grad, "checkpoint": jax.checkpoint}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_lines_of_a_library_are_neither_traced_nor_read(watched, layers, lines, read, transform):
    layer = layers.Layer(scale=jnp.float32(3), then=jnp.sin)

    def f(x):
        h = layer(x, 30)
        return h * 2

    x = jnp.arange(3.0) if transform == "vmap" else jnp.float32(1)
    run = watched(jax.jit(TRANSFORMS[transform](f)), x)
    assert "h" in {name.partition("@")[0] for name in run.values}
    assert set(lines) == {"test_lines_of_a_library_are_neither_traced_nor_read.<locals>.f"}
    assert not [file for file in read if "site-packages" in file]


def test_a_users_function_that_a_library_calls_is_traced(watched, layers, lines, agrees):
    def f(x):
        h = layers.called(lambda given: jnp.sin(given) * 2, x)
        return h

    def inner(x):
        u = jnp.cos(x)
        return u

    run = watched(jax.jit(lambda x: f(x) + layers.called(inner, x)), jnp.float32(1))
    agrees(run["h"], jnp.sin(2.0) * 2)
    agrees(run["u"], jnp.cos(2.0))
    assert "called" not in lines


def test_lines_of_a_file_that_is_asked_for_are_traced(watched, layers, lines, agrees):
    layer = layers.Layer(scale=jnp.float32(3), then=jnp.sin)
    run = watched(jax.jit(lambda x: layer(x, 2)), jnp.float32(2), watch="scaled@layers_for_tests.py")
    agrees(run["scaled"], 6)
    assert lines["Layer.__call__"]


def test_generated_code_is_not_traced(watched, lines):
    def written(x):
        y = x * 2
        return y

    generated = FunctionType(written.__code__.replace(co_filename="<generated_flatten>"), globals())
    watched(jax.jit(lambda x: generated(x) + 1), jnp.float32(2))
    assert not [name for name in lines if name.endswith("written")]
