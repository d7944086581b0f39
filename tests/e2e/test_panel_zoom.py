"""Test that all charts with the same axis share one zoom, by pointer and by keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import boxes_at_rest, shows
from tests.e2e.test_panel_harness import Harness, dev_server, harness

if TYPE_CHECKING:
    from playwright.sync_api import Locator

__all__ = ["dev_server", "harness"]  # the fixtures for tests of the harness page

TRAINED = {"state": "done", "rate": 200, "seconds": 8, "watch": 20, "runs": 4}
SEEN = "all => all.map(canvas => canvas.dataset.seen.split(' ').map(Number))"


def seen(charts: Locator) -> list[list[float]]:
    """Return the visible range of each chart's axis."""
    return charts.locator("canvas").evaluate_all(SEEN)


def brush(harness: Harness, chart: Locator) -> None:
    """Drag over the third quarter of a chart."""
    chart.scroll_into_view_if_needed()
    [box] = boxes_at_rest(harness.page, chart.locator("canvas"))
    y = box["y"] + box["height"] / 2
    harness.page.mouse.move(box["x"] + 0.5 * box["width"], y)
    harness.page.mouse.down()
    harness.page.mouse.move(box["x"] + 0.75 * box["width"], y + 3, steps=4)
    harness.page.mouse.up()


def is_one_part(ranges: list[list[float]], whole: list[list[float]]) -> bool:
    """Return whether all charts show the same part of the axis, and not all of it."""
    [first, *others] = ranges
    return all(one == first for one in others) and all(
        first[1] - first[0] < 0.7 * (high - low) for low, high in whole if high > first[0]
    )


@pytest.mark.parametrize("axis", ["step", "seconds", "call"])
def test_a_brush_zooms_all_charts_of_the_overview_and_of_the_code(harness: Harness, axis: str):
    panel = harness.open(**TRAINED, tab="overview")
    panel.get_by_test_id("axis").select_option(axis)
    charts = panel.locator("[data-chart]")
    panel.locator("[data-chart='Gradient norms'] canvas").wait_for()
    whole = seen(charts)
    assert len(whole) >= 4
    brush(harness, panel.locator("[data-chart='Gradient norms']"))
    note = panel.locator("[data-chart='Gradient norms'] .lines-note")  # The note shows the position of the pointer.
    expect(note).to_have_text(re.compile(r"^(step|call) [\d ]+$|^[\d.]+ (ms|s)$"))
    shows(harness.page, lambda: is_one_part(seen(charts), whole), wanted=True)
    part = seen(charts)[0]

    panel.get_by_test_id("tab-source").click()
    panel.locator("[data-name=logits]").click()
    plots = panel.get_by_test_id("inspect").get_by_test_id("plot")
    plots.nth(1).wait_for()  # The curves of the value and of its gradient.
    shows(harness.page, lambda: seen(plots), [part, part])
    plots.first.locator("canvas").dblclick()
    for plot in plots.all():  # A chart that is off the screen is not drawn.
        plot.scroll_into_view_if_needed()
        shows(harness.page, lambda plot=plot: part in seen(plot), wanted=False)
    panel.get_by_test_id("tab-overview").click()
    shows(harness.page, lambda: seen(charts), whole)


def test_changing_the_axis_resets_the_zoom(harness: Harness):
    panel = harness.open(**TRAINED, tab="overview")
    charts = panel.locator("[data-chart]")
    panel.get_by_test_id("axis").select_option("seconds")
    whole = seen(charts)
    panel.get_by_test_id("axis").select_option("step")
    brush(harness, charts.first)
    panel.get_by_test_id("axis").select_option("seconds")
    shows(harness.page, lambda: seen(charts), whole)


def test_the_charts_of_runs_are_zoomed_together_by_the_pointer_and_by_keys(harness: Harness):
    panel = harness.open(**TRAINED, tab="runs")
    panel.get_by_role("checkbox").nth(1).check()
    charts = panel.get_by_test_id("overlay")
    charts.nth(1).wait_for()
    whole = seen(charts)
    brush(harness, charts.first)
    shows(harness.page, lambda: is_one_part(seen(charts), whole), wanted=True)
    picture = charts.nth(1).get_by_role("img")
    picture.press("0")
    shows(harness.page, lambda: seen(charts), whole)
    picture.press("+")
    shows(harness.page, lambda: is_one_part(seen(charts), whole), wanted=True)
    panel.get_by_label("Axis", exact=True).select_option("seconds")
    shows(harness.page, lambda: seen(charts)[0] == seen(charts)[1] != whole[0], wanted=True)
