# ruff: noqa: NPY002, S311 - what the user draws so is told of.
"""Test side effects during tracing, and values that have changed since a trace read them: one finding at the line."""

from __future__ import annotations

import functools
import gc
import inspect
import io
import itertools
import linecache
import logging
import random
import time
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.checks.purity.watcher import PurityWatch

X = jnp.ones(3)
count = 0
log: list = []
settings = {"lr": 0.1, "name": "a"}
seen: set = set()
file = io.StringIO()
tables: dict = {}
factor = 1.0
LOG = logging.getLogger("tests")


@pytest.fixture(autouse=True)
def _as_at_first():
    yield
    globals().update(count=0, factor=1.0)
    for one in (log, seen, tables):
        one.clear()
    settings.update(lr=0.1, name="a")


class Model:
    def __init__(self) -> None:
        self.calls = 0
        self.scale = 2.0
        self.table = None

    def counted(self, x):
        self.calls += 1
        return x * self.scale

    def with_last(self, x):
        self.last = x * self.scale
        y = self.last + 1
        self.last = None
        return y

    def with_table(self, x):
        if self.table is None:
            self.table = np.arange(3.0)
        return x + self.table.astype(np.float32)


def counts(x):
    global count  # noqa: PLW0603 - it is what is told of.
    count += 1
    return x


def logs_inside(x):
    def helper(y):
        log.append("y")
        return y * 2

    return helper(x)


def changes_a_setting(x):
    settings["lr"] = 0.5
    return x


def nonlocal_counter():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return x

    return f


def writes(x):
    file.write("traced")
    return x


def added(it):
    def f(x):
        for number in it:
            x = x + number
        return x

    return f


def generator():
    rng = np.random.default_rng(0)

    def noisy(x):
        return x + rng.normal()

    return noisy


EFFECTS = {
    "a global": (lambda: counts, "`count` changed while `counts` was traced: 0 → 1"),
    "a list, from a helper": (
        lambda: logs_inside,
        "`log` changed while `logs_inside` was traced: a list of 0 → a list of 1",
    ),
    "an item": (lambda: changes_a_setting, "`settings['lr']` changed while `changes_a_setting` was traced: 0.1 → 0.5"),
    "an attribute": (lambda: Model().counted, "`self.calls` changed while `counted` was traced: 0 → 1"),
    "a variable of a function around": (nonlocal_counter, "`calls` changed while `f` was traced: 0 → 1"),
    "a set": (lambda: lambda x: seen.add(x.shape) or x, "`seen` changed while"),
    "NumPy's random numbers": (lambda: lambda x: x + np.random.normal(), "np.random drew while"),
    "Python's random numbers": (lambda: lambda x: x + random.random(), "`random.random` ran while"),
    "a clock": (lambda: lambda x: x + time.perf_counter(), "`time.perf_counter` ran while"),
    "a generator of NumPy's": (generator, "`rng` drew while `noisy` was traced: all later calls use these numbers"),
    "a log line": (lambda: lambda x: LOG.info("x is %s", x) or x, "`logging.info` ran while"),
    "a file": (lambda: writes, "ran while `writes` was traced"),
}
USES = {
    "jit": jax.jit,
    "vmap": lambda f: jax.jit(jax.vmap(f)),
    "grad": lambda f: jax.jit(jax.grad(lambda x: f(x).sum())),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
}


@pytest.mark.behaviour("S1")
@pytest.mark.parametrize(("name", "use"), [*((one, "jit") for one in EFFECTS), *(("a global", one) for one in USES)])
def test_a_side_effect_during_tracing_has_one_finding_at_its_line(name, use):
    make, says = EFFECTS[name]
    function = USES[use](make())
    with jdw.capture(check="purity") as run:
        function(X)
        function(X)
    (finding,) = run.findings
    assert says.partition(" while ")[0] in finding.headline
    assert use != "jit" or says in finding.headline
    assert finding.kind == "purity"
    assert finding.file == __file__


def cached(n):
    if n not in tables:
        tables[n] = np.arange(n) * 1.0
    return tables[n]


class Tables:
    def __init__(self) -> None:
        self.known = {}

    @property
    def table(self):
        if "t" not in self.known:
            self.known["t"] = np.arange(3, dtype=np.float32)
        return self.known["t"]

    def added(self, x):
        return x + self.table


@functools.cache
def remembered(n):
    return np.arange(n) * 1.0


