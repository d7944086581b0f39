"""Test `jdw.table`: the equations of a program with their names, types, times, flops and bytes."""

from __future__ import annotations

from html import unescape
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental import pallas as pl

import jax_debug_widgets as jdw

X = jnp.ones((2, 3))
P = {"w": jnp.eye(3), "b": jnp.arange(3.0)[None]}


def must_not_run(_x):
    pytest.fail("a host function was called")


def loss(p, x):
    h = jnp.tanh(x @ p["w"] + p["b"])
    y = jax.nn.relu(h)
    return jnp.mean(y**2)


def one(table, primitive, role=None):
    """Return the only equation of this primitive."""
    found = [row for row in table if row.primitive == primitive and role in (None, row.role)]
    assert len(found) == 1, table
    return found[0]


def layer(x):
    return jnp.tanh(x @ x)


def scalar(x):
    h = layer(x)
    d = h - 1.0
    return jnp.sum(d * d)


DERIVATIVES = {
    "grad": jax.grad(scalar),
    "second": jax.jacfwd(jax.grad(scalar)),
    "vmap": lambda x: jax.vmap(jax.grad(scalar))(jnp.stack([x, x])),
    "jit": jax.grad(jax.jit(scalar)),
    "checkpoint": jax.grad(jax.checkpoint(scalar)),
    "vjp": lambda x: jax.vjp(scalar, x)[1](1.0),
}


@pytest.mark.behaviour("G5")
@pytest.mark.parametrize("name", DERIVATIVES)
def test_the_backward_equation_that_computes_a_gradient_has_its_name(name):
    table = jdw.table(DERIVATIVES[name], jnp.eye(3))
    (d,) = {row.primitive for row in table if "grad/d" in row.names}
    assert d in ("add_any", "mul"), "d * d gives it twice"
    assert all(row.role == "backward" for row in table if any(one.startswith("grad/") for one in row.names))
    assert not {row.primitive for row in table} & {"named", "copy", "copy_p"}, "nothing of ours is in the program"
    assert [one.primitive for one in jdw.graph(DERIVATIVES[name], jnp.eye(3)).find("grad/d")][:1] == [d]


def test_a_function_is_traced_twice_only_where_it_has_gradients():
    traced = []

    def f(x):
        traced.append(x)
        return jnp.sum(jnp.tanh(x))

    jdw.table(f, X)
    assert len(traced) == 1
    jdw.table(jax.grad(f), X)
    assert len(traced) == 3


@pytest.mark.behaviour("G5")
def test_unknown_counts_are_missing_values_in_the_frame():
    table = jdw.table(lambda a: lax.while_loop(lambda s: s > 1.0, lambda s: s / 2.0, a), jnp.float32(9.0))
    frame = table.to_pandas()
    assert frame["times"].isna().tolist() == [False, True, True]
    assert frame["flops"].isna().tolist() == [True, False, False]


@pytest.mark.behaviour("G5")
def test_the_flops_of_a_branch_are_those_of_the_largest_as_an_upper_bound():
    def f(x):
        return lax.cond(x[0] > 0, jnp.sin, lambda x: jnp.sin(jnp.cos(x)), x)

    table = jdw.table(f, jnp.ones(5))
    assert one(table, "cond").flops_inside.known == 10
    assert table.flops.is_most and "≤ 11 flops" in str(table)
    assert all(row.conditional for row in table if row.primitive == "sin")


@pytest.mark.behaviour("G5")
@pytest.mark.parametrize("jitted", [False, True], ids=["plain", "jit"])
def test_rows_have_names_types_lines_and_roles(jitted):
    value_and_grad = jax.value_and_grad(loss)
    table = jdw.table(jax.jit(value_and_grad) if jitted else value_and_grad, P, X)
    h = one(table, "tanh")
    assert (h.names, h.noted, str(h.types[0])) == (("h",), (True,), "float32[2,3]")
    assert h.source.line == loss.__code__.co_firstlineno + 1 and h.source.label == "test_table.py"
    product = one(table, "dot_general", role="forward")
    assert [operand.text for operand in product.operands] == ["x", "p['w']"]
    assert one(table, "dot_general", role="backward").source.line == h.source.line
    assert not any(name.startswith("h") and name != "h" for row in table for name in row.names), "no residual is `h`"


@pytest.mark.behaviour("G5")
def test_recomputed_equations_have_their_own_role():
    @jax.checkpoint
    def block(x):
        return jnp.sin(jnp.sin(x))

    roles = {row.role for row in jdw.table(jax.grad(lambda x: block(x).sum()), jnp.ones(3)) if row.primitive == "sin"}
    assert roles == {"forward", "recompute"}


