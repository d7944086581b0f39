"""Test PRNG keys, typed and legacy, that a program uses more than once."""

from __future__ import annotations

import functools
import inspect

import jax
import jax.numpy as jnp
import pytest
from jax import lax, random

import jax_debug_widgets as jdw


def drawn_twice(k):
    a = random.normal(k, (3,))
    return a + random.uniform(k, (3,))  # here


def split_and_drawn(k):
    a, _ = random.split(k)
    return random.normal(a) + random.normal(k)  # here


def in_a_loop(k):
    return lax.fori_loop(0, 5, lambda _, s: s + random.normal(k), jnp.float32(0))  # here


def in_a_loop_of_loops_of_one(k):
    def walk(s, _):
        return lax.scan(lambda s, x: (s + random.normal(k), x), s, jnp.arange(1))  # here

    return lax.scan(walk, jnp.float32(0), None, length=5)[0]


def carried_unchanged(k):
    def body(c, _):
        k, s = c
        return (k, s + random.normal(k)), s  # here

    return lax.scan(body, (k, jnp.float32(0)), None, length=4)[0][1]


def twice_in_an_iteration(k):
    def body(k, _):
        noise = random.normal(k)
        other = random.normal(k)  # here
        k, _ = random.split(k)
        return k, noise - other

    return lax.scan(body, k, None, length=3)[1]


def folded_twice(k):
    a = random.normal(random.fold_in(k, 1))
    return a + random.uniform(random.fold_in(k, 1))  # here


def in_a_jitted_helper(k):
    draw = jax.jit(random.normal)
    a = draw(k)
    return a + random.uniform(k)  # here


def one_half_and_the_whole(k):
    both = random.split(k)
    a = random.normal(both[0])
    return a + random.uniform(both[0])  # here


def each_element_twice(k):
    def body(x, k):
        return x + random.normal(k) * random.uniform(k), None  # here

    return lax.scan(body, jnp.float32(0), random.split(k, 4))[0]


def folded_by_one_number_in_a_loop(k):
    return lax.fori_loop(0, 5, lambda _, s: s + random.normal(random.fold_in(k, 7)), jnp.float32(0))  # here


def a_clone_twice(k):
    other = random.clone(k)
    a = random.normal(other)
    return a + random.uniform(other)  # here


def unwrapped_and_wrapped(k):
    other = random.wrap_key_data(random.key_data(k))
    a = random.normal(k)
    return a + random.uniform(other)  # here


draw = jax.jit(lambda k, x: x + random.normal(k))


def in_one_helper_twice(k):
    a = draw(k, 1.0)
    return a + draw(k, 2.0)  # here


def through_a_helper_and_a_loop(k):
    (same, _), _ = lax.scan(lambda c, x: (c, x), (jax.jit(lambda k: k)(k), jnp.float32(0)), jnp.arange(3))
    a = random.normal(k)
    return a + random.uniform(same)  # here


def in_the_same_branch_of_two(k):
    is_first = random.key_data(k)[0] > 3
    x = lax.cond(is_first, lambda: random.normal(k), lambda: 0.0)
    return x + lax.cond(is_first, lambda: random.uniform(k), lambda: 0.0)  # here


def in_branches_of_two_values(k):
    first, other = random.key_data(k)[:2]
    x = lax.cond(first > 3, lambda: random.normal(k), lambda: 0.0)
    return x + lax.cond(other > 3, lambda: 0.0, lambda: random.uniform(k))  # here


def in_a_branch_and_after_it(k):
    x = lax.cond(random.key_data(k)[0] > 3, lambda: random.normal(k), lambda: random.uniform(k))
    return x + random.normal(k)  # here


def what_a_branch_hands_on(k):
    is_first = random.key_data(k)[0] < 3
    x = lax.cond(is_first, lambda: random.normal(k), lambda: 0.0)
    same = lax.cond(is_first, lambda: k, lambda: random.split(k)[0])
    return x + random.normal(same)  # here


