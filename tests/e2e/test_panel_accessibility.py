"""Test the panel with a keyboard and a screen reader: every action can be reached, and what opens is announced.

`test_panel_axe.py` tests all views in all widths.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.test_panel_harness import Harness, dev_server, harness

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

__all__ = ["dev_server", "harness"]  # the fixtures for tests of the harness page

AXE = Path(__file__).parents[2] / "js" / "node_modules" / "axe-core" / "axe.min.js"
THEMES = ["light", "dark"]
SERIOUS = {"serious", "critical"}


def violations(page: Page, where: str = "[data-jaxdebug-run]") -> list[str]:
    """Return axe-core's serious violations in the panel or another part of the page, in words."""
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=AXE)
    # `color-contrast` also checks elements outside the scrolled area, as far as they are rendered.
    found = page.evaluate("where => axe.run(where).then(({ violations }) => violations)", where)
    return [
        f"{violation['id']}: {node['failureSummary']} {node['html'][:160]}"
        for violation in found
        if violation["impact"] in SERIOUS
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("theme", [*THEMES, "contrast"])
def test_opened_parts_of_the_panel_have_no_serious_violation(harness: Harness, theme: str):
    panel = harness.open(state="running", rate=300, seconds=4, theme=theme, notes=3)
    panel.locator(".note-text").first.click()
    panel.get_by_test_id("find").fill("loss")
    harness.page.evaluate("() => kernel.stop()")  # A slow machine cannot click a row while rows move.
    panel.locator(".row").nth(3).click()
    panel.locator("[data-mute='3']").click()
    panel.get_by_test_id("filter").fill("loss")
    panel.get_by_test_id("filter").press("Enter")
    panel.get_by_test_id("filter").fill("la")
    panel.locator(".filter-term").first.wait_for()
    panel.get_by_test_id("filter").press("ArrowDown")
    assert violations(harness.page) == []
    panel.get_by_test_id("filter").press("Escape")
    panel.get_by_label("Copy and export").click()
    panel.get_by_test_id("export-csv").wait_for()
    assert violations(harness.page) == []
    panel.get_by_label("Keys", exact=True).click()
    panel.get_by_test_id("keys").wait_for()
    assert violations(harness.page) == []


@pytest.mark.parametrize("theme", THEMES)
def test_an_empty_run_and_one_without_kernel_have_no_serious_violation(harness: Harness, theme: str):
    panel = harness.open(state="running", rate=0, seconds=0, theme=theme)
    panel.get_by_text("Nothing printed yet").wait_for()
    assert violations(harness.page) == []
    harness.page.evaluate("() => { kernel.stop(); kernel.listeners.get('comm:close')(); }")
    panel.get_by_text("The kernel is gone. What had arrived").wait_for()
    assert violations(harness.page) == []


def focused(page: Page) -> str:
    """Return the name of the focused element, as a screen reader reads it."""
    return page.evaluate(
        """() => {
          let element = document.activeElement;
          while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
          return element?.ariaLabel ?? element?.getAttribute('data-testid') ?? element?.innerText ?? '';
        }"""
    )


def stops(page: Page, panel: Locator) -> Iterator[str]:
    """Return the elements of the panel that Tab reaches, in order; assert that each shows its focus."""
    panel.get_by_label("Keys", exact=True).focus()
    for _ in range(80):
        page.keyboard.press("Tab")
        name = focused(page)
        if page.evaluate("document.activeElement === document.body"):
            return
        outline = page.evaluate(
            """() => {
              let element = document.activeElement;
              while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
              const style = getComputedStyle(element);
              return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
            }"""
        )
        assert outline, f"{name} has the focus and does not show it"
        yield name


@pytest.mark.parametrize(
    ("tab", "wanted"),
    [
        ("overview", {"fact-steps", "fact-loss", "loss: first", "2 more values", "all 1200"}),
        ("streams", {"Ordered prints", "Unordered prints", "Mute loss", "Copy and export", "Filter the lines"}),
        (
            "source",
            {"Names: Enter", "axis-tiles", "x, float32[4,64,128]", "png: save loss, acc as a picture", "log axis"},
        ),
        ("timeline", {"Timeline", "call 1 init"}),
        ("calls", {"train"}),
    ],
)
def test_every_action_is_reached_by_the_keyboard(harness: Harness, tab: str, wanted: set[str]):
    panel = harness.open(state="done", rate=300, seconds=4, calls=2, tab=tab)
    panel.locator(f"#tab-{tab}[aria-selected=true]").wait_for()
    if tab == "source":
        for name in ("acc", "loss"):
            panel.locator(f"[data-of={name}] .name-tick").click()
        panel.locator("[data-of=x]").click()
        panel.get_by_test_id("slice").wait_for()
    controls = panel.locator(":is(button, select, input):visible")
    bare = controls.evaluate_all(
        "all => all.filter(one => !one.closest('[title]')).map(one => one.outerHTML.slice(0, 120))"
    )
    assert bare == [], "controls without a tooltip"
    found = list(stops(harness.page, panel))
    for name in wanted | {"Step", "live"}:
        assert any(name in stop for stop in found), f"{name} not among {found}"


def test_the_keys_are_listed_and_the_list_is_closed_by_escape(harness: Harness):
    panel = harness.open(state="done", rate=300, seconds=4)
    panel.get_by_label("Ordered prints", exact=True).press("?")
    keys = panel.get_by_test_id("keys")
    keys.get_by_text("live: back to the newest step").wait_for()
    harness.page.keyboard.press("Escape")
    keys.wait_for(state="detached")
    panel.get_by_label("Ordered prints", exact=True).press("/")
    harness.page.wait_for_function(
        "() => document.activeElement.shadowRoot?.activeElement?.dataset.testid === 'filter'"
    )
    harness.page.keyboard.type("m /")
    expect(panel.get_by_test_id("filter")).to_have_value("m /")


@pytest.mark.parametrize("selector", [".header", "[data-testid=state]", ".body"])
def test_a_click_anywhere_in_the_panel_leaves_the_keys_to_it(harness: Harness, selector: str):
    panel = harness.open(scenario="training", events=50)
    panel.locator(selector).first.click(position={"x": 2, "y": 2})
    harness.page.keyboard.press("?")
    panel.get_by_test_id("keys").wait_for()


def test_the_focus_stays_in_the_panel_when_what_has_it_goes_away(harness: Harness):
    """Otherwise a notebook would take the next key as a command: 4 makes a cell a heading."""
    panel = harness.open(state="done", rate=300, seconds=4, watch=2)
    keys = harness.page.keyboard

    def wait_for_focus(selector: str) -> None:
        panel.locator(f"{selector}:focus").wait_for()

    panel.get_by_test_id("tab-streams").click()
    stream = "[data-testid=stream-unordered] .viewport"
    panel.locator(stream).focus()
    keys.press("ArrowUp")
    panel.get_by_label("Close the detail").focus()
    keys.press("Enter")
    wait_for_focus(stream)
    keys.press("?")
    panel.get_by_test_id("keys").wait_for()
    keys.press("Escape")
    wait_for_focus(stream)
    keys.press("4")
    wait_for_focus("#body[aria-labelledby=tab-timeline]")
    keys.press("3")
    panel.get_by_test_id("value").first.click()
    panel.get_by_test_id("inspect").get_by_label("Close the detail").focus()
    keys.press("Escape")
    panel.get_by_test_id("inspect").wait_for(state="detached")
    wait_for_focus("#body[aria-labelledby=tab-source]")
