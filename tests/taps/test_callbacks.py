"""Test that a user's `jax.debug.callback` gets the same arguments as without a capture, and may raise."""

from __future__ import annotations

import sys
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw

ARGUMENTS = {
    **{
        name: jnp.asarray(np.array([[1, 0, 1], [0, 1, 1]])).astype(name)
        for name in ("bool", "int4", "int8", "int32", "uint32", "float16", "bfloat16", "float8_e5m2", "complex64")
    },
    "scalar": np.float32(np.nan),
    "Python float": 2.5,
    "Python int": 3,
    "no elements": np.zeros((0, 3), np.float32),
    "large": np.arange(200_000, dtype=np.float32),
    "transposed": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "key": jax.random.key(0),
    "keys": jax.random.split(jax.random.key(0, impl="rbg"), 3),
    "tree": {"b": np.float32(1), "a": (np.int32(2), [np.arange(3)], None)},
    "nothing": (),
}


class Seen:
    """A callback that keeps type, dtype and bits of its arguments."""

    def __init__(self) -> None:
        self.calls = []

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        leaves, tree = jax.tree.flatten((args, kwargs))
        self.calls.append((str(tree), *map(self.described, leaves)))

    @staticmethod
    def described(leaf) -> tuple[Any, ...]:
        if not isinstance(leaf, jax.Array):
            return type(leaf), leaf
        is_key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        bits = np.asarray(jax.random.key_data(leaf) if is_key else leaf).tobytes()
        return type(leaf), str(leaf.aval), leaf.committed, leaf.devices(), bits


def seen(program):
    program()
    jax.effects_barrier()


@pytest.mark.behaviour("P7")
@pytest.mark.parametrize("argument", ARGUMENTS.values(), ids=ARGUMENTS)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_arguments_have_the_type_and_bits_that_jax_gives_them(argument, wrap):
    look = Seen()
    f = wrap(lambda x: jax.debug.callback(look, "static", x, None, keyword=x, other=len))
    seen(lambda: f(argument))
    expected, look.calls = look.calls, []
    with jdw.capture() as run:
        seen(lambda: f(argument))
    assert len(expected) == len(run.events) == 1
    assert look.calls == expected


@pytest.mark.behaviour("P7")
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_lanes_come_one_by_one_in_the_order_of_jax(wrap):
    look = Seen()

    def f(x, y):
        jax.debug.callback(look, x, y, ordered=True)

    program = wrap(jax.vmap(jax.vmap(f, (None, 0)), (0, None)))
    x, y = np.arange(3, dtype=np.float32), jnp.arange(8).reshape(4, 2).astype("bfloat16")
    seen(lambda: program(x, y))
    expected, look.calls = look.calls, []
    with jdw.capture() as run:
        seen(lambda: program(x, y))
    assert len(expected) == 12
    assert look.calls == expected
    assert [event.args[0].item() for event in run.events] == [x[lane[0]] for lane in (e.lane for e in run.events)]


class OwnError(Exception):
    """An exception of a user's callback."""


def raising(x):
    if x == 2:
        raise OwnError("two is too many")


def looping(x):
    return jax.lax.fori_loop(0, 4, lambda i, x: (jax.debug.callback(raising, i), x + 1)[1], x)


def raised(program):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is what the test compares.
        seen(program)
    # The rest of the message is the trace of JAX's own frames, which differ.
    return type(caught.value), [line for line in str(caught.value).splitlines() if "two is too many" in line]


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.vmap], ids=["eager", "jit", "vmap"])
def test_an_exception_in_a_callback_is_the_users_to_see(wrap, capfd):
    program = wrap(lambda x: jax.debug.callback(raising, x))
    argument = jnp.arange(4.0) if wrap is jax.vmap else 2.0
    expected = raised(lambda: program(argument))
    with jdw.capture() as run:
        assert raised(lambda: program(argument)) == expected
    assert expected[1]
    assert len(run.events) >= 1
    still_works(capfd)


@pytest.mark.behaviour("C6")
def test_a_loop_ends_at_the_exception_as_without_a_capture(capfd):
    program = jax.jit(looping)
    expected = raised(lambda: program(0.0))
    with jdw.capture() as run:
        assert raised(lambda: program(0.0)) == expected
    assert [int(event.args[0]) for event in run.events] == [0, 1, 2]
    assert run.calls[0].state == "failed"
    assert "two is too many" in run.calls[0].error or "CpuCallback" in run.calls[0].error
    still_works(capfd)


@pytest.mark.behaviour("C6")
def test_an_exception_that_ends_the_capture_leaves_a_healthy_process(capfd):
    runs = []

    def failing():
        with jdw.capture() as run:
            runs.append(run)
            seen(lambda: jax.jit(looping)(0.0))

    with pytest.raises(jax.errors.JaxRuntimeError):
        failing()
    assert runs[0].status().state == "failed"
    still_works(capfd)


def still_works(capfd):
    """Assert that an earlier failure affects neither the next plain call nor the next capture."""
    capfd.readouterr()
    f = jax.jit(lambda x: (jax.debug.print("alive {x}", x=x), x + 1)[1])
    assert f(1.0) == 2
    jax.effects_barrier()
    assert capfd.readouterr().out == "alive 1.0\n"
    with jdw.capture() as run:
        assert f(2.0) == 3
    assert [event.text for event in run.events] == ["alive 2.0"]
    assert run.status().state == "done"


@pytest.mark.behaviour("P7")
def test_a_callback_may_start_threads_that_print(capsys):
    def busy(x):
        thread = threading.Thread(target=lambda: sys.stdout.write(f"from a thread {x}\n"))
        thread.start()
        thread.join()

    with jdw.capture() as run:
        jax.jit(lambda x: jax.debug.callback(busy, x))(1.0)
    assert capsys.readouterr().out == "from a thread 1.0\n"
    assert len(run.events) == 1


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize("say", [lambda a: jax.debug.print("{}", a), lambda a: jax.debug.callback(lambda _: None, a)])
def test_an_array_that_is_written_to_later_is_shown_as_it_was(say):
    array = np.zeros((300, 300), np.float32)
    with jdw.capture() as run:
        for _ in range(3):
            say(array)
            array += 1
    assert [event.values[0].max() for event in run.events] == [0, 1, 2]
