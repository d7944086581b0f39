"""Test that axe-core finds nothing serious in any view, theme and width. Resizing a page is faster than opening one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.e2e.browser import DRAWN
from tests.e2e.test_panel_accessibility import violations
from tests.e2e.test_panel_harness import EVERYTHING, Harness, dev_server, harness

if TYPE_CHECKING:
    from playwright.sync_api import Locator

__all__ = ["dev_server", "harness"]  # the fixtures for tests of the harness page

THEMES = ["light", "dark", "contrast"]
WIDTHS = [320, 640, 1280, 1600]
HEIGHT = 900
RUN = {"state": "done", "rate": 200, "seconds": 4, "calls": 3}


def overview(panel: Locator) -> None:
    panel.get_by_test_id("fact-nan").wait_for()


def code(panel: Locator) -> None:
    panel.locator("[data-name=logits]").click()
    panel.get_by_test_id("inspect").get_by_test_id("slice").wait_for()


def prints(panel: Locator) -> None:
    panel.get_by_test_id("stream-unordered").locator(".row").nth(3).click()
    panel.get_by_test_id("detail").wait_for()


def timeline(panel: Locator) -> None:
    panel.get_by_label("call 3 train").wait_for()


def calls(panel: Locator) -> None:
    panel.get_by_role("row").filter(has_text="FloatingPointError").click()


def findings(panel: Locator) -> None:
    panel.locator("[data-kind=nonfinite]").wait_for()


def runs(panel: Locator) -> None:
    panel.get_by_role("checkbox").nth(1).check()  # The first run is ticked by default.
    panel.get_by_test_id("parted").wait_for()


VIEWS = {
    "overview": overview,
    "source": code,
    "streams": prints,
    "timeline": timeline,
    "calls": calls,
    "findings": findings,
    "runs": runs,
}


def printed_array(panel: Locator) -> None:
    panel.locator("[data-of=x]").click()
    panel.get_by_test_id("axis-tiles").select_option("0")
    panel.get_by_test_id("slice").wait_for()


def stop(panel: Locator) -> None:
    panel.locator("[data-testid=debugger][data-stands=true]").wait_for()
    panel.locator("[data-local=scores] > button").click()
    panel.get_by_test_id("slice").wait_for()


def at_each_width(harness: Harness, panel: Locator, view: str, show: Callable[[Locator], None]) -> dict:
    """Return axe-core's violations in a view by width. `show` runs in the widest panel, where everything can be reached."""
    harness.page.set_viewport_size({"width": 1280, "height": HEIGHT})
    if view in VIEWS:
        panel.get_by_test_id(f"tab-{view}").click()
    show(panel)
    found = {}
    for width in WIDTHS:
        harness.page.set_viewport_size({"width": width, "height": HEIGHT})
        harness.page.evaluate(DRAWN)
        if serious := violations(harness.page):
            found[view, width] = serious
    return found


@pytest.mark.parametrize("theme", THEMES)
def test_no_view_has_a_serious_violation_at_any_width(harness: Harness, theme: str):
    panel = harness.open(**EVERYTHING, tab="overview", theme=theme)
    for view, show in VIEWS.items():
        assert at_each_width(harness, panel, view, show) == {}
    for name, options, show in (
        ("array", {**RUN, "tab": "source"}, printed_array),
        ("stop", {**RUN, "state": "running", "stop": "breakpoint"}, stop),
    ):
        harness.page.goto("about:blank")
        panel = harness.open(**options, theme=theme)
        assert at_each_width(harness, panel, name, show) == {}


def test_the_check_reports_a_low_contrast(harness: Harness):
    panel = harness.open(**EVERYTHING, tab="overview")
    parts = panel.locator("[data-testid=fact-nan] *")
    parts.evaluate_all("all => { for (const one of all) one.style.color = '#eee'; }")
    assert any("color-contrast" in line for line in violations(harness.page))