def logging_one(x):
    logging.getLogger("tests").debug("traced with %s", x.shape)
    jax.debug.print("{}", x)
    return x * factor


def local(x):
    parts: list = []
    parts.extend(x * k for k in range(3))
    found = {"last": parts[-1]}
    found["sum"] = sum(parts)
    return found


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x + cached(3).astype(np.float32),
        lambda x: x + remembered(3).astype(np.float32),
        Tables().added,
        logging_one,
        local,
        Model().with_table,
        Model().with_last,
        lambda x: x + np.random.default_rng(0).normal(),
        lambda x: x[: int(np.prod((2,)))] * np.pi,
    ],
)
def test_caches_logging_and_local_state_have_no_finding(program):
    function = jax.jit(program)
    with jdw.capture(check=["purity", "stale", "lists"], echo=False) as run:
        function(X)
        function(X)
        lax.scan(lambda c, _: (c, program(c)), X, None, length=2)
    assert run.findings == []


def in_global(x):
    return x * factor


def in_dict(x):
    return x * settings["lr"]


def in_branch(x):
    return lax.cond(True, lambda y: y * factor, lambda y: y, x)


STALE = {
    "a global": (in_global, "factor"),
    "an item": (in_dict, "settings['lr']"),
    "in a branch": (in_branch, "factor"),
    "a gradient": (jax.grad(lambda x: in_global(x).sum()), "factor"),
    "a vmap": (jax.vmap(in_global), "factor"),
    "another jitted function": (lambda x: jax.jit(in_global)(x) + 1, "factor"),
}


@pytest.mark.behaviour("S2")
@pytest.mark.parametrize("name", STALE)
def test_a_value_that_changes_after_the_trace_is_reported_and_changes_nothing(name):
    function, expression = STALE[name]
    jitted = jax.jit(function)
    plain = jax.jit(function)(X)
    with jdw.capture(check="stale") as run:
        jitted(X)
        globals().update(factor=3.0)
        settings["lr"] = 0.3
        np.testing.assert_array_equal(jitted(X), plain)
    assert {one.kind for one in run.findings} == {"stale"}
    assert {read.names for read in run.stale_reads} == {(expression,)}


def test_calls_take_jaxs_fast_path_if_nothing_that_they_read_has_changed(monkeypatch):
    looked_up = []
    jitted = jax.jit(in_dict)
    with jdw.capture(check="stale") as run:
        jitted(X)
        monkeypatch.setattr(PurityWatch, "look", lambda *asked: looked_up.append(asked))
        for _ in range(3):
            jitted(X)
    assert looked_up == []
    assert run.findings == []


class Scaled:
    def __init__(self) -> None:
        self.scale = 2.0

    @functools.partial(jax.jit, static_argnums=0)
    def __call__(self, x, *, shift) -> jax.Array:
        return x * self.scale + shift

    @functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
    def donated(self, x):
        return (x * self.scale,)


@pytest.mark.parametrize(
    "call",
    [lambda one: one(X, shift=np.ones(3)), lambda one: one.donated(jnp.ones(3))],
)
def test_the_state_of_a_static_self_is_followed_through_many_calls(call):
    scaled = Scaled()
    with jdw.capture(check="stale") as run:
        for _ in range(4):
            call(scaled)
        assert run.findings == []
        scaled.scale = 3.0
        call(scaled)
    (read,) = run.stale_reads
    assert read.names == ("self.scale",)


def test_the_stale_check_keeps_no_function_or_array_alive():
    def make():
        scale = {"a": 1.0}

        def f(x, _unread):
            return x * scale["a"]

        array = jnp.ones(7)
        jitted = jax.jit(f)
        for _ in range(3):
            jitted(X, array)
        return weakref.ref(f), weakref.ref(array)

    with jdw.capture(check="stale"):
        refs = make()
        gc.collect()
        assert [one() for one in refs] == [None, None]


class Dropout:
    def __init__(self) -> None:
        self.training = True

    def __call__(self, x) -> jax.Array:
        return x * 0.5 if self.training else x  # here


def test_a_flag_that_chooses_what_is_traced_is_named_at_the_line_that_reads_it():
    layer = Dropout()
    jitted = jax.jit(lambda x: layer(x) + 1)
    with jdw.capture(check="stale") as run:
        jitted(X)
        layer.training = False
        jitted(X)
    (finding,) = run.findings
    assert finding.where == f"{run.stale_reads[0].where}" == f"test_purity.py:{line_of(Dropout)}"
    assert finding.headline == "cached value True was used although `self.training` is now False"


