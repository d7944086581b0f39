"""Test values that are assigned in parts: objects, dictionaries and tuples that the source builds."""

from __future__ import annotations

import collections
import dataclasses
import inspect
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import struct
from jax import lax

from jax_debug_widgets.watch.choosing.why_unwatched import SEVERAL, named_places


class Bodies(NamedTuple):
    """Positions and velocities, float32[n, 2]."""

    at: jax.Array
    speed: jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Energy:
    kinetic: jax.Array
    potential: jax.Array


def pulls(at):
    """Return the acceleration of each body towards the others, float32[n, 2]."""
    apart = at[None] - at[:, None]
    return (apart / ((apart**2).sum(-1, keepdims=True) + 0.1) ** 1.5).sum(1)


def step(bodies, dt):
    half = bodies._replace(speed=bodies.speed + pulls(bodies.at) * dt / 2)
    moved = Bodies(at=half.at + half.speed * dt, speed=half.speed)
    energy = Energy(kinetic=(moved.speed**2).sum() / 2, potential=jnp.abs(moved.at).sum())
    doubled = dataclasses.replace(energy, kinetic=energy.kinetic * 2)
    return Bodies(moved.at, moved.speed + pulls(moved.at) * dt / 2), doubled


BODIES = Bodies(np.array([[0, 0], [1, 0], [0, 2]], np.float32), np.array([[0, 1], [0, -1], [1, 0]], np.float32))
DT = np.float32(0.1)


def oracle():
    """Return the unjitted values of two steps: half-step velocities, positions, twice the kinetic energy."""
    bodies, found = BODIES, []
    for _ in range(2):
        half = bodies.speed + pulls(bodies.at) * DT / 2
        at = bodies.at + half * DT
        found.append((half, at, (half**2).sum()))
        bodies = Bodies(at, half + pulls(at) * DT / 2)
    return found


@pytest.mark.parametrize("differentiated", [False, True])
def test_the_fields_of_the_state_of_a_simulation(watched, agrees, differentiated):
    def simulate(bodies):
        end, energies = lax.scan(lambda bodies, _: step(bodies, DT), bodies, None, length=2)
        return (end.at**2).sum() + energies.kinetic.sum() + energies.potential.sum()

    run = watched(jax.jit(jax.value_and_grad(simulate) if differentiated else simulate), BODIES)
    for number, (half, at, kinetic) in enumerate(oracle()):
        agrees(run["half.speed"], half, number)
        agrees(run["moved.at"], at, number)
        agrees(run["energy.kinetic"], kinetic / 2, number)
        agrees(run["doubled.kinetic"], kinetic, number)
    if differentiated:
        assert np.isfinite(run["moved.at"].gradient["l2"]).all()


def test_fields_by_position_items_by_keyword_and_what_is_in_each_other(watched, agrees):
    @jax.jit
    def f(x):
        pair = Bodies(x + 1, x * 2)
        items = dict(up=pair.at + 1, down=pair.speed - 1)  # noqa: C408 - it is what is tested.
        nested = {"own": Bodies(at=items["up"] * 2, speed=x), "list": [x - 1, items["down"] * 3]}
        return nested

    x = jnp.arange(3.0)
    run = watched(f, x)
    expected = {
        "pair.at": x + 1,
        "pair.speed": x * 2,
        "items['up']": x + 2,
        "items['down']": x * 2 - 1,
        "nested['own'].at": (x + 2) * 2,
        "nested['list'][0]": x - 1,
        "nested['list'][1]": (x * 2 - 1) * 3,
    }
    for name, value in expected.items():
        agrees(run[name], value)


Pair = collections.namedtuple("Pair", "left right")  # noqa: PYI024 - it is what is tested


@struct.dataclass
class Walker:
    at: jax.Array
    seen: int = struct.field(pytree_node=False)
    speed: jax.Array


class Swapped(collections.namedtuple("Swapped", "low high")):  # noqa: PYI024
    """A class whose constructor has its fields in another order."""

    __slots__ = ()

    def __new__(cls, up, down):
        return super().__new__(cls, down, up)


