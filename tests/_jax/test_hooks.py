"""Test that JAX is restored after a capture, and that programs compiled before are not compiled again."""

from __future__ import annotations

import threading

import jax
import jax.numpy as jnp
import pytest
from jax import export
from jax._src import debugging, pjit, shard_map  # noqa: TID251 - whether JAX's own tables are untouched is the test.
from jax._src.interpreters import batching, mlir, pxla  # noqa: TID251
from jax._src.interpreters import partial_eval as pe  # noqa: TID251

import jax_debug_widgets as jdw
from tests.tapped import tapped

TABLES = {
    "lowering": lambda: mlir.lower_jaxpr_to_module,
    "execution": lambda: pxla.ExecuteReplicated.__call__,
    "class of primitives": lambda: type(debugging.debug_print_p).bind,
    **{
        f"{what} of {primitive}": lambda primitive=primitive, read=read: read(primitive)
        for primitive in (debugging.debug_print_p, debugging.debug_callback_p)
        for what, read in {
            "attributes": lambda p: dict(vars(p)),
            "impl": lambda p: p.impl,
            "bind": lambda p: p.bind,
            "batching": batching.fancy_primitive_batchers.get,
            "eager shard_map": shard_map.eager_rules.get,
        }.items()
    },
}


def tables():
    return {name: read() for name, read in TABLES.items()}


def same(before, after):
    return [name for name in before if after[name] is not before[name] and after[name] != before[name]]


@pytest.fixture(autouse=True)
def jax_is_itself_again():
    before = tables()
    yield
    assert same(before, tables()) == []


def printing(x):
    jax.debug.print("x={x}", x=x)
    return x + 1


def test_the_comparison_of_tables_can_fail():
    before = tables()
    with jdw.capture():
        changed = same(before, tables())
    assert {"lowering", "execution"} <= set(changed)
    assert len(changed) >= 8


def test_nothing_is_left_in_jax_after_an_exception():
    before = tables()

    def failing():
        with jdw.capture():
            jax.jit(printing)(1.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert same(before, tables()) == []


def test_nothing_is_left_in_jax_after_an_exception_while_tracing():
    before = tables()

    @jax.jit
    def broken(x):
        jax.debug.print("{x}", x=x)
        raise KeyError("while tracing")

    with pytest.raises(KeyError), jdw.capture():
        broken(1.0)
    assert same(before, tables()) == []


def test_nested_captures_each_keep_their_events_and_leave_nothing():
    f = jax.jit(printing)
    before = tables()
    with jdw.capture() as outer:
        f(1.0)
        with jdw.capture() as inner:
            f(2.0)
        assert same(before, tables()) != []
        f(3.0)
    assert [event.text for event in outer.events] == ["x=1.0", "x=3.0"]
    assert [event.text for event in inner.events] == ["x=2.0"]
    assert same(before, tables()) == []


def test_captures_in_several_threads_lose_nothing_and_leave_nothing():
    before = tables()
    runs, errors = [], []
    start = threading.Barrier(4)

    def work(number):
        try:
            f = jax.jit(lambda x: printing(x * number))
            start.wait()
            for _ in range(5):
                with jdw.capture() as run:
                    f(jnp.float32(number))
                runs.append(run)
        except BaseException as error:  # noqa: BLE001 - told by the thread of the test.
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert not any(thread.is_alive() for thread in threads)
    texts = sorted(event.text for run in runs for event in run.events)
    assert texts == sorted(f"x={float(number**2)}" for number in range(4) for _ in range(5))
    assert same(before, tables()) == []


def functions_of_jit():
    return {**vars(pjit), "begin": pe.DynamicJaxprTrace.__init__}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"keep_inputs": 1}, {"keep_inputs": 1}),
        ({"keep_inputs": 1}, {}),
        ({"exact": True, "watch": True}, {}),
    ],
    ids=["two keep inputs", "inputs", "twins"],
)
def test_a_capture_that_ends_before_one_in_another_thread_takes_nothing_of_it_and_leaves_nothing(first, second):
    """The replacements of the first capture lie below those of the second."""
    before, began, may_end = functions_of_jit(), threading.Event(), threading.Event()
    with jdw.capture(**second):
        alone = same(before, functions_of_jit())

    def capture():
        with jdw.capture(**first):
            began.set()
            may_end.wait(60)

    beside = threading.Thread(target=capture)
    beside.start()
    assert began.wait(60)
    with jdw.capture(**second) as run:
        may_end.set()
        beside.join(60)
        assert same(before, functions_of_jit()) == alone
        jax.jit(printing)(1.0)
    assert same(before, functions_of_jit()) == []
    assert [event.text for event in run.events] == ["x=1.0"]
    assert len(run.inputs) == second.get("keep_inputs", 0)