@pytest.mark.behaviour("G5")
def test_groups_add_up_to_the_whole():
    table = jdw.table(jax.grad(loss), P, X)
    for by in ("line", "primitive", "scope"):
        groups = table.grouped(by).groups()
        assert sum(group.flops.known for group in groups) == table.flops.known
        assert sum(group.nbytes.known for group in groups) == table.nbytes.known
    lines = [group.name for group in table.grouped("line").groups()]
    first = loss.__code__.co_firstlineno
    assert lines == [f"test_table.py:{first + line}" for line in (1, 2, 3)]
    assert "forward, backward" in str(table.grouped("line"))


def test_scopes_have_the_forward_and_the_backward_pass_together():
    def f(x):
        with jax.named_scope("layer"):
            y = jnp.sin(x)
        return y.sum()

    groups = jdw.table(jax.grad(f), jnp.ones(3), by="scope").groups()
    (layer,) = (group for group in groups if group.name == "layer")
    assert layer.roles == "forward, backward"


def test_many_equations_are_shown_by_line():
    def f(x):
        for _ in range(300):
            x = jnp.sin(x)
        return x

    table = jdw.table(f, 1.0)
    assert (len(table), table.by, len(table.groups())) == (300, "line", 1)
    assert [row.names[0] for row in table][:2] == ["x", "x#2"]


def test_a_short_cell_such_as_a_place_keeps_to_one_line_and_a_long_one_wraps():
    html = jdw.table(loss, P, X).grouped("equation")._repr_html_()
    cells = [cell.split("</td>")[0].split('">') for cell in html.split("<td")[1:]]
    wraps = {text: style.endswith("white-space:pre-wrap") for style, text in cells}
    assert not any(wraps[text] for text in wraps if text.startswith("test_table.py:") and len(text) == 16)
    assert all(is_wrapped for text, is_wrapped in wraps.items() if len(unescape(text)) > 16)
    assert {False, True} <= set(wraps.values())


@pytest.mark.behaviour("G5")
def test_a_table_runs_nothing_and_escapes_the_programs_text_in_html():
    def f(x):
        y = jax.pure_callback(must_not_run, x, x)
        return y * 2.0

    table = jdw.table(f, jnp.ones(2))
    html = table.grouped("equation")._repr_html_()
    assert "var(--jp-" in html and "pure_callback" in html
    assert "x &lt; 1.0" in jdw.table(lambda x: x < 1.0, jnp.ones(2))._repr_html_()


def test_whole_numbers_may_be_sizes_and_symbolic_dimensions_have_no_size():
    assert str(one(jdw.table(lambda n, x: jnp.zeros(n) + x, 3, 1.0), "add").types[0]) == "float32[3]"
    (size,) = jax.export.symbolic_shape("n")
    table = jdw.table(jnp.sin, jax.ShapeDtypeStruct((size,), jnp.float32))
    assert str(one(table, "sin").types[0]) == "float32[n]"


def test_an_unknown_grouping_is_refused():
    with pytest.raises(ValueError, match="by is one of equation, line, primitive, scope, not 'row'"):
        jdw.table(jnp.sin, 1.0, by="row")


@pytest.mark.behaviour("G5")
def test_the_magic_shows_the_table_with_the_options_at_either_end(ours):
    ours.run("def f(x):\n    h = jnp.sin(x)\n    return h * 2")
    before, behind = (ours.run(f"%jaxdebug table {line}").value for line in ("--by line f(1.)", "f(1.) --by line"))
    assert before == behind
    assert "]:2 " in before and "f: 2 equations, 2 flops" in before
    refused = ours.run("%jaxdebug table --by row f(1.)")
    assert "--by takes one of equation, line, primitive, scope; write `--by line`" in refused.stdout + refused.stderr


def test_an_error_of_tracing_names_the_function_and_not_ours():
    def branching(x):
        return x if x > 0 else -x

    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        jdw.table(branching, jnp.float32(1.0))
    assert f"function branching at {__file__}:{branching.__code__.co_firstlineno}" in str(caught.value)
    assert "on_arrays" not in str(caught.value)


def test_an_amount_is_shown_as_in_the_table():
    table = jdw.table(loss, P, X)
    assert repr(table.flops).replace(",", "").isdigit() and repr(table.flops) in str(table)