def what_a_branch_hands_on_in_a_loop(k):
    same = lax.cond(random.key_data(k)[0] < 3, lambda: k, lambda: random.clone(k))
    return lax.fori_loop(0, 5, lambda _, s: s + random.normal(same), jnp.float32(0))  # here


def in_a_branch_of_a_switch_and_of_a_cond(k):
    at = random.key_data(k)[0].astype(int)
    x = lax.switch(at, [lambda: random.normal(k), lambda: 0.0, lambda: 1.0])
    return x + lax.cond(at == 0, lambda: random.uniform(k), lambda: 0.0)  # here


def where_a_negation_does_not_hold(k):
    is_first = random.key_data(k)[0] > 3
    x = lax.cond(is_first, lambda: random.normal(k), lambda: 0.0)
    return x + lax.cond(~is_first, lambda: 0.0, lambda: random.uniform(k))  # here


def where_two_comparisons_overlap(k):
    number = random.key_data(k)[0]
    x = lax.cond(number > 3, lambda: random.normal(k), lambda: 0.0)
    return x + lax.cond(number < 5, lambda: random.uniform(k), lambda: 0.0)  # here


def in_branches_of_lanes_and_after_them(k):
    def walk(x):
        y = lax.cond(x > 1, lambda: random.normal(k), lambda: 0.0)
        return y + random.exponential(k)  # here

    return jax.vmap(walk)(jnp.arange(3.0))


def in_the_same_branch_of_lanes_with_their_own_keys(k):
    def walk(k, x):
        y = lax.cond(x > 1, lambda: random.normal(k), lambda: 0.0)
        return y + lax.cond(x > 1, lambda: random.uniform(k), lambda: 0.0)  # here

    return jax.vmap(walk)(random.split(k, 3), jnp.arange(3.0))


REUSING = {
    in_a_branch_of_a_switch_and_of_a_cond: ("already draws",),
    where_a_negation_does_not_hold: ("already draws",),
    where_two_comparisons_overlap: ("already draws",),
    in_branches_of_lanes_and_after_them: ("already draws",),
    in_the_same_branch_of_lanes_with_their_own_keys: ("already draws",),
    what_a_branch_hands_on: ("already draws",),
    what_a_branch_hands_on_in_a_loop: ("5 iterations",),
    in_the_same_branch_of_two: ("already draws",),
    in_branches_of_two_values: ("already draws",),
    in_a_branch_and_after_it: ("already draws",),
    each_element_twice: ("already draws",),
    folded_by_one_number_in_a_loop: ("5 iterations",),
    a_clone_twice: ("already draws",),
    unwrapped_and_wrapped: ("already draws",),
    in_one_helper_twice: ("already draws",),
    through_a_helper_and_a_loop: ("already draws",),
    drawn_twice: ("already draws", "split"),
    split_and_drawn: ("already splits",),
    in_a_loop: ("5 iterations", "fold_in"),
    in_a_loop_of_loops_of_one: ("5 iterations",),
    carried_unchanged: ("4 iterations",),
    twice_in_an_iteration: ("already draws",),
    folded_twice: ("already draws",),
    in_a_jitted_helper: ("already draws",),
    one_half_and_the_whole: ("already draws",),
}


def line_of(function) -> int:
    source, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(source) if "# here" in line)


@pytest.mark.behaviour("S8")
@pytest.mark.parametrize("make", [random.key, random.PRNGKey], ids=["typed", "legacy"])
@pytest.mark.parametrize("program", REUSING, ids=lambda one: one.__name__)
def test_a_second_use_is_found_at_its_line(program, make):
    with jdw.capture() as run:
        jax.jit(program)(make(0))
    (finding,) = run.findings
    assert finding.kind == "keys"
    assert finding.where.endswith(f":{line_of(program)}")
    assert all(word in finding.message for word in REUSING[program]), finding.message


def carried_and_split(k):
    def body(c, _):
        k, s = c
        k, sub = random.split(k)
        return (k, s + random.normal(sub)), s

    return lax.scan(body, (k, jnp.float32(0)), None, length=4)[0][1]


def in_either_branch(k):
    return lax.cond(True, lambda: random.normal(k), lambda: random.uniform(k))


