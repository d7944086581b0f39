"""Test the findings in the panel: source line, related documentation, and the findings that follow from each."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.checks import Kind, section_of
from jax_debug_widgets.session.panel.findings import findings_message


def test_each_kind_of_check_has_a_section_of_jaxs_documentation():
    assert all(section_of(kind.word).startswith("https://docs.jax.dev/") for kind in Kind)
    assert section_of("hoisted") == ""


def loss(x):
    n2 = jnp.sum(x * x)
    return jnp.sqrt(n2)


def asked(run):
    content, buffer = findings_message(run, 7, {})
    assert (content["type"], content["id"], content["run"], buffer) == ("findings", 7, run.key, b"")
    return content["findings"]


def test_a_nan_has_the_line_whose_derivative_is_infinite_and_what_followed(tmp_path):
    slope = jax.jit(jax.grad(loss))
    with jdw.capture(watch=True) as run:
        slope(jnp.ones(3))
        slope(jnp.zeros(3))
    (found,) = asked(run)
    line = inspect.getsourcelines(loss)[1] + 2
    assert found["headline"] == "the gradient of `n2` becomes infinite"
    assert (found["kind"], found["where"]) == ("nonfinite", f"test_panel_findings.py:{line}")
    assert (found["file"], found["line"], found["first_line"]) == (__file__, line, line - 1)
    assert found["lines"] == ["    n2 = jnp.sum(x * x)", "    return jnp.sqrt(n2)"]
    assert "first at call 1" in found["why"] and "The derivative of `jnp.sqrt(n2)`" in found["why"]
    site = run["grad/n2"].site
    assert found["site"] == site.id and run.events[found["event"]].site.id == site.id
    assert [one["label"] for one in found["followers"]] == ["grad/x"] and found["following"] == 1
    assert run.status().findings == 1
    run.save(tmp_path / "run.jdw")
    again = jdw.load(tmp_path / "run.jdw")
    assert asked(again) == [found | {"site": asked(again)[0]["site"]}]
    assert again.status().findings == 1


def test_a_key_that_is_used_twice_says_what_to_do():
    @jax.jit
    def f(key):
        return jax.random.normal(key) + jax.random.uniform(key)

    with jdw.capture() as run:
        f(jax.random.key(0))
    (found,) = asked(run)
    assert found["kind"] == "keys" and found["site"] == found["event"] == -1
    assert found["severity"] == 1
    assert found["section"] == "https://docs.jax.dev/en/latest/jax.random.html#prng-keys"
    assert "used again" in found["headline"] and not found["headline"].startswith(found["where"])
    assert run.status().findings == 1


def test_an_error_and_lost_time_of_one_name_have_their_own_severity(tmp_path):
    with pytest.raises(TypeError), jdw.capture(check="lists") as run:  # noqa: PT012 - both are of one run.
        jax.jit(lambda xs: sum(xs))([float(i) for i in range(9)])  # noqa: PLW0108 - a line of the user's.
        jax.jit(lambda x: jnp.sum([x, x]))(1.0)  # pyright: ignore[reportArgumentType]
    severities = {(one["kind"], one["severity"]) for one in asked(run)}
    assert severities == {("lists", 0), ("lists", 3)}
    run.save(tmp_path / "run.jdw")
    assert {(one["kind"], one["severity"]) for one in asked(jdw.load(tmp_path / "run.jdw"))} == severities


def test_a_run_without_findings_has_none():
    with jdw.capture() as run:
        jax.jit(jnp.sin)(1.0)
    assert asked(run) == [] and run.status().findings == 0
