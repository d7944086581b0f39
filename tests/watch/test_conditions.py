"""Test values that are recorded only if a condition over them holds, and their histograms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.watch import HISTOGRAM
from tests.devices import cpu_mesh

X = jnp.asarray(np.random.default_rng(0).normal(size=(7, 8)).astype(np.float32))


@jax.jit
def walk(x):
    def step(state, row):
        moved = state + row
        size = jnp.linalg.norm(moved)
        return moved, size

    end, sizes = lax.scan(step, jnp.zeros(8), x)
    return end, sizes


def test_values_are_taken_where_the_condition_holds_with_their_own_steps(watched, same_bits):
    plain = walk(X)
    sizes = np.asarray(plain[1])
    limit = float(np.median(sizes))
    run = watched(walk, X, watch="moved,size", when=f"size > {limit}")
    wanted = np.flatnonzero(sizes > limit)
    assert 0 < len(wanted) < len(sizes)
    assert same_bits(run.result, plain)
    np.testing.assert_array_equal([event.step for event in run.events if event.site.label == "size"], wanted[:, None])
    np.testing.assert_array_equal(run["size"]["value"], sizes[wanted].astype(np.float64))
    assert len(run["moved"]["mean"]) == len(wanted)


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ("isnan(moved)", lambda _moved, size: size < 0),
        ("max(size, 0) > 3 and True", lambda _moved, size: size > 3),
        ("2 < size <= 4", lambda _moved, size: (size > 2) & (size <= 4)),
        ("0.5 < moved < 0.6", lambda moved, _size: ((moved > 0.5) & (moved < 0.6)).any(1)),
        (
            "moved > 2 and moved < 2.5 or size < 3",
            lambda moved, size: ((moved > 2) & (moved < 2.5)).any(1) | (size < 3),
        ),
        ("not all(abs(moved) < 2)", lambda moved, _size: (np.abs(moved) >= 2).any(1)),
        ("not moved < 2", lambda moved, _size: (moved >= 2).any(1)),
        ("moved.ndim == 2 and moved.shape[1] > 3 or size > 4", lambda _moved, size: size > 4),
        ("any(np.sign(moved) * 3 in (3,)) if size > 4 else False", lambda moved, size: (moved > 0).any(1) & (size > 4)),
        ("len(moved) == 8 and min(moved) < -2", lambda moved, _size: moved.min(1) < -2),
        ("abs(moved).max() > 2", lambda moved, _size: np.abs(moved).max(1) > 2),
        ("jnp.abs(moved) > 2", lambda moved, _size: (np.abs(moved) > 2).any(1)),
        ("max(size, 3.0) > 3", lambda _moved, size: size > 3),
        ("int(size) == 3 or float(moved[-1]) > 3", lambda moved, size: (size.astype(int) == 3) | (moved[:, 7] > 3)),
    ],
)
def test_conditions_are_python_over_names_of_the_source(watched, when, holds):
    run = watched(walk, X, watch="size", when=when)
    moved = np.cumsum(np.asarray(X), 0)
    wanted = np.flatnonzero(holds(moved, np.asarray(walk(X)[1])))
    assert [event.step[0] for event in run.events] == wanted.tolist(), run.status().notes


def test_a_condition_that_cannot_be_computed_leaves_the_program_unwatched(watched):
    run = watched(walk, X, watch="size", when="moved > 0 and jnp.ones(3) > 0")
    (note,) = run.status().notes
    assert "runs unwatched" in note and "incompatible shapes" in note
    assert "when='moved > 0 and jnp.ones(3) > 0' of moved float32[8]: TypeError" in note
    np.testing.assert_array_equal(run.result[1], walk(X)[1])


def test_a_condition_may_use_a_builtin_function_and_a_variable_of_its_name(watched):
    @jax.jit
    def f(x):
        sum = x.sum()  # noqa: A001 - as people write.
        return sum * 2

    assert len(watched(f, X, watch="sum", when="sum > -1e9 and sum(sum) < 1e9")["sum"].steps) == 1


def test_a_condition_that_never_holds_is_reported(watched):
    run = watched(walk, X, watch="size", when="size > 1e9")
    assert run.status().when == "size > 1e9"
    (note,) = run.status().notes
    nan = "A comparison with NaN is never true: write isnan(name)."
    assert note == f"Nothing was recorded: `size > 1e9` was true in none of the executions. {nan}"
    with pytest.raises(KeyError, match=r"'size' \(test_conditions.py:\d+\) is watched and has no values: `size > 1e9`"):
        run["size"]
    assert not watched(walk, X, watch="size", when="size > 0").status().notes


@pytest.mark.parametrize("kind", ["line", "heat", "lanes"])
def test_a_value_whose_condition_never_held_says_so_in_every_query(watched, kind):
    run = watched(walk, X, watch="size", when="size > 1e9")
    why = r"'size' \(test_conditions.py:\d+\) is watched and has no values: `size > 1e9` has not held there"
    for name in ("size", "siz*" if kind == "line" else "size"):
        with pytest.raises(KeyError, match=why):
            run.plot(name, kind=kind)
    for ask in (run.series, run.show):
        with pytest.raises(KeyError, match=why):
            ask("size")
    with pytest.raises(
        KeyError, match=r"called 'sise'. Did you mean 'size'\? There are: none; watched and without .*: size"
    ):
        run.series("sise")
    with pytest.raises(KeyError, match=r"'sise' is not watched in this run; did you mean size\? there are "):
        run["sise"]


def test_rows_stand_at_their_steps_in_every_call():
    moved = np.linalg.norm(np.cumsum(np.asarray(X), 0), axis=1)
    limit = float(np.sort(moved)[-3])
    with jdw.capture(watch="size", when=f"size > {limit}") as run:
        walk(X)
        walk(X)
    wanted = np.flatnonzero(moved > limit)
    assert run["size"].steps.tolist() == [*wanted, *(wanted + len(X))]


def test_gradients_and_items_in_a_condition(watched):
    def loss(params, x):
        h = jnp.tanh(x @ params["w"])
        params["scaled"] = h * 3
        return (params["scaled"] ** 2).sum()

    @jax.jit
    def descend(w):
        def step(w, _):
            value, slope = jax.value_and_grad(lambda w: loss({"w": w}, X))(w)
            return w - 0.01 * slope, value

        return lax.scan(step, w, length=4)

    w = jnp.eye(8, 3)
    everything = watched(descend, w, watch="value,grad/h")["grad/h"]["max"]
    limit = float(np.sort(everything)[1:3].mean())
    run = watched(descend, w, watch="h,value", when=f"(grad.h.max() > {limit}) & (params['scaled'].max() > 0)")
    steps = np.flatnonzero(everything > limit)
    assert [event.step[0] for event in run.events if event.site.label == "value"] == steps.tolist()


def test_nested_and_reversed_loops_report_their_steps(watched):
    @jax.jit
    def nested(x):
        def outer(total, i):
            def inner(carry, j):
                here = carry + i * 10 + j
                return here, here

            kept, _ = lax.scan(inner, 0.0, jnp.arange(3.0), reverse=True)
            return total + kept, None

        return lax.scan(outer, 0.0 * x, jnp.arange(2.0))[0]

    plain = list(watched(nested, 1.0, watch="here").events)
    chosen = list(watched(nested, 1.0, watch="here", when="here > 12").events)
    wanted = {event.step: event.values[0] for event in plain if event.values[0] > 12}
    assert 0 < len(wanted) < len(plain)
    assert {event.step: event.values[0] for event in chosen} == wanted


def test_loops_of_unknown_length_branches_and_samples(watched):
    @jax.jit
    def collatz(n):
        def body(state):
            n, count = state
            odd = n % 2 == 1
            following = lax.cond(odd, lambda n: 3 * n + 1, lambda n: n // 2, n)
            return following, count + 1

        return lax.while_loop(lambda state: state[0] > 1, body, (n, 0))

    path, n = [], 27
    while n > 1:
        n = 3 * n + 1 if n % 2 else n // 2
        path.append(n)
    run = watched(collatz, 27, watch="following", when="following > 5000")
    assert [(event.step[0], int(event.values[0])) for event in run.events] == [
        (step, n) for step, n in enumerate(path) if n > 5000
    ]
    run = watched(collatz, 27, watch="following", when="following > 1000", every=10)
    assert [event.step[0] for event in run.events] == [
        step for step, n in enumerate(path) if n > 1000 and step % 10 == 0
    ]


def test_on_a_mesh_each_device_looks_for_itself(watched):
    mesh = cpu_mesh((4,), ("d",))

    @jax.jit
    def sharded(x):
        def each(x):
            doubled = x * 2
            return doubled

        return jax.shard_map(each, mesh=mesh, in_specs=jax.P("d"), out_specs=jax.P("d"))(x)

    run = watched(sharded, jnp.arange(4.0), watch="doubled", when="doubled > 3")
    assert sorted((event.device, float(event.values[0])) for event in run.events) == [("cpu:2", 4.0), ("cpu:3", 6.0)]


def test_a_condition_over_values_of_another_body_has_a_note(watched):
    @jax.jit
    def f(x):
        def step(c, row):
            inner = c + row.sum()
            return inner, None

        outer, _ = lax.scan(step, 0.0, x)
        return outer * 2

    run = watched(f, X, watch="inner,outer", when="inner > -1e9")
    (note,) = run.status().notes
    assert note.startswith("Not taken: outer") and len(run["inner"].steps) == len(X)
    (note,) = watched(f, X, watch="inner", when="outer > 0").status().notes
    assert note == (
        "Nothing is taken: what is watched (inner) is computed in other functions or loop bodies than what `outer > 0` names."
    )
    (note,) = watched(f, X, watch="inner", when="outer > inner").status().notes
    assert note == "Nothing is taken: no function or loop body computes all of inner, outer."
    (note,) = watched(f, X, watch="inner", when="grad.inner > 0").status().notes
    assert "computes grad.inner, which" in note
    (note,) = watched(f, X, watch="inner", when="grad/inner > 0").status().notes
    assert "The gradient of h is written grad.h." in note
    (note,) = watched(f, X, watch="inner", when="row[9] > 0 or row[0:2] > 0").status().notes
    assert "runs unwatched" in note and "IndexError: index 9 is out of bounds" in note
    (note,) = watched(f, X, watch="inner", when="lost > 0").status().notes
    assert "computes lost" in note and "inner" in note and "Did you mean" not in note
    (note,) = watched(f, X, watch="inner", when="iner > 0").status().notes
    assert "Did you mean 'inner'? There are" in note
    (note,) = watched(f, X, watch=True, when="lost > 0").status().notes
    assert "computes lost" in note


def test_gradients_that_are_not_taken_are_named_as_gradients(watched):
    """The note must not say of a value that it is not recorded if only its gradient is not."""

    def f(x):
        def step(c, row):
            inner = c + row.sum()
            return inner, None

        outer = lax.scan(step, jnp.float32(0), x)[0] * jnp.float32(2)
        return outer * outer

    program = jax.jit(jax.value_and_grad(f))
    (note,) = watched(program, X, watch="outer,inner", when="inner > -1e9").status().notes
    assert note.startswith("Not taken: grad/inner, grad/outer, outer, computed in other functions")
    (note,) = watched(program, X, watch="grad/outer,inner", when="inner > -1e9").status().notes
    assert note.startswith("Not taken: grad/inner, grad/outer, computed in other functions")


def test_an_invalid_condition_is_refused_with_a_reason():
    for when, error in (
        ("loss >", "expression"),
        ("1 > 0", "names no value"),
        ("any(x > 1 for x in loss)", r"'\(x > 1 for x in loss\)' goes through elements; any\(h > 0\) asks all of them"),
        (
            "sorted(loss) > 1",
            r"there is no sorted\(\); there are abs, sum, .*max, min, len, .*what jnp has, and h.max\(\)",
        ),
    ):
        with pytest.raises(ValueError, match=error):
            jdw.capture(watch="loss", when=when)
    with pytest.raises(ValueError, match="with watch"):
        jdw.capture(when="loss > 1")
    with pytest.raises(TypeError, match="in a string"):
        jdw.capture(watch="loss", when=lambda loss: loss > 1)  # pyright: ignore[reportArgumentType]


def test_histograms_count_signs_and_magnitudes(watched):
    special = [0.0, np.nan, np.inf, -np.inf, 2.0**-40, -(2.0**-27), 0.99, 1.0, -1.0, 7.99, 8.0, 4096.0, -1e9]

    @jax.jit
    def f(x):
        y = x * 1
        total = jnp.nan_to_num(y).sum()
        return y, total

    x = np.array(special, np.float32)
    run = watched(f, x, watch="y,total", histograms=True)
    counted = dict(zip(HISTOGRAM, run["y"].histogram[0], strict=True))
    wanted = dict.fromkeys(HISTOGRAM, 0) | {
        "hist +0": 1, "hist -2^-27": 1, "hist +2^-3": 1, "hist +2^0": 2, "hist -2^0": 1, "hist +2^3": 1,
        "hist +2^12": 1, "hist -2^12": 1,
    }  # fmt: skip
    assert counted == wanted
    assert (run["y"]["zeros"][0], run["y"]["nan"][0]) == (1, 1)
    with pytest.raises(KeyError, match="histograms=True"):
        _ = run["total"].histogram
    large = np.random.default_rng(1).normal(size=(3, 1000)).astype(np.float32)
    found = watched(f, large, watch="y", histograms=True)["y"].histogram[0]
    edges = [-np.inf, *(-(2.0**k) for k in range(12, -28, -3)), 0]
    np.testing.assert_array_equal(found[:15], np.histogram(large[large < 0], edges)[0])
    assert found.sum() == large.size


@jax.jit
def decay(x):
    size = (x**2).sum()
    return x * 0.9, size


@pytest.mark.parametrize(("every", "calls"), [(1, [6, 7, 8, 9, 10, 11]), (3, [6, 9])])
def test_the_step_of_what_is_taken_in_some_calls_only_is_which_call_of_its_program_it_was(every, calls):
    x = jnp.ones(3)
    with jdw.capture(watch="size", when="size < 1", every=every) as run:
        for number in range(12):
            if number == 7:
                double(x)  # Calls of this program are no calls of `decay`.
            x, _ = decay(x)
    assert run["size"].steps.tolist() == calls
    assert run["size"].to_pandas().index.tolist() == calls
    assert run.plot("size").lines[0].get_xdata().tolist() == calls


@jax.jit
def double(x):
    jax.debug.print("double {x}", x=x)
    return x * 2


def test_calls_in_which_nothing_of_a_loop_is_taken_have_their_steps_all_the_same():
    @jax.jit
    def program(x):
        def body(c, t):
            carried = c + t
            return carried, None

        return lax.scan(body, x, jnp.arange(4.0))[0]

    with jdw.capture(watch="carried", when="carried > 8") as run:
        for x in (0.0, 4.0, 0.0, 0.0, 3.0):
            program(x)
    assert run["carried"].steps.tolist() == [7, 19]