def in_opposite_branches_of_two(k):
    is_first = random.key_data(k)[0] > 3
    x = lax.cond(is_first, lambda: random.normal(k), lambda: 0.0)
    return x + lax.cond(is_first, lambda: 0.0, lambda: random.uniform(k))


def one_or_the_other(k):
    is_first = random.key_data(k)[0] > 3
    one, other = random.split(k)
    x = lax.cond(is_first, lambda: random.normal(one), lambda: random.normal(other))
    return x + random.normal(lax.cond(is_first, lambda: other, lambda: one))


def in_different_branches_of_two_switches(k):
    at = random.key_data(k)[0].astype(int)
    x = lax.switch(at, [lambda: random.normal(k), lambda: 1.0, lambda: random.exponential(k)])
    return x + lax.switch(at, [lambda: 0.0, lambda: random.uniform(k), lambda: 0.0])


def in_opposite_branches_one_inside_a_function(k):
    is_first = random.key_data(k)[0] > 3
    helper = jax.jit(lambda k, is_first: lax.cond(is_first, lambda: random.normal(k), lambda: 0.0))
    x = helper(k, is_first)
    return x + lax.cond(is_first, lambda: 0.0, lambda: random.uniform(k))


def in_a_branch_of_a_branch(k):
    is_first = random.key_data(k)[0] > 3
    x = lax.cond(is_first, lambda: random.normal(k), lambda: 0.0)
    return x + lax.cond(k is not None, lambda: lax.cond(is_first, lambda: 0.0, lambda: random.uniform(k)), lambda: 1.0)


def in_opposite_branches_in_two_loops(k):
    is_first = random.key_data(k)[0] > 3

    def drawn(s, _):
        return lax.cond(is_first, lambda: s + random.normal(k), lambda: s), None

    x, _ = lax.scan(drawn, jnp.float32(0), None, length=1)
    return lax.scan(
        lambda s, _: (lax.cond(is_first, lambda: s, lambda: s + random.uniform(k)), None), x, None, length=1
    )


def inside_a_function_of_jax(k):
    return random.poisson(k, 3.0, (2,)) + random.gamma(random.fold_in(k, 1), 2.0).astype(int)


def folded_in_a_loop(k):
    return lax.fori_loop(0, 5, lambda i, s: s + random.normal(random.fold_in(k, i)), jnp.float32(0))


def in_a_loop_of_one(k):
    return lax.scan(lambda s, x: (s + random.normal(k), x), jnp.float32(0), jnp.arange(1))[0]


def of_one_row(k):
    keys, column = random.split(k, (2, 3)), jnp.sum(jnp.arange(2))
    rest = (0,) * (keys.ndim - 2)
    one, other = (lax.dynamic_slice(keys, (0, at, *rest), (1, 1, *keys.shape[2:])) for at in (column, column + 1))
    return random.normal(one.reshape(k.shape)) + random.uniform(other.reshape(k.shape))


def mapped_keys(k):
    return lax.map(random.normal, random.split(k, 3))


def meant(k):
    return random.normal(k) + random.normal(random.clone(k))


def computed_again(k):
    return jax.grad(jax.checkpoint(lambda x: jnp.sin(x * random.normal(k)).sum()))(jnp.float32(2))


@jax.custom_vjp
def dropped(x, k):
    return jnp.where(random.bernoulli(k, 0.5, x.shape), x, 0)


dropped.defvjp(lambda x, k: (dropped(x, k), k), lambda k, g: (jnp.where(random.bernoulli(k, 0.5, g.shape), g, 0), None))


def drawn_again_by_a_backward_rule(k):
    return jax.grad(lambda x: jnp.sum(dropped(x, k) ** 2))(jnp.ones(3))


def parts_of_a_split(k):
    a, b, c = random.split(k, 3)
    return random.normal(a) + random.normal(b) + random.normal(c)


def of_four_numbers(k):
    return random.normal(random.fold_in(k, 1)) + random.normal(random.fold_in(k, 2))


