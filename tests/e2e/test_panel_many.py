"""Test many panels on one page, and that removed panels leave nothing behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.promises import FRAMES, is_kept
from tests.e2e.test_panel_harness import Harness, dev_server, harness

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession

__all__ = ["dev_server", "harness"]  # the fixtures for tests of the harness page

PANELS = 20

SHOW = f"""() => {{
  window.outputs = Array.from({{ length: {PANELS} }}, (_, i) => {{
    const output = document.createElement('div');
    output.dataset.jaxdebugRun = i % 2 ? 'demo' : 'other';
    document.body.append(output);
    return output;
  }});
}}"""

OTHER_KERNEL = """() => {
  const other = new FakeKernel('other', { rate: 500, seconds: 4, state: 'done' });
  panelModule.initialize({ model: other.model });
  other.start();
}"""

SHOWN = "() => outputs.every((output) => output.firstElementChild?.shadowRoot?.querySelector('.fact'))"

VISIT = """() => { for (const output of outputs) {
  const root = output.firstElementChild.shadowRoot;
  for (const tab of root.querySelectorAll('[role=tab]')) tab.click();
  root.querySelector('#tab-overview').click();
} }"""

HIDE = (
    "() => new Promise((done) => { for (const output of outputs.splice(0)) output.remove(); setTimeout(done, 300); })"
)


SCROLL = """async () => {
  const height = document.body.scrollHeight - innerHeight;
  let on = true;
  const began = performance.now();
  const step = (now) => {
    scrollTo(0, height * (0.5 - 0.5 * Math.cos((now - began) / 700)));
    if (on) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
  const frames = await measureFrames(4000);
  on = false;
  return frames;
}"""


def counts(session: CDPSession) -> dict[str, float]:
    """Return the numbers of the page's objects after garbage collection."""
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    return {name: metrics[name] for name in ("Nodes", "JSEventListeners", "JSHeapUsedSize")}


def test_twenty_panels_come_and_go_and_leave_nothing_behind(harness: Harness):
    harness.open(state="done", rate=500, seconds=4)
    page = harness.page
    page.evaluate(OTHER_KERNEL)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    seen = []
    for _ in range(4):
        page.evaluate(SHOW)
        page.wait_for_function(SHOWN)
        page.evaluate(VISIT)
        page.evaluate(HIDE)
        seen.append(counts(session))
    first, last = seen[1], seen[-1]
    print(f"after {PANELS} panels were shown and gone: {first}, and twice more: {last}")
    assert last["JSEventListeners"] <= first["JSEventListeners"]
    assert last["Nodes"] <= first["Nodes"] + 5
    assert last["JSHeapUsedSize"] <= first["JSHeapUsedSize"] * 1.1 + 1e6


@pytest.mark.speed
@pytest.mark.parametrize("state", ["done", "running"])
def test_a_page_of_twenty_panels_scrolls(harness: Harness, state: str):
    harness.open(state=state, rate=10_000, seconds=2)
    page = harness.page
    page.evaluate(OTHER_KERNEL)
    page.evaluate(SHOW.replace("'demo'", "'other'"))
    page.wait_for_function(SHOWN)
    frames = page.evaluate(SCROLL)
    print(f"{PANELS} panels, {state}: {frames['fps']:.0f} frames/s, the longest {frames['longest']:.0f} ms")
    assert is_kept(frames["fps"], at_least=FRAMES)


def test_two_views_of_one_run_have_their_own_state(harness: Harness):
    harness.open(state="running", rate=200, seconds=4)
    page = harness.page
    page.evaluate("document.body.append(document.querySelector('[data-jaxdebug-run]').cloneNode())")
    first, second = (page.get_by_test_id("jaxdebug-panel").nth(i) for i in (0, 1))
    second.get_by_role("tab", name="Overview").click()
    second.locator("[data-chart=loss]").wait_for()
    expect(first.locator("#tab-streams")).to_have_attribute("aria-selected", "true")
    first.locator("[data-mute='3']").click()
    second.get_by_role("tab", name="Prints").click()
    second.locator("[data-mute='3'][aria-pressed=true]").wait_for()


def test_runs_without_a_view_are_freed(harness: Harness):
    harness.open(state="done", rate=1, seconds=1)
    page = harness.page
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    heap = []
    for i in range(10):
        page.evaluate(
            """(key) => {
              document.querySelector('.again')?.remove();
              const output = document.createElement('div');
              output.className = 'again';
              output.dataset.jaxdebugRun = key;
              document.body.append(output);
              const kernel = new FakeKernel(key, { rate: 100000, seconds: 4, state: 'done' });
              panelModule.initialize({ model: kernel.model });
              kernel.start();
              kernel.events = [];
            }""",
            f"run-{i}",
        )
        page.wait_for_function("() => document.querySelector('.again > div')?.shadowRoot.querySelector('.fact')")
        heap.append(counts(session)["JSHeapUsedSize"] / 1e6)
    held = page.evaluate("[...__jaxDebug.hidden.values()].map((run) => run.log.length)")
    assert sum(held) <= 1_000_000
    print(f"megabytes after each of ten runs of 400 000 events: {', '.join(f'{size:.0f}' for size in heap)}")
    assert heap[-1] < 1.2 * heap[3] + 10
