"""Test indices out of bounds in a running program: a finding at their line, without callbacks or changed results."""

from __future__ import annotations

import inspect
import itertools
import re
from functools import partial

import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import jaxpr_as_fun

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.passes import carried_records
from jax_debug_widgets._jax.passes.checked import DerivativePart
from jax_debug_widgets._jax.passes.checking import checked_program
from jax_debug_widgets._jax.passes.out_of_bounds import OutOfBounds
from jax_debug_widgets._jax.running.checking import Checking

X = jnp.arange(10.0)


def read(x, i):
    return x[i]  # here


def row(x, ids):
    return lax.scan(lambda c, i: (c + x[i], i), 0.0, ids)[0]  # here


def until(x, n):
    return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 3, s[1] + x[s[0]]), (0, 0.0))[1]  # here


def in_branch(x, i):
    return lax.cond(i > 0, lambda: x[i], lambda: x[0])  # here


def backwards(x, ids):
    return lax.scan(lambda c, i: (c + x[i], i), 0.0, ids, reverse=True)[0]  # here


def moved(x, ids, by):
    return lax.scan(lambda c, i: (c + x[i * 2 + by], i), 0.0, ids)[0]  # here


def carried(x, ids):
    return lax.scan(lambda c, i: (c + i, x[c]), 0, ids)[1]  # here


def nested(x, ids):
    return lax.scan(lambda c, r: (c + row_of(x, r), None), 0.0, ids)[0]


def row_of(x, r):
    return lax.fori_loop(0, 2, lambda k, s: s + x[r[k]], 0.0)  # here


def helped(x, ids):
    return jnp.take(x, ids).sum()  # here


def loss(x, ids):
    return (x[ids] ** 2).sum()  # here


def linear(x, ids):
    return x[ids].sum()  # here


def line_of(function) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if "# here" in line)


ROW = jnp.array([1, 12, 3])
TABLE = jnp.array([[1, 2], [3, 12]])

PROGRAMS = {
    "jit": (read, read, (X, 11), "index 11 is outside axis 0 (size 10)"),
    "negative": (read, read, (X, -11), "index -11 is outside"),
    "vmap": (jax.vmap(read, (None, 0)), read, (X, ROW), "index 12 is outside axis 0 (size 10), lane 1"),
    "vmap of both": (
        jax.vmap(read),
        read,
        (jnp.ones((3, 5)), jnp.array([1, 2, 7])),
        "index 7 is outside axis 0 (size 5), lane 2",
    ),
    "vmap of the array": (jax.vmap(read, (0, None)), read, (jnp.ones((3, 5)), 7), "index 7 is outside axis 0 (size 5)"),
    "scan": (row, row, (X, ROW), "index 12 is outside axis 0 (size 10), step 1"),
    "vmap of scan": (jax.vmap(row, (None, 0)), row, (X, TABLE), ", step 1, lane 1"),
    "reversed scan": (backwards, backwards, (X, ROW), ", step 1"),
    "reversed scan, twice outside": (
        backwards,
        backwards,
        (X, jnp.array([12, 1, 13, 2])),
        "index 13 is outside axis 0 (size 10), step 2",
    ),
    "scan with an offset": (moved, moved, (X, jnp.array([0, 1, 2]), 7), "index 11 is outside axis 0 (size 10), step 2"),
    "scan over a sum": (carried, carried, (X, ROW), "index 13 is outside axis 0 (size 10), step 2"),
    "nested loops": (nested, row_of, (X, TABLE), "index 12 is outside axis 0 (size 10), step 1, 1"),
    "while": (until, until, (X, 14), "index 12 is outside axis 0 (size 10), step 4"),
    "cond": (in_branch, in_branch, (X, 11), "index 11"),
    "jitted helper": (helped, helped, (X, ROW), "index 12"),
    "checkpoint": (jax.checkpoint(read), read, (X, 11), "index 11"),
    "grad": (jax.grad(loss), loss, (X, ROW), "index 12"),
    "grad alone": (jax.grad(linear), linear, (X, ROW), "index 12"),
    "grad of vmap of scan": (
        jax.grad(lambda x, ids: jax.vmap(row, (None, 0))(x, ids).sum()),
        row,
        (X, TABLE),
        "index 12 is outside axis 0 (size 10)",
    ),
}


@pytest.fixture
def as_rows(monkeypatch):
    """Make loops carry records as rows, as on a GPU or with many records, or check before the loop."""
    monkeypatch.setattr(carried_records, "_FEW", 0)


