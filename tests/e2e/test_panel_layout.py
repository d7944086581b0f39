"""Compare the positions of the parts of each view with `layout.json`. The tolerance allows other fonts.

After an intended change: `LAYOUT=write pytest tests/e2e/test_panel_layout.py`, and look at the pictures.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import DRAWN, boxes_at_rest, shows
from tests.e2e.test_panel_harness import Harness, dev_server, harness

if TYPE_CHECKING:
    from playwright.sync_api import Locator

__all__ = ["dev_server", "harness"]  # the fixtures for tests of the harness page

STORED = Path(__file__).parent / "layout.json"
TOLERANCE = 14
"""The tolerance in pixels: other machines have other fonts."""

PARTS = {
    "overview": (".facts", ".fact", ".charts", ".lines", ".lines figcaption", ".lines .chart", ".scrubber"),
    "streams": (
        ".header", ".tab-bar", "[data-testid=filter]", "[data-testid=stream-ordered]", ".scrubber",
        "[data-testid=stream-unordered]", ".row .step", ".row .tags", ".sites", ".chips", "[data-testid=site]",
    ),
    "source": (
        ".toolbar", ".names", "[data-testid=name]", "[data-testid=code]", ".scrubber", ".inspector", ".slice-picture",
        ".colour-bar", ".histogram", ".slice-line", ".full", ".plot", ".plot figcaption",
    ),
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


CUT = """() => {
  const root = [...document.querySelectorAll('[data-jaxdebug-run] > *')].map((host) => host.shadowRoot).find(Boolean);
  const isText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  return [...root.querySelectorAll('.panel *')].filter((element) => {
    if (element.closest('.unseen, svg, canvas') || !element.getClientRects().length || !isText(element)) return false;
    const text = document.createRange();
    text.selectNodeContents(element);
    const { left, right } = text.getBoundingClientRect();
    const words = element.textContent.match(/[\\p{L}\\p{N}]+/gu) ?? [];
    const isInTitle = (title) => title && words.every((word) => title.includes(word));
    let isCut = false;
    for (let box = element; box && box !== root; box = box.parentElement) {
      const { overflowX } = getComputedStyle(box);
      const edges = box.getBoundingClientRect();
      if (isInTitle(box.title)) return false;
      if (overflowX === 'auto' || overflowX === 'scroll') return isCut;
      isCut ||= overflowX !== 'visible' && (right > edges.right + 1 || left < edges.left - 1);
    }
    return isCut;
  }).map((element) => `${element.className || element.tagName}: ${element.textContent}`);
}"""


TICKS = """() => {
  const root = [...document.querySelectorAll('[data-jaxdebug-run] > *')].map((host) => host.shadowRoot).find(Boolean);
  return [...root.querySelectorAll('.tick')].map((tick) => tick.getBoundingClientRect()).sort((a, b) => a.x - b.x);
}"""
APART = "numbers.length > 0 && numbers.every((box, i) => i === 0 || box.left >= numbers[i - 1].right)"


def at_rest(harness: Harness, parts: tuple[str, ...]) -> dict[str, Any]:
    """Return the boxes of these parts, once they are the same in two frames."""
    found = None
    while (boxes := harness.page.evaluate(BOXES, list(parts))) != found:
        found = boxes
        harness.page.evaluate(DRAWN)
    return boxes


def boxes(harness: Harness, panel: Locator, view: str) -> dict[str, Any]:
    """Return left, top, width and height of each part, in pixels relative to the panel; None if it is missing."""
    panel.get_by_test_id(f"tab-{view}").click()
    if view == "source":
        panel.locator("[data-of=loss] .name-tick").click()
        panel.locator("[data-of=x]").click()
    harness.page.wait_for_function(f"() => Object.values(({BOXES})({json.dumps(PARTS[view])})).every(Boolean)")
    return at_rest(harness, PARTS[view])


def moved(stored: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return the parts that have moved or are missing."""
    return [
        f"{part}: {stored[part]} -> {found.get(part)}"
        for part in stored
        if found.get(part) is None
        or any(abs(a - b) > TOLERANCE for a, b in zip(stored[part], found[part], strict=True))
    ]


def test_each_view_has_the_stored_layout(harness: Harness):
    panel = harness.open(state="done", rate=100, seconds=4)
    found = {view: boxes(harness, panel, view) for view in PARTS}
    if os.environ.get("LAYOUT") == "write":
        STORED.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    stored = json.loads(STORED.read_text("utf-8"))
    assert {view: moved(stored[view], found[view]) for view in PARTS} == {view: [] for view in PARTS}


LOW = """(parts) => parts.filter((part) => part.scrollHeight > part.clientHeight + 1)
  .map((part) => `${part.className}: ${part.innerText}`)"""

SIDEWAYS = """(parts) => parts.filter((part) => {
  const { overflowX } = getComputedStyle(part);
  const isBar = part.matches('.header, .life, .tab-bar, .toolbar, .scrubber');
  return (isBar || overflowX === 'auto' || overflowX === 'scroll') && part.scrollWidth > part.clientWidth;
}).map((part) => part.className)"""

