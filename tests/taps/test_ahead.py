"""Test programs that are compiled ahead of time in a capture, and called inside and outside of captures."""

import contextvars
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, PartitionSpec

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.running.ahead import _CallByCapture

XS = jnp.arange(4.0)


def plain(x):
    jax.debug.print("x {}", x)
    return x + 1


def in_a_loop(x, ordered=True):
    def step(carry, t):
        jax.debug.print("carry {carry} t {t}", carry=carry, t=t, ordered=ordered)
        return carry + t, None

    return lax.scan(step, x, jnp.arange(3.0))[0]


def jitted_inside(x):
    return jax.jit(plain)(x) * 2


def sharded(xs):
    mesh = Mesh(np.array(jax.devices("cpu")[:2]), ("d",))
    spec = PartitionSpec("d")
    return jax.shard_map(plain, mesh=mesh, in_specs=spec, out_specs=spec)(xs)


PROGRAMS = {
    "plain": (plain, jnp.float32(2)),
    "scan": (in_a_loop, jnp.float32(2)),
    "written into rings": (lambda x: in_a_loop(x, ordered=False), jnp.float32(2)),
    "nested": (jitted_inside, jnp.float32(2)),
    "vmap": (jax.vmap(plain), XS),
    "vmap of scan": (jax.vmap(in_a_loop), XS),
    "grad": (jax.grad(plain), jnp.float32(2)),
    "checkpoint": (jax.grad(jax.checkpoint(lambda x: jnp.sin(plain(x)))), jnp.float32(2)),
    "shard_map": (sharded, XS),
}


def said(capsys, call, x):
    """Return the printed lines of a call, sorted if devices or lanes may print in any order."""
    capsys.readouterr()
    call(x)
    jax.effects_barrier()
    return sorted(capsys.readouterr().out.splitlines())


@pytest.mark.behaviour("P12")
@pytest.mark.parametrize("options", [{}, {"every": 2}, {"echo": True}, {"watch": True}], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.each
def test_outside_captures_it_prints_as_without_us(name, options, capsys):
    function, x = PROGRAMS[name]
    without = said(capsys, jax.jit(function).lower(x).compile(), x)
    assert without
    with jdw.capture(**options) as run:
        compiled = jax.jit(function).lower(x).compile()
        inside = said(capsys, compiled, x)
    assert inside == (without if options.get("echo") else [])
    events = len(run.events)
    assert events > 0
    assert said(capsys, compiled, x) == without
    assert len(run.events) == events
    with jdw.capture(**options) as later:
        compiled(x)
    assert len(later.events) == events
    assert later.findings == run.findings


def test_outside_captures_its_callbacks_run_and_are_nobodys():
    seen = []

    def f(x):
        jax.debug.callback(seen.append, x)
        y = jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), jnp.float32), x)
        z = jax.pure_callback(lambda _: None, None, x)
        assert z is None
        return y

    with jdw.capture() as run:
        compiled = jax.jit(f).lower(1.0).compile()
        compiled(1.0)
    assert float(compiled(2.0)) == pytest.approx(np.sin(2.0))
    jax.effects_barrier()
    assert [float(x) for x in seen] == [1.0, 2.0]
    assert type(seen[1]) is type(seen[0])
    # JAX removes the callback without a result.
    assert sorted(int(row.calls) for row in run.callbacks) == [0, 1, 1]


def test_late_events_belong_to_the_capture_of_their_call():
    with jdw.capture(barrier=False) as run:
        compiled = jax.jit(jax.vmap(in_a_loop)).lower(XS).compile()
        compiled(XS)
    run.barrier(60)
    assert len(run.events) == 12


def test_a_compiled_program_follows_the_options_of_each_capture(capsys):
    with jdw.capture() as run:
        compiled = jax.jit(plain).lower(1.0).compile()
        compiled(1.0)
    with jdw.capture(debug=False) as silent:
        assert said(capsys, compiled, 2.0) == []
    with jdw.capture(echo=True) as loud:
        assert said(capsys, compiled, 3.0) == ["x 3.0"]
    assert [event.text for event in run.events] == ["x 1.0"]
    assert not silent.events
    assert [event.text for event in loud.events] == ["x 3.0"]
    assert said(capsys, compiled, 4.0) == ["x 4.0"]