folded_draw = jax.jit(lambda k, i: random.normal(random.fold_in(k, i)))


def folded_in_one_helper(k):
    return folded_draw(k, 1) + folded_draw(k, 2) + folded_draw(k, jnp.sum(jnp.arange(3)))


def elements_once(k):
    def walk(key, x):
        def body(x, key):
            step, accept = random.split(key)
            return jnp.where(random.uniform(accept) < 0.5, x + random.normal(step), x), x

        return lax.scan(body, x, random.split(key, 4))

    return jax.vmap(walk)(random.split(k, 2), jnp.zeros(2))


def carried_through_a_while(k):
    def body(c):
        k, x = c
        k, sub = random.split(k)
        return k, x + 1 + random.uniform(sub)

    return random.normal(lax.while_loop(lambda c: c[1] < 3, body, (k, jnp.float32(0)))[0])


def in_a_branch_of_a_switch_and_not_of_a_cond(k):
    at = random.key_data(k)[0].astype(int)
    x = lax.switch(at, [lambda: random.normal(k), lambda: 0.0, lambda: 1.0])
    return x + lax.cond(at == 0, lambda: 0.0, lambda: random.uniform(k))


def where_comparisons_exclude_each_other(k):
    number, other = random.key_data(k)[:2]
    draws = [
        (number > 3, random.normal),
        (number <= 3, random.uniform),
        (number == other, random.exponential),
        (jnp.logical_and(number < 3, number > other), random.gumbel),
    ]
    one, two, three = random.split(k, 3)
    pairs = [(one, draws[0], draws[1]), (two, draws[0], draws[3]), (three, draws[2], draws[3])]
    return [
        lax.cond(chooses, lambda key=key, draw=draw: draw(key), lambda: 0.0)
        for key, *both in pairs
        for chooses, draw in both
    ]


def where_a_negation_holds(k):
    is_first = random.key_data(k)[0] > 3
    x = lax.cond(is_first, lambda: random.normal(k), lambda: 0.0)
    return x + lax.cond(jnp.logical_not(is_first), lambda: random.uniform(k), lambda: 0.0)


def in_opposite_branches_of_lanes(k):
    def walk(k, x):
        y = lax.cond(x > 1, lambda: random.normal(k), lambda: 0.0)
        return y + lax.cond(x > 1, lambda: 0.0, lambda: random.uniform(k)) + lax.cond(x > 1, jnp.sin, jnp.cos, x)

    return jax.vmap(walk)(random.split(k, 3), jnp.arange(3.0))


def in_either_branch_of_lanes(k):
    walk = lambda x: lax.cond(x > 1, lambda: random.normal(k), lambda: random.uniform(k))  # noqa: E731
    return jax.vmap(walk)(jnp.arange(3.0))


NOT_REUSING = (
    in_a_branch_of_a_switch_and_not_of_a_cond,
    where_comparisons_exclude_each_other,
    where_a_negation_holds,
    in_opposite_branches_of_lanes,
    in_either_branch_of_lanes,
    folded_in_one_helper,
    elements_once,
    carried_through_a_while,
    carried_and_split,
    in_either_branch,
    one_or_the_other,
    in_opposite_branches_of_two,
    in_different_branches_of_two_switches,
    in_opposite_branches_one_inside_a_function,
    in_a_branch_of_a_branch,
    in_opposite_branches_in_two_loops,
    inside_a_function_of_jax,
    folded_in_a_loop,
    mapped_keys,
    in_a_loop_of_one,
    of_one_row,
    computed_again,
    drawn_again_by_a_backward_rule,
    parts_of_a_split,
    of_four_numbers,
)


@pytest.mark.parametrize("make", [random.key, random.PRNGKey], ids=["typed", "legacy"])
@pytest.mark.parametrize("program", NOT_REUSING, ids=lambda one: one.__name__)
def test_programs_that_use_each_key_once_have_no_finding(program, make):
    with jdw.capture() as run:
        jax.jit(program)(make(0))
    assert run.findings == []


def test_a_clone_says_that_it_is_intended():
    with jdw.capture() as run:
        jax.jit(meant)(random.key(0))
    assert run.findings == []


