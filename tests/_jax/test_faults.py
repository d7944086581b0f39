"""Test that an exception of our code while JAX traces, lowers or calls leaves results unchanged and becomes a note."""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import guard, replacements
from tests.conftest import since

ALL = os.environ.get("JAXDEBUG_FAULTS") == "all"
"""Each of our functions fails in turn, and not some: that takes half an hour."""

X = jnp.linspace(0.5, 1.0, 3)


class FaultError(Exception):
    """An exception that our code is made to raise."""


def program() -> Callable[[Any], Any]:
    """Return a new function that runs through most of our replacements in JAX."""

    @jax.custom_jvp
    def root(x):
        return jnp.sqrt(x)

    root.defjvp(lambda primals, tangents: (root(*primals), tangents[0] / (2 * root(*primals))))

    def step(carry, x):
        kept = jnp.where(x > 0, carry * x, carry)
        jax.debug.print("{}", kept)
        return kept + 1, kept

    def loss(x):
        h = root(x) * 2
        total, seen = lax.scan(step, h, jnp.arange(3.0))
        fixed = lax.stop_gradient(x)
        called = jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), x.dtype), fixed, vmap_method="expand_dims")
        chosen = lax.cond(x > 0.7, lambda a: (jax.debug.print("{}", a), a)[1], lambda a: a * 2, called)
        return total + seen.sum() + chosen

    @jax.jit
    def f(x):
        value, pull = jax.vjp(jax.vmap(loss), x)
        slope = pull(jnp.ones_like(x))
        return value, slope

    return lambda x: (*f(x), jax.vmap(root)(x), jax.grad(jax.jit(root))(x[0]))


def assert_unharmed(f: Callable[[Any], Any]) -> Any:
    """Run the program captured and watched, compare its results with the expected ones, and return the run."""
    with jdw.capture(watch=True) as run:
        result = jax.block_until_ready(f(X))
    jax.effects_barrier()
    for one, other in zip(jax.tree.leaves(result), wanted(), strict=True):
        np.testing.assert_array_equal(one, other)
    return run


@functools.cache
def wanted() -> list[Any]:
    """Return what plain JAX computes."""
    return jax.tree.leaves(program()(X))


@pytest.fixture(scope="module", autouse=True)
def _before_anything_is_broken():
    """Compile without optimisation, because programs run once; the expected results are compiled in the same way."""
    jax.config.update("jax_disable_most_optimizations", True)
    wanted()
    yield
    jax.config.update("jax_disable_most_optimizations", False)


HOOKS = (
    "Hooks._lower",
    "Hooks._bind",
    "_map_and_count",
    "_batched",
    "_fast_path",
    "_while_capturing",
    "_differentiate_jvp",
    "CallbackHooks._bind",
    "CallbackHooks._eliminate",
    "CallbackHooks._check_devices",
    "CallbackHooks._lower",
    "WatchHooks._lower",
    "_pull_back",
    "_linearize",
    "LaneHooks._noting",
    "HandoverHooks._call",
    "HandoverHooks._lower",
    "HandoverHooks._fast_path",
    "ReuseHooks._known",
    "ReuseHooks._lower",
    "ReuseHooks._operation",
    "TraceCounts._before_tracing",
    "BindingHooks._begin",
    "_add",
    "_end",
    "_processing.<locals>.process",
)
"""What is in the place of JAX's functions, and comes by in the program."""

IN_LATER_JAX, LATER = ("_differentiate_jvp", "_pull_back"), since(0, 9)
"""Those in whose place jax 0.8 has nothing that comes by in the program."""


@pytest.fixture
def broken(monkeypatch) -> Callable[..., None]:
    """Return a function that makes one of our hooks fail, before or after it has called JAX's own function."""

    def break_it(hook: str, *, after: bool) -> None:
        def guarded(ours: Any, theirs: Any, report: Any, **options: Any) -> Any:
            function = ours
            while isinstance(function, functools.partial):
                function = function.func
            if function.__qualname__ != hook:
                return guard.guarded(ours, theirs, report, **options)

            @functools.wraps(function)
            def fails(*args: Any, **params: Any) -> Any:
                if after:
                    ours(*args, **params)
                raise FaultError("on purpose")

            return guard.guarded(fails, theirs, report, **options)

        monkeypatch.setattr(replacements, "guarded", guarded)

    return break_it


@pytest.mark.parametrize("hook", [pytest.param(one, marks=LATER) if one in IN_LATER_JAX else one for one in HOOKS])
def test_a_failing_hook_leaves_the_program_running_with_a_note(hook, broken):
    for after in (False, True) if ALL else (HOOKS.index(hook) % 2 == 0,):
        broken(hook, after=after)
        run = assert_unharmed(program())
        assert any(hook in note and "FaultError: on purpose" in note for note in run.notes), run.notes


