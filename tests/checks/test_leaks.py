"""Tracers that are held after their trace: by which name, and which line has made them."""

from __future__ import annotations

import contextvars
import functools
import gc
import linecache

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw

X = jnp.ones(3)
kept: dict = {}
last = None
last_seen: list = []


@pytest.fixture(autouse=True)
def _as_at_first():
    yield
    kept.clear()
    Way.given = None
    last_seen.clear()
    now.set(None)
    globals()["last"] = None
    doubled.cache_clear()
    layers[0].last = None


class Layer:
    last = None

    def run(self, x):
        self.last = x * 2
        return self.last


layers = [Layer()]


@functools.cache
def doubled(n):
    return jnp.sin(jnp.ones(n))


def in_global(x):
    globals()["last"] = jnp.sin(x)
    return x


def in_dict(x):
    kept["h"] = [x, jnp.cos(x)]
    return x


def in_closure():
    held = []

    def f(x):
        held.append(x + 1)
        return x

    return f


def in_a_tuple(x):
    globals()["last"] = (x * 2,)
    return x


def argument(x):
    kept["x"] = x
    return x + 1


class Way:
    given = None


def in_an_element_of_a_set(x):
    kept["h"] = {Way()}
    next(iter(kept["h"])).of = x * 4
    return x


def in_a_generator(x):
    def of(y):
        yield 0
        yield y

    kept["of"] = of(x - 1)
    next(kept["of"])
    return x


now = contextvars.ContextVar("now")


def in_a_context_variable(x):
    now.set({"x": x * 6})
    return x


keeper = in_closure()

LEAKS = {
    "a global": (in_global, "last"),
    "a list in a dictionary": (in_dict, "kept['h'][1]"),
    "an attribute of an element": (layers[0].run, "layers[0].last"),
    "a cache": (lambda x: x + doubled(3), "doubled (its functools.lru_cache)[3]"),
    "a variable of a function around": (keeper, "keeper → its variable `held`[0]"),
    "a tuple of it alone": (in_a_tuple, "last[0]"),
    "an argument": (argument, "kept['x']"),
    "an argument of a partial": (lambda x: kept.update(f=functools.partial(max, x * 2)) or x, "kept['f'].args[0]"),
    "a default": (lambda x: kept.update(g=lambda a=x * 3: a) or x, "kept['g'].__defaults__[0]"),
    "an element of a set": (in_an_element_of_a_set, "kept['h'] (one of its elements).of"),
    "an attribute of a class": (lambda x: setattr(Way, "given", x * 5) or x, "Way.given"),
    "a generator": (in_a_generator, "kept['of'] → its variable `y`"),
    "a context variable": (in_a_context_variable, "now.get()['x']"),
    "a name like a console's": (lambda x: last_seen.append(x + 2), "last_seen[0]"),
}
USES = {
    "jit": jax.jit,
    "grad": lambda f: jax.grad(lambda x: f(x).sum()),
    "vmap": jax.vmap,
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
}


CASES = [*((one, "jit") for one in LEAKS), *(("a global", one) for one in USES if one != "jit")]


@pytest.mark.behaviour("S3")
@pytest.mark.parametrize(("name", "use"), CASES)
def test_the_name_that_holds_a_tracer(name, use):
    function, holder = LEAKS[name]
    with jdw.capture(check="leaks") as run:
        USES[use](function)(X)
    assert [one.kind for one in run.findings] == ["leaks"] * len(run.findings)
    headlines = [one.headline for one in run.findings]
    assert any(line.startswith(f"`{holder}` holds") for line in headlines), headlines
    assert {one.file for one in run.findings} == {__file__}
    keeper.__closure__[0].cell_contents.clear()


@jax.jit
def decorated(x, params):
    y = x + params["w"]
    remembered.append(params["w"])
    return y


@jax.jit
def by_another(x):
    layers[0].run(x)
    keep(x)
    return x + 1


def keep(x):
    remembered.insert(0, x)


remembered: list = []


def test_an_argument_that_is_held_is_shown_at_the_line_that_stores_it():
    with jdw.capture(check="leaks") as run:
        decorated(X, {"w": X})
        by_another(X)
    told = {
        one.headline.rpartition("`: ")[0].rpartition("`")[2]: linecache.getline(__file__, one.span[0])
        for one in run.findings
        if "argument" in one.headline
    }
    assert sorted(told) == ["by_another", "decorated"], run.findings
    stored, defined = told["decorated"], told["by_another"]
    assert stored.strip() == 'remembered.append(params["w"])' and defined.startswith("def by_another(x)")
    remembered.clear()


def test_variables_of_a_function_that_runs_hold_tracers_too():
    local, model = [], Layer()
    with jdw.capture(check="leaks") as run:
        jax.jit(lambda x: local.append(x + 1))(X)
        jax.jit(lambda x: model.run(x))(X)  # noqa: PLW0108 - its name is in no trace.
    told = [one.headline.rpartition(" holds")[0] for one in run.findings]
    assert told == ["`local[0]`", "`model.last`"]


def test_the_line_is_one_of_the_users_where_a_library_has_begun_the_trace():
    eqx = pytest.importorskip("equinox")
    with jdw.capture(check="leaks") as run:
        eqx.filter_grad(lambda x: in_global(x).sum())(X)
    (finding,) = run.findings
    assert finding.file == __file__ and "in_global(x).sum()" in linecache.getline(__file__, finding.span[0])


def test_an_exception_that_is_kept_holds_none():
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
def test_what_is_garbage_or_returned_is_no_leak(function):
    gc.disable()
    try:
        with jdw.capture(check="all") as run:
            jax.jit(function)(X)
            jax.grad(lambda x: function(x).sum())(X)
            function(X)
        assert run.findings == []
    finally:
        gc.enable()


def test_the_explanation_says_who_holds_it_and_which_line_has_made_it():
    with pytest.raises(jax.errors.UnexpectedTracerError) as raised, jdw.capture():  # noqa: PT012
        jax.jit(in_dict)(X)
        kept["h"][1] + 1
    (note,) = [one for one in raised.value.__notes__ if "trace that is over" in one]
    line = in_dict.__code__.co_firstlineno + 1
    assert "`kept['h'][1]` holds a value, float32[3], of the trace of `in_dict`" in note
    assert f"made at test_leaks.py:{line}" in note
