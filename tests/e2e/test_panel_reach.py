"""Test that the keyboard reaches everything that a mouse does: by Tab, or by the keys of a list, tree or chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.test_panel_harness import EVERYTHING, Harness, dev_server, harness

if TYPE_CHECKING:
    from playwright.sync_api import Locator

__all__ = ["dev_server", "harness"]  # the fixtures for tests of the harness page

LISTENED = """
window.listening = new WeakSet();
const listen = EventTarget.prototype.addEventListener;
EventTarget.prototype.addEventListener = function (type, ...rest) {
  if (/^(click|dblclick|pointerdown|mousedown)$/.test(type) && this instanceof Element) listening.add(this);
  return listen.call(this, type, ...rest);
};
"""

WALK = """() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  (window.visited ??= new Set()).add(element);
  return element === document.body;
}"""

UNREACHED = """() => {
  const root = [...document.querySelectorAll('[data-jaxdebug-run] > *')].map((host) => host.shadowRoot).find(Boolean);
  const isControl = (one) => one.matches('button, select, input, summary, a[href]') || listening.has(one);
  const isShown = (one) => one.getClientRects().length > 0 && getComputedStyle(one).visibility !== 'hidden' && !one.disabled;
  const left = [...root.querySelectorAll('.panel *')].filter((one) => isControl(one) && isShown(one) && !visited.has(one));
  const called = (one) => [...one.classList].find((name) => !/^(mini|button|mono)$/.test(name)) ?? one.dataset.testid;
  return [...new Set(left.map((one) => `${one.tagName.toLowerCase()}.${called(one) ?? ''}`))].sort();
}"""

BY_OTHER_KEYS = {
    "button.tab": "← → in the row of views",
    "canvas.": "+ - ← → 0 in the chart that it stands in",
    "button.set-break": "F9 in the code",
    "button.value": "Enter in the code",
    "div.source-row": "↑ ↓ Enter in the code",
    "button.others": "Space in the code",
    "button.add-watch": "w in the code",
    "div.name-row": "↑ ↓ ← → Enter in the names",
    "span.name-tick": "Space in the names",
    "div.row": "↑ ↓ in the prints",
    "button.expander": "↑ ↓ in the prints",
    "button.tag": "typed into the filter",
    "div.time-field": "+ - ← → 0 in the timeline",
    "canvas.event-ticks": ", . in every view",
    "button.": "↑ ↓ in the calls",
}
"""Elements that Tab does not reach -> the keys that do the same; the list that `?` opens has them."""


def code(panel: Locator) -> None:
    panel.locator("[data-name=logits]").click()
    panel.get_by_test_id("inspect").get_by_test_id("slice").wait_for()


VIEWS = {
    "overview": lambda panel: panel.get_by_test_id("fact-nan").wait_for(),
    "source": code,
    "streams": lambda panel: panel.locator(".row").first.wait_for(),
    "timeline": lambda panel: panel.get_by_label("call 3 train").wait_for(),
    "calls": lambda panel: panel.get_by_role("row").nth(2).wait_for(),
    "findings": lambda panel: panel.locator("[data-kind=nonfinite]").wait_for(),
    "runs": lambda panel: panel.get_by_role("checkbox").nth(1).check(),
}


@pytest.mark.parametrize("width", [640, 1280])
@pytest.mark.parametrize("view", VIEWS)
def test_every_control_that_a_mouse_reaches_is_reached_by_keys(harness: Harness, view: str, width: int):
    harness.page.add_init_script(LISTENED)
    harness.page.set_viewport_size({"width": width + 36, "height": 900})
    panel = harness.open(**EVERYTHING, tab=view)
    VIEWS[view](panel)
    panel.get_by_test_id("state").focus()
    for _ in range(300):
        if harness.page.evaluate(WALK):
            break
        harness.page.keyboard.press("Tab")
    assert sorted(set(harness.page.evaluate(UNREACHED)) - set(BY_OTHER_KEYS)) == []
