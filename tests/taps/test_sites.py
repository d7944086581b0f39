"""Test the origin of an event: source position, names of values, transformations and phase."""

from __future__ import annotations

import importlib.util
import textwrap
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import debug, lax
from jax.debug import print as jprint

import jax_debug_widgets as jdw
from tests.conftest import CURRIED

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()


def sites(f, *args: Any, echo=False):
    with jdw.capture(echo=echo) as run:
        jax.block_until_ready(f(*args))
    return run.sites


def the_site(f, *args: Any):
    (site,) = sites(f, *args)
    return site


def text_of(site, lines=LINES):
    """Return the source text of a site's range."""
    chosen = [line.encode() for line in lines[site.line - 1 : site.end_line]]
    chosen[-1] = chosen[-1][: site.end_column]
    chosen[0] = chosen[0][site.column :]
    return b"\n".join(chosen).decode()


@pytest.mark.behaviour("P1")
@pytest.mark.parametrize(
    ("wrap", "x"),
    [(lambda f: f, 1.0), (jax.jit, 1.0), (jax.grad, 1.0), (lambda f: jax.jit(jax.vmap(f)), np.ones(2, np.float32))],
    ids=["eager", "jit", "grad", "vmap"],
)
def test_a_site_is_the_call_as_it_stands_in_the_source(wrap, x):
    def shown(loss):
        aside = loss; jax.debug.print("é={x}", x=loss); del aside  # fmt: skip # noqa: E702
        return loss

    site = the_site(wrap(shown), x)
    assert site.file == __file__
    assert text_of(site) == 'jax.debug.print("é={x}", x=loss)'
    assert site.source == LINES[site.line - 1].strip()
    assert site.where == f"{HERE.name}:{site.line}"
    assert site.function.endswith("shown")
    assert (site.kind, site.ordered, site.format, site.label) == ("print", False, "é={x}", "loss")


@CURRIED
def test_every_way_of_writing_a_call_names_its_values():
    w = {"b": jnp.ones(2), "a": [jnp.zeros(1), "static"]}

    def f(x, y):
        jax.debug.print("{a} {b}", a=x + 1, b=y)
        jax.debug.print("{} {}", x, y.sum())
        jax.debug.print(ordered=True)("{x}", x=x)
        jax.debug.callback(ordered=True)(len, y)
        jprint("{x}", x=x)
        debug.print("{x} {name}", x=x, name="static", ordered=True)
        jax.debug.print("{w}", w=w)
        jax.debug.callback(print, x, *[y])
        jax.debug.print("rest {}", *[y])
        jax.debug.print(
            "{long} {other}",
            long=jnp.where(
                x > 0, x, y.sum()
            ),  # a remark, (with brackets)
            other=[
                x, y
            ],
        )  # fmt: skip
        jax.debug.log("{x}", x=x)
        jax.debug.print("nothing")
        return x

    found = sorted(sites(f, jnp.float32(1), jnp.ones(2)), key=lambda site: site.line)
    assert [site.values for site in found] == [
        ("x + 1", "y"),
        ("x", "y.sum()"),
        ("x",),
        ("y",),
        ("x",),
        ("x",),
        ("w['a'][0]", "w['b']"),
        ("args[0]", "args[1]"),
        ("args[0]",),
        ("long", "other[0]", "other[1]"),
        ("x",),
        (),
    ]
    kinds = "print print print callback print print print callback print print log print"
    assert [site.kind for site in found] == kinds.split()
    assert [site.ordered for site in found] == [False, False, True, True, False, True, *[False] * 6]
    assert found[8].label == "rest {}", "it tells more than `args[0]`"
    labels = {site.label for site in found}
    assert {"{a} {b}", "x", "y", "{long} {other}", "nothing"} <= labels
    multiline = next(site for site in found if site.format == "{long} {other}")
    assert multiline.end_line - multiline.line == 8
    assert text_of(multiline).startswith("jax.debug.print(\n")
    assert text_of(multiline).endswith("],\n        )")