def test_a_program_that_vmap_or_grad_transforms_is_looked_at():
    def program(k):
        a = random.normal(k)
        return a + random.uniform(k)

    with jdw.capture() as run:
        jax.vmap(jax.jit(program))(random.split(random.key(0), 3))
    assert [finding.kind for finding in run.findings] == ["keys"]


def lanes_share(k):
    return jax.vmap(lambda x: x + random.normal(k))(jnp.arange(4.0))  # here


def lanes_share_splits(k):
    def noisy(x):
        a, b = random.split(k)
        return x + random.normal(a) + random.normal(b)  # here

    return jax.vmap(noisy)(jnp.arange(4.0))


def lanes_share_in_a_loop_and_a_jit(k):
    @jax.jit
    def noisy(x, keys):
        return lax.scan(lambda c, k: (c + random.normal(k), None), x, keys)[0]  # here

    return jax.vmap(noisy, (0, None))(jnp.arange(4.0), random.split(k, 3))


def outer_lanes_share(k):
    inner = jax.vmap(lambda x, k: x + random.normal(k))  # here
    return jax.vmap(inner, (0, None))(jnp.ones((2, 3)), random.split(k, 3))


@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
@pytest.mark.parametrize(
    "program", [lanes_share, lanes_share_splits, lanes_share_in_a_loop_and_a_jit, outer_lanes_share]
)
def test_a_key_that_all_lanes_share_is_reported_once_where_keys_are_asked_for(program, make):
    with jdw.capture() as bare:
        jax.jit(program)(make(0))
    with jdw.capture(check="keys") as run:
        jax.jit(functools.partial(program))(make(0))
    assert bare.findings == []
    (finding,) = run.findings
    assert finding.headline == "each lane of jax.vmap draws with the same key"
    assert finding.where == f"test_keys.py:{line_of(program)}"


def lanes_fold_their_number_in(k):
    return jax.vmap(lambda i: random.normal(random.fold_in(k, i)))(jnp.arange(4))


def lanes_have_keys(k):
    return jax.vmap(lambda k, x: x + random.normal(k))(random.split(k, 4), jnp.arange(4.0))


def lanes_share_a_clone(k):
    k = random.clone(k)
    return jax.vmap(lambda x: x + random.normal(k))(jnp.arange(4.0))


def drawn_before_the_lanes(k):
    noise = random.normal(k, (4,))
    return jax.vmap(lambda x, n: x + n)(jnp.arange(4.0), noise)


def parameters_that_the_lanes_share(k):
    """Return parameters once for all lanes, as `hk.transform(...).init` of a layer in a `vmap` does."""
    made = []

    def layer(x):
        if not made:
            made.append(random.truncated_normal(k, -2.0, 2.0, (3, 4)) * 0.5)
        return made[0] @ x

    return jax.vmap(layer, out_axes=0)(jnp.ones((4, 4))), made[0]


def draws_of_jaxs_own(k):
    a, b = random.split(k)
    chosen = jax.vmap(lambda k: random.choice(k, 5, (3,), replace=False))(random.split(a, 4))
    return chosen, random.gamma(b, 2.0, (3,))


@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
@pytest.mark.parametrize(
    "program",
    [
        lanes_fold_their_number_in,
        lanes_have_keys,
        lanes_share_a_clone,
        drawn_before_the_lanes,
        parameters_that_the_lanes_share,
        draws_of_jaxs_own,
    ],
)
def test_lanes_with_keys_of_their_own_are_silent(program, make):
    with jdw.capture(check="keys") as run:
        jax.jit(program)(make(0))
    assert run.findings == []


def test_a_key_in_a_loop_of_unknown_length_is_said_to_be_used_in_each_iteration():
    def draws(key):
        return lax.while_loop(lambda x: x < 1, lambda _: random.normal(key), 0.0)

    with jdw.capture(check="keys") as run:
        jax.jit(draws).trace(random.key(0))
    assert [one.headline for one in run.findings] == ["each iteration draws with the same key"]
