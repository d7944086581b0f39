"""Read the panel of a run on the screen from the numbers that it gives to tests (`data-*` of its root)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.e2e.browser import ARTIFACTS

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.e2e.browser import LabPage

_FIND = """
window.findPanels = () => [...document.querySelectorAll('[data-jaxdebug-run] > *')]
  .map(host => host.shadowRoot?.querySelector('[data-testid=jaxdebug-panel]')).filter(Boolean);
"""

_RECORD = (
    _FIND
    + """
window.recordedFrames = [];
const record = () => {
  const panel = window.findPanels()[0];
  if (panel) {
    const { events, latencyMs, state, barrier, batches } = panel.dataset;
    const drawn = { at: performance.now(), events: +events, latency: +latencyMs, state, barrier, batches: +batches };
    const last = window.recordedFrames.at(-1);
    if (!last || ['events', 'state', 'barrier'].some(key => last[key] !== drawn[key])) window.recordedFrames.push(drawn);
  }
  requestAnimationFrame(record);
};
requestAnimationFrame(record);
"""
)


@dataclass(frozen=True)
class Frame:
    """The state of the panel from one animation frame on; `at` is in milliseconds."""

    at: float
    events: int
    latency: float
    state: str
    barrier: str
    batches: int


class PanelOnScreen:
    """The first panel of the page."""

    def __init__(self, lab_page: LabPage) -> None:
        self._lab_page = lab_page

    def record(self) -> None:
        """Begin to record, frame by frame, what the panel shows."""
        self._lab_page.page.evaluate(f"() => {{ {_RECORD} }}")

    def frames(self) -> list[Frame]:
        """Return the recorded frames: one for each change."""
        return [Frame(**frame) for frame in self._lab_page.page.evaluate("window.recordedFrames")]

    def wait(self, timeout_s: float = 60, **expected: Any) -> None:
        """Wait until the panel has these numbers, e.g. `state="done"`, `events=12`."""
        wanted = {name: str(value) for name, value in expected.items()}
        self._lab_page.wait_for_js(
            f"wanted => {{ {_FIND} const panel = findPanels()[0];"
            " return panel && Object.entries(wanted).every(([name, value]) => panel.dataset[name] === value); }",
            wanted,
            timeout_s=timeout_s,
        )

    def wait_for_events(self, at_least: int, timeout_s: float = 60) -> None:
        """Wait until at least this many events have arrived."""
        self._lab_page.wait_for_js(
            f"wanted => {{ {_FIND} const panel = findPanels()[0]; return panel && Number(panel.dataset.events) >= wanted; }}",
            at_least,
            timeout_s=timeout_s,
        )

    def number(self, name: str) -> int:
        """Return one of the panel's numbers."""
        return int(self.root.get_attribute(f"data-{name}") or 0)

    @property
    def root(self) -> Locator:
        """Return the panel; Playwright looks into its shadow root by itself."""
        return self._lab_page.page.get_by_test_id("jaxdebug-panel").first

    def picture(self, title: str) -> None:
        """Take a picture of the panel alone into the artefacts; the picture in the README is such a one."""
        self.root.screenshot(path=ARTIFACTS / f"{title}.png")

    def open_tab(self, name: str) -> None:
        """Open a tab such as `Prints`, `Code` or `Calls`."""
        self.root.get_by_role("tab", name=name).click()

    def points(self) -> dict[str, int]:
        """Return the points of the overview's charts, by title."""
        charts = self.root.locator("[data-chart]").all()
        return {
            str(chart.get_attribute("data-chart")): int(chart.get_attribute("data-points") or 0) for chart in charts
        }