@pytest.fixture
def library(tmp_path):
    """Return a module of another author, with a print."""
    file = tmp_path / "somebodys_library.py"
    file.write_text(
        textwrap.dedent("""
        import jax

        class Layer:
            def __call__(self, x):
                jax.debug.print("h={h}", h=x * 2)
                return x
        """)
    )
    spec = importlib.util.spec_from_file_location("somebodys_library", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_print_in_a_library_is_shown_where_it_stands(library):
    f = jax.jit(library.Layer())
    f(1.0)
    jax.effects_barrier()
    site = the_site(f, 1.0)
    assert site.file == library.__file__
    assert site.where == "somebodys_library.py:6"
    assert site.function.endswith("Layer.__call__")
    assert site.values == ("x * 2",)


def test_code_without_a_source_file_still_has_sites():
    scope = {}
    exec(compile('import jax\ndef f(x):\n    jax.debug.print("{y}", y=x)\n    return x', "<gone>", "exec"), scope)  # noqa: S102
    site = the_site(jax.jit(scope["f"]), 1.0)
    assert (site.file, site.line, site.source, site.values) == ("<gone>", 3, "", ("y",))


def test_a_site_keeps_its_id_in_the_next_capture():
    def f(x):
        jax.debug.print("{x}", x=x)
        return lax.fori_loop(0, 2, lambda _, y: (jax.debug.print("{y}", y=y), y)[1], x)

    jitted = jax.jit(f)
    first, second = sites(jitted, 1.0), sites(jitted, 1.0)
    recompiled = sites(jitted, jnp.ones(3))
    echoed = sites(jitted, 1.0, echo=True)
    ids = [site.id for site in first]
    assert len(set(ids)) == 2
    for others in (second, recompiled, echoed):
        assert [site.id for site in others] == ids


class Logger:
    def __call__(self, *_args: Any) -> None:
        pass

    def write(self, *_args: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: partial(partial(Logger.write, Logger()), "loss"), "Logger.write"),
        (Logger, "Logger"),
        (lambda: Logger().write, "Logger.write"),
    ],
)
def test_a_callback_that_is_made_anew_for_each_trace_is_one_site(make, name):
    @jax.jit
    def f(x):
        debug.callback(make(), x)
        return x

    with jdw.capture() as run:
        f(1.0), f(jnp.ones(3))
    (site,) = run.sites
    assert site.format == name
    assert run.callbacks[name].calls == 2


def test_an_un_jitted_loop_is_one_site():
    with jdw.capture() as run:
        for i in range(5):
            jax.debug.print("{i}", i=i)
    assert len(run.sites) == 1
    assert [event.occurrence for event in run.events] == [0, 1, 2, 3, 4]


def body(x):
    jax.debug.print("{x}", x=x)
    return jnp.sin(x)


def phases(f, *args: Any):
    found = sites(f, *args)
    return sorted(site.phase for site in found), {site.phase: site for site in found}


