"""Test `jdw.diff`: two programs compared equation by equation."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.graphs import diff, flat
from jax_debug_widgets.graphs.flat import flat_of

X = jnp.ones((2, 3))
W = jnp.eye(3)


def tanh(p, x):
    h = jnp.tanh(x @ p)
    return h @ p


def relu(p, x):
    h = jax.nn.relu(x @ p)
    return h @ p


def looped(x):
    return lax.while_loop(lambda s: jnp.sum(s) > 1.0, lambda s: lax.cond(s[0, 0] > 0.5, jnp.sin, jnp.cos, s), x)


def inside_sqrt(x):
    return x / jnp.sqrt(jnp.mean(x**2) + 1e-5)


def outside_sqrt(x):
    return x / (jnp.sqrt(jnp.mean(x**2)) + 1e-5)


def shifted(p, x):
    h = jnp.tanh(x @ p + 1.0)
    return h @ p


def squared(x):
    return jnp.sum(jnp.tanh(x) ** 2)


PAIRS = {
    "added": (tanh, shifted, (W, X)),
    "while": (looped, inside_sqrt, (X,)),
    "sqrt": (inside_sqrt, outside_sqrt, (X,)),
    "remat": (jax.grad(squared), jax.grad(jax.checkpoint(squared)), (X,)),
}


def seen(found):
    return [(one.kind, one.before and one.before.names, one.after and one.after.names, one.what) for one in found]


@pytest.mark.behaviour("G6")
@pytest.mark.parametrize(("f", "g", "args"), PAIRS.values(), ids=PAIRS)
def test_a_program_is_the_same_as_itself_and_differences_are_mirrored(f, g, args):
    for one in (f, g):
        itself = jdw.diff(one, jax.jit(one), *args)
        assert itself.is_in_order and set(itself.counts) <= {"same"}, itself
    forth, back = jdw.diff(f, g, *args), jdw.diff(g, f, *args)
    kinds = {"added": "removed", "removed": "added"}
    assert back.counts == {kinds.get(kind, kind): count for kind, count in forth.counts.items()}
    assert sorted(map(str, seen(forth.mirrored()))) == sorted(map(str, seen(back)))
    assert (forth.is_same, forth.is_in_order) == (back.is_same, back.is_in_order)


@pytest.mark.behaviour("G6")
def test_an_inserted_equation_is_added_and_its_user_is_changed():
    found = jdw.diff(tanh, shifted, W, X)
    (added,) = found.of_kind("added")
    assert added.after.primitive == "add"
    assert [one.after.primitive for one in found.of_kind("changed")] == ["tanh"]
    assert found.counts["same"] == 2


@pytest.mark.behaviour("G6")
def test_an_assertion_says_what_differs():
    with pytest.raises(AssertionError, match="tanh → max"):
        jdw.assert_same_program(tanh, relu, W, X)


def test_programs_with_different_constants_results_or_rules_differ():
    small, large = jnp.arange(3.0), jnp.arange(3.0) * 2
    assert jdw.diff(lambda x: x + small, lambda x: x + large, jnp.ones(3)).counts == {"changed": 1}
    swapped = jdw.diff(lambda x: (jnp.sin(x), jnp.cos(x)), lambda x: (jnp.sin(x), jnp.cos(x))[::-1], 1.0)
    assert not swapped.is_same and "returns jnp.sin(x) → cos_1, jnp.cos(x) → sin_1" in swapped.headline

    @jax.custom_jvp
    def ruled(x):
        return jnp.sin(x)

    ruled.defjvps(lambda t, _y, _x: t)
    assert "no rule for derivatives" in str(jdw.diff(jnp.sin, ruled, 1.0))


@pytest.mark.behaviour("G6")
def test_the_magic_compares_two_functions_or_one_before_and_after_a_transformation(ours):
    ours.run("def f(x):\n    return jnp.sin(x).sum()\ndef g(x):\n    return jnp.cos(x).sum()\nx = jnp.ones(3)")
    assert "sin → cos" in ours.run("%jaxdebug diff f g -- x").value
    assert "sin → cos" in ours.run("%jaxdebug diff jax.jit(f) (lambda x: g(x)) -- x").value
    assert "backward" in ours.run("%jaxdebug diff f -- x --before grad").value
    assert "float32[3] → float32[8,3]" in ours.run("%jaxdebug diff --before vmap f -- x").value
    for wrong in ("f g", "f -- x"):
        outcome = ours.run(f"%jaxdebug diff {wrong}")
        assert "%jaxdebug diff f g -- x" in outcome.stdout + outcome.stderr


def kept(scale):
    return lambda x: np.asarray(x) * scale


def called(function):
    return lambda x: jax.pure_callback(function, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (called(np.sin), called(np.cos)),
        (called(kept(2)), called(kept(3))),
        (called(lambda x: np.sin(x) + 1), called(lambda x: np.cos(x) + 1)),
        (lambda x: (x + 1, x), lambda x: {"a": x + 1, "b": x}),
    ],
    ids=["functions", "closures", "lambdas", "structure"],
)
def test_programs_with_different_callbacks_or_structures_differ(one, other):
    x = jnp.ones(3)
    assert jdw.diff(one, one, x).is_same
    assert not jdw.diff(one, other, x).is_same
    with pytest.raises(AssertionError):
        jdw.assert_same_program(one, other, x)
    assert jdw.diff(called(kept(2)), called(kept(2)), x).is_same


def test_diff_of_one_function_says_that_it_takes_two():
    with pytest.raises(TypeError, match=r"^diff takes two functions, then what both take"):
        jdw.diff(jnp.sin, jnp.ones(3))  # pyright: ignore[reportArgumentType]


@pytest.mark.behaviour("G6")
def test_same_has_three_senses():
    def ordered(x):
        a, b = jnp.sin(x), jnp.cos(x)
        return a + b

    def reordered(x):
        b, a = jnp.cos(x), jnp.sin(x)
        return a + b

    found = jdw.diff(ordered, reordered, jnp.ones(3), xla=True)
    assert (found.is_same, found.is_in_order, found.is_same_executable) == (True, False, True)
    assert "1 of them in another order; XLA makes the same executable of them" in str(found)
    other = jdw.diff(ordered, jnp.sin, jnp.ones(3), xla=True)
    assert not other.is_same and other.is_same_executable is False and "two executables" in str(other)
    assert jdw.diff(ordered, ordered, jnp.ones(3)).is_same_executable is None


def nested(depth):
    def f(x):
        return lax.fori_loop(0, 2, lambda _, y: nested(depth - 1)(y) + 1.0, x) if depth else jnp.sin(x)

    return f


def test_nested_loops_are_hashed_in_proportion_to_their_depth(monkeypatch):
    made = []
    monkeypatch.setattr(flat, "flat_of", lambda body, inputs: made.append(body) or flat_of(body, inputs))
    counts = []
    for depth in (4, 8):
        made.clear()
        program = jdw.table(nested(depth), X, xla=False).program
        assert diff(program, program).is_in_order
        counts.append(len(made))
    assert counts[1] <= 2 * counts[0]


def branching(f):
    return lambda x: lax.cond(x[0] > 0, jnp.sin, f, x)


@pytest.mark.behaviour("G6")
def test_inner_differences_have_the_direction_of_the_outer_ones():
    longer = branching(lambda x: jnp.cos(x) + 1.0)
    shorter = branching(jnp.cos)
    (cond,) = jdw.diff(shorter, longer, jnp.ones(3)).of_kind("changed")
    assert cond.what == ("inside: 1 → 2 equations: 1 same, 1 added, returns cos_1 → jnp.cos(x) + 1.0",)
    (cond,) = jdw.diff(longer, shorter, jnp.ones(3)).of_kind("changed")
    assert cond.what == ("inside: 2 → 1 equation: 1 same, 1 removed, returns jnp.cos(x) + 1.0 → cos_1",)


def test_two_arrays_are_distinguished():
    table = jnp.arange(3.0), jnp.arange(3.0) * 2
    (changed,) = jdw.diff(*(lambda x, by=by: x * by for by in table), jnp.ones(3)).of_kind("changed")
    (what,) = changed.what
    assert re.fullmatch(r"array \((\w{6})\) → array \((?!\1)\w{6}\)", what)


def test_an_equation_with_another_primitive_for_the_same_result_is_changed():
    (change,) = jdw.diff(jnp.sum, jnp.max, jnp.ones(3))
    assert (change.kind, change.what[0]) == ("changed", "reduce_sum → reduce_max")


def checkpointed(w, x):
    return jnp.sin(jnp.tanh(x @ w)) + x


def twice(w, x, layer=checkpointed):
    return layer(w, layer(w, x)).sum()


def twice_again(w, x):
    return twice(w, x, jax.checkpoint(checkpointed))


@pytest.mark.behaviour("G6")
def test_a_checkpoint_that_is_added_is_one_change_around_the_same_equations():
    w, x = jnp.ones((4, 4)), jnp.ones((3, 4))
    found = jdw.diff(twice, twice_again, w, x)
    assert found.counts == {"same": 9, "added": 2} and not found.is_same
    assert found.headline == "9 → 11 equations: 9 same, 2 added"
    assert [one.note for one in found.of_kind("added")] == ["jax.checkpoint around 4 equations"] * 2
    assert jdw.diff(twice_again, twice, w, x).headline == "11 → 9 equations: 9 same, 2 removed"
    assert jdw.diff(twice_again, twice_again, w, x).is_same


def test_another_policy_of_a_checkpoint_is_one_change():
    policies = jax.checkpoint_policies
    one, other = (
        lambda w, x, policy=policy: jax.checkpoint(checkpointed, policy=policy)(w, x)
        for policy in (policies.dots_saveable, policies.nothing_saveable)
    )
    found = jdw.diff(one, other, jnp.ones((4, 4)), jnp.ones((3, 4)))
    assert found.counts["changed"] == 1
    assert "policy: " in str(found) and "nothing_saveable" in str(found)


def test_what_a_checkpoint_computes_again_in_the_backward_pass_is_added():
    w, x = jnp.ones((4, 4)), jnp.ones((3, 4))
    found = jdw.diff(jax.grad(twice), jax.grad(twice_again), w, x)
    assert not found.counts["removed"] and not found.counts["changed"]
    assert {one.after.role for one in found.of_kind("added") if not one.note} == {"recompute"}


def unrolled(x):
    h = x
    for _ in range(3):
        h = jnp.tanh(h)
    return h


def in_a_scan(x):
    h, _ = lax.scan(lambda h, _: (jnp.tanh(h), None), x, length=3)
    return h


@pytest.mark.behaviour("G6")
def test_a_loop_is_no_change_of_an_operation_of_the_same_name():
    found = jdw.diff(unrolled, in_a_scan, X)
    assert found.counts == {"added": 1, "removed": 3}
    (loop,) = found.of_kind("added")
    assert loop.after.primitive == "scan" and loop.note == "3 steps of 1 equation, one by one in the other"
    (loop,) = jdw.diff(in_a_scan, lambda x: jnp.sin(jnp.sin(x)), X).of_kind("removed")
    assert loop.note == "3 steps of 1 equation"


@pytest.mark.behaviour("G6")
def test_a_body_that_only_returns_another_value_says_which():
    def carrying(after):
        def step(carry, x):
            new = 0.9 * carry + x
            return new, new if after else carry

        return lambda x: lax.scan(step, 0.0, x)[1]

    found = jdw.diff(carrying(True), carrying(False), X[0])
    assert found.headline.endswith("1 changed (inside: other results)")
    assert "returns new → carry" in str(found)


@pytest.mark.behaviour("G6")
@pytest.mark.parametrize("derived", [lambda f: f, jax.grad], ids=["plain", "grad"])
def test_another_solver_of_a_root_is_another_program(derived):
    def root(steps, rate=1.0):
        def newton(g, x):
            return lax.fori_loop(0, steps, lambda _, x: x - rate * g(x) / jax.grad(g)(x), x)

        return derived(lambda a: lax.custom_root(lambda x: x**3 - a, 1.5, newton, lambda g, y: y / g(1.0)))

    assert jdw.diff(root(20), root(20), 2.0).is_same
    for other in (root(10), root(20, 0.5)):
        found = jdw.diff(root(20), other, 2.0)
        assert not found.is_same and found.of_kind("changed"), found
