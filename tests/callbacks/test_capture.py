"""Test that a capture calls host functions as JAX does without one, and that every call is an event."""

from __future__ import annotations

import re
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from tests.callbacks.bodies import BODIES, Host, like, pure
from tests.tapped import tapped


def outcome(program):
    """Return the result of a program, or type and message of its exception."""
    try:
        result = jax.block_until_ready(program())
        jax.effects_barrier()
    except Exception as error:  # noqa: BLE001 - which one is compared.
        is_xlas = isinstance(error, jax.errors.JaxRuntimeError)  # These messages quote the program with its numbers.
        return None, (type(error), str(error)[:100] if is_xlas else str(error))
    return result, None


@pytest.mark.behaviour("C1")
@pytest.mark.parametrize("body", [body for body in BODIES if body != "custom_jvp"])
@pytest.mark.each
def test_results_calls_and_errors_are_those_of_plain_jax(transform, body, same_bits):
    assert_as_plain_jax(transform, body, same_bits)


@pytest.mark.behaviour("C1")
def test_results_of_a_host_function_with_a_derivative_are_those_of_plain_jax(transform, same_bits):
    assert_as_plain_jax(transform, "custom_jvp", same_bits)


def assert_as_plain_jax(transform, body, same_bits):
    host = Host()
    program = transform.wrap(BODIES[body](host))
    plain, plain_error = outcome(program)
    expected = host.take()

    with jdw.capture() as run:
        captured, error = outcome(program)
    called = host.take()

    assert error == plain_error
    assert same_bits(captured, plain)
    assert Counter(called) == Counter(expected)
    if transform.devices == 1:
        assert called == expected, "in JAX's order"
    assert Counter(event.args[0].tobytes() for event in run.events) == Counter(call[-1] for call in called)
    assert sum(summary.returned for summary in run.callbacks) == len(called)
    assert {event.kind for event in run.events} <= {"io" if body.startswith("io") else "pure"}

    outcome(program)
    assert Counter(host.take()) == Counter(expected), "JAX calls it again once the capture is over"


@pytest.mark.behaviour("C1")
@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_each_vmap_method_calls_the_host_as_often_as_jax_does(method, wrap, same_bits):
    host = Host()
    program = wrap(jax.vmap(jax.vmap(pure(method)(host), 1)))
    x = np.arange(6, dtype=np.float32).reshape(2, 1, 3)
    plain = jax.block_until_ready(program(x))
    expected = host.take()
    with jdw.capture() as run:
        captured = jax.block_until_ready(program(x))
    assert same_bits(plain, captured)
    assert host.take() == expected
    assert len(run.events) == len(expected) == (6 if method.startswith("sequential") else 1)


ARGUMENTS = {
    **{
        name: jnp.asarray(np.array([[1, 0, 1], [0, 1, 1]])).astype(name)
        for name in ("bool", "int8", "uint32", "float16")
    },
    **{name: jnp.asarray(np.array([[1, 0], [2, 1]])).astype(name) for name in ("bfloat16", "complex64", "float8_e5m2")},
    "scalar": np.float32(np.nan),
    "Python float": 2.5,
    "no elements": np.zeros((0, 3), np.float32),
    "large": np.arange(200_000, dtype=np.float32),
}


@pytest.mark.behaviour("C1")
@pytest.mark.parametrize("argument", ARGUMENTS.values(), ids=ARGUMENTS)
@pytest.mark.parametrize("callback", [jax.pure_callback, io_callback], ids=["pure", "io"])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_host_function_gets_the_types_and_bits_that_jax_gives_it(argument, callback, wrap, same_bits):
    seen = []

    def host(x, tree, *, keyword):
        leaves = (x, *tree["a"], keyword)
        seen.append([(str(leaf.aval), leaf.committed, leaf.devices(), np.asarray(leaf).tobytes()) for leaf in leaves])
        return {"doubled": np.asarray(x), "count": np.int32(7)}

    def f(x):
        results = {"doubled": like(x), "count": jax.ShapeDtypeStruct((), jnp.int32)}
        tree = {"a": (x, jnp.int32(3))}
        return callback(host, results, x, tree, keyword=x)

    program = wrap(f)
    plain = jax.block_until_ready(program(argument))
    expected, seen[:] = seen[:], []
    with jdw.capture() as run:
        captured = jax.block_until_ready(program(argument))
        jax.effects_barrier()
    assert seen == expected
    assert same_bits(plain, captured)
    (event,) = run.events
    assert set(event.kwargs) == {"keyword"}
    assert event.args[1]["a"][1] == 3
    assert event.site.values == ("x", "tree['a'][0]", "tree['a'][1]", "keyword")
    count, doubled = run.callbacks.call_of(event).result
    assert count == 7
    assert doubled.tobytes() == np.asarray(captured["doubled"]).tobytes()


