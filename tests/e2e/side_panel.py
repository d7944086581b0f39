"""Drive JupyterLab's extension on the screen: the list of runs, panels beside the notebook, the status bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e.browser import boxes_at_rest, shows

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.e2e.browser import LabPage

BESIDE = ".jaxdebug-RunWidget"
SIDE = ".jaxdebug-SidePanel"
TABLE = ".jaxdebug-Runs"
EDGE = 8
"""Pixels between the edge that was dragged and where it stays."""

_ROW_SHOWS = """([selector, wanted]) => {
  const rows = [...(document.querySelector(selector)?.shadowRoot?.querySelectorAll('tr[data-run]') ?? [])];
  return rows.some((row) => Object.entries(wanted).every(([name, value]) => row.dataset[name] === value));
}"""
_SHOWS = """([selector, wanted]) => {
  const places = [...document.querySelectorAll(selector)];
  return places.some((place) => Object.entries(wanted).every(([name, value]) => place.dataset[name] === value));
}"""
_PANEL_SHOWS = """([selector, wanted]) => {
  const hosts = [...document.querySelectorAll(`${selector} [data-jaxdebug-run] > *`)];
  const panels = hosts.map((host) => host.shadowRoot?.querySelector('[data-testid=jaxdebug-panel]')).filter(Boolean);
  return panels.some((panel) => Object.entries(wanted).every(([name, value]) => panel.dataset[name] === value));
}"""


class SidePanel:
    """The extension in one page."""

    def __init__(self, lab_page: LabPage) -> None:
        self._lab_page = lab_page

    @property
    def root(self) -> Locator:
        """Return the side panel."""
        return self._lab_page.page.locator(SIDE)

    @property
    def runs(self) -> Locator:
        """Return the rows of the table, the newest first."""
        return self.root.locator("tr[data-run]")

    @property
    def status(self) -> Locator:
        """Return the item in the status bar."""
        return self._lab_page.page.locator(".jaxdebug-Status")

    def events(self) -> list[str | None]:
        """Return the number of events that each row of the table shows."""
        return self.runs.evaluate_all("rows => rows.map(row => row.dataset.events)")

    def show(self) -> None:
        """Open the side panel with its shortcut."""
        self._lab_page.page.keyboard.press("Alt+j")
        self.root.wait_for(state="visible")

    def drag_to(self, width: int) -> None:
        """Make the side panel this wide, as a person does: by its edge."""
        page = self._lab_page.page
        [box] = boxes_at_rest(page, self.root)
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] - 2, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] - width, middle, steps=4)
        page.mouse.up()
        shows(page, lambda: abs((self.root.bounding_box() or {})["width"] - width) < EDGE, wanted=True)

    def fills(self, where: str) -> None:
        """Assert that the panel in `SIDE` or `BESIDE` leaves no part of its room unused, nor its view a part of the panel."""
        panel, page = self.panel(where), self._lab_page.page
        parts = page.locator(where), panel, panel.locator("#body > *").first, *panel.get_by_test_id("scrubber").all()
        room, own, view, *slider = boxes_at_rest(page, *parts)
        below = [room["y"] + room["height"], own["y"] + own["height"], *(one["y"] for one in slider)]
        assert below[0] - below[1] < EDGE and room["width"] - own["width"] < EDGE
        assert below[-1] - (view["y"] + view["height"]) < EDGE

    def wait_for_row(self, timeout_s: float = 60, **expected: Any) -> None:
        """Wait until a row has these numbers, e.g. `state="done"`, `events=12`."""
        wanted = {name: str(value) for name, value in expected.items()}
        self._lab_page.wait_for_js(_ROW_SHOWS, [TABLE, wanted], timeout_s)

    def wait_for_status(self, timeout_s: float = 60, **expected: Any) -> None:
        """Wait until the item in the status bar has these numbers."""
        wanted = {name: str(value) for name, value in expected.items()}
        self._lab_page.wait_for_js(_SHOWS, [".jaxdebug-Status", wanted], timeout_s)

    def wait_for_panel(self, where: str, timeout_s: float = 60, **expected: Any) -> None:
        """Wait until a live panel in `SIDE` or `BESIDE` has these numbers."""
        wanted = {name: str(value) for name, value in expected.items()}
        self._lab_page.wait_for_js(_PANEL_SHOWS, [where, wanted], timeout_s)

    def panel(self, where: str) -> Locator:
        """Return the live panel in `SIDE` or `BESIDE`."""
        return self._lab_page.page.locator(where).get_by_test_id("jaxdebug-panel")
