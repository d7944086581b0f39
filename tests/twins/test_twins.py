"""Test that Python and the browser compute the same: both read one table of cases."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.events import CallSite, Watched
from jax_debug_widgets.events.amounts import in_time, plural_fired
from jax_debug_widgets.session.run.gradients import gradients_of


def cases(name):
    return json.loads((Path(__file__).parent / f"{name}.json").read_text())


def numbers(statistics):
    return {name: float(number) for name, number in statistics.items() if number is not None}


def site_of(told):
    watch = Watched("h", told["role"], (3,), "float32", "mul", "", value=told["value"], gradient=told["gradient"])
    place = {"file": "model.py", "line": 3, "column": 8, "end_line": 3, "end_column": 13, "where": "model.py:3"}
    about = {"function": "f", "source": "h = x * 2", "label": "h", "values": ("mean",), "format": "mul"}
    program = {"name_stack": "jit(f)", "transforms": ("jit",), "phase": "forward", "order": told["order"]}
    return CallSite(id=told["id"], kind="watch", ordered=False, watch=watch, **place, **about, **program)


@pytest.mark.parametrize("case", cases("gradients_of_values"), ids=lambda case: case["name"])
def test_values_are_matched_with_their_gradients(case):
    found = gradients_of(map(site_of, case["sites"]))
    assert {str(value): gradient.id for value, gradient in found.items()} == case["gradients"]


@pytest.mark.parametrize("case", cases("fired_words"), ids=lambda case: case["words"])
def test_counts_of_firings_are_named_after_the_kinds_of_their_sites(case):
    assert plural_fired(case["count"], case["kinds"]) == case["words"]


@pytest.mark.parametrize("case", cases("times"), ids=lambda case: case["words"])
def test_a_time_is_written_in_its_unit(case):
    assert in_time(case["seconds"]) == case["words"]


@pytest.fixture(scope="module")
def statistics():
    """Return a function that gives the kernel's statistics of several arrays, and the rules for merging them."""

    def of(arrays):
        @jax.jit
        def double(xs):
            halves = [x * 0.5 for x in xs]
            return [half * 2 for half in halves]

        with jdw.capture(watch="halves") as run:
            double([2 * x for x in arrays])
        jax.effects_barrier()
        values = [run[f"halves[{number}]"] for number in range(len(arrays))]
        merges = dict(zip(values[0].site.values, values[0].site.watch.merges, strict=True))
        return [{name: float(value[name][0]) for name in value} for value in values], merges

    return of


@pytest.mark.parametrize("case", cases("merged_statistics"), ids=lambda case: case["name"])
def test_statistics_of_lanes_are_merged_by_the_rule_that_the_kernel_sends(case, statistics):
    lanes = [jnp.asarray([float(number) for number in lane], jnp.float32) for lane in case["elements"]]
    is_array = lanes[0].size > 1
    (*of_lanes, of_all), merges = statistics([*lanes, jnp.concatenate(lanes)])
    known = set(case["lanes"][0]) & set(merges)
    assert {name: merges[name] for name in known} == {name: case["merges"][name] for name in known} != {}
    for told, wanted in zip(of_lanes, case["lanes"], strict=True):
        for name in known:
            np.testing.assert_allclose(told[name], numbers(wanted)[name], rtol=1e-6, err_msg=name)
    whole = of_all if is_array else {"value": np.mean([lane["value"] for lane in of_lanes])}
    for name in known:
        np.testing.assert_allclose(whole[name], numbers(case["whole"])[name], rtol=1e-6, err_msg=name)
    assert {name for name, number in case["whole"].items() if number is None} == set(case["whole"]) - set(merges)