@pytest.mark.behaviour("P6")
@pytest.mark.parametrize("outer", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_grad_is_forward_and_remat_recomputes(outer):
    assert phases(outer(jax.grad(body)), 1.0)[0] == ["forward"]
    names, by_phase = phases(outer(jax.grad(jax.checkpoint(body))), 1.0)
    assert names == ["forward", "recompute"]
    assert by_phase["forward"].line == by_phase["recompute"].line
    assert "rematted_computation" in by_phase["recompute"].name_stack


@pytest.mark.behaviour("P6")
def test_remat_in_a_scan_recomputes_each_step():
    def f(x):
        return lax.scan(lambda c, _: (jax.checkpoint(body)(c), None), x, length=3)[0]

    with jdw.capture() as run:
        jax.jit(jax.grad(f))(1.0)
    assert sorted(event.phase for event in run.events) == ["forward"] * 3 + ["recompute"] * 3
    forward, again = ([e.text for e in run.events if e.phase == phase] for phase in ("forward", "recompute"))
    assert again == forward[::-1]


@pytest.mark.behaviour("P6")
@pytest.mark.parametrize("inner", [lambda f: f, jax.jit], ids=["plain", "jit"])
def test_prints_in_a_linearized_checkpoint_are_forward_and_recompute(inner):
    def f(x):
        return lax.scan(lambda c, _: (jax.checkpoint(body)(c), None), x, length=2)[0]

    def tangent(x):
        return jax.linearize(inner(f), x)[1](x)

    for program in (tangent, jax.jit(tangent)):
        with jdw.capture() as run:
            program(1.0)
        assert [event.phase for event in run.events] == ["forward"] * 2 + ["recompute"] * 2
        texts = [event.text for event in run.events]
        assert texts[:2] == texts[2:]


@pytest.mark.behaviour("P6")
@pytest.mark.parametrize(
    ("outer", "x"),
    [(lambda f: f, 1.0), (jax.jit, 1.0), (lambda f: jax.jit(jax.vmap(f)), np.ones(2, np.float32))],
    ids=["eager", "jit", "vmap"],
)
def test_the_rule_of_a_custom_vjp_is_backward_and_shown_where_it_stands(outer, x):
    @jax.custom_vjp
    def f(x):
        jax.debug.print("primal {x}", x=x)
        return x

    def forward(x):
        jax.debug.print("forward {x}", x=x)
        return x, x

    def backward(x, g):
        jax.debug.print("backward {x} {g}", x=x, g=g)
        return (g,)

    f.defvjp(forward, backward)
    names, by_phase = phases(outer(jax.grad(lambda x: f(x).sum())), x)
    assert names == ["backward", "forward"]
    assert text_of(by_phase["backward"]) == 'jax.debug.print("backward {x} {g}", x=x, g=g)'
    assert by_phase["backward"].function.endswith("backward")
    assert text_of(by_phase["forward"]) == 'jax.debug.print("forward {x}", x=x)'
    assert by_phase["backward"].values == ("g", "x"), "keywords come in the order of JAX's pytrees"


def test_the_name_stack_has_the_transformations_in_order():
    def f(x):
        def step(c):
            return c[0] + 1, lax.cond(c[1] > 0, body, jnp.cos, c[1])

        return lax.while_loop(lambda c: c[0] < 3, step, (0, x))

    def g(x):
        return lax.scan(lambda c, _: (body(c), None), x, length=2)

    site = the_site(jax.jit(f), 1.0)
    assert the_site(jax.jit(g), 1.0).name_stack == "jit(g)/scan"
    assert site.name_stack == "jit(f)/while/body/cond/branch_1_fun"
    assert site.transforms == ("jit",)
    grad = the_site(jax.jit(jax.vmap(jax.grad(body))), jnp.ones(2))
    assert grad.transforms[0] == "jit"
    assert {"vmap", "jvp"} <= set(grad.transforms)
    assert grad.name_stack.startswith("jit(body)/")


def test_programs_called_inside_programs_have_their_path():
    inner = jax.jit(body)

    def outer(x):
        return inner(inner(x))

    with jdw.capture() as run:
        jax.jit(outer)(1.0)
    assert {site.name_stack for site in run.sites} == {"jit(outer)/jit(body)"}
    assert len(run.events) == 2


def looped(f):
    return lambda x: lax.scan(lambda c, _: (f(c), None), x, length=2)[0]


@pytest.mark.behaviour("P6")
@pytest.mark.parametrize(
    ("f", "again"),
    [
        (looped(jax.checkpoint(jax.checkpoint(body))), 2),
        (jax.checkpoint(looped(jax.checkpoint(body))), 2),
        (looped(jax.checkpoint(looped(jax.checkpoint(body)))), 2),
        (looped(jax.checkpoint(jax.checkpoint(jax.jit(body)))), 2),
        (looped(looped(jax.checkpoint(body))), 1),
    ],
)
@pytest.mark.parametrize("outer", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_the_forward_pass_of_nested_checkpoints_in_loops_is_forward(f, again, outer, capfd):
    with jdw.capture() as run:
        outer(jax.grad(f))(1.0)
    forward, recomputed = ([e.text for e in run.events if e.phase == phase] for phase in ("forward", "recompute"))
    f(1.0)
    jax.effects_barrier()
    assert forward == capfd.readouterr().out.split()
    assert len(recomputed) == again * len(forward)
    assert len(run.events) == len(forward) + len(recomputed)


@pytest.mark.behaviour("P6")
def test_names_of_the_users_are_no_phases():
    @jax.jit
    def scoped(x):
        with jax.named_scope("transpose(w)"):
            jax.debug.print("{x}", x=x)
        return x

    @jax.jit
    def rematted_computation(x):
        jax.debug.print("{x}", x=x)
        return x

    with jdw.capture() as run:
        scoped(1.0)
        rematted_computation(1.0)
        jax.grad(rematted_computation)(1.0)
    assert [event.phase for event in run.events] == ["forward"] * 3


@pytest.mark.parametrize(("call", "name", "alias"), [
    ("loss=l", "loss", "l"),
    ("loss=jnp.mean(x)", "loss", "jnp.mean(x)"),
    ("loss=x[0] * 2", "loss", "x[0] * 2"),
    ("loss=total", "total", "loss"),
    ("loss=p.total", "p.total", "loss"),
    ("x=x.sum()", "x.sum()", "x"),
    ("x=total", "total", "x"),
])  # fmt: skip
def test_a_keyword_is_the_name_where_it_says_more_than_the_expression(call, name, alias, tmp_path):
    file = tmp_path / "printing.py"
    word = call.partition("=")[0]
    given = "import jax, jax.numpy as jnp\nfrom types import SimpleNamespace\ndef f(x):\n    l = total = x.sum()"
    file.write_text(
        f"{given}\n    p = SimpleNamespace(total=total)\n    jax.debug.print('{{{word}}}', {call})\n    return l"
    )
    namespace = {}
    exec(compile(file.read_text(), file, "exec"), namespace)  # noqa: S102 - our own
    with jdw.capture() as run:
        jax.jit(namespace["f"])(jnp.float32([1, 2]))
    (site,) = run.sites
    assert (site.values, site.label) == ((name,), name)
    np.testing.assert_array_equal(run.series(name)[1], run.series(alias)[1])


def test_sites_known_from_an_earlier_run_have_the_order_of_this_program():
    def early(x):
        jax.debug.print("early {x}", x=x)
        return x

    def late(x):
        jax.debug.print("late {x}", x=x)
        return x

    def both(functions):
        return jax.jit(lambda x: [function(x) for function in functions])

    with jdw.capture():
        both([late])(1.0)
    with jdw.capture() as run:
        both([early, late])(1.0)
    assert {site.format: site.order for site in run.sites} == {"early {x}": 0, "late {x}": 1}


class WithArray:
    """A pytree with an array as static data, so that JAX cannot compare the structures of two."""

    def __init__(self, leaf: Any, array: Any) -> None:
        self.leaf, self.array = leaf, array


jax.tree_util.register_pytree_node(
    WithArray, lambda one: ((one.leaf,), one.array), lambda array, leaves: WithArray(leaves[0], array)
)


def test_arguments_with_an_array_beside_their_leaves_are_captured_and_one_line_is_one_site():
    called = []

    @jax.jit
    def f(x):
        for array in (np.arange(2), np.arange(2), np.arange(3)):
            jax.debug.callback(lambda one: called.append(float(one.leaf)), WithArray(x, array))
        jax.debug.print("{one}", one=WithArray(x, np.arange(2)))
        return x

    with jdw.capture() as run:
        f(1.5)
    assert called == [1.5] * 3 and not run.notes
    sites = [event.site.id for event in run.events]
    assert len(run.events) == 4 and len(set(sites)) == 3
