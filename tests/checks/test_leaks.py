"""Test tracers that are held after their trace: the name that holds each, and the line that made it."""

from __future__ import annotations

import gc
import importlib.util
import inspect
import linecache
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import versions
from tests.checks import leak_programs

X = leak_programs.X
FILE = leak_programs.__file__


@pytest.fixture
def programs():
    """Return the programs, executed anew, so that their names hold nothing and `own_heap` hides none of them."""
    spec = importlib.util.spec_from_file_location("leak_programs_anew", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


USES = {
    "jit": jax.jit,
    "grad": lambda f: jax.grad(lambda x: f(x).sum()),
    "vmap": jax.vmap,
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
}


CASES = [*((one, "jit") for one in leak_programs.LEAKS), *(("a global", one) for one in USES if one != "jit")]


@pytest.mark.behaviour("S3")
@pytest.mark.parametrize(("name", "use"), CASES)
def test_the_name_that_holds_a_tracer(name, use, programs):
    function, holder = programs.LEAKS[name]
    with jdw.capture(check="leaks") as run:
        USES[use](function)(X)
    assert [one.kind for one in run.findings] == ["leaks"] * len(run.findings)
    headlines = [one.headline for one in run.findings]
    assert any(line.startswith(f"`{holder}` holds") for line in headlines), headlines
    assert {one.file for one in run.findings} == {FILE}


def test_an_argument_that_is_held_is_shown_at_the_line_that_stores_it(programs):
    with jdw.capture(check="leaks") as run:
        programs.decorated(X, {"w": X})
        programs.by_another(X)
    told = {
        one.headline.rpartition("`: ")[0].rpartition("`")[2]: linecache.getline(FILE, one.span[0])
        for one in run.findings
        if "argument" in one.headline
    }
    assert sorted(told) == ["by_another", "decorated"], run.findings
    stored, defined = told["decorated"], told["by_another"]
    assert stored.strip() == 'remembered.append(params["w"])' and defined.startswith("def by_another(x)")


def test_variables_of_a_function_that_runs_hold_tracers_too(programs):
    local, model = [], programs.Layer()
    with jdw.capture(check="leaks") as run:
        jax.jit(lambda x: local.append(x + 1))(X)
        jax.jit(lambda x: model.run(x))(X)  # noqa: PLW0108 - its name is in no trace.
    told = [one.headline.rpartition(" holds")[0] for one in run.findings]
    assert told == ["`local[0]`", "`model.last`"]


def test_the_line_is_one_of_the_users_where_a_library_has_begun_the_trace(programs):
    eqx = pytest.importorskip("equinox")
    with jdw.capture(check="leaks") as run:
        eqx.filter_grad(lambda x: programs.in_global(x).sum())(X)
    (finding,) = run.findings
    assert finding.file == FILE and "jnp.sin(x)" in linecache.getline(FILE, finding.span[0])


@pytest.mark.behaviour("S3")
@pytest.mark.parametrize(
    "differentiate",
    [
        jax.grad,
        jax.value_and_grad,
        lambda f: partial(jax.vjp, f),
        lambda f: lambda x: jax.jvp(f, (x,), (x,)),
        lambda f: lambda x: jax.vmap(jax.grad(f))(x[None]),
    ],
    ids=["grad", "value_and_grad", "vjp", "jvp", "vmap of grad"],
)
@pytest.mark.parametrize("what", ["value", "argument"])
def test_a_tracer_of_an_unjitted_derivative_is_shown_at_the_line_that_stores_it(differentiate, what):
    notes: dict[str, list[object]] = {"values": []}

    def loss(x):
        value = (x**2).sum()
        notes["values"].append(value if what == "value" else x)  # here
        return value

    with jdw.capture(check="leaks") as run:
        differentiate(loss)(X)
    (finding,) = run.findings
    assert finding.headline.startswith("`notes['values'][0]` holds")
    assert "# here" in linecache.getline(finding.file, finding.span[0])


def test_a_value_that_a_derivative_wraps_is_shown_at_the_line_that_makes_it(programs):
    with jdw.capture(check="leaks") as run:
        jax.jit(jax.grad(lambda x: programs.in_global(x).sum()))(X)
    (finding,) = run.findings
    assert finding.file == FILE and "jnp.sin(x)" in linecache.getline(FILE, finding.span[0])


def test_a_kept_exception_of_a_traced_function_is_no_leak():
    def fails(x):
        y = x + 1
        raise ValueError(y.shape)

    with jdw.capture(check="leaks") as run, pytest.raises(ValueError, match="3") as raised:
        jax.jit(fails)(X)
    assert raised.value.args == ((3,),) and run.findings == []


def cycle(x):
    found: dict = {"x": x}
    found["me"] = found
    return x


@pytest.mark.parametrize("function", [cycle, lambda x: [x * k for k in range(3)][-1], jnp.linalg.norm])
def test_returned_and_unreachable_tracers_are_no_leaks(function):
    gc.disable()
    try:
        with jdw.capture(check="all") as run:
            jax.jit(function)(X)
            jax.grad(lambda x: function(x).sum())(X)
            function(X)
        assert run.findings == []
    finally:
        gc.enable()


def test_the_explanation_says_who_holds_it_and_which_line_has_made_it(programs):
    with pytest.raises(jax.errors.UnexpectedTracerError) as raised, jdw.capture():  # noqa: PT012
        jax.jit(programs.in_dict)(X)
        programs.kept["h"][1] + 1
    (note,) = [one for one in raised.value.__notes__ if "trace that is over" in one]
    line = programs.in_dict.__code__.co_firstlineno + 1
    assert "`kept['h'][1]` holds a value, float32[3], of the trace of `in_dict`" in note
    assert f"made at leak_programs.py:{line}" in note


NEEDS = {
    "float": float,
    "bool": lambda x: 1 if x > 0 else 2,
    "numpy": np.asarray,
    "item": lambda x: x.item(),
    "arithmetic": lambda x: x + 1,
}


@pytest.mark.parametrize("need", NEEDS)
def test_using_a_tracer_after_its_trace_says_that_it_was_leaked(need):
    held: list[jax.Array] = []

    @jax.jit
    def holding(x):
        held.append(x * 2)
        return x

    with pytest.raises((TypeError, jax.errors.UnexpectedTracerError)), jdw.capture() as run:  # noqa: PT012
        holding(jnp.float32(1))
        NEEDS[need](held[0])
    (finding,) = run.findings
    assert finding.kind == "leaks" and finding.headline.endswith("uses a value of a trace that is over")
    assert "of the trace of `holding`" in finding.advice


@pytest.mark.parametrize("around", [jax.jit, lambda f: jax.jit(jax.vmap(f)), lambda f: lambda x: lax.map(f, x)])
def test_a_value_needed_during_its_own_trace_is_not_explained_as_a_leak(around):
    inner = jax.jit(lambda x: float(x) * 2)

    def f(x):
        return inner(x) * 2

    with pytest.raises(jax.errors.ConcretizationTypeError), jdw.capture() as run:
        around(f)(jnp.ones(3) if around is not jax.jit else jnp.float32(1))
    (finding,) = run.findings
    assert finding.kind == "control-flow"


def test_a_capture_inside_of_the_traced_function_is_no_leak():
    @jax.jit
    def f(x):
        with jdw.capture() as run:
            runs.append(run)
            return float(x)

    runs = []
    with pytest.raises(jax.errors.ConcretizationTypeError):
        f(jnp.float32(1))
    assert [finding.kind for finding in runs[0].findings] == ["control-flow"]


CLEAN = {
    "a custom derivative in what jax.vjp returns": jax.jit(
        partial(jax.vjp, jax.checkpoint(lambda x: jax.nn.relu(1.0 * x)))
    ),
    "a gradient": jax.jit(jax.grad(lambda x: jax.nn.softplus(jnp.where(x > 0, x, 1.0)).sum())),
    "an un-jitted gradient of a jitted function": jax.grad(jax.jit(lambda x: jax.nn.relu(x * x).sum())),
    "a loop": jax.jit(jax.grad(lambda x: jax.lax.scan(lambda c, t: (jax.nn.silu(c + t), None), 0.0, x)[0])),
    "lanes": jax.jit(jax.vmap(jax.value_and_grad(lambda x: jax.nn.relu(x) * x))),
}


@pytest.mark.parametrize("options", [{}, {"watch": True}, {"check": "all"}], ids=["captured", "watched", "checked"])
@pytest.mark.parametrize("program", CLEAN.values(), ids=CLEAN)
def test_jax_finds_no_leak_of_ours(program, options):
    with jax.checking_leaks(), jdw.capture(**options) as run:
        program(jnp.arange(3.0))
    assert run.findings == []


class RunningMean:
    def __init__(self) -> None:
        self.mean = jnp.zeros(2)

    def __call__(self, x) -> jax.Array:
        self.mean = 0.9 * self.mean + 0.1 * x
        return x - self.mean


def test_a_leak_that_the_next_trace_meets_is_reported_with_its_line_and_its_holder():
    norm = RunningMean()
    with jdw.capture(check="leaks") as before:
        jax.jit(norm)(jnp.ones(2))
    (finding,) = before.findings
    called = "<unknown>" if versions.TRACEBACKS_LEAVE_THEIR_PROGRAM else "RunningMean.__call__"
    assert f"`norm.mean` holds a value of the trace of `{called}`" in finding.headline
    with jdw.capture() as run:
        with pytest.raises(jax.errors.UnexpectedTracerError) as raised:
            jax.jit(lambda x: norm(x) + 0)(jnp.ones(2))
        run.returned(raised.value)
    (finding,) = run.findings
    line = inspect.getsourcelines(RunningMean)[1] + 5
    assert f"made at test_leaks.py:{line}, in RunningMean.__call__; `norm.mean` holds" in finding.advice
