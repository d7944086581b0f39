"""Test a fake stop in the Code view: keyboard, focus, axe-core. `test_debugger.py` tests real stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import DRAWN, boxes_at_rest, shows
from tests.e2e.test_panel_accessibility import focused, stops, violations
from tests.e2e.test_panel_harness import Harness, dev_server, harness

if TYPE_CHECKING:
    from playwright.sync_api import Locator

__all__ = ["dev_server", "harness"]  # the fixtures for tests of the harness page

THEMES = ["light", "dark"]
LEAVE = "() => { kernel.stop(); kernel.listeners.get('comm:close')(); }"


def stopped(harness: Harness, kind: str = "breakpoint", **options: object) -> Locator:
    """Return the panel of a program at a stop."""
    panel = harness.open(stop=kind, **options)
    panel.locator("[data-testid=debugger][data-stands=true]").wait_for()
    return panel


def worked(panel: Locator) -> None:
    """Open an array, run some commands, and open completions."""
    panel.locator("[data-local=scores] > button").click()
    panel.get_by_test_id("slice").wait_for()
    prompt = panel.get_by_test_id("prompt")
    for text in ("bt", "1/0"):
        prompt.fill(text)
        prompt.press("Enter")
    panel.get_by_text("ZeroDivisionError").wait_for()
    prompt.fill("jnp.ar")
    prompt.press("Tab")
    panel.get_by_test_id("matches").wait_for()


@pytest.mark.parametrize("theme", [*THEMES, "contrast"])
def test_a_stop_has_no_serious_violation(harness: Harness, theme: str):
    panel = stopped(harness, theme=theme)
    harness.page.evaluate("kernel.debugger.change({ warning: 'A collective waits.', timeout: 90 })")
    worked(panel)
    assert violations(harness.page) == []
    harness.lab_page.screenshot(f"stop-{theme}")
    panel.get_by_test_id("prompt").press("Escape")
    panel.locator("[data-local=logp] > button").click()
    panel.locator(".lane-lines").wait_for()
    panel.get_by_label("Keys", exact=True).click()
    panel.get_by_test_id("keys").get_by_text("continue to the next stop").wait_for()
    assert violations(harness.page) == []


@pytest.mark.parametrize("theme", THEMES)
def test_the_code_view_before_and_after_a_stop_has_no_serious_violation(harness: Harness, theme: str):
    panel = harness.open(tab="source", theme=theme, rate=0, seconds=0)
    panel.get_by_text("Nothing has stopped in this run").wait_for()
    assert violations(harness.page) == []
    harness.page.evaluate("kernel.debugger.halt('step')")
    panel.get_by_label("Run to line 3").wait_for()
    assert violations(harness.page) == []
    panel.locator("[data-resume=continue]").click()
    panel.get_by_text("Running … This was the last stop.").wait_for()
    assert violations(harness.page) == []
    harness.page.evaluate("kernel.debugger.halt('breakpoint')")
    panel.locator("[data-stands=true]").wait_for()
    harness.page.evaluate(LEAVE)
    panel.get_by_text("and with it the stopped program").wait_for()
    assert violations(harness.page) == []


def test_every_action_at_a_stop_is_reached_by_the_keyboard(harness: Harness):
    panel = stopped(harness)
    panel.locator("[data-local=scores] > button").click()
    panel.get_by_test_id("slice").wait_for()
    found = list(stops(harness.page, panel))
    for name in (
        *(
            "Continue",
            "Next",
            "Run without stops",
            "Stop",
            "Lane",
            "Next lane that stopped",
            "Continue with another value of logp",
        ),
        *("Frame above", "<module>", "Skip of logp", "Source: up and down", "Console", "Console: Python", "scores"),
    ):
        assert any(name in stop for stop in found), f"{name} not among {found}"


def test_a_stop_takes_the_focus_if_nothing_has_it(harness: Harness):
    panel = harness.open(tab="timeline")
    harness.page.evaluate("kernel.debugger.halt('breakpoint')")
    panel.locator("[data-stands=true]").wait_for()
    harness.page.wait_for_function("() => document.activeElement.shadowRoot?.activeElement?.matches('.debugger')")
    harness.page.keyboard.press("u")
    panel.locator("[data-testid=frames] [aria-pressed=true]", has_text="step").wait_for()
    harness.page.keyboard.press("e")
    harness.page.keyboard.type("bt")
    harness.page.keyboard.press("Enter")
    panel.get_by_test_id("console").get_by_text("model.py:25 loss_fn").wait_for()
    harness.page.keyboard.press("Escape")
    harness.page.keyboard.press("c")
    panel.get_by_text("Running … This was the last stop.").wait_for()
    harness.page.evaluate("kernel.debugger.halt('step')")
    panel.get_by_test_id("reason").get_by_text("About to run sin").wait_for()
    harness.page.wait_for_function("() => document.activeElement.shadowRoot?.activeElement?.matches('.debugger')")


def test_a_stop_leaves_the_focus_in_a_text_field(harness: Harness):
    panel = harness.open(state="running")
    harness.page.evaluate(
        "() => { const cell = document.createElement('textarea'); document.body.prepend(cell); cell.focus(); }"
    )
    harness.page.keyboard.type("params = ")
    harness.page.evaluate("kernel.debugger.halt('breakpoint')")
    panel.locator("[data-stands=true]").wait_for()
    harness.page.evaluate(DRAWN)
    harness.page.keyboard.type("cq")
    expect(harness.page.locator("body > textarea")).to_have_value("params = cq")
    expect(panel.locator("[data-stands=true]")).to_have_count(1)

    panel.get_by_test_id("prompt").fill("half a comm")
    harness.page.evaluate("kernel.debugger.halt('breakpoint')")
    panel.locator("[data-stop='2']").first.wait_for()
    shows(harness.page, lambda: focused(harness.page).startswith("Console"), True)
    harness.page.keyboard.type("and")
    expect(panel.get_by_test_id("prompt")).to_have_value("half a command")


def test_the_keyboard_runs_to_a_line(harness: Harness):
    panel = stopped(harness, "step")
    panel.get_by_test_id("code").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        harness.page.keyboard.press(key)
    harness.page.keyboard.press("Enter")
    harness.page.wait_for_function("() => kernel.requests.some(({ type }) => type === 'resume')")
    [resumed] = harness.page.evaluate("kernel.requests.filter(({ type }) => type === 'resume')")
    assert resumed["how"] == "line"
    assert resumed["line"] == 4


@pytest.mark.parametrize("width", [320, 640, 900, 1280, 1600])
def test_a_stop_shows_the_code_first_and_leaves_no_empty_space_at_any_width(harness: Harness, width: int):
    harness.page.set_viewport_size({"width": width, "height": 800})
    panel = stopped(harness, watch=20)
    code, prompt, rooms = (panel.get_by_test_id(name) for name in ("code", "prompt", "locals"))
    line = panel.locator(".source-row.now")
    parts = code, line, prompt, rooms, panel.locator("#body"), panel.locator(".workspace")
    shown, current, console, beside, body, whole = boxes_at_rest(harness.page, *parts)
    assert shown["y"] <= current["y"] and current["y"] + current["height"] <= shown["y"] + shown["height"] + 1
    assert shown["height"] >= 5 * current["height"] and shown["y"] < console["y"]
    assert beside["y"] > console["y"] or beside["x"] >= shown["x"] + shown["width"]
    assert body["y"] + body["height"] - (whole["y"] + whole["height"]) < 2
    if width >= 640:
        assert max(console["y"] + console["height"], beside["y"] + 2 * current["height"]) <= body["y"] + body["height"]
    assert violations(harness.page) == []


@pytest.mark.parametrize("width", [232, 320, 640])
def test_the_code_fills_the_space_below_the_variables_in_a_high_narrow_panel(harness: Harness, width: int):
    """The panel has the size that it has in JupyterLab's side panel."""
    harness.page.set_viewport_size({"width": width + 36, "height": 1300})
    panel = harness.open(rate=0, seconds=0)
    harness.page.add_style_tag(content="[data-jaxdebug-run] { --jaxdebug-height: 1100px }")
    harness.page.evaluate("kernel.debugger.halt('step')")
    code, room = panel.locator(".code-list"), panel.locator(".workspace")
    panel.locator(".source-row.now").wait_for()
    lines = "code => code.querySelector('.all-rows').offsetHeight"
    shows(harness.page, lambda: code.evaluate(lines) > 100, wanted=True)
    [few, _] = boxes_at_rest(harness.page, code, room)
    assert 0 <= few["height"] - code.evaluate(lines) < 30, "no room is left in it"
    harness.page.evaluate(MORE_LINES)
    shows(harness.page, lambda: code.evaluate(lines) > 10 * few["height"], wanted=True)
    side = panel.locator(".side")
    much, whole, last = boxes_at_rest(harness.page, code, room, side)
    assert much["height"] > 2 * few["height"]
    assert whole["y"] + whole["height"] - last["y"] - last["height"] < 2, "no room is left below"