QUESTIONS = {
    "table": lambda given: jdw.table(given, 1.0),
    "graph": lambda given: jdw.graph(given, 1.0),
    "linked": lambda given: jdw.linked(given, 1.0),
    "traces": lambda given: jdw.traces(given, 1.0),
    "diff": lambda given: jdw.diff(given, jnp.sin, 1.0),
    "compare": lambda given: jdw.compare(given, jnp.sin, 1.0),
    "same": lambda given: jdw.assert_same_program(given, jnp.sin, 1.0),
    "to_folder": lambda given: jdw.to_folder(given, 1.0, path="written"),
    "verify": lambda given: jdw.verify(given, 1.0),
    "cost": lambda given: jdw.cost(given, 1.0),
    "callbacks": lambda given: jdw.callbacks(given, 1.0),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_whoever_gives_no_function_is_told_what_to_give(ask):
    with pytest.raises(TypeError, match=r"^3 is no function: give the function and its arguments apart, `f, x` and"):
        ask(3)
    with pytest.raises(TypeError, match="a value of type ArrayImpl is no function"):
        ask(jnp.zeros((20, 20)))


def test_the_count_of_xla_is_left_out_if_xla_has_none():
    table = jdw.table(lambda k: k, jax.random.key(0))
    assert table.xla_flops is None and "XLA" not in str(table)


MATRIX = jnp.eye(6)


@pytest.mark.behaviour("G5")
@pytest.mark.parametrize(
    ("function", "args", "flops"),
    [
        (lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True), (MATRIX, jnp.ones((6, 2))), 6 * 6 * 2),
        (lambda a: lax.linalg.cholesky(a, symmetrize_input=False), (MATRIX,), 6**3 // 3 + 2 * 36),  # Plus the triangle.
        (lambda a: lax.linalg.lu(a)[0], (jnp.ones((8, 6)),), 8 * 6**2 - 6**3 // 3),
        (lax.linalg.eigh, (MATRIX,), 9 * 6**3 + 2 * 36),
        (lambda x: lax.fft(x, "FFT", (8,)), (jnp.ones((3, 8), jnp.complex64),), 5 * 3 * 8 * 3),
        (lambda x: lax.fft(x, "RFFT", (8,)), (jnp.ones(8),), 5 * 8 * 3 // 2),
        (lambda a, b: lax.ragged_dot(a, b, jnp.array([2, 4])), (MATRIX, jnp.ones((2, 6, 5))), 2 * 6 * 6 * 5),
    ],
    ids=["triangular", "cholesky", "lu", "eigh", "fft", "rfft", "ragged"],
)
def test_flops_of_linear_algebra_are_those_of_the_textbook(function, args, flops):
    assert jdw.table(function, *args).flops.known == flops


def test_a_kernel_runs_once_for_each_point_of_its_grid():
    def add(x_ref, y_ref):
        y_ref[...] = x_ref[...] + 1.0

    block = pl.BlockSpec((4, 4), lambda i: (i, 0))
    kernel = pl.pallas_call(
        add, out_shape=jnp.ones((8, 4)), grid=(2,), in_specs=[block], out_specs=block, interpret=True
    )
    table = jdw.table(kernel, jnp.ones((8, 4)))
    assert (table.flops.known, table.flops.is_open) == (8 * 4, False)


@pytest.mark.behaviour("G5")
def test_the_flops_of_a_linear_solve_are_those_of_its_solving_program():
    def solve(product, right):
        return lax.fori_loop(0, 10, lambda _, x: x + 0.1 * (right - product(x)), jnp.zeros_like(right))

    def solved(matrix, right):
        return lax.custom_linear_solve(lambda x: matrix @ x, right, solve, transpose_solve=solve)

    table = jdw.table(solved, jnp.eye(3), jnp.ones(3))
    assert table.flops.known == 10 * (2 * 9 + 3 + 3 + 3 + 1)  # product, -, *, +, and the loop's counter
    products = [row for row in table if row.primitive == "dot_general"]
    assert [row.times for row in products] == [0, 10, 0] and products[1].operands[0].text == "matrix"
    assert sum(one.flops.known for one in table.grouped("line").groups()) == table.flops.known


DIMENSIONS = ("NHWC", "HWIO", "NHWC")
IMAGES, KERNEL = jnp.ones((2, 17, 17, 4)), jnp.ones((3, 3, 4, 6))


def convolved(strides=(1, 1), padding="VALID", **options: Any):
    return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=DIMENSIONS, **options)


@pytest.mark.behaviour("G5")
@pytest.mark.parametrize(
    ("function", "kernel", "flops"),
    [
        (convolved(strides=(2, 2)), KERNEL, 2 * 2 * 8 * 8 * 6 * 36),
        (convolved(padding="SAME"), KERNEL, 2 * 2 * 17 * 17 * 6 * 36),
        (convolved(rhs_dilation=(2, 2)), KERNEL, 2 * 2 * 13 * 13 * 6 * 36),
        (convolved(feature_group_count=2), KERNEL[:, :, :2], 2 * 2 * 15 * 15 * 6 * 18),
        (convolved(batch_group_count=2), KERNEL, 2 * 15 * 15 * 6 * 36),
        (
            lambda x, w: lax.conv_transpose(x, w, (2, 2), "VALID", dimension_numbers=DIMENSIONS),
            KERNEL,
            2 * 2 * 17 * 17 * 6 * 36,
        ),
    ],
    ids=["strided", "same", "dilated", "grouped", "batch_grouped", "transposed"],
)
def test_flops_of_a_convolution_are_those_of_its_kernel_at_each_place(function, kernel, flops):
    assert jdw.table(function, IMAGES, kernel).flops.known == flops


@pytest.mark.parametrize("strides", [(1, 1), (2, 2)])
def test_the_gradients_of_a_convolution_have_as_many_flops_as_the_convolution(strides):
    gradients = jax.grad(lambda x, w: convolved(strides=strides)(x, w).sum(), (0, 1))
    own = [row.flops for row in jdw.table(gradients, IMAGES, KERNEL) if row.primitive == "conv_general_dilated"]
    assert len(own) == 3 and len(set(own)) == 1


@pytest.mark.parametrize(
    ("function", "nbytes"),
    [
        (lambda x, i: x[2:4], 2 * 64),  # noqa: ARG005
        (lambda x, i: lax.dynamic_slice(x, (i[0], i[1]), (2, 8)), 2 * 64 + 2 * 4),
        (lambda x, i: x.at[i].get(mode="promise_in_bounds"), 2 * 64 + 2 * 4),
    ],
    ids=["slice", "dynamic_slice", "gather"],
)
def test_of_an_array_that_is_read_in_places_only_these_count(function, nbytes):
    table = jdw.table(function, jnp.ones((100, 8)), jnp.arange(2))
    (own,) = [row for row in table if row.types[0].shape == (2, 8)]
    assert own.nbytes == nbytes


def test_the_sentence_beside_the_count_of_xla_is_true():
    def f(x):
        x @ x  # No result needs it.
        return lax.scan(lambda c, _: (jnp.tanh(c) @ c, None), x, length=5)[0]

    table = jdw.table(f, MATRIX)
    assert table.flops.known == 5 * (2 * 6**3 + 36) + 2 * 6**3
    assert 2 * 6**3 <= table.xla_flops < 2 * 6**3 + 10  # One body, without tanh, and the counter.
    assert "leaves out exp, tanh" in str(table)


def batches(x):
    yield x


async def fetched(x):
    return x


@pytest.mark.parametrize(("function", "kind"), [(batches, "generator"), (fetched, "coroutine")])
def test_a_function_that_only_begins_to_run_later_is_refused(function, kind):
    with pytest.raises(TypeError, match=f"{function.__name__} returns a {kind}: its body has not run"):
        jdw.table(function, X)


class Model:
    def __call__(self, x: Any) -> Any:
        return jnp.tanh(x)


@pytest.mark.parametrize("make", [lambda one: one, jax.jit, jax.jacobian], ids=["itself", "jit", "jacobian"])
def test_a_callable_object_has_the_name_of_its_class(make):
    assert str(jdw.table(make(Model()), X)).startswith("Model:")
    assert str(jdw.diff(Model(), Model(), X)).startswith("Model → Model")


@pytest.mark.behaviour("G5")
def test_an_operation_that_runs_a_loop_of_unknown_length_has_open_flops():
    def newton(g, x):
        return lax.while_loop(lambda x: abs(g(x)) > 1e-3, lambda x: x - g(x) / jax.grad(g)(x), x)

    def root(a):
        return lax.custom_root(lambda x: x**3 - a, 1.5, newton, lambda g, y: y / g(1.0))

    found = jdw.table(root, 2.0)
    assert found.flops.is_open and any(one.flops.is_open for one in found.grouped("primitive").groups()), found
    assert jdw.table(lambda key: jax.random.gamma(key, 2.0), jax.random.key(0)).flops.is_open


@pytest.mark.behaviour("G5")
def test_a_search_is_counted_as_what_jax_makes_of_it():
    steps = [jdw.table(jnp.searchsorted, jnp.arange(float(size)), 3.5).flops.known for size in (16, 4096)]
    assert steps[0] > 10 and steps[1] > steps[0]
