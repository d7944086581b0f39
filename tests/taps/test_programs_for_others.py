"""Test that programs which are exported, serialized, sent or inspected in a capture are those of plain JAX."""

from contextlib import nullcontext
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src import effects  # noqa: TID251 - there is no public effect that is ordered and calls no host.
from jax.experimental.compilation_cache import compilation_cache
from jax.experimental.serialize_executable import deserialize_and_load, serialize
from jax.interpreters import mlir
from numba import cloudpickle

import jax_debug_widgets as jdw


@pytest.fixture(autouse=True)
def compiled_here():
    """Compile the serialized program: JAX cannot run one that was serialized from its cache on disk."""
    for is_used in (False, True):
        jax.config.update("jax_enable_compilation_cache", is_used)
        compilation_cache.reset_cache()
        if not is_used:
            yield


@dataclass(frozen=True)
class InOrder(effects.Effect):
    """An ordered effect of JAX that calls no host."""


effects.ordered_effects.add_type(InOrder)
effects.lowerable_effects.add_type(InOrder)
in_order_p = jax.extend.core.Primitive("in_order")
in_order_p.def_effectful_abstract_eval(lambda x: (x, {InOrder()}))
mlir.register_lowering(in_order_p, lambda context, x: (context.set_tokens_out(context.tokens_in), [x])[1])


def silent(x):
    h = jnp.sin(x)
    return (h * 2).sum()


def printing(x):
    h = jnp.sin(x)
    jax.debug.print("h {}", h)
    return (h * 2).sum()


def in_a_loop(x):
    def step(carry, t):
        jax.debug.print("carry {}", carry, ordered=True)
        return carry * t, None

    return lax.scan(step, x, jnp.arange(3.0))[0].sum()


def ordered(x):
    h = in_order_p.bind(x)
    return h.sum()


X = jnp.arange(3.0)
OPTIONS = {"captured": {}, "watched": {"watch": True}}
capturing = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


@capturing
@pytest.mark.parametrize(
    "make",
    [lambda: silent, lambda: ordered, lambda: jax.value_and_grad(silent), lambda: jax.vmap(jax.checkpoint(jnp.sin))],
    ids=["plain", "ordered effects", "grad", "vmap of checkpoint"],
)
def test_exported_programs_are_those_without_a_capture(make, options):
    def exported(context):
        with context:
            of = jax.export.export(jax.jit(make()))(X)
            backward = of.vjp().mlir_module() if make() is silent else ""
            return of.mlir_module(), backward, of.ordered_effects, of.module_kept_var_idx

    plain, ours = (exported(context) for context in (nullcontext(), jdw.capture(**options)))  # One line calls both.
    assert ours == plain


@capturing
@pytest.mark.parametrize("function", [silent, printing, in_a_loop])
def test_costs_and_text_of_a_program_are_those_without_a_capture(function, options):
    def looked_at(lowered, compiled):
        costs = lowered.cost_analysis(), compiled.cost_analysis()
        about = compiled.memory_analysis().temp_size_in_bytes, compiled.input_shardings
        # The text of other programs has addresses, and that of each program the calling lines.
        text = compiled.as_text().splitlines() if function is silent else ()
        operations = [line.partition(", metadata=")[0] for line in text if " = " in line]
        return costs, about, operations, lowered.as_text() if function is silent else ""

    def made(context):
        with context:
            lowered = jax.jit(function).lower(X)
            compiled = lowered.compile()
            return looked_at(lowered, compiled), lowered, compiled

    capture = jdw.capture(**options)
    (plain, *_), (ours, lowered, compiled) = (made(context) for context in (nullcontext(), capture))  # The same line.
    assert ours == plain == looked_at(lowered, compiled)


@capturing
@pytest.mark.parametrize("function", [printing, in_a_loop, silent])
def test_a_program_that_was_inspected_still_has_its_events_when_called(function, options):
    with jdw.capture(**options) as run:
        compiled = jax.jit(function).lower(X).compile()
        assert compiled.cost_analysis()
        np.testing.assert_allclose(compiled(X), function(X), rtol=1e-6)
    kinds = {event.site.kind for event in run.events}
    assert kinds == {kind for kind, is_there in {"print": function is not silent, "watch": options}.items() if is_there}


@capturing
def test_serialized_programs_run_without_a_capture(options):
    with jdw.capture(**options):
        compiled = jax.jit(silent).lower(X).compile()
        compiled(X)
        shipped = serialize(compiled)
    loaded = deserialize_and_load(*shipped, execution_devices=jax.devices()[:1])
    assert float(loaded(X)) == float(silent(X))


@capturing
@pytest.mark.parametrize("function", [silent, printing])
def test_a_jitted_function_is_shipped_by_pickle(function, options):
    with jdw.capture(**options) as run:
        shipped = cloudpickle.dumps(jax.jit(function))
        np.testing.assert_allclose(cloudpickle.loads(shipped)(X), silent(X), rtol=1e-6)
    assert bool(run.events) == (function is printing or bool(options))
    events = len(run.events)
    assert b"jax_debug_widgets" not in shipped
    np.testing.assert_allclose(cloudpickle.loads(shipped)(X), silent(X), rtol=1e-6)
    assert len(run.events) == events
