"""Test `jdw.compare`: two functions on the same arguments, and their first difference."""

from __future__ import annotations

import re
import runpy
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from IPython.core.error import UsageError
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.graphs.figures import figure_of


def line_of(function, line):
    return f"test_compare.py:{function.__code__.co_firstlineno + line}"


@jax.jit
def normed(x):
    return (x - jnp.mean(x)) / jnp.std(x)


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize("jitted", [normed, jnp.tanh], ids=["a function of several lines", "one operation"])
def test_an_equation_that_one_function_has_more_is_named_with_the_first_line_that_differs_for_it(jitted):
    def as_it_is(x):
        y = jitted(x)
        return jnp.sum(y**3)

    def of_another(x):
        y = jitted(x * x + 0.5)
        return jnp.sum(y**3)

    found = jdw.compare(as_it_is, of_another, jnp.arange(5.0))
    before, after = found.alone
    assert before is None and after.primitive in ("mul", "integer_pow", "square")
    assert str(after.source) == line_of(of_another, 1)
    assert "before it  only in of_another  " in str(found)
    assert found.first.after.primitive in ("reduce_sum", "tanh")
    mirrored = jdw.compare(of_another, as_it_is, jnp.arange(5.0))
    assert mirrored.alone[1] is None and mirrored.alone[0].primitive == after.primitive


def scanned(rate):
    def step(carry, x):
        kept = jnp.sin(carry) * rate(x)
        return kept + x, kept

    return lambda x: lax.scan(step, 0.5, x)


def repeated(rate):
    def step(state):
        at, x = state
        grown = x * rate(at)
        return at + 1, grown

    return lambda x: lax.while_loop(lambda state: state[0] < 5, step, (0, x))


def nested(rate):
    def outer(carry, x):
        carry = lax.cond(x > 2, lambda c: c * rate(c), lambda c: c + 1.0, carry)
        return carry, carry

    return lambda x: lax.scan(outer, 1.0, x)


def less(step):
    """Return 1.0 before that step, and a little less from that step on."""
    return lambda at: jnp.where(at < step, 1.0, 0.9)


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize(
    ("make", "rates", "around", "steps"),
    [
        (scanned, (less(9), less(3)), ["scan"], (3,)),
        (repeated, (less(9), less(3)), ["while"], (3,)),
        (nested, (less(-9), less(9)), ["scan", "cond"], (3,)),
    ],
    ids=["scan", "while", "a branch in a scan"],
)
def test_the_first_divergence_in_a_loop_is_the_line_in_its_body_at_the_first_step_that_differs(
    make, rates, around, steps
):
    found = jdw.compare(make(rates[0]), make(rates[1]), jnp.arange(6.0))
    assert [one.before.primitive for one in found.around] == around and tuple(found.steps) == steps
    assert found.first is not None and not found.first.before.bodies
    assert f"step {steps[0]} of {around[0]}" in str(found)


@pytest.mark.behaviour("G1")
def test_a_loop_that_starts_otherwise_is_no_divergence_of_its_body():
    def of(start):
        return lambda x: lax.scan(lambda c, a: (c + a, c), x[0] * start, x)

    found = jdw.compare(of(1.0), of(2.0), jnp.arange(1.0, 4.0))
    assert found.first.before.primitive == "mul" and found.around == ()


@pytest.mark.behaviour("G1")
def test_a_value_that_one_function_computes_before_its_loop_is_named_with_the_line_in_the_loop():
    def of(start):
        return lambda x: lax.scan(lambda c, a: (c * a, c), start(x[0]), x)

    found = jdw.compare(of(lambda c: c), of(jnp.exp), jnp.arange(1.0, 4.0))
    assert found.first.before.primitive == "mul" and found.steps == (0,)
    assert found.alone[0] is None and found.alone[1].primitive == "exp"


@pytest.mark.behaviour("G1")
def test_a_tolerance_is_not_for_whole_numbers():
    assert not jdw.compare(lambda n: n, lambda n: n + 1, jnp.int32(10**6), rtol=0.1).close


