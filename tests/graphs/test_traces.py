"""Test `jdw.traces`: a function is traced twice, and the causes of differences are named."""

from __future__ import annotations

import importlib
import inspect
import os
import random
import sys
import threading
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from IPython.core.error import UsageError
from jax.extend.core import Primitive

import jax_debug_widgets as jdw

X = jnp.ones(3)
NAMES = {"alpha", "beta", "gamma", "delta"}


def drawn(x):
    noise = np.random.normal()  # noqa: NPY002 - that is what is told.
    return x + random.random() * noise  # noqa: S311 - the same.


def steady(x):
    return sum(x * 0.5 for _ in sorted(NAMES))


@pytest.mark.behaviour("G7")
def test_a_steady_function_is_the_same_program_and_has_no_causes():
    found = jdw.traces(steady, X)
    assert (found.verdict, found.first, found.causes) == ("same", None, [])
    assert str(found) == "steady: traced twice, the same program"


@pytest.mark.behaviour("G7")
def test_a_different_order_of_the_same_equations_has_its_own_verdict():
    count = [0]

    def f(x):
        count[0] += 1
        return [jnp.sin(x), jnp.cos(x)] if count[0] % 2 else [jnp.cos(x), jnp.sin(x)][::-1]

    found = jdw.traces(f, X)
    assert found.verdict == "another order"
    assert "results are equal, but caches miss" in str(found)


@pytest.mark.behaviour("G7")
def test_numbers_that_are_drawn_while_tracing_are_reported():
    found = jdw.traces(drawn, X)
    assert found.verdict == "another program"
    assert [why.partition(",")[0] for _, why in found.causes] == ["draws a random number that is no jax.random"] * 2


@pytest.mark.behaviour("G7")
def test_the_magic_traces_twice(ours):
    ours.run("n = [0]\ndef f(x):\n    n[0] += 1\n    return x * n[0]")
    shown = ours.run("%jaxdebug traces f(jnp.ones(3))").value
    assert "traced twice, two programs" in shown and "]:4" in shown


@jax.jit
def twice(x):
    return x * LIMIT


LIMIT = 2.0


class Names:
    def __init__(self) -> None:
        self.of = frozenset(NAMES)


def of_an_object(names):
    """Return a function that cannot be imported: it closes over an object, and calls a jitted function."""

    def summed(p):
        total = 0.0
        for name in names.of:
            total = total + twice(p[name])
        return total

    def even(x, n):
        return x if n == 0 else odd(x, n - 1)

    def odd(x, n):
        return even(x + 1.0, n - 1)

    def f(p):
        return odd(summed(p), 3)

    return f


@pytest.mark.behaviour("G7")
def test_the_order_of_a_set_differs_in_interpreters_with_other_hash_seeds():
    p = {name: jnp.float32(1.0) for name in NAMES}
    found = jdw.traces(of_an_object(Names()), p, seeds=2)
    assert (found.verdict, found.seeds.verdict) == ("same", "another program")
    line = inspect.getsourcelines(of_an_object)[1] + 6
    assert found.seeds.at == f"test_traces.py:{line}" and " hash seeds in fresh interpreters" in str(found)


def test_arguments_that_cannot_be_sent_to_another_process_are_refused_by_name(ours):
    ours.run("rows = (i for i in range(3))\ndef f(x):\n    return x * len(repr(rows))")
    with pytest.raises(UsageError, match="`rows`, a generator, cannot be sent"):
        ours.ip.run_line_magic("jaxdebug", "traces f(1.0) --seeds 2")
    with pytest.raises(UsageError, match="2 or more"):
        ours.ip.run_line_magic("jaxdebug", "traces f(1.0) --seeds 1")