OPTIONS = {"rate": 200, "seconds": 4, "calls": 4, "watch": 8, "nan": 12, "notes": 3, "runs": 4, "findings": 3}


@pytest.mark.parametrize("width", [320, 380, 400, 460, 528, 640, 828, 1280])
def test_text_that_is_cut_can_be_read_by_scrolling_or_in_a_tooltip(harness: Harness, width: int):
    """What is cut can be read by scrolling or in a tooltip."""
    harness.page.set_viewport_size({"width": width + 36, "height": 640})
    panel = harness.open(state="running", **OPTIONS)
    panel.get_by_test_id("non-finite").wait_for()
    for view in (*PARTS, "findings", "runs"):
        panel.get_by_test_id(f"tab-{view}").click()
        panel.locator(f"#tab-{view}[aria-selected=true]").wait_for()
        shows(harness.page, lambda: harness.page.evaluate(CUT), [])
        assert panel.locator(".fact").evaluate_all(LOW) == [], view
        # The table of calls has more columns than fit into a narrow panel.
        parts = panel.locator("*:not(.calls)")
        shows(harness.page, lambda parts=parts: parts.evaluate_all(SIDEWAYS), [])


@pytest.mark.parametrize("state", ["running", "done"])
@pytest.mark.parametrize("width", [320, 380, 460, 640])
def test_the_header_of_a_narrow_panel_has_two_lines_without_a_lone_button(harness: Harness, width: int, state: str):
    harness.page.set_viewport_size({"width": width + 36, "height": 640})
    panel = harness.open(state=state, **OPTIONS)
    panel.get_by_test_id("non-finite").wait_for()
    panel.get_by_test_id("called").wait_for()
    state_, keys, header = boxes_at_rest(
        harness.page, panel.get_by_test_id("state"), panel.get_by_label("Keys", exact=True), panel.locator(".header")
    )
    assert abs(keys["y"] + keys["height"] / 2 - state_["y"] - state_["height"] / 2) < 4, "beside the state"
    assert header["height"] < 70


def test_the_gradient_norms_are_visible_without_scrolling_in_a_narrow_panel(harness: Harness):
    harness.page.set_viewport_size({"width": 380 + 36, "height": 640})
    panel = harness.open(state="running", rate=200, seconds=4, calls=4, watch=2, notes=1, tab="overview")
    chart = panel.locator("[data-chart='Gradient norms']").get_by_role("img")
    shown, norms = boxes_at_rest(harness.page, panel.get_by_test_id("overview"), chart)
    assert norms["y"] + norms["height"] / 2 < shown["y"] + shown["height"], "most of the chart is below"


def test_counts_fields_and_names_are_complete_in_a_narrow_panel(harness: Harness):
    harness.page.set_viewport_size({"width": 640 + 36, "height": 640})
    panel = harness.open(state="done", rate=200, seconds=4, calls=4, watch=2, runs=4)
    panel.get_by_test_id("called").wait_for()
    expect(panel.get_by_test_id("tab-calls").locator(".tab-count")).to_be_visible()
    name, pause = boxes_at_rest(harness.page, *map(panel.get_by_test_id, ("called", "pause")))
    assert pause["x"] - (name["x"] + name["width"]) < 12, "it is cut where its room ends"
    harness.page.set_viewport_size({"width": 252 + 36, "height": 640})
    shows(harness.page, lambda: harness.page.evaluate(CUT), [])
    sites, find = boxes_at_rest(harness.page, *map(panel.get_by_test_id, ("sites-toggle", "find")))
    assert find["x"] >= sites["x"] + sites["width"] or find["y"] >= sites["y"] + sites["height"]


def test_beside_the_inspector_most_of_a_line_of_code_is_read(harness: Harness):
    """The panel has the width that it has in a window of 1280 pixels with the file browser open."""
    harness.page.set_viewport_size({"width": 830 + 36, "height": 640})
    panel = harness.open(tab="source", state="done", rate=200, seconds=4, watch=2)
    panel.locator("[data-testid=name]").first.click()
    panel.get_by_test_id("inspect").wait_for()
    [code] = boxes_at_rest(harness.page, panel.locator(".source-row:has(> .value) > code").first)
    assert code["width"] > 240


@pytest.mark.parametrize("width", [560, 640, 830])
def test_the_tools_above_the_code_are_in_one_row(harness: Harness, width: int):
    harness.page.set_viewport_size({"width": width + 36, "height": 640})
    panel = harness.open(tab="source", state="done", rate=200, seconds=4, watch=20, nan=12)
    tools = panel.locator(".source-view > .toolbar > :visible:not(.grow)")
    panel.get_by_test_id("first-nan").or_(panel.get_by_test_id("first-inf")).wait_for()
    boxes = boxes_at_rest(harness.page, *tools.all())
    middles = [box["y"] + box["height"] / 2 for box in boxes]
    assert max(middles) - min(middles) < 4
    statistic = panel.get_by_test_id("statistic-choice")
    assert statistic.evaluate("select => select.scrollWidth <= select.clientWidth")


