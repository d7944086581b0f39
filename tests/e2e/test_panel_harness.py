"""Test the panel without a kernel: the page in `js/dev` feeds the built bundle with a fake run. Nothing is installed."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import boxes_at_rest, shows

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.e2e.browser import Browser

ROOT = Path(__file__).parents[2]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing."""


EVERYTHING = {
    "state": "done",
    "rate": 200,
    "seconds": 4,
    "calls": 3,
    "watch": 8,
    "nan": 12,
    "notes": 3,
    "findings": 3,
    "runs": 4,
}
"""The options of `Harness.open` for a run with content in each view."""


class Harness:
    """A page with panels of fake runs."""

    def __init__(self, browser: Browser, url: str, name: str) -> None:
        # It is not a page of JupyterLab, so it needs no server to find notebooks.
        self.lab_page = browser.new_page(cast("Any", None), name)
        self.page: Page = self.lab_page.page
        self.url = url

    def open(self, **options: object) -> Locator:
        """Open a run with these options, see `harness.js`; return its panel. The default tab is Prints, without a stop."""
        if "stop" not in options:
            options.setdefault("tab", "streams")
        hash_ = "&".join(f"{name}={value}" for name, value in options.items())
        self.page.goto(f"{self.url}/js/dev/index.html#{hash_}")
        panel = self.page.get_by_test_id("jaxdebug-panel").first
        panel.wait_for()
        if options.get("tab"):
            panel.locator(f"#tab-{options['tab']}[aria-selected=true]").wait_for()
        return panel

    def requests_elsewhere(self) -> list[str]:
        """Return the page's requests to any other origin than its server's."""
        return [url for url in self.lab_page.requests if not url.startswith((f"{self.url}/", "data:", "blob:"))]