MORE_LINES = """() => {
  const [frame] = kernel.debugger.stop.frames;
  const source = Array.from({ length: 90 }, (_, i) => `x${i} = sin x # line ${i + 1}`);
  kernel.debugger.change({ frames: [{ ...frame, source }] });
}"""


def test_the_code_has_the_space_of_the_console_until_a_command_is_typed(harness: Harness):
    harness.page.set_viewport_size({"width": 1280, "height": 800})
    panel = stopped(harness, watch=20)
    parts = panel.get_by_test_id("code"), panel.locator(".console"), panel.locator(".source-row.now")
    code, console, _ = boxes_at_rest(harness.page, *parts)
    assert code["height"] > 2 * console["height"]
    panel.get_by_test_id("prompt").fill("1 + 1")
    panel.get_by_test_id("prompt").press("Enter")
    panel.locator("[data-typed]").wait_for()
    shown, typed, line = boxes_at_rest(harness.page, *parts)
    assert typed["height"] > console["height"]
    assert shown["y"] <= line["y"] and line["y"] + line["height"] <= shown["y"] + shown["height"] + 1


@pytest.mark.parametrize("width", [380, 830, 1280])
def test_a_long_reason_does_not_move_the_buttons(harness: Harness, width: int):
    """A long reason is cut beside the buttons, with a tooltip. In a narrow panel it is above them, in full."""
    harness.page.set_viewport_size({"width": width + 36, "height": 800})
    panel = stopped(harness)
    words = "logarithms_of_probabilities is not finite: 17 infinite, 3 NaN, the first at [0, 2]; " * 3
    harness.page.evaluate("reason => kernel.debugger.change({ reason })", words.strip())
    reason = panel.get_by_test_id("reason")
    expect(reason).to_have_text(words.strip())
    expect(reason).to_have_attribute("title", words.strip())
    text, *buttons = boxes_at_rest(harness.page, reason, *panel.locator("[data-resume]").all())
    is_beside = [button["y"] < text["y"] + text["height"] for button in buttons]
    assert is_beside == [width >= 830] * 4
    is_whole = reason.evaluate("element => element.scrollWidth <= element.clientWidth")
    assert is_whole is (width < 830)