def test_positional_arguments_of_a_class_are_its_fields(watched, agrees):
    @jax.jit
    def f(x):
        pair = Pair(x + 1, right=x * 2)
        walker = Walker(pair.left * 3, 7, speed=pair.right - 1)
        state = optax.TraceState({"w": walker.at - x})
        swapped = Swapped(x * 5, x * 7)
        return walker, state, {"last": Energy(x.sum(), walker.speed * 2)}, swapped.low + swapped.high

    x = jnp.arange(3.0)
    run = watched(f, x)
    expected = {
        "pair.left": x + 1,
        "pair.right": x * 2,
        "walker.at": (x + 1) * 3,
        "walker.speed": x * 2 - 1,
        "state.trace['w']": (x + 1) * 3 - x,
    }
    for name, value in expected.items():
        agrees(run[name], value)
    assert not {"swapped.low", "swapped.high", "swapped.up", "swapped.down"} & set(run.values)


def test_a_class_that_is_defined_anew_has_its_new_fields(watched, agrees, monkeypatch):
    def f(x):
        pair = Pair(x + 1, x * 2)
        return pair

    x = jnp.arange(3.0)
    agrees(watched(jax.jit(f), x)["pair.left"], x + 1)
    monkeypatch.setitem(globals(), "Pair", collections.namedtuple("Pair", "right left"))  # noqa: PYI024
    agrees(watched(jax.jit(f), jnp.arange(3))["pair.left"], x * 2)


class Shifted(eqx.Module):
    """A class whose fields differ from the arguments of its constructor."""

    at: jax.Array

    def __init__(self, at, by):
        self.at = at + by


def Doubled(x, by):  # noqa: N802 - a function that is called as a class is.
    return x * 2 + by


def test_items_that_are_put_into_a_copy_of_a_dictionary_have_names(watched, agrees):
    @jax.jit
    def f(state, xs):
        def step(state, x):
            state = {**state, "a": state["a"] + x, "n": state["n"] + 1.0}
            state["mean"] = state["a"] / state["n"]
            joined = state | {"b": state["mean"] * 2}
            made = dict(joined, c=joined["b"] + 1)
            more = dict(**made, d=made["c"] * x)
            more |= {"e": more["d"] - x}
            hidden = {"a": x * 7, **more, "f": more["e"] * 3}
            return state, hidden["f"] + hidden["a"]

        return lax.scan(step, state, xs)

    run = watched(f, {"a": 0.0, "n": 0.0, "mean": 0.0}, jnp.arange(1.0, 4))
    total = 0.0
    for number, x in enumerate([1.0, 2.0, 3.0]):
        total += x
        mean = total / (number + 1)
        c = mean * 2 + 1
        values = {"joined['b']": mean * 2, "made['c']": c, "more['d']": c * x, "more['e']": c * x - x}
        for name, value in {**values, "hidden['f']": (c * x - x) * 3}.items():
            agrees(run[name], value, number)
        a, n = (next(run.values[name] for name in run if name.startswith(f"state['{key}']")) for key in "an")
        agrees(a, total, number)
        agrees(n, number + 1.0, number)
    assert "hidden['a']" not in run  # `**more` has replaced it.


def test_a_call_that_computes_something_has_no_fields_of_its_arguments(watched, agrees):
    @jax.jit
    def f(x):
        shifted = Shifted(at=x * 3, by=x + 1)
        doubled = Doubled(x - 1, by=x * 5)
        return shifted.at, doubled

    x = jnp.arange(3.0)
    run = watched(f, x)
    assert {name.partition("@")[0] for name in run.values} == {"x", "shifted.at", "self.at", "doubled", "x * 2 + by"}
    agrees(run["shifted.at"], x * 4 + 1)
    agrees(run["doubled"], x * 7 - 2)


def test_an_object_is_shown_by_its_fields(watched):
    run = watched(jax.jit(step), BODIES, DT)
    _, places = named_places(__file__, run.watch_seen())
    lines, first = inspect.getsourcelines(step)
    why = {place.name: place.why for place in places if first < place.span.line < first + len(lines)}
    assert [why[name] for name in ("half", "moved", "energy", "doubled")] == [SEVERAL] * 4
    assert [why[name] for name in ("half.speed", "moved.at", "energy.potential", "doubled.kinetic")] == [""] * 4
    assert why["moved.speed"] == "not watched by this name: the same value as half.speed; name either with --watch"