@pytest.mark.behaviour("S6")
@pytest.mark.parametrize("carried", ["apart", "as_rows"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_index_outside_is_found_at_its_line_and_the_result_is_the_same(name, carried, request):
    if carried == "as_rows":
        request.getfixturevalue(carried)
    program, where, arguments, says = PROGRAMS[name]
    plain = jax.jit(program)(*arguments)
    with jdw.capture(check="oob") as run:
        checked = jax.jit(partial(program))(*arguments)  # `partial` makes a new program: JAX has cached the other one.
    (finding,) = run.findings
    assert finding.kind == "oob"
    assert finding.where.endswith(f":{line_of(where)}")
    assert says in finding.message, finding.message
    assert np.asarray(plain).tobytes() == np.asarray(checked).tobytes()
    assert run.callbacks.calls == []


def masked(x, i):
    return jnp.where(i < 10, x[i], 0.0)


def meant(x, i):
    return x.at[i].get(mode="clip") + x.at[i].set(1.0, mode="drop").sum()


def counted_from_the_end(x, i):
    return x[-i % 10 - 10] + x[3:20].sum()


def said_to_be_meant(x, i):
    return x[i]  # jdw: ok oob


@pytest.mark.parametrize(
    "program",
    [
        masked,
        meant,
        counted_from_the_end,
        said_to_be_meant,
        lambda x, i: jax.vmap(lambda k: lax.cond(k < 10, lambda: x[k], lambda: 0.0))(jnp.array([1, i])),
        lambda x, i: jnp.sort(x)[::-1] + jnp.interp(x, x, x) + jnp.searchsorted(x, x + i).astype(float),
    ],
)
def test_intended_or_discarded_indices_have_no_finding(program):
    with jdw.capture(check="oob") as run:
        jax.jit(program)(X, 11)
    assert run.findings == []


@pytest.mark.usefixtures("as_rows")
def test_indices_that_a_loop_is_given_are_checked_before_it():
    program = jax.make_jaxpr(backwards)(X, jnp.arange(20) % 13)
    checked = checked_program(
        program, {"oob": OutOfBounds()}, lambda *_: (), DerivativePart(is_backward=False), left=set()
    )
    (plain,), (same,) = (
        [one for one in each.eqns if one.primitive.name == "scan"] for each in (program, checked.program)
    )
    assert str(plain) == str(same)
    (record,) = checked.read([np.asarray(one) for one in jaxpr_as_fun(checked.program)(X, jnp.arange(20) % 13)[1:]])
    assert record[1] == (3, 12, 0, 12)  # The count, the step, the position, the index.


def test_a_loop_with_a_check_carries_its_numbers_apart():
    program = jax.make_jaxpr(backwards)(X, jnp.arange(20))
    checked = checked_program(
        program, {"oob": OutOfBounds()}, lambda *_: (), DerivativePart(is_backward=False), left=set()
    )
    (loop,) = (one for one in checked.program.eqns if one.primitive.name == "scan")
    numbers = [one for one in loop.outvars if one.aval.dtype == jnp.int32 and not one.aval.shape]
    assert len(numbers) == 5  # The iteration, the count, the step, the position, the index.


@pytest.mark.usefixtures("as_rows")
def test_a_check_stays_in_a_loop_if_it_would_take_much_more_memory_before_it():
    def summed(base, x, order):
        return lax.scan(lambda total, i: (total + x[base + i].sum(), None), 0.0, order)[0]

    program = jax.make_jaxpr(summed)(jnp.zeros(2000, int), X, jnp.arange(1000))
    checked = checked_program(
        program, {"oob": OutOfBounds()}, lambda *_: (), DerivativePart(is_backward=False), left=set()
    )
    assert not any(var.aval.size > 2000 * 1000 / 2 for one in checked.program.eqns for var in one.outvars)


def test_all_calls_are_checked_and_the_finding_names_the_first_faulty_one():
    step = jax.jit(read)
    with jdw.capture(check="oob") as run:
        for index in range(0, 200, 3):
            step(X, index)
    (finding,) = run.findings
    assert "index 12" in finding.message
    assert "call 4" in finding.message
    assert finding.seen == len(range(12, 200, 3))


def test_prints_watched_values_and_checks_go_together():
    def step(x, i):
        h = x[i]
        jax.debug.print("h {h}", h=h)
        return h * 2

    with jdw.capture(check="oob", watch="h") as run:
        jax.jit(step)(X, 11)
        jax.effects_barrier()
    assert [finding.kind for finding in run.findings] == ["oob"]
    assert float(run["h"].to_pandas()["value"][0]) == 9.0
    assert [event.text for event in run.events if event.kind == "print"] == ["h 9.0"]


def test_a_program_that_was_compiled_before_is_checked_and_runs_as_before_after_it():
    step = jax.jit(read)
    step(X, 11)
    with jdw.capture(check="oob") as run:
        step(X, 11)
    assert len(run.findings) == 1
    step(X, 12)
    assert "index 11" in run.findings[0].message


def test_an_unchecked_loop_has_a_note():
    with jdw.capture(check="oob") as run:
        jax.jit(jax.vmap(until, (None, 0)))(X, jnp.array([3, 14]))
    assert run.findings == []
    assert "jit(until): not checked (oob): loops that a `vmap` ends lane by lane." in run.notes


def test_indices_are_not_checked_without_the_option():
    with jdw.capture() as run:
        jax.jit(read)(X, 11)
    assert run.findings == []


def test_an_ahead_of_time_compiled_program_gives_its_own_results_alone():
    with jdw.capture(check="oob"):
        step = jax.jit(read)
        step(X, 11)
        compiled = step.lower(X, 11).compile()
        assert float(compiled(X, 11)) == 9.0


def test_an_unknown_check_is_refused_with_the_names_that_there_are():
    with pytest.raises(ValueError, match=re.escape("there is no check obb; did you mean oob? there are all, ")):
        jdw.capture(check="obb")
    with pytest.raises(TypeError, match="check must be True, a name or a list of names"):
        jdw.capture(check=3)  # pyright: ignore[reportArgumentType]


def test_later_calls_are_dispatched_without_python_and_are_checked(monkeypatch):
    by_python = []
    theirs = Checking.__call__
    monkeypatch.setattr(Checking, "__call__", lambda call, *args: (by_python.append(call), theirs(call, *args))[1])

    @jax.jit
    def pick(table, i):
        return {"picked": table[i], "next": i + 1}

    table = jnp.arange(4.0)
    for calls in (6, 3):  # In the second capture the program is compiled already.
        with jdw.capture(check="oob") as run:
            i = jnp.int32(0)
            for _ in range(calls):
                i = pick(table, i)["next"]
        if calls == 3:
            assert not run.findings
        else:
            (finding,) = run.findings
            assert "index 4" in finding.headline and finding.seen == 2, finding
    assert len(by_python) <= 2
    np.testing.assert_array_equal(pick(table, jnp.int32(9))["picked"], jnp.float32(3))


def test_a_slice_is_reported_as_a_slice():
    with jdw.capture(check="oob") as run:
        jax.jit(lambda x, i: lax.dynamic_slice(x, (i,), (3,)))(X, 8)
    (finding,) = run.findings
    assert finding.headline == "the slice 8:11 is outside axis 0 (size 10)"
    assert "the start was moved to 7. The slice has 3 elements." in finding.why


def test_a_negative_segment_is_reported_as_it_is():
    with jdw.capture(check="oob") as run:
        jax.jit(lambda x, i: jax.ops.segment_sum(x, i, 3))(X[:4], jnp.array([0, -1, -1, 2]))
    (finding,) = run.findings
    assert finding.headline == "index -1 is outside axis 0 (size 3)"
    assert "2 indices were outside, in 1 call." in finding.why


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: jax.ops.segment_max(x[:3], i, 3),
        lambda x, i: jax.ops.segment_prod(x[:3], i, 3),
        lambda x, i: x[:3].at[i].multiply(2.0),
        lambda x, i: x[:3].at[i].divide(2.0),
        lambda x, i: x[:3].at[i].min(2.0),
        lambda x, i: x[:3].at[i].max(2.0),
        lambda x, i: x[:9].reshape(3, 3).at[i, 0].set(2.0),
    ],
)
def test_an_index_outside_is_found_for_each_way_to_write(function):
    with jdw.capture(check="oob") as run:
        jax.jit(function)(X, jnp.array([0, 7, 1]))
    assert [one.headline for one in run.findings] == ["index 7 is outside axis 0 (size 3)"]


