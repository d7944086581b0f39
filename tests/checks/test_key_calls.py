"""Test keys that two calls use, jitted or not, and intended reuse."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random

import jax_debug_widgets as jdw

X = jnp.ones(3)


@jax.jit
def noise(key, x):
    return x + random.normal(key, x.shape)


@jax.jit
def dropped(key, x):
    keep, _ = random.split(key)
    return jnp.where(random.bernoulli(keep, 0.5, x.shape), x, 0)


def drawn_twice(key):
    return random.normal(key, (3,)) + random.uniform(key, (3,))


def split_after(key):
    return random.normal(key) + random.uniform(random.split(key)[0])


def drawn_after_split(key):
    return random.uniform(random.split(key)[0]) + random.normal(key)


def in_two_functions(key):
    return noise(key, X) + dropped(key, X)


def in_a_loop(key):
    x = X
    for _ in range(3):
        x = noise(key, x)
    return x


def made_twice(_key):
    return noise(random.key(7), X) + dropped(random.key(7), X)


def a_clone_twice(key):
    other = random.clone(key)
    return noise(other, X) + dropped(other, X)


clone = jax.jit(lambda key: {"key": random.clone(key)})
unchanged = jax.jit(lambda key, x: (key, noise(key, x)))
folded_draw = jax.jit(lambda key, x: x + random.normal(random.fold_in(key, 3)))


def a_jitted_clone_twice(key):
    other = clone(key)["key"]
    return noise(other, X) + dropped(other, X)


def returned_unchanged(key):
    key, x = unchanged(key, X)
    return dropped(key, x)


def folded_inside(key):
    return [folded_draw(key, x) for x in (1.0, 2.0)]


def put_elsewhere(key):
    other = jax.device_put(key, jax.devices()[-1])
    return random.normal(key, (3,)) + random.uniform(other, (3,))


def unwrapped(key):
    return random.normal(key, (3,)) + random.uniform(random.wrap_key_data(random.key_data(key)), (3,))


first_row = jax.jit(lambda keys: random.normal(keys[0], (3,)))
other_row = jax.jit(lambda keys: random.uniform(keys[1], (3,)))


def one_part_twice(key):
    keys = random.split(key)
    return first_row(keys) + jax.jit(lambda keys: random.uniform(keys[0], (3,)))(keys)


def mapped_twice(key):
    keys = random.split(key, 3)
    return jax.vmap(random.normal)(keys) + jax.vmap(random.uniform)(keys)


@pytest.mark.behaviour("S8")
@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
@pytest.mark.parametrize(
    ("program", "says"),
    [
        (drawn_twice, "a key is used again: `uniform` draws, and it already draws at test_key_calls.py:"),
        (split_after, "a key is used again: `split` splits, and it already draws"),
        (drawn_after_split, "a key is used again: `normal` draws, and it already splits"),
        (in_two_functions, "a key is used again: `dropped` splits, and it already draws"),
        (in_a_loop, "each call here uses the same key"),
        (made_twice, "a key is used again"),
        (a_clone_twice, "a key is used again: `dropped` splits"),
        (a_jitted_clone_twice, "a key is used again: `dropped` splits"),
        (returned_unchanged, "a key is used again: `dropped` splits"),
        (folded_inside, "each call here uses the same key"),
        (put_elsewhere, "a key is used again: `uniform` draws"),
        (unwrapped, "a key is used again: `uniform` draws"),
        (one_part_twice, "a key is used again: `<lambda>` draws"),
        (mapped_twice, "a key is used again: `uniform` draws"),
    ],
)
def test_a_key_that_two_calls_use(program, says, make):
    plain = program(make(0))
    with jdw.capture(check="keys") as run:
        checked = program(make(0))
    (finding,) = run.findings
    assert says in finding.headline
    assert finding.kind == "keys"
    assert finding.file == __file__
    np.testing.assert_array_equal(checked, plain)


def carried(key):
    x = X
    for _ in range(3):
        key, sub = random.split(key)
        x = noise(sub, x)
    return x


def folded(key):
    return [noise(random.fold_in(key, k), X) for k in range(3)]


def repeated(key):
    return [noise(key, X) for _ in range(3)]


def cloned(key):
    return noise(key, X) - dropped(random.clone(key), X)


def of_one_split(key):
    keys = random.split(key, 3)
    return noise(keys[0], X) + dropped(keys[1], X) + random.poisson(keys[2], 3.0, (3,)).astype(np.float32)


def parts_of_one_array(key):
    keys = random.split(key)
    return first_row(keys) + other_row(keys)


def many(key):
    rows = jax.vmap(lambda k: random.normal(k, (3,)))(random.split(key, 4))
    return rows[random.choice(random.key(9), 4, (3,))]


def cloned_in_a_jitted_function(key):
    return noise(key, X) - dropped(clone(key)["key"], X)


def parts_of_a_clone(key):
    other = random.clone(key)
    (a, b), (c, d) = random.split(key), random.split(other)
    x = noise(a, X) + noise(random.fold_in(b, 1), X)
    return x - dropped(c, X) - dropped(random.fold_in(d, 1), X)


def a_clone_elsewhere(key):
    return noise(key, X) - dropped(jax.device_put(random.clone(key), jax.devices()[-1]), X)


def looked_up(key):
    jax.eval_shape(noise, key, X)
    jax.make_jaxpr(noise)(key, X)
    dropped.lower(key, X)
    return noise(key, X)


def computed_again(key):
    return jax.grad(jax.checkpoint(lambda x: jnp.sin(random.normal(key, (3,)) @ x)))(X)


@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
@pytest.mark.parametrize(
    "program",
    [
        carried,
        folded,
        repeated,
        cloned,
        of_one_split,
        parts_of_one_array,
        many,
        cloned_in_a_jitted_function,
        parts_of_a_clone,
        a_clone_elsewhere,
        looked_up,
        computed_again,
    ],
)
def test_calls_that_use_each_key_once_or_declare_the_reuse_have_no_finding(program, make):
    with jdw.capture(check="keys") as run:
        program(make(0))
    assert run.findings == []


def test_a_clone_is_for_one_call_also_where_jax_looks_up_a_program_twice_that_it_compiled_before():
    first, second = jax.jit(noise.__wrapped__), jax.jit(dropped.__wrapped__)

    def program(key):
        return first(key, X) - second(random.clone(key), X)

    program(random.key(0))
    program(random.key(0))
    with jdw.capture(check="keys") as run:
        program(random.key(0))
    assert run.findings == []


def test_keys_of_calls_are_compared_only_with_the_check():
    with jdw.capture() as run:
        in_two_functions(random.key(0))
    assert run.findings == []


KEPT, KEPT_LEGACY = jax.random.key(5), jax.random.PRNGKey(5)


@pytest.mark.behaviour("S8")
@pytest.mark.parametrize("key", [KEPT, KEPT_LEGACY], ids=["typed", "legacy"])
@pytest.mark.parametrize("x", [lambda _: 0.0, float], ids=["same arguments", "other arguments"])
def test_a_key_that_is_no_argument_gives_the_same_numbers_in_each_call(key, x):
    def noisy(x):
        one, _ = jax.random.split(key)
        return x + jax.random.normal(one)

    step = jax.jit(noisy)
    with jdw.capture(check="keys") as run:
        for number in range(3):
            step(x(number))
    (finding,) = run.findings
    assert finding.where.endswith(f":{noisy.__code__.co_firstlineno + 2}")
    assert finding.headline.endswith("noisy` draws the same numbers")


@pytest.mark.parametrize(
    "draw",
    [
        lambda i: jax.random.normal(jax.random.fold_in(KEPT, i)),
        lambda i: i + jax.random.normal(jax.random.clone(KEPT)),
        lambda i: i + jax.random.normal(jax.random.key(0)),
    ],
    ids=["folded", "clone", "seed in the function"],
)
def test_a_key_that_a_function_reads_is_no_finding_where_it_is_folded_or_intended(draw):
    step = jax.jit(draw)
    with jdw.capture(check="keys") as run:
        for number in range(3):
            step(number)
    assert run.findings == []


def test_a_key_that_a_function_reads_once_is_no_finding():
    with jdw.capture(check="keys") as run:
        jax.jit(lambda x: x + jax.random.normal(KEPT))(1.0)
    assert run.findings == []