def looped(x):
    y, ys = lax.scan(lambda c, a: (jnp.sin(c) + a, c * 2), 0.0, x)
    z = lax.cond(y > 0, jnp.cos, jnp.sin, y)
    return {"z": lax.while_loop(lambda s: s > 0.1, lambda s: s * 0.5, z), "ys": ys}


def drawn(x):
    key = jax.random.key(3)
    return x + jax.random.normal(key, x.shape), key


PROGRAMS = {
    "loops": looped,
    "grad": jax.grad(lambda x: jax.nn.relu(jnp.tanh(x) ** 2).sum()),
    "vmap": jax.vmap(jnp.tanh),
    "keys": drawn,
    "remat": jax.grad(lambda x: jax.checkpoint(jnp.sin)(x).sum()),
}


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_a_function_is_equal_to_itself_jitted(f):
    found = jdw.compare(f, jax.jit(f), jnp.arange(1.0, 5.0))
    assert found.equal, found
    assert found.only == (0, 0) and found.pairs


def test_outputs_that_are_not_alike_are_reported():
    found = jdw.compare(lambda x: x, lambda x: {"a": x}, 1.0)
    assert not found.close and "different structures" in str(found)
    found = jdw.compare(lambda x: {"a": x}, jnp.square, jnp.ones(3))
    assert "<lambda> gives ['a'], and square an array by itself. The table compares" in str(found)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float16, np.float64, np.complex64])
def test_figures_count_in_units_of_the_last_place(dtype):
    one = np.asarray([1.0, -2.0], dtype)
    step = np.abs(np.spacing(one.real.astype(np.float32)) if dtype == np.complex64 else jnp.finfo(dtype).eps)
    other = np.asarray(one + np.asarray([np.ravel(step)[0], 0], dtype), dtype)
    figure = figure_of(one, other)
    assert (figure.verdict, figure.ulp, figure.where) == ("close", 1.0, (0,))
    assert figure_of(one, one).verdict == "equal"
    assert figure_of(one, one * np.asarray(1.5, dtype)).verdict == "differs"


def test_infinity_is_close_to_nothing_else():
    assert figure_of(np.float32([np.inf]), np.float32([3e38])).verdict == "differs"
    assert figure_of(np.float32([0.0]), np.float32([-0.0])).verdict == "close"
    assert figure_of(np.float32([np.inf]), np.float32([np.inf])).verdict == "equal"


@pytest.mark.behaviour("G1")
def test_the_magic_compares_two_functions(ours):
    ours.run("def f(x):\n    return jnp.sin(x) * 2.0\ndef g(x):\n    return jnp.sin(x) * 2.1")
    shown = ours.run("%jaxdebug compare f g -- jnp.ones(3)").value
    assert "f and g: DIFFERENT" in shown and "= mul" in shown
    assert "f and g: close" in ours.run("%jaxdebug compare f g -- jnp.ones(3) --rtol 0.5").value


def test_programs_with_a_ref_are_compared():
    def doubled(x):
        ref = jax.new_ref(jnp.zeros_like(x))
        ref[...] = x * 2
        return ref[...].sum()

    found = jdw.compare(doubled, lambda x: (x * 2).sum(), jnp.ones(3))
    assert str(found).splitlines()[0].endswith("equal to the bit")


