"""Test `run.report()`: a run for other people, as Markdown."""

from __future__ import annotations

import base64
import re
import sys
from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.session import snapshot_of
from jax_debug_widgets.session.panel.report import report_message
from jax_debug_widgets.widgets import summary


@jax.jit
def step(w, x):
    def loss(w):
        n2 = jnp.sum((w * x) ** 2)
        return jnp.sqrt(n2)

    value, slope = jax.value_and_grad(loss)(w)
    jax.debug.print("loss {value} ```", value=value)
    return w - 0.1 * slope


def section(text, title):
    return text.partition(f"## {title}\n\n")[2].partition("\n\n## ")[0]


def test_its_heading_is_the_name_of_the_run_and_what_was_run():
    with jdw.capture(title="training", name="lr3") as run:
        step(jnp.ones(3), jnp.float32(1))
    assert run.report().startswith("# lr3 (training)\n")
    run.name = "training"
    assert run.report().startswith("# training\n")


def test_a_report_has_facts_findings_values_and_the_last_lines(tmp_path):
    with jdw.capture(title="training", watch=True) as run:
        w = jnp.ones(3)
        for x in (1.0, 1.0, 0.0):
            w = step(w, jnp.float32(x))
    text = run.report()
    heading, facts = text.splitlines()[0], text.splitlines()[2]
    assert heading == "# training"
    assert facts.startswith("done · 3 calls · ") and "after 3 steps" in facts
    (finding,) = run.findings
    found = section(text, "Findings")
    assert found.startswith(f"**{finding.where}: the gradient of `n2` becomes infinite**")
    assert f">   {finding.span[0]} |         return jnp.sqrt(n2)" in found
    assert f"{plural(len(finding.followed_by), 'other')} later: `" in found
    rows = {line.split("|")[1].strip(): line for line in section(text, "Values").splitlines()[2:]}
    first, last = run["n2"]["value"][[0, -1]]
    assert f"| 3 | {first:.4g} | {last:.4g} |" in rows["`n2`"]
    last_lines = section(text, "Last lines")
    assert last_lines.startswith("````\n") and last_lines.count("loss ") == 3
    assert f"jax {jax.__version__}" in section(text, "Versions")
    assert f"{len(jax.devices())} × {jax.devices()[0].device_kind}" in section(text, "Versions")
    run.save(tmp_path / "run.jdw")
    again = jdw.load(tmp_path / "run.jdw").report()
    assert section(again, "Findings") == found and section(again, "Values") == section(text, "Values")


def test_a_report_under_vmap_names_the_lane_and_counts_steps_once():
    @jax.jit
    @jax.vmap
    def squared(w):
        loss = w**2
        jax.debug.print("loss {loss}", loss=loss)
        return loss

    with jdw.capture(echo=False) as run:
        for _ in range(3):
            squared(jnp.array([2.0, 3.0]))
    assert "`loss` 9 (lane 1 of 2) after 3 steps" in run.report()
    assert "| `loss` | 3 | 4 (lane 0 of 2) | 9 (lane 1 of 2) | 4 | 9 |  |" in run.report()


def doubled_logs(x):
    logs = jnp.log(x)
    return logs * 2


def test_the_mean_of_an_array_with_nans_is_marked_as_that_of_the_finite_ones():
    with jdw.capture(watch="logs") as run:
        for x in ([1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]):
            jax.jit(doubled_logs)(jnp.array(x))
    values = section(run.report(), "Values")
    assert values.startswith("A mean is of the finite elements.")
    assert "| `logs.mean` | 3 | 0 | nan | 0 | 0 | 2 |" in values
    assert "mean of the finite ones 0 → nan, 3 NaN" in summary(snapshot_of(run, lines=False), lines=0)


def test_a_report_leaves_out_empty_sections():
    with jdw.capture(title="nothing") as run:
        np.testing.assert_allclose(jax.jit(jnp.sin)(0.0), 0.0)
    text = run.report()
    assert text.startswith("# nothing\n\ndone · 0 prints and values")
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## Versions"]


def without_layer(_):
    raise KeyError("no such layer")


@jax.jit
def called_back(x):
    return jax.pure_callback(without_layer, x, x)


@pytest.mark.parametrize("is_caught", [False, True])
def test_a_run_that_failed_reports_the_exception_also_when_it_is_loaded(tmp_path, is_caught):
    runs = []

    def program():
        with jdw.capture() as run:
            runs.append(run)
            try:
                jax.block_until_ready(called_back(jnp.ones(2)))
            except jax.errors.JaxRuntimeError:
                if not is_caught:
                    raise

    with nullcontext() if is_caught else pytest.raises(jax.errors.JaxRuntimeError):
        program()
    told = "raised KeyError: 'no such layer' in without_layer at test_report.py:"
    for run in (runs[0], jdw.load(runs[0].save(tmp_path / "run.jdw"))):
        assert run.status().state == "failed"
        (note,) = (one for one in run.notes if "no such layer" in one)
        assert told in note and note in section(run.report(), "Notes")


def test_a_note_says_at_which_line_the_program_raised_unless_a_finding_does():
    with pytest.raises(TypeError, match="dot_general"), jdw.capture() as run:
        jax.jit(lambda x: x @ jnp.ones(3))(jnp.ones(2))
    (note,) = run.notes
    line = sys._getframe().f_lineno - 2
    assert re.fullmatch(rf"The program raised TypeError: dot_general .* at test_report.py:{line}", note), note
    with pytest.raises(jax.errors.TracerBoolConversionError), jdw.capture() as run:
        jax.jit(lambda x: x if x > 0 else -x)(1.0)
    assert [one.kind for one in run.findings] == ["control-flow"]
    assert not any("TracerBoolConversionError" in one for one in run.notes)
    with pytest.raises(NotImplementedError), jdw.capture() as run:
        jax.jit(jax.vmap(lambda x: jax.pure_callback(np.sin, x, x)))(jnp.ones(2))
    assert [one.kind for one in run.findings] == ["callback"]
    assert not any("The program raised" in one for one in run.notes)


def test_rows_of_values_of_one_name_say_where_each_is():
    def grow(x):
        jax.debug.print("early {x}", x=x)
        x = x * 2
        jax.debug.print("late {x}", x=x)
        for _ in range(2):
            jax.debug.print("again {y}", y=x)
        return x

    with jdw.capture() as run:
        jax.jit(grow)(1.0)
    rows = [line.split("|")[1].strip(" `") for line in section(run.report(), "Values").splitlines()[2:]]
    line = min(site.line for site in run.sites)
    assert rows == [f"x@test_report.py:{line + number}" for number in (0, 2, 4)]


@pytest.mark.parametrize("picture", [False, True])
def test_the_panel_is_sent_the_report_with_the_picture_of_the_overview_where_it_asks(picture):
    with jdw.capture() as run:
        jax.jit(lambda x: jax.debug.print("loss {x}", x=x))(2.5)
    content, _ = report_message(run, 7, {"picture": picture})
    text = re.sub(r"!\[Overview\]\(data:image/svg\+xml;base64,(.*)\)\n\n", "", content["text"])
    assert text == run.report()
    assert content["text"] == run.report(picture=picture)
    pictures = re.findall(r"base64,([^)]*)\)", content["text"])
    assert [base64.b64decode(one)[:4] for one in pictures] == [b"<svg"] * picture
