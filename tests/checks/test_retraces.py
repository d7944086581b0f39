"""Test findings about functions that JAX traces repeatedly: how often, and what changed."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.origins.context import calling_for_us, is_traced_for_us, tracing_for_us
from jax_debug_widgets._jax.tracing.traces import Trace
from jax_debug_widgets.checks.excerpt import text_of
from jax_debug_widgets.session import earlier_traces
from jax_debug_widgets.session.earlier_traces import EarlierTraces


@pytest.fixture
def retraces():
    """Return a function that runs a program in a capture, and returns the findings about retraces."""

    def found(program):
        with jdw.capture() as run:
            program()
        return [finding for finding in run.findings if finding.kind == "retraces"]

    return found


def new_shapes():
    step = jax.jit(lambda p, x: p["w"] * x)
    for n in range(3, 7):
        step({"w": jnp.float32(1)}, jnp.ones(n))


def new_functions():
    for _ in range(3):
        jax.jit(lambda x: x + 1)(jnp.float32(1))


def scaled(x, n):
    return x * n


def new_partials():
    for _ in range(3):
        jax.jit(functools.partial(scaled, n=3))(jnp.float32(1))


def new_partials_of_partials_in_a_vmap():
    for n in range(3):
        jax.jit(jax.vmap(functools.partial(functools.partial(scaled), n=n)))(jnp.ones(2))


class Model:
    def __call__(self, x: jax.Array) -> jax.Array:
        return x + 1


def new_callables():
    for _ in range(3):
        jax.jit(Model())(jnp.float32(1))


def a_partial_of_new_shapes():
    step = jax.jit(functools.partial(scaled, n=3))
    for size in range(1, 4):
        step(jnp.ones(size))


def new_static_functions():
    step = jax.jit(lambda act, x: act(x), static_argnums=0)
    for _ in range(3):
        step(lambda x: x + 1, jnp.float32(1))


def new_static_values():
    step = functools.partial(jax.jit, static_argnames="n")(lambda x, n: x * n)
    for n in range(4):
        step(jnp.float32(1), n)


class Config:
    """An object without `__eq__`: all instances differ."""


def new_objects():
    step = jax.jit(lambda x, config: (x, str(config))[0], static_argnums=1)
    for _ in range(3):
        step(jnp.float32(1), Config())


def new_structures():
    step = jax.jit(lambda layers: layers)
    for n in range(1, 4):
        step([jnp.float32(1)] * n)


def new_kinds():
    step = jax.jit(lambda x: x * 2)
    for x in (jnp.float32(1), 1.0, jnp.int32(1), 1):
        step(x)


@pytest.mark.behaviour("S14")
@pytest.mark.parametrize(
    ("program", "count", "words"),
    [
        (new_shapes, 4, ("4 times", "`x`: float32[3] → float32[4] → float32[5] → float32[6]. Pad `x`")),
        (new_functions, 3, ("3 times", "new function object")),
        (new_partials, 3, ("`scaled` was traced 3 times", "`scaled` is a new function object each time")),
        (new_partials_of_partials_in_a_vmap, 3, ("`scaled` was traced 3 times", "new function object")),
        (new_callables, 3, ("3 times", "new function object")),
        (a_partial_of_new_shapes, 3, ("`scaled` was traced 3 times", "`x`: float32[1] → float32[2]")),
        (new_static_values, 4, ("static `n`: 0 → 1 → 2 → 3. Each", "traced")),
        (new_static_functions, 3, ("static `act`: another function", "Make it once")),
        (new_objects, 3, ("static `config`", "__eq__ and __hash__")),
        (new_structures, 3, ("structure", "with layers[1], then with layers[2]. Pass")),
        (new_kinds, 4, ("float32[]", "int32[]")),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_finding_about_retraces_says_what_changed(retraces, program, count, words):
    (finding,) = retraces(program)
    assert finding.seen == count
    assert all(word in finding.message for word in words), finding.message
    assert finding.where.startswith("test_retraces.py:")


def twice():
    step = jax.jit(lambda x: x + 1)
    for n in (3, 4):
        step(jnp.ones(n))


def the_same_type():
    step = jax.jit(lambda x: x + 1)
    for k in range(5):
        step(jnp.float32(k))
    step(np.float32(1))


def under_transformations():
    step = jax.jit(lambda x: jnp.sin(x) + 1)
    for _ in range(3):
        step(1.0)
        jax.vmap(step)(jnp.ones(3))


def one_partial():
    step = jax.jit(functools.partial(scaled, n=3))
    for _ in range(4):
        step(jnp.float32(1))


def only_described():
    for n in range(4):
        jax.make_jaxpr(lambda x: x + 1)(jnp.ones(n))
        jax.eval_shape(lambda x: x + 1, jnp.ones(n))


@pytest.mark.parametrize(
    "program",
    [twice, the_same_type, under_transformations, one_partial, only_described],
    ids=lambda one: one.__name__,
)
def test_functions_that_are_seldom_traced_have_no_finding(retraces, program):
    assert retraces(program) == []


def test_captures_do_not_count_as_retraces(retraces):
    step = jax.jit(lambda x: (jax.debug.print("{x}", x=x), x + 1)[1])
    for _ in range(4):
        assert retraces(lambda: step(jnp.float32(1))) == []


def test_a_path_in_a_model_is_named(retraces):
    @jax.jit
    def step(model, x):
        return model.weight @ x

    def program():
        for n in range(2, 5):
            step(eqx.nn.Linear(3, n, key=jax.random.key(0)), jnp.ones(3))

    (finding,) = retraces(program)
    assert "`model.weight`" in finding.message


def kept(function):
    return function


@kept
@functools.partial(
    jax.jit,
    static_argnames=("scale",),
)
def decorated(params, scale, *, x):
    return params["w"] * x * scale


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        (lambda n: ({"w": jnp.ones(n)}, 1, jnp.float32(1)), "params"),
        (lambda n: ({"w": jnp.float32(1)}, n, jnp.float32(1)), "scale"),
        (lambda n: ({"w": jnp.float32(1)}, 1, jnp.ones(n)), "x"),
        (lambda n: ({name: jnp.float32(1) for name in ("w", "v", "u")[: n - 1]}, 1, jnp.float32(1)), "params"),
    ],
    ids=["a leaf", "a static value", "a keyword", "a structure"],
)
def test_the_argument_is_shown_at_the_def_below_the_decorators(retraces, given, argument):
    def program():
        for n in (2, 3, 4):
            params, scale, x = given(n)
            decorated(params, scale, x=x)

    jax.clear_caches()
    (finding,) = retraces(program)
    _, line, marks, *_ = text_of(finding).splitlines()[1:]
    assert line.endswith(" | def decorated(params, scale, *, x):")
    assert line[marks.index("^") : marks.rindex("^") + 1] == argument


def test_a_retrace_is_muted_at_the_decorator_too(retraces):
    @jax.jit  # jdw: ok retraces
    def step(x):
        return x

    assert retraces(lambda: [step(jnp.ones(n)) for n in (2, 3, 4)]) == []


@dataclass(frozen=True)
class Ordered:
    size: int


def test_equal_static_arguments_cause_no_retrace(retraces):
    step = jax.jit(lambda x, config: (x, str(config))[0], static_argnums=1)
    assert retraces(lambda: [step(jnp.float32(1), Ordered(3)) for _ in range(4)]) == []


def test_traces_of_the_watched_twin_are_not_counted():
    step = functools.partial(jax.jit, donate_argnums=0)(lambda x: x * 2)
    with jdw.capture(exact=True, watch="h") as run:
        step(jnp.ones(3)), step(jnp.ones(4))
    assert run.findings == []
    with jdw.capture(exact=True, watch="h") as run:
        for n in range(5, 8):
            step(jnp.ones(n))
    (finding,) = run.findings
    assert re.search(r"was traced 3 times \([\d.e-]+ s without compiling\), called from", finding.headline)


def with_a_function_inside(x):
    return jax.jit(lambda x: x * 2)(x)


@pytest.mark.parametrize("function", [jax.jit(lambda x: x * 2), with_a_function_inside], ids=["jitted", "anew"])
def test_the_calls_of_verify_are_no_retraces(function):
    assert jdw.verify(function, jnp.ones(3)).run.findings == []


def test_a_function_that_retraces_within_the_call_of_verify_is_found():
    (finding,) = jdw.verify(new_functions).run.findings
    assert "was traced 3 times" in finding.headline


W = jnp.float32([1.0, 2.0])


@eqx.filter_jit
def filtered(model, x, y=None, *, flag=True):
    return jax.vmap(model)(x).sum() * (2 if flag else 1) + (0 if y is None else y)


class Layers(eqx.Module):
    weights: list[jax.Array]
    act: object = eqx.field(static=True)

    def __call__(self, x: jax.Array) -> jax.Array:
        return x


@pytest.mark.each
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda n: ((jnp.sin, jnp.ones((n, 2))), {}), "`x`: float32[2,2] → float32[3,2] → float32[4,2]. Pad `x`"),
        (lambda n: ((jnp.sin, np.ones((n, 2), "f")), {}), "`x`: float32[2,2] → float32[3,2] → float32[4,2]. Pad `x`"),
        (lambda n: ((jnp.sin,), {"x": jnp.ones((n, 2))}), "`x`: float32[2,2] → float32[3,2] → float32[4,2]. Pad `x`"),
        (
            lambda n: ((jnp.sin, jnp.ones((2, 2))), [{}, {"flag": True}, {"flag": False}][n - 2]),
            "static `flag`: not given → True → False",
        ),
        (
            lambda n: ((jnp.sin, jnp.ones((2, 2)), [None, 2.5, jnp.float32(1)][n - 2]), {}),
            "1 time: `y`: 2.5 → float32[]. Pass an array each time: what is none is static",
        ),
        (
            lambda n: ((eqx.nn.Linear(2, n, key=jax.random.key(0)), jnp.ones((2, 2))), {}),
            "`model.weight`: float32[2,2] → float32[3,2] → float32[4,2]",
        ),
        (
            lambda n: ((Layers([], str(n)), jnp.ones((2, 2))), {}),
            "static `model.act`: '2' → '3' → '4'. Each value of a static field is a program of its own; make `model.act` an",
        ),
    ],
    ids=[
        "an array",
        "an array of NumPy's",
        "a keyword",
        "a static keyword",
        "a number",
        "a model",
        "a field of a model",
    ],
)
def test_an_argument_of_a_filter_jit_has_the_users_name(retraces, given, told):
    jax.clear_caches()

    def program():
        for n in (2, 3, 4):
            args, keywords = given(n)
            filtered(*args, **keywords)

    (finding,) = retraces(program)
    assert "`filtered` was traced 3 times" in finding.headline
    assert told in finding.message
    line = text_of(finding).splitlines()[2]
    assert "def filtered(model, x, y=None, *, flag=True):" in line


@dataclass(frozen=True)
class State:
    w: jax.Array
    apply: object
    layers: int


jax.tree_util.register_dataclass(State, ["w"], ["apply", "layers"])


class Opaque:
    """A pytree node whose static part only its class can read."""

    def __init__(self, w: jax.Array, width: int) -> None:
        self.w, self.width = w, width


jax.tree_util.register_pytree_node(Opaque, lambda o: ((o.w,), o.width), lambda width, parts: Opaque(*parts, width))


@pytest.mark.each
@pytest.mark.parametrize(
    ("argument", "told"),
    [
        (
            lambda n: State(W, lambda x: x + n, 1),
            "static `state.apply`: another function <lambda>.<locals>.<lambda> each",
        ),
        (
            lambda n: {"s": (State(W, max, n),)},
            "static `state['s'][0].layers`: 2 → 3 → 4. Each value of a static field",
        ),
        (
            lambda n: Opaque(W, n),
            "the structure of `state` has changed. What is no array in it, such as a number of a layer",
        ),
    ],
    ids=["a function", "a number of a part", "a class of the user's"],
)
def test_a_static_field_of_an_argument_is_named(retraces, argument, told):
    step = jax.jit(lambda state, x: (state, x)[1])
    (finding,) = retraces(lambda: [step(argument(n), W) for n in (2, 3, 4)])
    assert told in finding.message and "cache was cleared" not in finding.message


class WithoutText:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


def test_a_static_field_without_a_text_is_named_by_its_class():
    step = jax.jit(lambda state, x: (state, x)[1])
    with jdw.capture() as run:
        for _ in range(3):
            step(State(W, WithoutText(), 1), W)
    (finding,) = run.findings
    assert (
        "static `state.apply`: <WithoutText> → <WithoutText>. Give WithoutText __eq__ and __hash__" in finding.message
    )
    assert not any("fault" in note for note in run.notes)


def test_a_train_state_that_is_made_anew_is_reported_by_its_fields(retraces):
    optax, train_state = pytest.importorskip("optax"), pytest.importorskip("flax.training.train_state")
    step = jax.jit(lambda state: state.params["w"] * 2)

    def program():
        for _ in range(3):
            step(train_state.TrainState.create(apply_fn=lambda p: p, params={"w": W}, tx=optax.adam(1e-3)))

    (finding,) = retraces(program)
    assert "static `state.apply_fn`: another function" in finding.message
    assert "static `state.tx[0]`: another function chain.<locals>.init_fn each time. Make it once" in finding.message


def test_functions_of_filter_jit_are_counted_each_by_itself(retraces):
    first, second = eqx.filter_jit(lambda x: x + 1), eqx.filter_jit(lambda x: x * 2)
    assert retraces(lambda: [step(jnp.ones(n)) for step in (first, second) for n in (2, 3)]) == []


def test_a_trace_that_only_the_watching_needs_is_no_trace_of_the_users():
    step = jax.jit(lambda x: x * 2)
    step(jnp.ones(3))
    with jdw.capture(watch=True) as run:
        for n in (3, 4, 5):
            step(jnp.ones(n))
    assert run.findings == []
    with jdw.capture(watch=True) as run:
        for n in (6, 7, 8):
            step(jnp.ones(n))
    (finding,) = run.findings
    assert "was traced 3 times" in finding.headline


def test_the_mark_of_our_own_traces_ends_with_its_context():
    with calling_for_us():
        with tracing_for_us():
            assert is_traced_for_us()
        assert is_traced_for_us()
    assert not is_traced_for_us()


@pytest.mark.behaviour("S14")
def test_a_call_says_why_its_function_was_traced_again_also_since_an_earlier_capture():
    @jax.jit
    def step(p, x):
        jax.debug.print("{w}", w=p["w"])
        return p["w"] * x

    told = []
    for w, n in ((jnp.float32(1), 3), (jnp.float32(1), 3), (jnp.float32(1), 4), (2.0, 4)):
        with jdw.capture() as run:
            step({"w": w}, jnp.ones(n)) + jax.jit(jnp.sin)(1.0)
        told.append([call.retraced for call in run.calls if call.of == "step"])
        assert ("traced again" in repr(run.calls)) == any(told[-1])
    sizes, weak = "`x`: float32[3] → float32[4]", "`p['w']`: float32[] → float32[] (a Python float)"
    assert told == [[None], [None], [sizes], [weak]]


def test_an_array_that_comes_back_on_a_mesh_is_why_its_function_is_traced_again():
    mesh = jax.make_mesh((1,), ("d",), axis_types=(AxisType.Explicit,))
    rows = NamedSharding(mesh, PartitionSpec("d"))

    @jax.jit
    def step(w, x):
        jax.debug.print("{w}", w=w)
        return w + x.sum()

    with jdw.capture() as run:
        step(step(jnp.float32(1), jax.device_put(jnp.ones(2), rows)), jax.device_put(jnp.ones(2), rows))
        step(jnp.float32(1), jnp.ones(2))
    first, second, third = [call.retraced for call in run.calls]
    assert (first, second) == (None, "`w`: float32[] → float32[] on a mesh ('d': 1)")
    assert third == "`x`: float32[2@d] → float32[2]"


def test_a_call_has_no_reason_of_another_function_of_its_name():
    def step(x):
        return x * 2

    silent = jax.jit(step)

    def step(x):
        jax.debug.print("{x}", x=x)
        return x * 3

    with jdw.capture() as run:
        silent(jnp.ones(2)), silent(jnp.ones(3))  # They have no effects, so they are no calls of the run.
        jax.jit(step)(jnp.ones(3))
    assert [(call.of, call.retraced) for call in run.calls] == [("step", None)]


def test_only_the_traces_of_functions_traced_lately_are_kept(monkeypatch):
    monkeypatch.setattr(earlier_traces, "_MOST_FUNCTIONS", 2)
    earlier = EarlierTraces()

    def traced(line, *, is_ours=False):
        return len(earlier.before(Trace("f", "a.py", line, 1, (), {}, {}, 0, 0.0, is_ours)))

    assert [traced(1), traced(2), traced(1), traced(1, is_ours=True), traced(1)] == [0, 0, 1, 0, 2]
    assert [traced(3), traced(1), traced(2)] == [0, 3, 0]
    assert [traced(2) for _ in range(20)][-1] == 16


def checked_at_three_lines():
    eqx.error_if(jnp.ones(2), jnp.zeros(2) > 0, "a")
    eqx.error_if(jnp.ones(3), jnp.zeros(3) > 0, "b")
    return eqx.error_if(jnp.ones(4), jnp.zeros(4) > 0, "c")


def checked_at_one_line():
    for n in (5, 6, 7):
        eqx.error_if(jnp.ones(n), jnp.zeros(n) > 0, "a")


def test_a_function_of_a_library_is_counted_for_each_line_that_calls_it(retraces):
    assert retraces(checked_at_three_lines) == []
    (finding,) = retraces(checked_at_one_line)
    assert "`branched_error_if_impl` was traced 3 times" in finding.headline
    assert finding.where.startswith("test_retraces.py:")


def test_a_function_that_a_library_calls_at_several_lines_is_counted_for_each(retraces):
    """One call of `diffrax.diffeqsolve` checks several values by `equinox.error_if`."""
    source = "def solve(check, *values):\n    check(values[0])\n    check(values[1])\n    check(values[2])\n"
    library = {}
    exec(compile(source, "/env/site-packages/solver.py", "exec"), library)
    values = [jnp.ones(8), jnp.ones(9), jnp.ones(10)]
    assert retraces(lambda: library["solve"](lambda x: eqx.error_if(x, x < 0, "no"), *values)) == []


def test_a_weak_type_of_an_array_is_reported(retraces):
    def program():
        step = jax.jit(lambda x: x + 1)
        step(jnp.float32(1))
        step(jnp.asarray(1.0))
        step(jnp.ones(2))

    (finding,) = retraces(program)
    assert "`x`: float32[] → float32[] (weakly typed) → float32[2]" in finding.message