UNJITTED = {
    "Hooks._run": lambda called: jax.debug.callback(called, X),
    "Hooks._run_tap": lambda called: jax.vmap(lambda x: jax.debug.callback(called, x))(X[:1]),
    "CallbackHooks._run": lambda called: jax.pure_callback(lambda x: (called(x), x)[1], X, X),
    "PrintWatch._print": lambda called: jax.jit(lambda x: (print(end=""), jax.debug.callback(called, x)))(X),
}


@pytest.mark.parametrize("hook", UNJITTED)
def test_an_unjitted_host_function_is_called_once_if_a_hook_fails(hook, broken):
    called: list[Any] = []
    broken(hook, after=False)
    with jdw.capture() as run:
        UNJITTED[hook](called.append)
        jax.effects_barrier()
    assert len(called) == 1
    assert any(hook in note for note in run.notes), run.notes


def test_an_exception_of_the_users_function_propagates_without_a_note():
    def raises(_):
        raise FaultError("the user's")

    for call in (
        lambda: jax.jit(jax.grad(raises))(1.0),
        lambda: jax.vmap(lambda x: jax.debug.callback(raises, x))(X),
        lambda: jax.jit(lambda x: jax.vjp(lambda x: x, x)[1]("no cotangent"))(1.0),
        lambda: jax.jit(jax.vmap(jax.vmap(jnp.sin)))(X),
    ):
        wrong = pytest.raises(Exception, match=r"the user's|cotangent|vmap was requested")
        with jdw.capture(watch="h,y") as run, wrong:
            call()
            jax.effects_barrier()
        assert not any("fault of ours" in note for note in run.notes), run.notes


def test_a_time_limit_that_ends_while_ours_run_ends_the_program():
    def ours(_theirs: Any) -> None:
        signal.raise_signal(signal.SIGALRM)

    def handler(_number: int, _frame: Any) -> None:
        raise TimeoutError

    before, report = signal.signal(signal.SIGALRM, handler), []
    try:
        with pytest.raises(TimeoutError):
            guard.guarded(ours, lambda: 1, lambda *failure: report.append(failure))()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not report


@pytest.mark.parametrize(
    "place",
    ["watch.syntax.noted._lines_of", "_jax.tracing.bindings._note_arguments"],
)
def test_a_function_is_traced_unwatched_if_following_its_lines_fails(place, monkeypatch):
    def fails(*_args: Any) -> None:
        raise FaultError("on purpose")

    monkeypatch.setattr(f"jax_debug_widgets.{place}", fails)
    run = assert_unharmed(program())
    assert any("runs unwatched" in note and "FaultError: on purpose" in note for note in run.notes), run.notes


ROOMS = ("_jax/tracing", "_jax/origins", "_jax/passes", "watch")
RULES = ("_abstract_eval", "_batch", "is_ordered", "_transpose", "<lambda>", "run")
"""Of our own primitives, which are in the place of outside JAX's, and what calls the user's function in the program."""


@pytest.mark.cpu("compiles the program so often that it takes minutes elsewhere")
def test_a_program_continues_if_any_function_of_ours_fails():
    known: list[CodeType] = []
    with each_called(known.append):
        assert_unharmed(program())
    mine = list(dict.fromkeys(known))
    assert len(mine) > 500
    for code in mine[:: 1 if ALL else 80]:
        with each_called(functools.partial(fail_in, code)):
            assert_unharmed(program())


@functools.cache
def is_ours(file: str) -> bool:
    """Return whether the file belongs to a room of ours that works on programs; asked at each call of a function."""
    return any(f"jax_debug_widgets/{room}/" in file for room in ROOMS)


def is_rule(code: CodeType) -> bool:
    """Return whether a function is a rule of a primitive of ours, or runs the user's function in the program."""
    return code.co_name in RULES and is_ours(code.co_filename)


def fail_in(code: CodeType, called: CodeType) -> None:
    if called is code:
        raise FaultError(code.co_qualname)


@contextmanager
def each_called(report: Callable[[CodeType], object]) -> Iterator[None]:
    """Call `tell` with each function of ours before it runs while JAX traces or lowers."""

    def profile(frame: Any, event: str, _arg: Any) -> None:
        code = frame.f_code
        if event == "call" and is_ours(code.co_filename):
            while frame is not None and not is_guard(frame.f_code) and not is_rule(frame.f_code):
                frame = frame.f_back
            if frame is not None and is_guard(frame.f_code):
                report(code)

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)


def is_guard(code: CodeType) -> bool:
    return code.co_filename == guard.__file__ and code.co_name == "hook"