def activation(x):
    return jnp.tanh(x)


def other_activation(x):
    return jnp.sin(x)


@pytest.mark.behaviour("S2")
@pytest.mark.parametrize(("new", "told"), [(other_activation, 1), (activation, 0), (jax.jit(other_activation), 1)])
def test_a_function_that_is_defined_anew_after_the_trace_is_reported(monkeypatch, new, told):
    def layer(x):
        return activation(x) * 2  # here

    jitted = jax.jit(layer)
    with jdw.capture(check="all") as run:
        before = jitted(X)
        monkeypatch.setitem(globals(), "activation", new)
        np.testing.assert_array_equal(jitted(X), before)
    assert [finding.where for finding in run.findings] == [f"test_purity.py:{line_of(layer)}"] * told
    assert all("`activation` has changed" in one.headline and "layer.clear_cache()" in one.why for one in run.findings)


def line_of(what) -> int:
    lines, first = inspect.getsourcelines(what)
    return first + next(number for number, line in enumerate(lines) if "# here" in line)


def test_a_stale_value_has_a_headline_and_its_shortest_number():
    jitted = jax.jit(in_dict)
    with jdw.capture(check="stale") as run:
        jitted(X)
        settings["lr"] = np.float32(0.3)
        jitted(X)
    with jdw.capture(check="stale") as later:
        jitted(X)
    assert [one.headline for one in later.findings] == [one.headline for one in run.findings]
    (finding,) = run.findings
    assert finding.headline == "cached value 0.1 was used although `settings['lr']` is now 0.3"
    assert finding.why.endswith("pass `settings['lr']` as an argument.")


def test_changed_values_that_are_not_read_have_no_finding():
    jitted = jax.jit(in_dict)
    with jdw.capture(check="stale") as run:
        jitted(X)
        settings["name"] = "b"
        jitted(X)
        globals().update(factor=5.0)
        jitted(X)
    assert run.findings == []


def test_a_function_with_effects_runs_once_a_trace():
    def f(x):
        log.append(x.shape)
        return x * factor

    jitted = jax.jit(f)
    with jdw.capture(check="all") as run:
        jitted(X)
        globals().update(factor=2.0)
        jitted(X)
    assert log == [(3,)]
    assert [one.kind for one in run.findings] == ["purity"]


def test_a_function_that_prints_is_not_traced_again(capsys):
    def f(x):
        print("traced")
        return x * factor

    jitted = jax.jit(f)
    with jdw.capture(check="all"):
        jitted(X)
        globals().update(factor=2.0)
        jitted(X)
    assert capsys.readouterr().out == "traced\n"


@pytest.mark.behaviour("S4")
@pytest.mark.parametrize(
    "loop",
    [
        lambda it: lax.fori_loop(0, 10, lambda _, x: x + next(it), 0),
        lambda it: lax.scan(lambda c, _: (c + next(it), None), 0, None, length=3)[0],
        lambda it: jax.jit(lambda x: lax.fori_loop(0, 10, lambda _, y: y + next(it), x))(0),
        lambda it: lax.map(lambda x: x + next(it), X),
        lambda it: jax.jit(lambda x: x + next(it))(0),
    ],
)
@pytest.mark.parametrize("make", [lambda: iter(range(10)), itertools.count, lambda: (k for k in range(10))])
def test_an_iterator_that_is_advanced_while_tracing(loop, make):
    with jdw.capture(check="purity") as run:
        loop(make())
    (finding,) = run.findings
    assert finding.kind == "purity"
    assert "`next(it)` ran once" in finding.headline
    assert ("jnp.array(list(it))" in finding.message) == (make is not itertools.count)


def test_an_iterator_of_the_traced_function_advanced_by_a_loop():
    @jax.jit
    def f(x):
        it = iter(range(10))
        first = next(it)
        return lax.fori_loop(0, 10, lambda _, y: y + next(it), x + first)

    with jdw.capture(check="purity") as run:
        f(0)
    (finding,) = run.findings
    assert "`next(it)` ran once" in finding.headline