@pytest.mark.behaviour("G1")
def test_an_added_equation_that_alone_differs_is_named_with_its_line():
    def plain(x):
        return jnp.tanh(x)

    def shifted(x):
        h = jnp.tanh(x)
        return h + 1.0

    found = jdw.compare(plain, shifted, jnp.ones(3))
    assert not found.close and found.first is None
    before, after = found.alone
    assert before is None and after is not None and after.source is not None
    assert (after.primitive, after.source.line) == ("add", shifted.__code__.co_firstlineno + 2)
    assert re.search(r"first +only in shifted .*= add .*test_compare.py:\d+", str(found))
    assert jdw.compare(plain, plain, jnp.ones(3)).alone == (None, None)


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("compare f g --", r"compare`: f\(x\) does not take what stands behind `--`: missing a required argument"),
        ("compare f g -- X, X", r"does not take what stands behind `--`: too many"),
        ("compare f g -- X)(X", "these are no arguments"),
        ("diff f -- --before grad", "does not take what stands behind"),
        ("compare f g(X) -- X", "takes functions, and .* is none"),
        ("diff f --before grad --", "takes functions and their arguments"),
        ("compare f -- X --against", "--against wants a value behind it: float64, op-by-op, cpu, saved:FILE"),
        ("table f -- X", r"takes a call, .*: write `%jaxdebug table f\(X\)`"),
        ("graph f()", r"`graph`: f\(x\) does not take what it is given: missing a required argument: 'x'"),
        ("hlo f(X, X)", r"`hlo`: f\(x\) does not take what it is given: too many"),
        ("export f() DIR", r"`export`: f\(x\) does not take what it is given"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_words(ours, line, told):
    def f(x):
        return x * 2.0

    ours.ip.push({"f": f, "g": f, "X": jnp.ones(3)})
    with pytest.raises(UsageError, match=told):
        ours.ip.run_line_magic("jaxdebug", line)


def test_equal_numbers_of_two_dtypes_are_reported_to_be_so():
    found = jdw.compare(lambda x: x * 2, lambda x: (x * 2).astype(jnp.bfloat16), jnp.ones(3))
    assert str(found.outputs[0][1]) == "close: the same numbers, float32[3] against bfloat16[3]"


def test_two_functions_of_one_name_are_distinguished():
    found = jdw.compare(lambda x: jnp.sin(x), lambda x: jnp.sin(x) + 1.0, jnp.ones(3))  # noqa: PLW0108 - the name is meant.
    assert re.search(r"first +only in after .*= add ", str(found))
    assert re.search(r"1 equation in both, 1 only in after\.", str(found))


@pytest.mark.behaviour("G1")
def test_results_of_other_shapes_are_named_where_what_is_computed_from_them_differs():
    def whole(x):
        part = x[:7]
        return jnp.sum(part)

    def half(x):
        part = x[:4]
        return jnp.sum(part)

    found = jdw.compare(whole, half, jnp.arange(8.0) + 1)
    assert found.first is not None
    assert [str(one.types[0]) for one in found.alone if one is not None] == ["float32[7]", "float32[4]"]
    assert "part: float32[4]" in str(found)


@pytest.mark.behaviour("G1")
def test_a_loop_that_runs_in_another_direction_is_itself_what_differs_first():
    def summed(x, *, reverse):
        return lax.scan(lambda c, y: (0.5 * c + y, c), 0.0, x, reverse=reverse)[0]

    found = jdw.compare(partial(summed, reverse=True), partial(summed, reverse=False), jnp.arange(4.0))
    assert found.first.before.primitive == "scan" and not found.steps
    line = summed.__code__.co_firstlineno + 1
    assert "reverse: True → False" in str(found) and f"DIFFERENT, first at test_compare.py:{line}\n" in str(found)


def test_whole_numbers_that_differ_have_no_units_in_the_last_place():
    found = jdw.compare(jnp.argmax, jnp.argmin, jnp.arange(4.0))
    assert "DIFFERS: max |a - b| 3; argmax → argmin" in str(found) and "ulp" not in str(found)


@pytest.mark.parametrize("given", [{"against": "float64"}, {}], ids=["float64", "two"])
def test_nans_that_both_have_are_counted(given):
    def f(x):
        return jnp.log(x)

    functions = (f,) if given else (f, jax.jit(f))
    assert "equal to the bit, 2 NaN in both" in str(jdw.compare(*functions, jnp.array([-1.0, 1.0, -2.0]), **given))


def carrying(after):
    def step(carry, x):
        new = 0.9 * carry + x
        return new, new if after else carry

    return lambda x: lax.scan(step, 0.0, x)[1]


@pytest.mark.behaviour("G1")
def test_a_loop_whose_steps_only_return_another_value_says_which():
    found = jdw.compare(carrying(True), carrying(False), jnp.arange(1.0, 4.0))
    assert [str(one) for one in found.returned] == ["new → carry"] and found.steps == (0,)
    assert "returned  new → carry" in str(found) and found.first.after.primitive == "scan"


@pytest.mark.behaviour("G1")
def test_the_operands_that_the_first_pair_does_not_share_are_named():
    found = jdw.compare(
        lambda x, w: jnp.tanh(x @ w), lambda x, w: jnp.tanh(x @ w.T), jnp.eye(2), jnp.arange(4.0).reshape(2, 2)
    )
    assert "; other operands: w → transpose_1" in str(found)


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize("mask", [-1e9, -1e30, -np.inf, float(np.finfo(np.float32).min)])
def test_the_line_before_a_mask_is_named_whatever_number_masks(mask):
    def attention(scale):
        def f(q, k):
            scores = q @ k.T * scale
            return jax.nn.softmax(jnp.where(jnp.tri(6, dtype=bool), scores, mask))

        return f

    q, k = jnp.asarray(np.random.default_rng(0).normal(size=(2, 6, 4)), jnp.float32)
    found = jdw.compare(attention(0.5), attention(1.0), q, k)
    assert found.first.before.names == found.first.after.names == ("scores",), found


def test_a_small_number_beside_a_large_one_is_judged_by_its_size_only_if_that_stands_for_infinity():
    for large, verdict in ((1e7, "close"), (1e9, "differs"), (np.inf, "differs")):
        assert figure_of(np.float32([large, 1.0]), np.float32([large, 1.5])).verdict == verdict
    assert figure_of(np.float16([6e4, 1.0]), np.float16([6e4, 1.5])).verdict == "differs"
    assert figure_of(np.float32([1e9, 1e8, 2.0]), np.float32([1e9, 1e8, 1.5])).verdict == "differs"
    assert figure_of(np.float32([1e9, 1e7, 2.0]), np.float32([1e9, 1e7, 1.5])).verdict == "close"


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize("loop", ["scan", "while", "cond"])
def test_branches_that_are_swapped_inside_of_a_loop_are_named_with_the_line_of_their_cond(loop):
    def of(first, second):
        def step(x):
            return lax.cond(x > 0, first, second, x)

        def f(x):
            if loop == "cond":
                return lax.cond(x > -9, step, lambda x: x, x)
            if loop == "scan":
                return lax.scan(lambda x, _: (step(x), None), x, length=2)[0]
            return lax.while_loop(lambda x: x > 0, step, x)

        return f

    found = jdw.compare(of(lambda _: -9.0, lambda x: x), of(lambda _: -8.0, lambda x: x), 1.0)
    assert found.returned and found.first.before.primitive == found.around[-1].before.primitive == "cond", found


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize(("edit", "edited"), [("var + 0.1", "add"), ("1.1 * var", "mul"), ("var", None)])
def test_the_line_is_named_from_which_close_values_come_that_differ_later(tmp_path, edit, edited):
    def of(name, denominator):
        file = tmp_path / f"{name}.py"
        file.write_text(
            "import jax, jax.numpy as jnp\n"
            "def f(x, w):\n"
            "    var = jnp.mean(x * x)\n"
            f"    h = (x * jax.lax.rsqrt({denominator})).astype(jnp.bfloat16)\n"
            "    return jnp.dot(h, w, preferred_element_type=jnp.float32)\n"
        )
        return runpy.run_path(str(file))["f"]

    x, w = jnp.asarray(np.random.default_rng(0).normal(size=(2, 8)), jnp.float32)
    found = jdw.compare(of("one", "var"), of("two", edit), x, w.astype(jnp.bfloat16))
    if edited is None:
        assert found.equal and found.origin == (None, None)
        return
    assert found.first.after.primitive == "dot_general" and found.origin[0] is None
    assert found.origin[1].primitive == edited and found.origin[1].source.line == 4
    assert "first at one.py:5 and two.py:5, from two.py:4" in str(found), found


@pytest.mark.behaviour("G1")
def test_a_constant_of_a_chaotic_loop_is_named_at_the_step_at_which_the_values_part():
    def of(rate):
        return lambda x: lax.scan(lambda c, _: (rate * c * (1 - c), None), x, length=60)[0]

    found = jdw.compare(of(3.9), of(3.900001), 0.3)
    (step,) = found.steps
    assert step > 1 and [one.primitive for one in found.origin] == ["mul", "mul"], found
    assert "mul 3.900001 c" in str(found) and found.first.before.operands[0].text != "3.9"