@pytest.fixture(scope="package")
def dev_server() -> Iterator[str]:
    """Serve the repository, for the page and the bundle."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=ROOT))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def harness(browser: Browser, dev_server: str, request: pytest.FixtureRequest) -> Iterator[Harness]:
    """Yield a page; the test fails if the page reports an error or makes a request to another origin."""
    page = Harness(browser, dev_server, request.node.name)
    yield page
    errors, elsewhere = page.lab_page.errors, page.requests_elsewhere()
    page.lab_page.close()
    assert errors == []
    assert elsewhere == []


def test_the_filtered_rows_are_exported_as_json_and_csv(harness: Harness):
    panel = harness.open(state="done", rate=500, seconds=4)
    panel.get_by_test_id("filter").press_sequentially("los")
    panel.get_by_test_id("filter-terms").get_by_text("name:loss").click()
    panel.get_by_label("Copy and export").click()
    chip = panel.get_by_test_id("filter-chip")
    shows(harness.page, lambda: chip.inner_text().split(), ["name:", "loss", "×"])
    with harness.page.expect_download() as download:
        panel.get_by_test_id("export-json").click()
    rows = json.loads(download.value.path().read_text("utf-8"))
    assert download.value.suggested_filename == "train_params_digits_key.json"
    expect(panel.get_by_test_id("stream-ordered")).to_have_attribute("data-rows", str(len(rows)))
    assert {row["where"] for row in rows} == {"train.py:41"}
    assert all(row["text"].startswith("loss ") for row in rows)
    with harness.page.expect_download() as download:
        panel.get_by_test_id("export-csv").click()
    assert download.value.path().read_text("utf-8").count("train.py:41") == len(rows)


def test_the_chosen_step_is_the_moment_of_all_views(harness: Harness):
    panel = harness.open(state="done", rate=500, seconds=4)
    panel.get_by_label("Step", exact=True).fill("150")
    moment = int(panel.get_by_test_id("scrubber").get_attribute("data-moment") or 0)
    unordered = panel.get_by_test_id("stream-unordered")
    unordered.locator(".row.later").first.wait_for()
    shown = (
        "rows => { const at = rows.map(row => Number(row.dataset.event)); return [Math.min(...at), Math.max(...at)]; }"
    )
    shows(
        harness.page, lambda: [event > moment for event in unordered.locator(".row").evaluate_all(shown)], [False, True]
    )
    panel.get_by_role("tab", name="Code").click()
    panel.locator("[data-of=x]").click()
    panel.get_by_test_id("slice").wait_for()
    slice_ = panel.get_by_test_id("slice")
    shows(harness.page, lambda: 0 <= moment - int(slice_.get_attribute("data-event") or 0) < 40, True)
    panel.get_by_test_id("live").click()
    harness.page.wait_for_function(
        "() => Number(document.querySelector('[data-jaxdebug-run] > div').shadowRoot"
        ".querySelector('[data-testid=slice]').dataset.event) > 1900"
    )


def test_closing_a_detail_scrolls_a_list_back_to_its_end(harness: Harness):
    panel = harness.open(state="done", rate=500, seconds=4)
    stream = panel.get_by_test_id("stream-unordered")
    left, detail = stream.locator(".jump"), panel.get_by_test_id("detail")

    def is_at_end() -> bool:
        return bool(stream.locator(".viewport").evaluate("v => v.scrollTop + v.clientHeight >= v.scrollHeight - 1"))

    near_the_end = stream.locator(".row").nth(-12)
    near_the_end.click()
    left.wait_for()
    detail.get_by_label("Close the detail").click()
    left.wait_for(state="detached")
    shows(harness.page, is_at_end, True)

    panel.get_by_label("Step", exact=True).fill("150")
    left.wait_for()
    panel.get_by_test_id("live").click()
    left.wait_for(state="detached")
    shows(harness.page, is_at_end, True)

    near_the_end.click()
    left.wait_for()
    stream.locator(".viewport").hover()
    harness.page.mouse.wheel(0, -2000)
    detail.wait_for(state="detached")  # The line is now far below.
    harness.page.keyboard.press("Escape")
    expect(left, "somebody has scrolled away and is brought back").to_be_visible()


def test_a_call_chosen_on_the_timeline_narrows_all_views(harness: Harness):
    panel = harness.open(state="done", rate=500, seconds=8, calls=4, tab="timeline")
    panel.locator(".call-bar[data-call='4']").click()
    panel.get_by_role("tab", name="Prints").click()
    events = harness.page.evaluate("kernel.events.filter(({ call }) => call === 4).length")
    streams = [panel.get_by_test_id(f"stream-{name}") for name in ("ordered", "unordered")]
    shows(harness.page, lambda: sum(int(stream.get_attribute("data-rows") or 0) for stream in streams), events)
    panel.get_by_test_id("only-call").click()
    expect(panel.get_by_test_id("only-call")).to_have_count(0)


def test_a_plot_is_zoomed_by_dragging_and_saved_as_a_picture(harness: Harness):
    panel = harness.open(state="done", rate=500, seconds=4, tab="source")
    panel.locator("[data-of=loss]").click()
    plot = panel.locator("[data-series=loss]")
    [box] = boxes_at_rest(harness.page, plot.locator("canvas"))
    harness.page.mouse.move(box["x"] + 100, box["y"] + 50)
    harness.page.mouse.down()
    harness.page.mouse.move(box["x"] + 200, box["y"] + 60, steps=4)
    harness.page.mouse.up()
    expect(plot).to_have_attribute("data-zoomed", "true")
    expect(plot.locator("output")).to_contain_text(" · ")
    plot.locator("canvas").dblclick()
    expect(plot).to_have_attribute("data-zoomed", "false")
    with harness.page.expect_download() as download:
        plot.get_by_label("png: save loss as a picture").click()
    assert download.value.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_panel_keeps_what_had_arrived_when_the_kernel_dies(harness: Harness):
    panel = harness.open(state="running", rate=500, seconds=4)
    harness.page.evaluate("() => { kernel.stop(); kernel.listeners.get('comm:close')(); }")
    panel.get_by_text("The kernel is gone. What had arrived is still here").wait_for()
    expect(panel.get_by_test_id("state")).to_have_text("Kernel gone")
    panel.get_by_test_id("stream-ordered").locator(".row").nth(5).wait_for()
    expect(panel).to_have_attribute("data-connected", "false")


def test_many_requests_for_arrays_never_pile_up(harness: Harness):
    panel = harness.open(state="done", rate=500, seconds=4, tab="source")
    panel.locator("[data-of=x]").click()
    panel.get_by_test_id("slice").wait_for()
    slider = panel.get_by_test_id("step")
    before = harness.page.evaluate("kernel.requests.length")
    slider.evaluate(
        """input => { for (let i = 0; i < 200; i++) {
          input.value = i;
          input.dispatchEvent(new Event('input', { bubbles: true }));
        } }"""
    )
    number = harness.page.evaluate(
        "kernel.events.findIndex(({ site, occurrence }) => site === 2 && occurrence === 199)"
    )
    panel.locator(f"[data-testid=slice][data-event='{number}']").wait_for()
    asked = harness.page.evaluate("kernel.requests.filter(({ type }) => type === 'array').length") - before
    assert asked < 20
    panel.get_by_test_id("axis-tiles").select_option("0")
    heat_map = panel.locator("[data-testid=slice]:not(.stale) [data-testid=heat-map][width='257'][height='129']")
    heat_map.hover(position={"x": 3, "y": 3})
    assert panel.get_by_test_id("slice-line").inner_text().startswith("[0, ")


FOLLOWS = """() => {
  const host = [...document.querySelectorAll('[data-jaxdebug-run] > *')].find((host) => host.shadowRoot);
  const lists = [...host.shadowRoot.querySelectorAll('.viewport')];
  const isAtEnd = ({ scrollTop, scrollHeight, clientHeight }) => scrollTop + clientHeight > scrollHeight - 10;
  return lists.length === 2 && lists.every(isAtEnd) && !host.shadowRoot.querySelector('.jump');
}"""
CHANGES = {
    "the output is put elsewhere": """
        const output = document.querySelector('[data-jaxdebug-run]');
        document.body.append(document.createElement('div'));
        document.body.lastChild.append(output);""",
    "the page becomes narrow and wide": """
        for (let i = 0; i < 40; i++) {
          document.body.style.width = `${400 + 17 * (i % 30)}px`;
          await new Promise(requestAnimationFrame);
        }""",
    "the output is hidden and shown": """
        const output = document.querySelector('[data-jaxdebug-run]');
        output.style.display = 'none';
        for (let i = 0; i < 20; i++) await new Promise(requestAnimationFrame);
        output.style.display = '';""",
    "there is no room for a while": """
        const panel = [...document.querySelectorAll('[data-jaxdebug-run] > *')]
          .find((host) => host.shadowRoot).shadowRoot.querySelector('.panel');
        panel.style.cssText = 'min-height: 0; height: 0';
        for (let i = 0; i < 20; i++) await new Promise(requestAnimationFrame);
        panel.style.cssText = '';""",
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_newest_lines_stay_in_view_when(harness: Harness, change: str):
    panel = harness.open(state="running", rate=200, seconds=2)
    panel.locator(".row").first.wait_for()
    harness.page.wait_for_function(FOLLOWS)
    harness.page.evaluate(f"async () => {{ {CHANGES[change]} }}")
    before = int(panel.get_attribute("data-events") or 0)
    harness.page.wait_for_function(f"() => kernel.events.length > {before} + 60")
    harness.page.wait_for_function(FOLLOWS)


def test_a_list_keeps_its_scroll_position_when_the_output_is_moved(harness: Harness):
    panel = harness.open(state="running", rate=200, seconds=4)
    viewport = panel.get_by_label("Unordered prints")
    viewport.evaluate("(list) => { list.scrollTop = 2000; }")
    panel.get_by_test_id("stream-unordered").locator(".jump").wait_for()
    harness.page.evaluate(f"async () => {{ {CHANGES['the output is put elsewhere']} }}")
    harness.page.evaluate("async () => { for (let i = 0; i < 5; i++) await new Promise(requestAnimationFrame); }")
    assert viewport.evaluate("(list) => list.scrollTop") == 2000
