"""Test the views of the later bundles: while the bundle loads, after it has loaded, and if loading fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import ARTIFACTS
from tests.e2e.test_panel_harness import Harness, dev_server, harness

if TYPE_CHECKING:
    from playwright.sync_api import Route

__all__ = ["dev_server", "harness"]  # the fixtures for tests of the harness page

SECOND = "**/static/views.js"
LOADED = "(name) => performance.getEntriesByType('resource').some((one) => one.name.endsWith(`/static/${name}`))"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_stop_opens_the_debugger_before_its_bundle_has_loaded(harness: Harness, theme: str):
    held: list[Route] = []
    # Playwright does not accept a built-in function as a handler.
    harness.page.route(SECOND, lambda route: held.append(route))  # noqa: PLW0108
    panel = harness.open(theme=theme, stop="breakpoint")
    panel.get_by_test_id("view-loading").wait_for()
    expect(panel).to_contain_text("Loading the Code view")
    panel.screenshot(path=ARTIFACTS / f"loading-{theme}.png")
    held[0].continue_()
    view = panel.get_by_test_id("debugger")
    view.wait_for()
    shown = panel.locator(".workspace").evaluate("view => getComputedStyle(view).display")
    assert shown == "grid", "it came without its style sheet"
    harness.page.wait_for_function(
        "() => document.querySelector('[data-jaxdebug-run] > div').shadowRoot.activeElement?.matches('.debugger')"
    )
    panel.get_by_role("tab", name="Timeline").click()
    panel.get_by_role("tab", name="Code").click()
    panel.get_by_test_id("code").wait_for()
    assert len(held) == 1, "it was loaded twice"


def test_a_view_whose_bundle_fails_says_so_and_loads_on_request(harness: Harness):
    harness.page.route(SECOND, lambda route: route.fulfill(body="export default (shared) => shared.nothing.here"))
    panel = harness.open(tab="source")
    failed = panel.get_by_test_id("view-failed")
    failed.wait_for()
    failed.screenshot(path=ARTIFACTS / "panel-view-failed.png")
    harness.page.unroute(SECOND)
    failed.get_by_role("button", name="Try again").click()
    panel.get_by_test_id("source").wait_for()


def test_a_bundle_is_loaded_when_one_of_its_views_is_shown_and_not_before(harness: Harness):
    panel = harness.open(tab="overview", state="done", runs=4, calls=2)

    def loaded() -> list[str]:
        return [url.rpartition("/")[2] for url in harness.lab_page.requests if "/static/" in url]

    panel.get_by_test_id("charts").wait_for()
    assert loaded() == ["panel.js"], "nothing comes before the first picture"
    harness.page.wait_for_function(LOADED, arg="calls.js")
    for tab, there in (("timeline", ".time-field"), ("calls", ".calls")):
        panel.get_by_test_id(f"tab-{tab}").click()
        panel.locator(there).first.wait_for()
    assert loaded() == ["panel.js", "calls.js"]
    panel.get_by_test_id("tab-runs").click()
    panel.locator("[data-testid=runs-table]").wait_for()
    assert loaded() == ["panel.js", "calls.js", "runs.js"]
    assert panel.locator(".runs-view").evaluate("view => getComputedStyle(view).display") == "grid"