def test_a_capture_that_ends_before_one_that_began_inside_it_leaves_nothing():
    before = functions_of_jit()
    outer, inner = jdw.capture(keep_inputs=1), jdw.capture()
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    assert same(before, functions_of_jit()) == []


def test_a_daemon_beside_the_capture_prints_as_ever(capsys):
    f = jax.jit(printing)
    with jdw.capture() as run:
        beside = threading.Thread(target=lambda: (f(1.0), jax.effects_barrier()), daemon=True)
        beside.start()
        beside.join(60)
        work = lambda: (jax.vmap(f)(jnp.arange(2.0)), printing(9.0), jax.effects_barrier())  # noqa: E731
        vmapped = threading.Thread(target=work, daemon=True)
        vmapped.start()
        vmapped.join(60)
    assert list(run.events) == []
    assert sorted(capsys.readouterr().out.split()) == ["x=0.0", "x=1.0", "x=1.0", "x=9.0"]


class Traced:
    """A jitted program that counts how often it is traced."""

    def __init__(self, transform) -> None:
        self.count = 0

        def body(x):
            self.count += 1
            jax.debug.print("x={x}", x=x)
            return x * 2

        self.f = jax.jit(transform(body))

    def traces(self, x):
        before = self.count
        jax.block_until_ready(self.f(x))
        jax.effects_barrier()
        return self.count - before


@pytest.mark.behaviour("P12")
@pytest.mark.parametrize("transform", [lambda f: f, jax.vmap], ids=["jit", "vmap"])
def test_a_capture_traces_once_more_and_never_again(transform):
    program, x = Traced(transform), jnp.arange(3.0)
    assert program.traces(x) == 1
    assert program.traces(x) == 0
    with jdw.capture(echo=False):
        assert program.traces(x) == 1
        assert program.traces(x) == 0
    with jdw.capture(title="another", max_events=7):
        assert program.traces(x) == 0
    assert program.traces(x) == 0
    with jdw.capture(echo=True):
        assert program.traces(x) == 1, "what is compiled into the program differs"
    with jdw.capture(echo=True):
        assert program.traces(x) == 0
    assert program.traces(x) == 0


@pytest.mark.behaviour("P12")
def test_a_program_without_prints_runs_the_same_instructions_in_a_capture():
    def program(x):
        return jnp.sin(x) @ x.T + jax.lax.fori_loop(0, 3, lambda _, y: y * 2, x)

    x = jnp.ones((8, 8))
    plain = jax.jit(program).lower(x).as_text()
    with jdw.capture():
        captured = tapped(jax.jit(program).lower(x)).as_text()
    assert captured == plain


@pytest.mark.behaviour("P12")
def test_outside_a_capture_programs_keep_their_own_executables():
    f = jax.jit(printing)
    plain = f.lower(1.0).as_text()
    with jdw.capture():
        captured = tapped(f.lower(1.0)).as_text()
    assert f.lower(1.0).as_text() == plain
    assert "callback" in captured


def test_a_program_without_prints_can_be_exported_in_a_capture():
    with jdw.capture():
        exported = export.export(jax.jit(lambda x: x * 2))(1.5)
    assert exported.call(1.5) == 3
