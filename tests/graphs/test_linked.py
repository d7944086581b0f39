"""Test `jdw.linked`: source, jaxpr, StableHLO and optimised HLO, linked by a name for each equation."""

from __future__ import annotations

import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.studies import tags
from jax_debug_widgets._jax.studies.trace import trace
from jax_debug_widgets.graphs.by_line import ByLine
from jax_debug_widgets.graphs.hlo import MADE_BY_XLA, read_hlo, without_metadata
from jax_debug_widgets.graphs.hlo_frames import frames_in

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
    untagged = tuple(one._replace(op_name=re.sub(r"eqn\d+(/|(?=\)))", "", one.op_name)) for one in own)
    by_line = ByLine(found.program, replace(found.executable, instructions=untagged), 1 + (name == "jit"))
    for one, same in zip(own, untagged, strict=True):
        exact = {number for tags_of_one in one.tags for number in found.equations_of(tags_of_one)}
        told = by_line.of_instruction(same)
        assert not told or not exact or told & exact, f"{one.text} is linked by line with other equations"


@pytest.mark.behaviour("G3")
def test_equations_that_xla_folds_away_are_marked():
    found = jdw.linked(folded, jnp.ones(8))
    gone = {one.names[0] for number, one in enumerate(found.program.equations) if found.is_folded(number)}
    assert "zeros" in gone
    assert re.search(r"zeros: .*folded away", str(found))
    assert re.search(r'<div class="jd-row jd-gone"[^>]*><code>zeros', found._repr_html_())


@pytest.mark.behaviour("G3")
def test_a_product_that_xla_writes_transposed_is_not_folded_away():
    found = jdw.linked(jax.grad(lambda w, x: jnp.mean(jnp.tanh(x @ w) ** 2)), jnp.ones((64, 32)), jnp.ones((128, 64)))
    equations = found.program.equations
    products = [number for number, one in enumerate(equations) if one.primitive == "dot_general"]
    assert len(products) == 2 and not any(map(found.is_folded, products))
    (transpose,) = (number for number, one in enumerate(equations) if one.primitive == "transpose")
    assert found.instructions_of(products[1]) == found.instructions_of(transpose) != []


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
def test_source_text_is_escaped_in_html():
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
    by_line = ours.ip.run_line_magic("jaxdebug", "hlo jax.jit(fused)(X, X) --by-line")
    assert by_line.exact != _has_lines() and "fusion" in str(by_line)


@pytest.mark.behaviour("G3")
def test_different_programs_are_distinguished_without_metadata():
    one, other = (jax.jit(f).lower(jnp.ones(8)).compile().as_text() for f in (jnp.sin, jnp.cos))
    assert without_metadata(one) != without_metadata(other)
    assert without_metadata(one) == without_metadata(jax.jit(jnp.sin).lower(jnp.ones(8)).compile().as_text())
    assert read_hlo(one).own()


@pytest.mark.behaviour("G3")
def test_a_program_that_takes_long_is_compiled_once_and_compared_before(monkeypatch):
    monkeypatch.setattr(tags, "LONG", -1.0)
    found = jdw.linked(jax.grad(lambda x: jnp.sum(jnp.tanh(x) * x)), jnp.ones(3))
    assert found.exact and "not compared after compiling" in found.why and found.fusions


def _has_lines():
    return bool(
        read_hlo(jax.jit(jnp.sin).lower(1.0).compile().as_text()).frames
    )  # The text of the oldest XLA has no tables.


@pytest.mark.behaviour("G3")
def test_links_by_line_are_read_from_the_executable_that_has_run(caplog):
    @jax.jit
    def f(x, w):
        h = jnp.tanh(x @ w)
        return jnp.sum(h * 2.0)

    f(X, X)
    with jax.log_compiles():
        found = jdw.linked(f, X, X, exact=False)
    compiled = [one for one in caplog.messages if "XLA compilation" in one]
    assert found.exact != _has_lines() and bool(compiled) != _has_lines(), compiled
    if not _has_lines():
        return
    assert "by line, not exact" in found.why and "linked by line" in str(found)
    first = f.__wrapped__.__code__.co_firstlineno
    lines = {number: one.source.line for number, one in enumerate(found.program.equations)}
    exact = jdw.linked(f, X, X)
    theirs = {one.name: one for one in exact.executable.instructions}
    for one in (one for one in found.executable.own() if one.opcode not in MADE_BY_XLA):
        told = {lines[number] for number in found.of_instruction(one)}
        assert {lines[number] for number in exact.of_instruction(theirs[one.name])} <= told
        assert told <= {first + 2, first + 3}
    assert f"test_linked.py:{first + 2}" in str(found) and "folded away" not in str(found)
    assert 'data-e="0"' in found._repr_html_()


@pytest.mark.behaviour("G3")
@pytest.mark.parametrize("fails", [False, True])
def test_links_are_by_line_if_names_of_equations_change_the_program(monkeypatch, fails):
    def other(_):
        if fails:
            raise ValueError("no such scope")
        return jax.make_jaxpr(jnp.add)(X, X).jaxpr, {}

    monkeypatch.setattr(tags, "tagged", other)
    traced = trace(fused, (X, X), {}, lambda *_: None, whole_numbers=False)
    if not _has_lines() and fails:
        with pytest.raises(ValueError, match="no such scope"):
            tags.stages_of(traced)
        return
    stages = tags.stages_of(traced)
    assert stages.links == ("by line" if _has_lines() else "of another program")
    assert not _has_lines() or "tanh" in stages.hlo


def test_an_instruction_made_of_two_equations_belongs_to_both():
    row = '  %m = f32[] multiply(%a, %b), metadata={op_name="jit(f)/jit(g)/eqn1/eqn3/mul;jit(f)/eqn2/mul" stack_frame_id=4}'
    (one,) = read_hlo(row).instructions
    assert (one.tags, one.frame) == (((1, 3), (2,)), 4)


def test_a_parent_of_a_frame_is_another_frame():
    rows = ("1 {file_location_id=1 parent_frame_id=%d}", "2 {file_location_id=2 parent_frame_id=%d}")
    text = (
        'HloModule f\n\nFileNames\n1 "/f.py"\n\nFunctionNames\n1 "f"\n\nFileLocations\n1 {file_name_id=1 line=9}\n'
        "2 {file_name_id=1 line=4}\n\nStackFrames\n%s\n\n\n%%f () -> f32[] {\n"
    )
    for parents in ((1, 2), (0, 1)):  # Jaxlib writes the number plus one or unchanged, depending on its version.
        told = frames_in(text % "\n".join(row % parent for row, parent in zip(rows, parents, strict=True)))
        assert told == {1: (("/f.py", 9),), 2: (("/f.py", 4), ("/f.py", 9))}
    assert frames_in("HloModule f\n") == {}
