"""Test callbacks that JAX removes from a program because nothing uses their result."""

from __future__ import annotations

from typing import Any

import jax
import pytest
from jax.experimental import io_callback

import jax_debug_widgets as jdw
from tests.callbacks.bodies import Host, like


def unused(host):
    def f(x):
        jax.pure_callback(host, like(x), x)
        return x + 1

    return f


WRAPS = {
    "jit": jax.jit,
    "jit in jit": lambda f: jax.jit(jax.jit(f)),
    "scan": lambda f: jax.jit(lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, length=3)[0]),
    "cond": lambda f: jax.jit(lambda x: jax.lax.cond(x > 0, f, lambda x: x, x)),
}


@pytest.mark.behaviour("C2")
@pytest.mark.parametrize("wrap", WRAPS)
def test_an_unused_pure_callback_stays_eliminated_and_the_run_says_so(wrap):
    host = Host()
    f = WRAPS[wrap](unused(host))
    f(1.0)
    with jdw.capture() as run:
        f(1.0)
    assert host.calls == []
    assert list(run.events) == []
    (summary,) = run.callbacks
    assert (summary.staged, summary.kept, summary.calls, summary.eliminated) == (1, 0, 0, True)
    assert summary.site.source == "jax.pure_callback(host, like(x), x)"
    assert any("eliminated by the compiler: staged 1, ran 0" in note for note in run.status().notes)
    assert "eliminated" in repr(run.callbacks)


@pytest.mark.behaviour("C2")
def test_a_used_callback_beside_an_eliminated_one_is_not_eliminated():
    host = Host()

    def f(x):
        return unused(host)(x) + jax.pure_callback(host, like(x), x)

    with jdw.capture() as run:
        jax.jit(f)(1.0)
    assert {(s.staged, s.kept, s.calls, s.eliminated) for s in run.callbacks} == {(1, 1, 1, False), (1, 0, 0, True)}


@pytest.mark.behaviour("C2")
def test_unjitted_callbacks_and_io_callbacks_are_never_eliminated():
    host = Host()
    with jdw.capture() as run:
        unused(host)(1.0)
        jax.jit(lambda x: (io_callback(host, like(x), x), x)[1])(1.0)
        jax.effects_barrier()
    assert len(host.calls) == 2
    assert not any(summary.eliminated for summary in run.callbacks)
    assert not any("eliminated" in note for note in run.status().notes)


@pytest.mark.behaviour("C2")
def test_a_program_that_was_only_traced_has_eliminated_nothing():
    with jdw.capture() as run:
        jax.eval_shape(unused(Host()), 1.0)
        jax.make_jaxpr(unused(Host()))(1.0)
    assert len(run.callbacks) == 0
    assert run.status().notes == ()


def test_a_removed_callback_of_a_library_has_no_note(tmp_path):
    file = tmp_path / "site-packages" / "checked.py"
    source = (
        "import jax\n\n\ndef checked(x):\n    told = jax.ShapeDtypeStruct((), x.dtype)\n"
        "    jax.pure_callback(lambda x: x, told, x)\n    return x\n"
    )
    library: dict[str, Any] = {}
    exec(compile(source, str(file), "exec"), library)  # noqa: S102 - a file of an installed package.
    with jdw.capture() as run:
        jax.jit(library["checked"])(1.0)
    (summary,) = run.callbacks
    assert summary.eliminated and summary.site.file == str(file) and not run.notes