@pytest.mark.parametrize(
    ("make", "use", "headline", "advice"),
    [
        (itertools.count, lambda it: lambda x: x + next(it), "`next(it)` ran once", "pass them as arguments"),
        (lambda: iter([1.0, 2.0]), lambda it: lambda x: x + sum(it), "`sum(it)` ran once", "pass them as arguments"),
        (lambda: iter([1.0, 2.0]), added, "the loop over `it` ran once", "pass them as arguments"),
        (
            itertools.count,
            lambda it: lambda x: lax.fori_loop(0, 3, lambda _, c: c + next(it), x),
            "`next(it)` ran once",
            "Compute it from the step",
        ),
    ],
)
def test_a_finding_about_an_iterator_names_its_use_and_has_no_fix(make, use, headline, advice):
    with jdw.capture(check="purity") as run:
        jax.jit(use(make()))(X)
    (finding,) = run.findings
    assert finding.headline.startswith(headline)
    assert advice in finding.advice
    assert finding.fix == ()


def test_a_clock_that_is_read_twice_is_reported_once():
    def timed(x):
        start = time.perf_counter()
        return x * 2, time.perf_counter() - start

    with jdw.capture(check="purity") as run:
        jax.jit(timed)(X)
    assert [finding.headline.partition(" while")[0] for finding in run.findings] == ["`time.perf_counter` ran"]


def begun(x):
    def doubles():
        y = x * 2
        yield y
        yield y + 1

    generator = doubles()
    next(generator)
    return generator


@pytest.mark.parametrize("holds", [lambda x: lambda: x, begun])
def test_a_tracer_inside_of_what_is_stored_is_reported_once(holds):
    def stores(x):
        log.append(holds(x))
        return x

    with jdw.capture(check=["purity", "leaks"]) as run:
        jax.jit(stores)(X)
    (finding,) = run.findings
    assert finding.kind in ("leaks", "purity")


def test_results_and_states_are_what_they_are_without_checks():
    def f(x):
        return x * factor + np.random.normal()

    np.random.seed(3)
    plain, state = jax.jit(f)(X), np.random.get_state()[2]
    np.random.seed(3)
    with jdw.capture(check="all"):
        checked = jax.jit(f)(X)
    assert np.random.get_state()[2] == state
    np.testing.assert_array_equal(checked, plain)


@pytest.mark.behaviour("S7")
@pytest.mark.parametrize(
    ("args", "says"),
    [
        (([1.0] * 20,), "`x` is a list of 20 numbers"),
        (({"w": [(0, 1)] * 6},), "`x['w']` is a list of 12 numbers"),
        (({f"p{k}": 1.0 for k in range(80)},), "`x` has 80 numbers"),
    ],
)
def test_a_list_of_numbers_as_an_argument_is_found(args, says):
    with jdw.capture(check="lists") as run:
        jax.jit(lambda x: jax.tree.leaves(x)[0] + 1)(*args)
    (finding,) = run.findings
    assert says in finding.headline
    assert finding.kind == "lists"


def total(values, scale=1.0):
    return sum(jax.tree.leaves(values)) * scale


PRICES = [float(number) for number in range(20)]


@pytest.mark.parametrize(
    ("call", "shown", "fix"),
    [
        (lambda f: f(PRICES), "PRICES", "f(jnp.array(PRICES))"),
        (lambda f: f(PRICES[:9], 2.0), "PRICES[:9]", "f(jnp.array(PRICES[:9]), 2.0)"),
        (lambda f: f(scale=2.0, values=PRICES), "PRICES", "f(scale=2.0, values=jnp.array(PRICES))"),
        (lambda f: f({"a": PRICES}), "values['a']", "jnp.array(values['a'])"),
        (lambda f: f(*[PRICES[:11]]), "values", "jnp.array(values)"),
    ],
)
def test_a_list_of_numbers_is_named_as_the_caller_writes_it(call, shown, fix):
    with jdw.capture(check="lists") as run:
        call(jax.jit(total))
    (finding,) = run.findings
    assert finding.headline.startswith(f"`{shown}` is a list of ")
    assert finding.fix == (fix,)


def test_few_numbers_and_many_arrays_are_silent():
    @functools.partial(jax.jit, static_argnums=1)
    def f(x, sizes):
        return sum(x) + len(sizes)

    with jdw.capture(check="lists") as run:
        f([X] * 20, tuple(range(30)))
        f([1.0, 2.0, 3.0], ())
    assert run.findings == []


class Keeping:
    def __init__(self) -> None:
        self.rate = 0.75
        self.weight = jnp.ones(3)

    def __call__(self, x) -> jax.Array:
        keep = 1.0 - self.rate  # here
        return x * self.weight * keep