@pytest.mark.parametrize("width", [380, 640, 1280])
def test_the_number_of_further_values_covers_no_value(harness: Harness, width: int):
    harness.page.set_viewport_size({"width": width + 36, "height": 640})
    panel = harness.open(tab="source", state="done", rate=200, seconds=4, watch=2)
    row = panel.locator(".source-row:has(.others)").first
    value, others = boxes_at_rest(harness.page, row.get_by_test_id("value"), row.locator(".others"))
    assert value["x"] + value["width"] <= others["x"]


@pytest.mark.parametrize("width", [190, 232])
def test_values_and_their_lines_are_legible_in_the_narrowest_side_panel(harness: Harness, width: int):
    harness.page.set_viewport_size({"width": width + 36, "height": 640})
    panel = harness.open(state="done", rate=200, seconds=4, calls=4, watch=2)
    panel.get_by_test_id("tab-source").click()
    panel.locator("[data-testid=source]:not(:has(.source-note))").wait_for()
    panel.get_by_test_id("code").scroll_into_view_if_needed()
    value = panel.get_by_test_id("value").first
    parts = value.locator(".value-name"), value.locator(".value-range"), panel.get_by_test_id("code"), panel
    name, numbers, code, own = boxes_at_rest(harness.page, *parts)
    assert name["width"] > 30 and numbers["width"] >= 90 and numbers["x"] + numbers["width"] <= own["x"] + own["width"]
    assert code["height"] >= 4 * 22, "lines"


@pytest.mark.parametrize("width", [400, 600, 828])
def test_a_list_keeps_at_least_four_lines_beside_notes_and_tools(harness: Harness, width: int):
    harness.page.set_viewport_size({"width": width + 36, "height": 640})
    panel = harness.open(state="done", rate=200, seconds=4, calls=4, watch=2, notes=3)
    notes = panel.locator(".note-text")
    heights = "notes => notes.map(note => note.offsetHeight)"
    shows(harness.page, lambda: len(set(notes.evaluate_all(heights))), 1)  # Each note takes one line.
    notes.first.click()
    panel.get_by_test_id("tab-source").click()
    panel.locator("[data-testid=source]:not(:has(.source-note))").wait_for()
    panel.get_by_test_id("value").first.click()
    panel.get_by_test_id("inspect").wait_for()
    code, title = boxes_at_rest(harness.page, panel.get_by_test_id("code"), panel.locator(".title"))
    assert code["height"] >= 3.9 * 22, "lines"
    assert title["width"] > 60


@pytest.mark.parametrize("width", [232, 464, 828])
def test_the_numbers_of_an_axis_do_not_overlap(harness: Harness, width: int):
    harness.page.set_viewport_size({"width": width + 36, "height": 640})
    panel = harness.open(state="done", rate=200, seconds=1, calls=4)
    panel.get_by_test_id("tab-timeline").click()
    panel.locator(".tick").first.wait_for()
    # A chart that was drawn before its size was known is drawn again.
    harness.page.wait_for_function(f"() => {{ const numbers = ({TICKS})(); return {APART}; }}")


def test_the_check_reports_text_that_is_cut(harness: Harness):
    panel = harness.open(state="done", rate=100, seconds=4)
    panel.get_by_test_id("tab-timeline").evaluate(
        "(tab) => { tab.style.width = '20px'; tab.style.overflow = 'hidden'; }"
    )
    assert harness.page.evaluate(CUT) == ["tab: Timeline"]


def test_the_sites_are_behind_a_button_in_a_narrow_panel(harness: Harness):
    harness.page.set_viewport_size({"width": 436, "height": 640})
    panel = harness.open(state="done", rate=100, seconds=4)
    expect(panel.locator(".sites")).to_be_hidden()
    panel.get_by_test_id("sites-toggle").click()
    panel.locator("[data-mute='3']").click()
    panel.locator("[data-mute='3'][aria-pressed=true]").wait_for()
    panel.get_by_test_id("sites-toggle").click()
    panel.locator(".row").first.wait_for()


@pytest.mark.parametrize(
    ("style", "part"),
    [
        (".sites { flex-basis: 260px !important }", ".sites"),
        (".header { padding-bottom: 30px !important }", ".tab-bar"),
        (".row { grid-template-columns: 3px 80px 1fr auto !important }", ".row .step"),
    ],
)
def test_the_check_reports_a_changed_layout(harness: Harness, style: str, part: str):
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
    found = at_rest(harness, PARTS["streams"])
    stored = json.loads(STORED.read_text("utf-8"))["streams"]
    assert any(line.startswith(f"{part}:") for line in moved(stored, found))


def test_a_long_number_at_the_top_of_a_narrow_overview_has_the_room_that_there_is(harness: Harness):
    harness.page.set_viewport_size({"width": 486, "height": 640})
    panel = harness.open(state="done", tab="overview")
    panel.get_by_test_id("charts").wait_for()
    cut = panel.locator(".fact-value").evaluate_all(
        """values => values.map((value) => {
            value.textContent = "0.00329 → 0.0117";
            return value.scrollWidth > value.clientWidth;
        })"""
    )
    assert cut, "there are no facts"
    assert not any(cut)
