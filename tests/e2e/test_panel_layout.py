"""Where the parts of each view stand, compared with `layout.json`: a change of layout is noticed, one of a font is not.

After a change that is meant: `LAYOUT=write pytest tests/e2e/test_panel_layout.py`, and look at the pictures.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.test_panel_harness import Harness, dev_server, harness

if TYPE_CHECKING:
    from playwright.sync_api import Locator

__all__ = ["dev_server", "harness"]  # the fixtures of this page

STORED = Path(__file__).parent / "layout.json"
TOLERANCE = 14
"""Pixels: another machine has other fonts."""

PARTS = {
    "streams": (
        ".header", ".life", ".tab-bar", "[data-testid=filter]", "[data-testid=stream-ordered]", ".scrubber",
        "[data-testid=stream-unordered]", ".row .step", ".row .tags", ".sites", ".chips", "[data-testid=site]",
    ),
    "plots": (".toolbar", ".plots", ".plot", ".plot figcaption", ".chart", ".scrubber"),
    "arrays": (".toolbar", "[data-testid=array-choice]", ".slice-picture", ".colour-bar", ".histogram", ".slice-line", ".full"),
    "timeline": (".time-names", ".time-field", ".time-axis", ".time-calls", ".time-barrier", "[data-testid=site-ticks]"),
    "calls": (".calls table", ".calls thead", ".calls tbody tr"),
}  # fmt: skip

BOXES = """parts => {
  const root = [...document.querySelectorAll('[data-jaxdebug-run] > *')].map((host) => host.shadowRoot).find(Boolean);
  const origin = root.querySelector('[data-testid=jaxdebug-panel]').getBoundingClientRect();
  return Object.fromEntries(parts.map((part) => {
    const box = root.querySelector(part)?.getBoundingClientRect();
    return [part, box && [box.x - origin.x, box.y - origin.y, box.width, box.height].map(Math.round)];
  }));
}"""


def boxes(harness: Harness, panel: Locator, view: str) -> dict[str, Any]:
    """Left, top, width and height of each part, in pixels of the panel; None where it is not there."""
    panel.get_by_test_id(f"tab-{view}").click()
    harness.page.wait_for_function(f"() => Object.values(({BOXES})({json.dumps(PARTS[view])})).every(Boolean)")
    return harness.page.evaluate(BOXES, list(PARTS[view]))


def moved(stored: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """The parts that stand elsewhere, or are not there."""
    return [
        f"{part}: {stored[part]} -> {found.get(part)}"
        for part in stored
        if found.get(part) is None
        or any(abs(a - b) > TOLERANCE for a, b in zip(stored[part], found[part], strict=True))
    ]


def test_each_view_is_laid_out_as_before(harness: Harness):
    panel = harness.open(state="done", rate=100, seconds=4)
    found = {view: boxes(harness, panel, view) for view in PARTS}
    if os.environ.get("LAYOUT") == "write":
        STORED.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    stored = json.loads(STORED.read_text("utf-8"))
    assert {view: moved(stored[view], found[view]) for view in PARTS} == {view: [] for view in PARTS}


@pytest.mark.parametrize(
    ("style", "part"),
    [
        (".sites { flex-basis: 260px !important }", ".sites"),
        (".life { display: none !important }", ".life"),
        (".row { grid-template-columns: 3px 80px 1fr auto !important }", ".row .step"),
    ],
)
def test_a_change_of_layout_is_noticed(harness: Harness, style: str, part: str):
    harness.open(state="done", rate=100, seconds=4).get_by_test_id("filter").wait_for()
    harness.page.evaluate(
        """style => {
          const host = [...document.querySelectorAll('[data-jaxdebug-run] > *')].find((host) => host.shadowRoot);
          const sheet = document.createElement('style');
          sheet.textContent = style;
          host.shadowRoot.append(sheet);
        }""",
        style,
    )
    found = harness.page.evaluate(BOXES, list(PARTS["streams"]))
    stored = json.loads(STORED.read_text("utf-8"))["streams"]
    assert any(line.startswith(f"{part}:") for line in moved(stored, found))