def test_a_value_that_is_computed_from_a_changed_one_is_reported_with_the_changed_one():
    layer = Keeping()
    jitted = jax.jit(layer)
    with jdw.capture(check="stale") as run:
        jitted(X)
        layer.rate = 0.5
        jitted(X)
    (finding,) = run.findings
    assert finding.where == f"test_purity.py:{line_of(Keeping)}"
    assert finding.headline == "cached value 0.75 was used although `self.rate` is now 0.5"


class Window:
    def __init__(self) -> None:
        self.first = None
        self.size = 3
        self.reads = 0

    @property
    def weights(self):
        if self.first is None:
            self.first = np.ones(self.size, np.float32)
        return self.first

    @property
    def counted(self):
        self.reads += 1  # here
        return 2.0


def test_a_property_that_keeps_its_value_is_silent_and_one_that_counts_is_reported():
    window = Window()
    jitted = jax.jit(lambda x: x * window.weights)
    with jdw.capture(check=["purity", "stale"]) as run:
        jitted(X)
        jitted(X)
    assert run.findings == []
    with jdw.capture(check="purity") as run:
        jax.jit(lambda x: x * window.counted)(X)
    (finding,) = run.findings
    assert finding.where == f"test_purity.py:{line_of(Window)}"


class Counting:
    def __init__(self) -> None:
        self.calls = 0
        self.scale = 2.0

    def __call__(self, x, shift=0.0) -> jax.Array:
        self.calls += 1  # here
        return x * self.scale + shift


def scaled_by(model, x) -> jax.Array:
    return x * model.scale


@pytest.mark.parametrize("jitted", [lambda one: one, lambda one: functools.partial(one, shift=1.0)])
def test_an_object_that_is_called_and_a_partial_are_functions(jitted):
    with jdw.capture(check="purity") as run:
        jax.jit(jitted(Counting()))(X)
    (finding,) = run.findings
    assert finding.where == f"test_purity.py:{line_of(Counting)}"
    assert "`self.calls` changed" in finding.headline and finding.headline.endswith("0 → 1")


def test_the_state_of_an_object_that_a_partial_has_bound_is_followed():
    model = Counting()
    jitted = jax.jit(functools.partial(scaled_by, model))
    with jdw.capture(check="stale") as run:
        jitted(X)
        model.scale = 5.0
        jitted(X)
    (read,) = run.stale_reads
    assert (read.names, read.before, read.after) == (("model.scale",), "2.0", "5.0")


def test_values_bound_by_a_partial_inside_a_derivative_are_checked():
    model = Counting()
    jitted = jax.jit(jax.grad(functools.partial(lambda model, x: (x * model.scale).sum(), model)))
    with jdw.capture(check="stale") as run:
        jitted(X)
        model.scale = 5.0
        jitted(X)
    (read,) = run.stale_reads
    assert (read.before, read.after) == ("2.0", "5.0")


TABLE = np.ones(3, np.float32)
TABLES = {"w": np.ones((), np.float32), "unread": np.ones(3, np.float32)}


def adds_table(x):
    return x + TABLE  # here


def scales(x):
    return x * jnp.asarray(TABLES["w"])  # here


@pytest.mark.behaviour("S2")
@pytest.mark.parametrize(
    ("function", "array", "told"),
    [
        (adds_table, TABLE, "float32[3] was used although `TABLE` is now another"),
        (scales, TABLES["w"], "cached value 1.0 was used although `TABLES['w']` is now 5.0"),
    ],
    ids=["an array", "a number in a dictionary"],
)
def test_a_numpy_array_that_is_changed_in_place_is_a_stale_value(function, array, told):
    jitted, x = jax.jit(function), jnp.ones(3)
    with jdw.capture(check="stale") as run:
        before = jitted(x)
        array[...] = 5.0
        after = jitted(x)
    array[...] = 1.0
    np.testing.assert_array_equal(after, before)
    (finding,) = run.findings
    assert told in finding.message
    assert "# here" in linecache.getline(finding.file, finding.span[0])


def test_a_numpy_array_that_is_changed_in_place_and_not_read_is_no_finding():
    jitted = jax.jit(lambda x: scales(x) + TABLE.shape[0])
    with jdw.capture(check="stale") as run:
        jitted(jnp.ones(3))
        TABLE[0] = TABLES["unread"][0] = 7.0
        jitted(jnp.ones(3))
    TABLE[0] = 1.0
    assert run.findings == []
