"""`jdw.linked`: source, jaxpr, StableHLO and optimised HLO, linked by names that every equation is given."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.studies import tags
from jax_debug_widgets._jax.studies.trace import trace
from jax_debug_widgets.graphs.hlo import MADE_BY_XLA, read_hlo, without_metadata

X = jnp.ones((64, 64))


def fused(x, w):
    h = x @ w
    a = jnp.tanh(h)
    b = a * 2.0
    return jnp.sum(b + 1.0)


def folded(x):
    zeros = jnp.zeros(8)
    return x * 2.0 + zeros * 0.0 + (x - x) * 0.0


def looped(w, xs):
    def step(carry, x):
        carry = jnp.sin(w @ carry + x)
        return carry, lax.cond(carry[0] > 0, jnp.cos, jnp.exp, carry)

    return lax.scan(step, jnp.zeros(3), xs)


def looping(x):
    return lax.while_loop(lambda s: jnp.sum(s) < 9.0, lambda s: s + jnp.abs(s), x)


PROGRAMS = {
    "jit": (jax.jit(fused), (X, X)),
    "grad": (jax.value_and_grad(fused), (X, X)),
    "scan": (looped, (jnp.eye(3), jnp.ones((4, 3)))),
    "scan_grad": (jax.grad(lambda w, xs: jnp.sum(looped(w, xs)[1])), (jnp.eye(3), jnp.ones((4, 3)))),
    "vmap": (jax.vmap(looping), (jnp.ones((3, 4)),)),
    "solve": (jnp.linalg.solve, (jnp.eye(3) * 2.0, jnp.ones(3))),
    "remat": (jax.grad(jax.checkpoint(lambda x: jnp.sum(jnp.sin(jnp.sin(x))))), (X,)),
}


@pytest.mark.behaviour("G3")
@pytest.mark.parametrize("name", PROGRAMS)
def test_names_of_equations_do_not_change_what_is_compiled(name):
    function, args = PROGRAMS[name]
    found = jdw.linked(function, *args)
    assert found.exact and "Links are exact" in found.why
    own = [one for one in found.executable.own() if one.opcode not in MADE_BY_XLA]
    assert own and {one for one in own if found.of_instruction(one)}
    assert len(found.reached) > 0 and all(number < len(found.program.equations) for number in found.reached)


@pytest.mark.behaviour("G3")
def test_what_is_folded_away_says_so():
    found = jdw.linked(folded, jnp.ones(8))
    gone = {one.names[0] for number, one in enumerate(found.program.equations) if found.is_folded(number)}
    assert "zeros" in gone
    assert re.search(r"zeros: .*folded away", str(found))
    assert re.search(r'<div class="jd-row jd-gone"[^>]*><code>zeros', found._repr_html_())


@pytest.mark.behaviour("G3")
def test_a_row_of_each_column_says_which_equations_it_is_of():
    found = jdw.linked(fused, X, X)
    page = found._repr_html_()
    columns = dict(
        re.findall(
            r'aria-label="([^"]+)">(.*?)(?=<div class="jd-column"|</div></div><script|<div class="jd-note")', page
        )
    )
    assert list(columns) == ["source", "jaxpr", "StableHLO", "optimised HLO"]
    (number,) = [number for number, one in enumerate(found.program.equations) if one.primitive == "tanh"]
    for name, text in columns.items():
        assert re.search(rf'data-e="(?:\d+ )*{number}(?: \d+)*"', text), name
    assert "stablehlo.tanh" in columns["StableHLO"] and "loc(" not in columns["StableHLO"]
    assert not re.search(r"https?://|<script src|<link", page)


@pytest.mark.behaviour("G3")
def test_what_comes_from_a_program_is_escaped():
    def f(x):
        return x + 1.0  # <script>alert(1)</script>

    assert "<script>alert" not in jdw.linked(f, 1.0, compiled=False)._repr_html_()


@pytest.mark.behaviour("G3")
def test_jaxpr_compiles_nothing(ours):
    ours.ip.push({"fused": fused, "X": X})
    found = ours.ip.run_line_magic("jaxdebug", "jaxpr fused(X, X)")
    assert found.executable is None and "nothing was compiled" in str(found)
    compiled = ours.ip.run_line_magic("jaxdebug", "hlo fused(X, X)")
    assert compiled.exact and "fusion" in str(compiled)


@pytest.mark.behaviour("G3")
def test_another_program_is_not_called_the_same():
    one, other = (jax.jit(f).lower(jnp.ones(8)).compile().as_text() for f in (jnp.sin, jnp.cos))
    assert without_metadata(one) != without_metadata(other)
    assert without_metadata(one) == without_metadata(jax.jit(jnp.sin).lower(jnp.ones(8)).compile().as_text())
    assert read_hlo(one).own()


@pytest.mark.behaviour("G3")
def test_a_program_that_takes_long_is_compiled_once_and_compared_before(monkeypatch):
    monkeypatch.setattr(tags, "LONG", -1.0)
    found = jdw.linked(jax.grad(lambda x: jnp.sum(jnp.tanh(x) * x)), jnp.ones(3))
    assert found.exact and "not compiled a second time" in found.why and found.fusions
    monkeypatch.setattr(tags, "tagged", lambda _: (jax.make_jaxpr(jnp.cos)(jnp.ones(3)).jaxpr, {}))
    texts, _ = tags.tagged_texts(trace(jnp.sin, (jnp.ones(3),), {}, lambda *_: None, whole_numbers=False))
    assert texts.plain_hlo is None and not texts.is_lowered_same
