"""Test runs of functions under `jax.pmap` and `shard_map`, where JAX adds functions around and between them."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from tests.devices import cpu_pmap


@pytest.fixture
def scaled():
    """Return a function that nothing has traced yet."""

    def scaled(x, factor):
        print("tracing")
        jax.debug.print("x {x}", x=x)
        return x * factor

    return scaled


def test_a_call_and_its_stages_have_the_name_of_the_users_function(scaled):
    with jdw.capture(echo=False) as run:
        cpu_pmap(partial(scaled, factor=2.0), 2)(jnp.arange(2.0))
        cpu_pmap(scaled, 2, static_broadcasted_argnums=1)(jnp.arange(2.0), 3.0)
        jax.jit(lambda x: cpu_pmap(partial(scaled, factor=4.0), 2)(x) + 1)(jnp.arange(2.0))
    assert [call.name for call in run.calls] == ["scaled", "scaled", "<lambda>"]
    assert all(call.compile > 0 and call.lower > 0 for call in run.calls)
    assert not {"_fun", "call_wrapped"} & set(run.compilations)


@pytest.mark.behaviour("P3")
def test_python_prints_in_them_are_reported(scaled, capsys):
    devices = Mesh(np.array(jax.devices("cpu")[:2]), ("i",))
    with jdw.capture(echo=False) as run:
        cpu_pmap(scaled, 2, static_broadcasted_argnums=1)(jnp.arange(2.0), 3.0)
        jax.jit(jax.shard_map(partial(scaled, factor=2.0), mesh=devices, in_specs=P("i"), out_specs=P("i")))(
            jnp.ones(2)
        )
    assert capsys.readouterr().out == "tracing\n" * 2
    assert [(told.text, told.function) for told in run.trace_prints] == [("tracing\n", "scaled")] * 2
