"""The first call of a function in a capture fails, or not, as the same call does without one."""

from __future__ import annotations

import gc
import itertools
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from tests.callbacks.bodies import like

REFUSED_BY_PYTHON = jax.__version_info__ >= (0, 12, 0, 1)
"""Whether an array that was given away is refused before the program is asked for."""

GIVEN_AWAY = RuntimeError if REFUSED_BY_PYTHON else ValueError

take_over = jax.jit(lambda x: x + 1, donate_argnums=0)
"""Arguments of it are gone."""


def positive(x):
    if np.any(np.asarray(x) < 0):
        raise ZeroDivisionError
    return np.asarray(x)


def asking(x):
    return jax.pure_callback(positive, like(x), x, vmap_method="sequential")


def saying_integers(x):
    if x.dtype == jnp.int32:
        jax.debug.print("{}", x)
    return x


# Each is made anew: JAX goes by functions that it has seen.
PROGRAMS = {
    "calling the host": lambda: jax.jit(lambda x: asking(x) * 2),
    "vmapped": lambda: jax.jit(jax.vmap(lambda x: asking(x) * 2)),
    "donating": lambda: jax.jit(lambda x: asking(x) * 2, donate_argnums=0),
    "of another": lambda: jax.jit(lambda x: jnp.linalg.norm(jax.jit(lambda x: asking(x) * 2)(x))),
    "silent": lambda: jax.jit(lambda x: jnp.sin(x) * 2),
    "silent, donating": lambda: jax.jit(lambda x: jnp.sin(x) * 2, donate_argnums=0),
    "then vmapped": lambda: jax.vmap(jax.jit(lambda x: asking(x) * 2)),
    "then differentiated": lambda: jax.grad(jax.jit(lambda x: jnp.sum(asking(jax.lax.stop_gradient(x)) * x))),
    "printing integers": lambda: jax.jit(lambda x: asking(saying_integers(x)) * 2),
    "printing": lambda: jax.jit(lambda x: (jax.debug.print("{}", x), asking(x))[1]),
}

BEFORE = {
    "not": (),
    "once": ("good",),
    "with another type": ("integers",),
    "with NumPy's": ("NumPy's",),
    "failing": ("bad", "good"),
    "with what is gone": ("donated", "good"),
    "with both types": ("integers", "good"),
    "and forgotten": ("good", "clear"),
    "and all forgotten": ("good", "clear all"),
    "again, forgotten between": ("good", "clear", "good"),
}

INSIDE = (
    ("bad", "good", "bad"),
    ("deleted", "donated"),
    ("untraced good", "untraced good", "untraced bad"),
    ("placed",),
    ("good", "donated", "integers", "bad"),
)


def argument(kind):
    if kind == "integers":
        return jnp.arange(3)
    values = np.full(3, -1.0 if kind in ("bad", "placed") else 1.0, np.float32)
    if kind == "NumPy's":
        return values
    array = jax.device_put(values, jax.devices()[0] if kind == "placed" else None)
    if kind == "deleted":
        array.delete()
    elif kind == "donated":
        take_over(array)
    return array


def outcome(program, step):
    """How a call with such an argument ends: what it raises, and the first line of what that says."""
    if step.startswith("clear"):
        (program.clear_cache if step == "clear" else jax.clear_caches)()
        return None, ""
    kind = step.removeprefix("untraced ")
    x = argument(kind)
    try:
        with jax.no_tracing(kind != step):
            jax.block_until_ready(program(x))
    except Exception as error:  # noqa: BLE001 - which one is compared.
        return type(error), str(error).partition("\n")[0]
    return None, ""


# All histories of one program, and of the others those in which most differs.
COMBINED = [
    *itertools.product(["calling the host"], BEFORE),
    *itertools.product([name for name in PROGRAMS if name not in ("calling the host", "vmapped")], ["once", "failing"]),
    *itertools.product(["of another", "silent", "printing", "then vmapped"], ["not"]),
    *itertools.product(["silent", "silent, donating"], ["with what is gone"]),
    ("printing integers", "with both types"),
    ("vmapped", "once"),
]


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize(("name", "history"), COMBINED)
def test_what_was_called_before_fails_as_without_a_capture(name, history):
    if history == "with what is gone" and REFUSED_BY_PYTHON:
        pytest.skip("what fails in its first call is then taken for not called (docs/limits.md)")
    make, before = PROGRAMS[name], BEFORE[history]
    for steps in INSIDE:
        plain, program = make(), make()
        expected = [outcome(plain, step) for step in (*before, *steps)]
        outside = [outcome(program, step) for step in before]
        with jdw.capture():
            inside = [outcome(program, step) for step in steps]
        assert [*outside, *inside] == expected, steps