READS = {
    "an index": lambda xs, i: xs[i],
    "dynamic_index_in_dim": lambda xs, i: jax.lax.dynamic_index_in_dim(xs, i, keepdims=False),
    "dynamic_slice": lambda xs, i: jax.lax.dynamic_slice(xs, (i,), (1,))[0],
    "jitted": jax.jit(lambda xs, i: jax.lax.dynamic_slice(xs, (i,), (1,)).reshape(())),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_write_on_a_condition_that_puts_back_what_was_there_is_silent(read):
    def body(i, xs):
        x = jnp.where(i < 3, 1.0 * i, read(xs, i))
        return jax.lax.dynamic_update_index_in_dim(xs, x, i, axis=0)

    with jdw.capture(check="oob") as run:
        jax.jit(lambda xs: jax.lax.fori_loop(0, 5, body, xs))(jnp.zeros(3))
    assert run.findings == []
    with jdw.capture(check="oob") as run:
        each = lambda i, two: [body(i, xs) for xs in two]  # noqa: E731
        jax.jit(lambda two: jax.lax.fori_loop(0, 5, each, two))([jnp.zeros(3), jnp.ones(3)])
    assert run.findings == []
    with jdw.capture(check="oob") as run:
        write = lambda i, xs: jax.lax.dynamic_update_index_in_dim(xs, 1.0 * i, i, axis=0)  # noqa: E731
        jax.jit(lambda xs: jax.lax.fori_loop(0, 5, write, xs))(jnp.zeros(3))
    assert "index 3 is outside" in run.findings[0].headline


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_an_old_value_read_outside_is_reported_if_it_is_also_used(read):
    def body(i, carry):
        xs, total = carry
        was = read(xs, i)
        x = jnp.where(i < 3, 1.0 * i, was)
        return jax.lax.dynamic_update_index_in_dim(xs, x, i, axis=0), total + was

    with jdw.capture(check="oob") as run:
        jax.jit(lambda xs: jax.lax.fori_loop(0, 5, body, (xs, 0.0)))(jnp.zeros(3))
    assert "index 3 is outside axis 0 (size 3), step 3" in run.findings[0].headline


def test_a_wrong_element_that_is_stored_at_another_index_has_a_finding():
    def body(carry, _):
        xs, i, j = carry
        x = jnp.where(i < 2, 1.0, jax.lax.dynamic_index_in_dim(xs, j, keepdims=False))
        return (jax.lax.dynamic_update_index_in_dim(xs, x, i, axis=0), i + 1, j + 1), None

    with jdw.capture(check="oob") as run:
        jax.jit(lambda xs: jax.lax.scan(body, (xs, 0, 1), length=3)[0])(jnp.zeros(3))
    assert "index 3 is outside axis 0 (size 3), step 2" in run.findings[0].headline


def test_a_checkpointed_loop_of_equinox_is_silent():
    """The loop writes its checkpoints under a condition, as the gradient of each `diffrax.diffeqsolve` does."""

    def twelve(y):
        carry = jnp.array(0), y
        return eqxi.while_loop(
            lambda one: one[0] < 12,
            lambda one: (one[0] + 1, jnp.sin(one[1])),
            carry,
            kind="checkpointed",
            checkpoints=4,
        )[1]

    with jdw.capture(check="oob") as run:
        jax.jit(jax.grad(twelve))(1.0)
    assert run.findings == []


def along(x, ids):
    return jnp.take_along_axis(x, ids, -1)


def constant_along(x, ids):
    return jnp.take_along_axis(jnp.ones((3, 5)), jnp.array([[1], [7], [2]]), -1) * x.sum() * ids.sum().astype(x.dtype)


SQUARE, EACH = jnp.ones((3, 5)), jnp.array([[1], [7], [2]])

SHARING = {
    "vmap": (jax.vmap(along), (SQUARE, EACH), "index 7 is outside axis 0 (size 5), lane 1"),
    "no vmap": (along, (SQUARE, EACH), "index 7 is outside axis 1 (size 5)"),
    "two vmaps": (jax.vmap(jax.vmap(along)), (SQUARE[None], EACH[None]), "outside axis 0 (size 5), lane (0, 1)"),
    "vmap of the outer": (jax.vmap(along), (SQUARE[None], EACH[None]), "outside axis 1 (size 5), lane 0"),
    "jitted": (jax.vmap(jax.jit(along)), (SQUARE, EACH), "index 7 is outside axis 0 (size 5), lane 1"),
    "jitted, no vmap": (jax.jit(along), (SQUARE, EACH), "index 7 is outside axis 1 (size 5)"),
    "the same for each lane": (jax.vmap(constant_along), (SQUARE, EACH), "index 7 is outside axis 1 (size 5)"),
}


@pytest.mark.behaviour("S6")
@pytest.mark.parametrize("names", list(itertools.permutations(SHARING, 2)), ids=" then ".join)
def test_lanes_are_those_of_the_call_though_calls_share_a_program(names):
    jax.clear_caches()
    for name in names:
        program, arguments, says = SHARING[name]
        with jdw.capture(check="oob") as run:
            jax.jit(program)(*arguments)
        (finding,) = (one for one in run.findings if one.kind == "oob")
        assert says in finding.headline
        assert ("lane" in finding.headline) == ("lane" in says)