@pytest.mark.behaviour("C1")
def test_a_function_jitted_and_called_before_the_capture_is_captured(same_bits):
    host = Host()
    f = jax.jit(pure(None)(host))
    plain = f(1.0)
    with jdw.capture() as run:
        assert same_bits(f(1.0), plain)
    assert len(run.events) == len(run.callbacks.calls) == 1


@pytest.mark.behaviour("C1")
def test_un_jitted_calls_of_one_function_from_two_places_are_two_sites():
    host = Host()
    with jdw.capture() as run:
        one = jax.pure_callback(host, like(1.0), 1.0)
        two = jax.pure_callback(host, like(1.0), one)
    assert two.shape == ()
    assert len(run.sites) == 2
    assert [summary.calls for summary in run.callbacks] == [1, 1]
    assert run.sites[1].line == run.sites[0].line + 1


@pytest.mark.behaviour("C1")
def test_ordered_callbacks_keep_their_order_beside_ordered_prints():
    seen = []

    def f(x):
        for step in range(3):
            io_callback(lambda value: seen.append(int(value)), None, x + step, ordered=True)
            jax.debug.print("{}", x, ordered=True)
        return x

    with jdw.capture() as run:
        jax.jit(f)(jnp.int32(1))
        jax.effects_barrier()
    assert seen == [1, 2, 3]
    assert [int(event.args[0]) for event in run.events if event.kind == "io"] == seen


@pytest.mark.behaviour("C1")
def test_a_muted_site_has_no_events_and_its_calls_are_counted():
    host = Host()
    f = jax.jit(pure(None)(host))
    with jdw.capture() as run:
        first = f(1.0)
        current_session().switches.mute(run.sites[0].id, muted=True)
        try:
            second = f(2.0)
        finally:
            current_session().switches.mute(run.sites[0].id, muted=False)
    assert len(host.calls) == 2
    assert len(run.events) == 1
    assert [call.result for call in run.callbacks.calls] == [(first,), (second,)]


def repeated(host):
    """Return a program with calls that XLA could merge, hoist out of a loop, or remove."""

    def f(x):
        def step(carry, _):
            constant = jax.pure_callback(host, like(x), x)
            io_callback(host, None, carry, ordered=False)
            return carry + constant * 0, jax.pure_callback(host, like(x), carry)

        total, _ = jax.lax.scan(step, x, length=3)
        return total + jax.pure_callback(host, like(x), x) - jax.pure_callback(host, like(x), x)

    return f


@pytest.mark.behaviour("C1")
@pytest.mark.parametrize("body", [*BODIES.values(), repeated], ids=[*BODIES, "repeated"])
@pytest.mark.parametrize("loop", [False, True], ids=["straight", "loop"])
def test_the_compiled_program_is_that_of_plain_jax(body, loop):
    def compiled():
        f = body(Host())
        program = (lambda x: jax.lax.fori_loop(0, 3, lambda _, x: f(x), x)) if loop else f
        text = tapped(jax.jit(program).lower(1.0)).compile().as_text()
        without_places = re.sub(r"metadata=\{[^}]*\}", "", text)
        return [line for line in without_places.splitlines() if "%" in line or "ENTRY" in line]

    plain = compiled()
    with jdw.capture():
        assert compiled() == plain


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize("values", [(2.0, 2.0), (0.0, 2.0, 0.0, 2.0)], ids=["at once", "later"])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, lambda f: jax.jit(jax.grad(f))], ids=["eager", "jit", "grad"])
def test_an_error_of_a_host_function_has_a_type_that_jax_raises(wrap, values):
    """JAX's C++ dispatches later calls, and raises another type than Python does in a first call."""

    def load(x):
        if x > 1:
            raise KeyError("no such sample")
        return x

    @jax.custom_jvp
    def loaded(x):
        return jax.pure_callback(load, like(x), x)

    loaded.defjvp(lambda xs, ts: (loaded(*xs), ts[0] * jax.pure_callback(load, like(xs[0]), xs[0])))

    def types():
        program = wrap(lambda x: loaded(x) * 2)
        errors = [outcome(lambda value=value: program(jnp.float32(value)))[1] for value in values]
        return [error and error[0] for error in errors]

    plain = types()
    assert any(plain)
    with jdw.capture():
        captured = types()
    assert [one is None for one in captured] == [one is None for one in plain]
    assert all(one in (other, jax.errors.JaxRuntimeError) for one, other in zip(captured, plain, strict=True) if one)
