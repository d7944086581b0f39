"""Test for faults that earlier panels had, on the screen."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import boxes_at_rest, shows
from tests.e2e.test_panel_harness import Harness, dev_server, harness

__all__ = ["dev_server", "harness"]  # the fixtures for tests of the harness page

TRAINED = {"state": "done", "rate": 100, "seconds": 8, "watch": 50, "nan": 380}

WHOLE = """about => [about, ...about.children].every(
  (one) => one.scrollWidth <= one.clientWidth + 1 || one.clientWidth === 0)"""

COVERED = """rows => rows.flatMap((row) => {
  const shadow = getComputedStyle(row).boxShadow.match(/(-?[\\d.]+)px 0px 0px 0px inset/);
  if (!shadow) return [];
  const number = document.createRange();
  number.selectNodeContents(row);
  const stripe = row.getBoundingClientRect().right + Number(shadow[1]);
  return number.getBoundingClientRect().right > stripe ? [row.textContent] : ['beside'];
})"""


def test_the_stripe_covers_no_line_number(harness: Harness):
    panel = harness.open(**TRAINED, tab="source")
    panel.locator("[data-name=logits]").wait_for()
    numbers = panel.locator(".source-row[data-line] .line-number:has(button)")
    assert set(numbers.evaluate_all(COVERED)) == {"beside"}


@pytest.mark.parametrize("width", [320, 640, 1280])
def test_a_histogram_has_a_minimum_size(harness: Harness, width: int):
    harness.page.set_viewport_size({"width": width + 36, "height": 900})
    panel = harness.open(**TRAINED, tab="source")
    panel.locator("[data-testid=value][data-name=logits]").first.click()
    magnitudes = panel.get_by_test_id("magnitudes").locator("canvas")
    [box] = boxes_at_rest(harness.page, magnitudes)
    assert box["height"] >= 100 and box["width"] >= 120


@pytest.mark.parametrize("close", ["Escape", "click", "typing"])
def test_the_export_menu_closes_by_escape_click_and_typing(harness: Harness, close: str):
    panel = harness.open(**TRAINED)
    panel.get_by_label("Copy and export").click()
    item = panel.get_by_test_id("export-csv")
    item.wait_for()
    if close == "Escape":
        harness.page.keyboard.press("Escape")
    elif close == "click":
        panel.locator(".header").click(position={"x": 2, "y": 2})
    else:
        panel.get_by_test_id("filter").press_sequentially("l")
    expect(item).to_be_hidden()


def test_the_filter_reports_an_unknown_term(harness: Harness):
    panel = harness.open(**TRAINED)
    panel.get_by_test_id("filter").press_sequentially("foo:3")
    hint = panel.get_by_text("There is no foo: to filter by").first
    expect(hint).to_be_in_viewport()
    expect(hint).to_contain_text("name: step: lane: device:")


@pytest.mark.parametrize("width", [232, 320, 640, 830, 1280])
def test_a_chart_says_which_statistic_it_draws(harness: Harness, width: int):
    harness.page.set_viewport_size({"width": width + 36, "height": 900})
    panel = harness.open(**TRAINED, tab="overview")
    for title in ("Gradient norms", "Std of values"):
        heading = panel.locator(f"[data-chart='{title}'] figcaption b")
        expect(heading).to_have_text(title)
        assert heading.evaluate("title => title.scrollWidth <= title.clientWidth + 1 || title.clientWidth === 0")
    panel.get_by_test_id("tab-source").click()
    panel.locator("[data-testid=value][data-name=h]").first.click()
    panel.get_by_test_id("inspect").wait_for()
    for statistic in ("std", "l2"):
        panel.get_by_test_id("statistic-choice").select_option(statistic)
        about = panel.get_by_test_id("section-over-steps").locator("header, summary, h4").first
        about.scroll_into_view_if_needed()
        expect(about).to_contain_text(statistic)
        assert about.evaluate(WHOLE)


def test_a_statistic_that_is_0_is_reported_as_the_others(harness: Harness):
    panel = harness.open(state="running", rate=100, seconds=2, watch=20, tab="source")
    harness.page.evaluate(
        """() => {
          const points = kernel.watch.points;
          kernel.watch.points = (...of) => points.apply(kernel.watch, of).map(([k, y]) => [k, k === 0 ? 0 : y]);
        }"""
    )
    panel.locator("[data-testid=value][data-name=h]").first.click()
    statistics = panel.get_by_test_id("statistics")
    shows(
        harness.page, lambda: statistics.locator("div", has_text=re.compile("^min")).inner_text().split(), ["min", "0"]
    )


def test_the_heading_of_the_inspector_follows_the_slider(harness: Harness):
    panel = harness.open(**TRAINED, tab="source")
    panel.locator("[data-testid=value][data-name=h]").first.click()
    heading, statistics = panel.get_by_test_id("inspect-when"), panel.get_by_test_id("statistics")
    newest = statistics.inner_text()
    panel.get_by_test_id("step").fill("100")
    expect(heading).to_contain_text("step 100")
    expect(statistics).not_to_have_text(newest)
    panel.get_by_test_id("step").fill("20")
    expect(heading).to_contain_text("step 20")


@pytest.mark.parametrize("width", [320, 640])
def test_a_stop_in_a_narrow_panel_shows_the_code_before_costs_and_values(harness: Harness, width: int):
    harness.page.set_viewport_size({"width": width + 36, "height": 800})
    panel = harness.open(stop="breakpoint", watch=20, notes=3)
    panel.locator("[data-testid=debugger][data-stands=true]").wait_for()
    names = "code", "frames", "locals"
    code, frames, beside, whole, line = boxes_at_rest(
        harness.page, *map(panel.get_by_test_id, names), panel, panel.locator(".source-row.now")
    )
    assert frames["height"] < 30 and code["y"] + code["height"] <= beside["y"]
    assert code["y"] - whole["y"] < 0.66 * whole["height"]
    assert code["y"] <= line["y"] and line["y"] + line["height"] <= code["y"] + code["height"] + 1
    # The list of breakpoints, which has their cost, is where the names are.
    expect(panel.get_by_test_id("breakpoints")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark", "contrast"])
def test_the_name_of_a_call_is_legible_on_its_bar(harness: Harness, theme: str):
    panel = harness.open(**TRAINED, calls=4, tab="timeline", theme=theme)
    name = panel.locator(".call-bar .call-name").last
    grounds = panel.locator(".call-bar, .call-bar .span").evaluate_all(COLOURS, "backgroundColor")
    [written] = name.evaluate_all(COLOURS, "color")
    assert len(grounds) > 6
    for ground in grounds:
        assert contrast(written, ground) >= 4.5, ground


COLOURS = """(all, property) => all.map((one) => {
  const context = document.createElement('canvas').getContext('2d');
  context.fillStyle = getComputedStyle(one)[property];
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
})"""


def contrast(one: list[int], other: list[int]) -> float:
    """Return the contrast ratio of two colours, as WCAG defines it."""

    def brightness(colour: list[int]) -> float:
        parts = [part / 255 for part in colour]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.05 + sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted(map(brightness, (one, other)))
    return high / low


@pytest.mark.parametrize("width", [380, 640, 1280])
def test_prints_open_with_the_lines_around_the_step_that_is_looked_at(harness: Harness, width: int):
    harness.page.set_viewport_size({"width": width + 36, "height": 700})
    panel = harness.open(state="done", rate=500, seconds=4, tab="overview")
    panel.get_by_test_id("step").fill("60")
    panel.get_by_test_id("tab-streams").click()
    for stream in ("ordered", "unordered"):
        rows = panel.get_by_test_id(f"stream-{stream}").locator(".viewport")
        last = rows.locator(".row:not(.later):has(+ .row.later)")
        room, line = boxes_at_rest(harness.page, rows, last)
        above, below = line["y"] - room["y"], room["y"] + room["height"] - line["y"] - line["height"]
        assert min(above, below) > 0.3 * room["height"], "it is not in the middle"
