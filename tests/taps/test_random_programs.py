"""Test that random programs print and compute the same in a capture as without one, with each lane marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

import jax_debug_widgets as jdw

XS = np.array([0.25, -0.5, 1.5], np.float32)


@dataclass(frozen=True)
class Body:
    """A function of one number, and its description, which a failing example shows."""

    words: str
    run: Callable[[Any], Any]

    def __repr__(self) -> str:
        return self.words


def printing(number, ordered):
    def run(x):
        jax.debug.print(f"p{number} {{x}}", x=x, ordered=ordered)
        return x

    return Body(f"print{number}", run)


def constant(number, ordered):
    def run(x):
        jax.debug.print(f"c{number}", ordered=ordered)
        return x * 1.0

    return Body(f"constant{number}", run)


WRAPS = {
    "jit": jax.jit,
    "checkpoint": jax.checkpoint,
    "scan": lambda f: lambda x: lax.scan(lambda x, i: (f(x) * 0.9 + i, None), x, jnp.arange(2.0))[0],
    "fori": lambda f: lambda x: lax.fori_loop(0, 2, lambda i, x: f(x + i) * 0.5, x),
    "cond": lambda f: lambda x: lax.cond(x > 0, lambda x: f(x) * 2, lambda x: x - 1, x),
    "while": lambda f: lambda x: lax.while_loop(lambda x: jnp.abs(x) > 1, lambda x: f(x) * 0.4, x * 3),
    "asked": lambda f: (
        lambda x: lax.while_loop(lambda x: (f(x), jnp.abs(x) > 1)[1], lambda x: jnp.sin(x) * 0.9 + x * 0.1, x * 2)
    ),
    "jvp": lambda f: lambda x: sum(jax.jvp(f, (x,), (x,))),
    "grad": lambda f: jax.grad(lambda x: jnp.sin(f(x))),
    "vmap": lambda f: lambda x: jax.vmap(f)(jnp.stack([x, -x])).sum(),
}


@st.composite
def bodies(draw, ordered, depth=3):
    """Generate programs such as `jit(print1 . cond(print2))`.

    A `while` has no reverse derivative, and ordered prints are not vmapped.
    """
    kind = draw(st.sampled_from(["print", "constant", *["wrap"] * 3, "both"])) if depth else "print"
    if kind in ("print", "constant"):
        return (printing if kind == "print" else constant)(draw(st.integers(0, 9)), ordered)
    first = draw(bodies(ordered, depth - 1))
    if kind == "both":
        second = draw(bodies(ordered, depth - 1))
        return Body(f"{first} . {second}", lambda x: second.run(jnp.sin(first.run(x))))
    possible = [
        name for name in WRAPS if not (name == "grad" and any(loop in first.words for loop in ("while", "asked")))
    ]
    name = draw(st.sampled_from([name for name in possible if not (ordered and name == "vmap")]))
    return Body(f"{name}({first})", WRAPS[name](first.run))


def outcome(program, capfd):
    """Return the bits of the result and the lines that JAX printed, or the type of the exception."""
    try:
        result = program()
        jax.effects_barrier()
        return np.asarray(result).tobytes(), capfd.readouterr().out.splitlines()
    except Exception as error:  # noqa: BLE001 - whatever JAX says of a program, it must say in a capture.
        capfd.readouterr()
        return type(error), []


SETTINGS = {
    "max_examples": 30,
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}


@pytest.mark.behaviour("P4", "P11")
@settings(**SETTINGS)
@given(body=bodies(ordered=False), mapped=st.booleans(), jitted=st.booleans())
def test_random_programs_with_unordered_prints_have_the_same_results_and_prints(body, mapped, jitted, capfd):
    function = jax.vmap(body.run) if mapped else body.run
    function = jax.jit(function) if jitted else function
    argument = XS if mapped else XS[0]
    bits, lines = outcome(lambda: function(argument), capfd)
    with jdw.capture() as run:
        captured, leaked = outcome(lambda: function(argument), capfd)
    assert (captured, leaked) == (bits, [])
    assert Counter(event.text for event in run.events) == Counter(lines)
    # A value with lanes prints for each lane what that lane prints alone; a constant prints once.
    if mapped and isinstance(bits, bytes):
        alone = [outcome(lambda x=x: jax.jit(body.run)(x), capfd)[1] for x in XS]
        for lane, said in enumerate(alone):
            real = Counter(
                event.text for event in run.events if event.lane and event.lane[0] == lane and not event.phantom
            )
            assert real <= Counter(said), f"lane {lane}"
            valued = Counter(line for line in said if line.startswith("p"))
            assert Counter({text: n for text, n in real.items() if text.startswith("p")}) == valued, f"lane {lane}"


@pytest.mark.behaviour("P8")
@settings(**SETTINGS)
@given(body=bodies(ordered=True), jitted=st.booleans())
def test_random_programs_with_ordered_prints_have_the_same_results_and_prints(body, jitted, capfd):
    function = jax.jit(body.run) if jitted else body.run
    bits, lines = outcome(lambda: function(XS[0]), capfd)
    with jdw.capture() as run:
        captured, leaked = outcome(lambda: function(XS[0]), capfd)
    assert (captured, leaked) == (bits, [])
    assert [event.text for event in run.events] == lines