class Counted:
    """A function that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x) -> Any:
        self.calls += 1
        return x * self.calls

    def method(self, x):
        return self(x)


def collected(x, seen=[]):  # noqa: B006 - what this test is about.
    seen.append(1)
    return x * len(seen)


@pytest.mark.parametrize(
    ("function", "told"),
    [(Counted(), "`self.calls`"), (Counted().method, "`self.calls`"), (collected, "`seen`")],
    ids=["object", "method", "default"],
)
def test_state_of_an_object_and_of_a_default_argument_is_a_cause(function, told):
    found = jdw.traces(function, jnp.ones(3))
    assert any(told in why and "has changed between the traces" in why for _, why in found.causes)


def emptied(x):
    names = set(NAMES)
    while names:
        x = x * len(names.pop())
    return x


def united(x):
    found: set[str] = set()
    found = found.union(NAMES)
    return sum(x * len(name) for name in {"alpha": 1}.keys() | found)


def listed(names):
    return [len(name) for name in frozenset(names)]


def by_another_function(x):
    return sum(x * count for count in listed(NAMES))


def of_a_folder(x):
    return x * len(os.listdir("."))


class Layer:
    """A layer with weights of its own."""

    def __init__(self) -> None:
        self.weights = np.random.normal(size=3)  # noqa: NPY002


def of_a_layer(x):
    layer = Layer()
    return x * layer.weights


ROWS = iter(range(9))


def of_an_iterator(x):
    return x * next(ROWS)


def of_the_environment(x):
    return x * len(os.environ["PATH"])


def of_threads(x):
    found = []
    threads = [threading.Thread(target=found.append, args=(at,)) for at in range(2)]
    for one in threads:
        one.start()
        one.join()
        time.sleep(0)
    return x * found[0]


def sorted_by_name(x):
    names = set(NAMES)
    names = sorted(names)
    return sum(x * len(name) for name in names)


def of_whole_numbers(x):
    return x * sum({1, 2, 3})


def drawn_with_a_seed(x):
    return x * np.random.default_rng(0).normal()


@pytest.mark.behaviour("G7")
@pytest.mark.parametrize("function", [sorted_by_name, of_whole_numbers, drawn_with_a_seed])
def test_what_is_the_same_each_time_is_no_cause(function):
    found = jdw.traces(function, X)
    assert found.verdict == "same" and not found.causes


@pytest.mark.behaviour("G7")
@pytest.mark.parametrize(
    ("function", "line", "why"),
    [
        (emptied, 3, "takes any element of a set, `names.pop()`: which one depends on"),
        (united, 3, "iterates over a set, `{'alpha': 1}.keys() | found`: its order depends on"),
        (by_another_function, listed, "iterates over a set, `frozenset(names)`: its order depends on"),
        (of_a_folder, 1, "lists a folder, `os.listdir('.')`, while it is traced"),
        (of_a_layer, Layer.__init__, "draws a random number that is no jax.random, `np.random.normal(size=3)`"),
        (of_an_iterator, 1, "takes the next element of `ROWS`, which an earlier trace has advanced"),
        (of_the_environment, 1, "reads the environment, `os.environ['PATH']`, while it is traced"),
        (of_threads, 2, "runs a thread, and threads end in any order, `threading.Thread("),
    ],
    ids=["pop", "union", "another function", "folder", "layer", "iterator", "environment", "threads"],
)
def test_each_unordered_iteration_is_named_as_a_cause(function, line, why):
    found = jdw.traces(function, X)
    ((where, told),) = found.causes
    wanted = line.__code__.co_firstlineno + 1 if callable(line) else function.__code__.co_firstlineno + line
    assert str(where).endswith(f":{wanted}") and told.startswith(why), (where, told)


_ = object()
"""A name of the module that functions assign as their own."""


def with_own_names(x, n):
    for _ in range(n):
        x = jnp.sin(x)
    return x


doubled = lambda x: x * 2  # noqa: E731


@pytest.mark.parametrize(("function", "args"), [(with_own_names, (1.0, 2)), (doubled, (1.0,))])
def test_a_fresh_interpreter_gets_what_a_function_reads_from_outside_only(function, args):
    function.__module__ = "__main__"  # It is sent as its source.
    assert jdw.traces(function, *args, seeds=2).seeds.verdict == "same"


def test_a_file_that_asks_for_seeds_when_it_is_imported_ends_and_says_what_to_write(tmp_path, monkeypatch):
    (tmp_path / "asks_for_seeds.py").write_text(
        "import jax.numpy as jnp\nimport jax_debug_widgets as jdw\n"
        "class Model:\n    def __call__(self, x):\n        return jnp.sin(x)\n"
        "found = jdw.traces(Model(), jnp.ones(2), seeds=2)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RuntimeError, match="put that call under `if __name__ == '__main__':`"):
        importlib.import_module("asks_for_seeds")
    sys.modules.pop("asks_for_seeds", None)


@pytest.mark.behaviour("G7")
def test_a_primitive_whose_program_holds_a_value_of_the_trace_is_traced_alike():
    keeping = Primitive("keeping")
    keeping.def_abstract_eval(lambda x, *, program: x)  # noqa: ARG005

    def f(scale):
        return keeping.bind(scale, program=jax.make_jaxpr(lambda y: y * scale)(scale))

    assert jdw.traces(f, X).verdict == "same"
    assert jdw.diff(f, f, X).is_in_order


RNG = np.random.default_rng()


class Counting:
    calls = 0


def drawn_from_a_generator(x):
    return x * RNG.normal()


def counted_in_an_object(x):
    Counting.calls += 1
    return x * Counting.calls


ITEMS = [0] * 100


def counted_in_a_long_list(x):
    ITEMS.append(len(ITEMS))
    return x * len(ITEMS)


@pytest.mark.behaviour("G7")
@pytest.mark.parametrize(
    ("f", "told"),
    [
        (drawn_from_a_generator, "draws a number from `RNG`, which an earlier trace has advanced"),
        (counted_in_an_object, "`Counting.calls`, which it reads, has changed between the traces: 1 → 2"),
        (counted_in_a_long_list, "`ITEMS`, which it reads, has changed between the traces"),
    ],
)
def test_a_cause_outside_of_the_function_is_named(f, told):
    found = jdw.traces(f, jnp.ones(3))
    assert found.verdict == "another program" and told in str(found.causes), found


@pytest.mark.behaviour("G7")
@pytest.mark.parametrize("numbers", ["{1.5, 2.5}", "set([1.5, 2.5])", "frozenset((1, 2))", "NUMBERS"])
def test_a_set_of_numbers_has_one_order(tmp_path, monkeypatch, numbers):
    file = tmp_path / "numbers_in_set.py"
    file.write_text(f"NUMBERS = {{1.5, 2.5, 3}}\ndef f(x):\n    return sum(x * one for one in {numbers})\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = jdw.traces(importlib.import_module("numbers_in_set").f, jnp.ones(3))
    monkeypatch.delitem(sys.modules, "numbers_in_set")
    assert found.verdict == "same" and not found.causes
