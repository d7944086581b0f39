"""Test that the scalars which a program prints are packed into a few results, which compile fast for any number."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.packing import _FEW, _MANY, _by_concatenating, _by_selecting

WAYS = [(_by_concatenating, count) for count in (2, _FEW, _FEW + 1, _MANY)]
WAYS += [(_by_selecting, count) for count in (2, _FEW, _FEW + 1, 65, 600)]


@pytest.mark.parametrize(
    "dtype", [np.float32, np.int8, np.uint32, bool, np.complex64, jnp.bfloat16], ids=lambda one: one.__name__
)
@pytest.mark.parametrize(("together", "count"), WAYS)
def test_each_number_is_in_its_place_with_all_its_bits(together, count, dtype):
    values = (np.arange(count) % 7).astype(dtype)
    if not np.issubdtype(values.dtype, np.integer) and values.dtype != bool:
        values[:2] = -0.0, np.nan
    array = np.asarray(jax.jit(together)(*map(jnp.asarray, values)))
    assert array.dtype == values.dtype
    assert array.tobytes() == values.tobytes()


def concatenated(jaxpr):
    """Return the number of operands of each concatenation in a program."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "concatenate":
            yield len(equation.invars)
        for inside in core.jaxprs_in_params(equation.params):
            yield from concatenated(inside)


@pytest.mark.parametrize(("together", "count"), WAYS)
def test_a_concatenation_takes_at_most_few_operands(together, count):
    program = jax.make_jaxpr(together)(*[jnp.float32(1)] * count)
    assert max(concatenated(program.jaxpr), default=0) <= _FEW
    assert [variable.aval.str_short() for variable in program.jaxpr.outvars] == [f"float32[{count}]"]


@pytest.mark.parametrize(
    "transform", [lambda f: f, jax.value_and_grad, jax.checkpoint], ids=["plain", "grad", "checkpoint"]
)
@pytest.mark.parametrize("backend", ["cpu", "gpu"])
def test_each_of_many_prints_shows_its_own_number(transform, backend, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)

    def many(x):
        for number in range(130):
            jax.debug.print("{number}: {x}", number=number, x=x + number)
        return x

    with jdw.capture() as run:
        jax.jit(transform(many))(jnp.float32(1))
    assert [event.text for event in run.events] == [f"{number}: {number + 1.0}" for number in range(130)]