def test_the_three_ways_in_which_it_differs():
    """So that the comparison above is one of different things."""
    program = jax.jit(lambda x: asking(x) * 2)
    first = [outcome(jax.jit(lambda x: asking(x) * 2), step) for step in ("bad", "donated", "untraced good")]
    outcome(program, "good")
    with jdw.capture() as run:
        later = [outcome(program, step) for step in ("bad", "donated", "untraced good")]
    assert [kind for kind, _ in first] == [jax.errors.JaxRuntimeError, RuntimeError, RuntimeError]
    assert [kind for kind, _ in later] == [ValueError, GIVEN_AWAY, None]
    assert "donated" in later[1][1] or REFUSED_BY_PYTHON
    assert [call.state for call in run.calls] == ["failed", "failed", "drained"]


def test_a_call_with_an_array_that_is_gone_traces_and_runs_nothing():
    traced, called = [], []

    def f(x):
        traced.append(x)
        return jax.pure_callback(lambda x: called.append(x) or x, like(x), x)

    program = jax.jit(f)
    outcome(program, "good")
    with jdw.capture() as run:
        for _ in range(2):
            assert outcome(program, "donated")[0] is GIVEN_AWAY
        assert (len(traced), len(called)) == (2, 1), "once outside, once in the capture"
        outcome(program, "good")
    outcome(program, "good")
    assert (len(traced), len(called)) == (2, 3)
    assert len(run.events) == 1


def test_only_what_was_called_before_is_traced_where_that_is_forbidden():
    known, unknown = jax.jit(lambda x: asking(x) + 1), jax.jit(lambda x: asking(x) + 2)
    x = argument("good")
    known(x)
    with jdw.capture() as run, jax.no_tracing():
        known(x)
        for refused in (unknown, jax.vmap(known)):
            with pytest.raises(RuntimeError, match="no_tracing"):
                refused(x)
        known(x)
        with pytest.raises(RuntimeError, match="no_tracing"):
            known(argument("integers"))
    assert len(run.events) == 2
    with jax.no_tracing():
        known(x)
        with pytest.raises(RuntimeError, match="no_tracing"):
            unknown(x)


def test_what_is_called_with_static_and_named_arguments_and_keys_is_known():
    program = jax.jit(lambda key, *, x, way: asking(x) + jax.random.uniform(key) * len(way), static_argnames="way")
    key = jax.random.key(1)
    program(key, x=argument("good"), way="a")
    for way, error in (("a", ValueError), ("b", jax.errors.JaxRuntimeError)):
        with jdw.capture(), pytest.raises(error):
            jax.block_until_ready(program(key, x=argument("bad"), way=way))


@pytest.mark.parametrize("gone", [{"key"}, {"x"}, {"key", "x"}])
def test_an_array_that_is_gone_is_told_by_its_place_among_what_the_program_needs(gone):
    def fail(program):
        key, x = jax.random.key(1), argument("donated" if "x" in gone else "good")
        if "key" in gone:
            jax.jit(lambda key: jax.random.fold_in(key, 1), donate_argnums=0)(key)
        with pytest.raises(GIVEN_AWAY, match=r"donated|deleted") as raised:
            program(argument("good"), 2.0, key, np.ones(3, np.float32), x)
        return str(raised.value)

    def make():
        program = jax.jit(lambda _unused, scale, key, y, x: asking(x) * scale + jax.random.uniform(key) + y)
        program(argument("good"), 2.0, jax.random.key(1), np.ones(3, np.float32), argument("good"))
        return program

    expected = fail(make())
    with jdw.capture():
        assert fail(make()) == expected


def test_what_a_watched_program_raises_is_what_it_raised_before():
    for steps in itertools.permutations(("bad", "donated", "untraced good")):
        plain, program = PROGRAMS["calling the host"](), PROGRAMS["calling the host"]()
        for one in (plain, program):
            outcome(one, "good")
        expected = [outcome(plain, step) for step in steps]
        with jdw.capture(watch=True):
            assert [outcome(program, step) for step in steps] == expected


def test_functions_that_are_gone_are_not_kept():
    def f(x):
        return asking(x)

    program, gone = jax.jit(f), weakref.ref(f)
    outcome(program, "good")
    with jdw.capture():
        outcome(program, "good")
    del f, program
    jax.clear_caches()
    gc.collect()
    assert gone() is None
