"""Test that JAX's errors about callbacks are unchanged, and that a finding has the call, the cause and a correction."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from tests.callbacks.bodies import like
from tests.devices import cpu_mesh, cpu_pmap

X = np.ones(2, np.float32)


def host(x):
    return np.asarray(x)


def pure(x):
    return jax.pure_callback(host, like(x), x)


def io(x):
    return io_callback(host, like(x), x)


def ordered(x):
    return io_callback(host, like(x), x, ordered=True)


def printing(x):
    jax.debug.print("{}", x, ordered=True)
    return x


def differentiated(f):
    return jax.grad(lambda x: f(x).sum())(X)


def looped(f):
    return jax.vmap(lambda x: jax.lax.while_loop(lambda c: c[0] < x, lambda c: (c[0] + 1, f(c[1])), (0.0, x))[1])(X)


def on_two_axes(f):
    mesh = cpu_mesh((2, 1), ("d", "e"))
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=P("d"), axis_names={"d"}))(X)


REFUSED = {
    "vmap of pure": (lambda: jax.vmap(pure)(X), "pure_callback(host)", "vmap_method='sequential'"),
    "vmap of jit of pure": (lambda: jax.vmap(jax.jit(pure))(X), "pure_callback(host)", "vmap_method='sequential'"),
    "vmap of ordered io": (lambda: jax.vmap(ordered)(X), "io_callback(host, ordered=True)", "ordered=False"),
    "grad of pure": (lambda: differentiated(pure), "pure_callback(host)", "jax.custom_jvp"),
    "grad of jit of pure": (lambda: differentiated(jax.jit(pure)), "pure_callback(host)", "jax.custom_jvp"),
    "grad of io": (lambda: differentiated(io), "io_callback(host)", "jax.debug.callback"),
    "vmap of cond": (
        lambda: jax.vmap(lambda x: jax.lax.cond(x > 0, io, lambda x: x, x))(X),
        "io_callback(host)",
        "outside the cond",
    ),
    "vmap of while": (lambda: looped(io), "io_callback(host)", "outside the loop"),
    "several devices": (lambda: cpu_pmap(printing, len(X))(X), "jax.debug.print('{}', ordered=True)", "ordered=False"),
    "partly manual": (lambda: on_two_axes(io), "io_callback(host)", "all axes"),
}
LINES = {
    name: f"test_refusals.py:{function.__code__.co_firstlineno + 1}"
    for name, function in {"pure": pure, "ordered": ordered, "io": io, "print": printing}.items()
}


def line_of(what):
    return LINES["print" if "print" in what else "ordered" if "ordered" in what else what.partition("_")[0]]


def raised_by(program):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is what the test compares.
        program()
    return type(caught.value), str(caught.value)


@pytest.mark.behaviour("C3")
@pytest.mark.parametrize("refused", REFUSED)
def test_the_error_is_jaxs_and_a_finding_says_which_call_and_what_to_write(refused):
    program, call, way_out = REFUSED[refused]
    expected = raised_by(program)
    with jdw.capture() as run:
        assert raised_by(program) == expected
    (finding,) = run.findings
    assert (finding.kind, finding.where) == ("callback", line_of(call))
    assert f"JAX refuses `{call}`" in finding.headline
    assert way_out in finding.advice
    assert finding.message in run.notes
    assert raised_by(program) == expected, "and nothing is left behind"


@pytest.mark.behaviour("C3")
def test_the_error_ends_the_capture_and_its_finding_stays():
    with pytest.raises(ValueError, match="do not support JVP"), jdw.capture() as run:
        differentiated(pure)
    assert run.status().state == "failed"
    assert ["jax.custom_jvp" in finding.advice for finding in run.findings] == [True]


def test_the_call_is_written_with_a_method_for_vmap():
    with pytest.raises(NotImplementedError) as raised, jdw.capture() as run:
        jax.vmap(pure)(X)
    (finding,) = run.findings
    assert any("vmap_method='sequential'" in note for note in raised.value.__notes__)
    assert finding.fix == ("jax.pure_callback(host, like(x), x, vmap_method='sequential')",)
    names = dict(globals())
    exec(f"def fixed(x):\n    return {finding.fix[0]}", names)  # noqa: S102 - the fix is to run.
    np.testing.assert_array_equal(jax.vmap(names["fixed"])(X), X)


WAYS_OUT = {
    "pure under grad": lambda: differentiated(lambda x: pure(jax.lax.stop_gradient(x)) + x),
    "io under grad": lambda: differentiated(jax.jit(lambda x: io(jax.lax.stop_gradient(x)) + x)),
    "a debug callback under grad": lambda: differentiated(lambda x: (jax.debug.callback(host, x), x)[1]),
    "unordered io under vmap": lambda: jax.vmap(io)(X),
    "a debug callback under vmap of cond": lambda: jax.vmap(
        lambda x: jax.lax.cond(x > 0, lambda x: (jax.debug.callback(host, x), x)[1], lambda x: x, x)
    )(X),
    "ordered io on several devices": lambda: cpu_pmap(ordered, len(X))(X),
}


@pytest.mark.behaviour("C3")
@pytest.mark.parametrize("way_out", WAYS_OUT)
def test_the_correction_in_a_note_works(way_out):
    with jdw.capture() as run:
        jax.block_until_ready(WAYS_OUT[way_out]())
        jax.effects_barrier()
    assert len(run.events) > 0
    assert jnp.size(X) == 2


@pytest.mark.behaviour("C3")
def test_an_inventory_of_a_refused_program_raises_jaxs_error_with_the_note_below():
    expected = raised_by(lambda: jax.jit(jax.vmap(pure))(X))
    with pytest.raises(NotImplementedError) as caught:
        jdw.callbacks(jax.vmap(pure), X)
    assert (type(caught.value), str(caught.value)) == expected
    assert any("vmap_method='sequential'" in note for note in caught.value.__notes__)