def test_a_capture_of_another_thread_has_what_it_calls():
    with jdw.capture() as run:
        compiled = jax.jit(plain).lower(1.0).compile()
        ours, theirs = [], []

        def capturing():
            with jdw.capture() as own:
                compiled(2.0)
            ours.append(own)

        for target in (capturing, lambda: theirs.append(compiled(3.0))):
            thread = threading.Thread(target=contextvars.Context().run, args=(target,))
            thread.start()
            thread.join()
        compiled(1.0)
    assert {event.text for event in run.events} >= {"x 1.0"}
    assert "x 2.0" not in {event.text for event in run.events}
    assert [event.text for event in ours[0].events] == ["x 2.0"]


def test_a_program_lowered_in_a_capture_can_be_compiled_after_it(capsys):
    with jdw.capture() as run:
        lowered = jax.jit(plain).lower(1.0)
    compiled = lowered.compile()
    assert said(capsys, compiled, 2.0) == ["x 2.0"]
    assert not run.events
    with jdw.capture() as later:
        compiled(3.0)
    assert [event.text for event in later.events] == ["x 3.0"]


def test_wrong_arguments_raise_the_error_that_jax_raises():
    def error_of(compiled, *args: object):
        with pytest.raises(TypeError) as caught:
            compiled(*args)
        return str(caught.value)

    plainly = jax.jit(plain).lower(1.0).compile()
    with jdw.capture():
        compiled = jax.jit(plain).lower(1.0).compile()
        inside = error_of(compiled, XS)
    assert error_of(compiled, XS) == inside == error_of(plainly, XS)
    assert error_of(compiled, 1.0, 2.0) == error_of(plainly, 1.0, 2.0)


def test_a_program_that_says_nothing_is_jaxs_own():
    with jdw.capture():
        compiled = jax.jit(lambda x: x + 1).lower(1.0).compile()
        assert float(compiled(1.0)) == 2
    assert not isinstance(compiled._call, _CallByCapture)


@pytest.mark.behaviour("C1")
@pytest.mark.parametrize("around", [lambda f: f, jax.jit, jax.vmap], ids=["plain", "jit", "vmap"])
def test_the_callback_of_inspect_array_sharding_is_called_once(around):
    told = []

    def asking(x):
        def step(carry, _):
            jax.debug.inspect_array_sharding(carry, callback=told.append)
            return carry + 1, None

        jax.debug.print("x {}", x)
        return lax.scan(step, x, length=2)[0]

    with jdw.capture() as run:
        compiled = jax.jit(around(asking)).lower(XS).compile()
        inside = compiled(XS)
    assert [event.site.kind for event in run.events].count("sharding") == len(told) == 1
    with jdw.capture(echo=True) as again:
        np.testing.assert_array_equal(compiled(XS), inside)
    np.testing.assert_array_equal(compiled(XS), inside)
    assert len(told) == 1
    assert {event.site.kind for event in again.events} == {"print"}


def test_a_compiled_program_keeps_its_device_in_and_after_a_capture():
    device = jax.devices("cpu")[1]
    with jdw.capture() as run, jax.default_device(device):
        compiled = jax.jit(plain).lower(1.0).compile()
    assert compiled(1.0).devices() == {device}
    with jdw.capture(every=2):
        assert compiled(jax.device_put(jnp.float32(1), device)).devices() == {device}
    assert not run.events


def test_an_error_of_a_host_function_has_the_type_that_jax_raises():
    """JAX's C++ does not dispatch a program that is compiled ahead of time and calls the host."""

    def load(x):
        if x > 1:
            raise KeyError("no such sample")
        return x

    like = jax.ShapeDtypeStruct((), jnp.float32)
    with jdw.capture():
        compiled = jax.jit(lambda x: jax.pure_callback(load, like, x)).lower(1.0).compile()
        compiled(1.0)
        for _ in range(2):
            with pytest.raises(jax.errors.JaxRuntimeError, match="no such sample"):
                compiled(2.0).block_until_ready()
