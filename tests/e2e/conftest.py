"""Run one server and one browser for all end-to-end tests; each test gets a page as if it had just been loaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e import front_ends
from tests.e2e.browser import ARTIFACTS, Browser, LabPage
from tests.e2e.hold import Hold
from tests.e2e.lab import JupyterLab

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder: `-m "not e2e"` runs everything that needs no browser."""
    folder = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(folder):
            item.add_marker("e2e")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the browser's evidence to the report of a failing test."""
    report = yield
    lab_page = getattr(item, "funcargs", {}).get("lab_page")
    if report.failed and report.when != "teardown" and lab_page is not None:
        lab_page.is_as_loaded = False
        report.sections.append(("what the browser showed", lab_page.evidence()))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show why tests were run again (`--reruns`): a test that passes the second time has a fault, too."""
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.section(f"RERUN {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)
        for title, text in report.sections:
            terminalreporter.section(title, "-")
            terminalreporter.write_line(text)


# Scope "package", not "session": Playwright keeps an event loop on the main thread for as long as it exists, and the
# tests of other folders may want to start their own.
@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterLab]:
    """Serve a temporary folder with JupyterLab."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")  # Each test worker has a server and a browser of its own.
    folder, log = tmp_path_factory.mktemp("lab"), ARTIFACTS / f"jupyterlab-{worker}.log"
    with JupyterLab(folder, log, server=front_ends.server()) as running:
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Start Chromium; without it the tests fail."""
    with Browser() as running:
        yield running


@pytest.fixture(scope="package")
def kept_pages(browser: Browser) -> Iterator[list[LabPage]]:  # noqa: ARG001 - the browser is closed after its pages
    """Return the page that the next test takes over, if any: loading JupyterLab takes longer than most tests."""
    pages: list[LabPage] = []
    yield pages
    for page in pages:
        page.close()


@pytest.fixture
def lab_page(
    browser: Browser, lab: JupyterLab, kept_pages: list[LabPage], request: pytest.FixtureRequest
) -> Iterator[LabPage]:
    """Return a page in which nothing is open, and end the kernels that the test has started.

    A test marked `@pytest.mark.own_page` gets a page that no other test uses, to test what a page loads, keeps or
    costs.
    """
    is_own = request.node.get_closest_marker("own_page") is not None
    page = kept_pages.pop() if kept_pages and not is_own else browser.new_page(lab, request.node.name)
    page.name = request.node.name
    yield page
    is_kept = not is_own and page.clear()
    if not is_kept:
        page.close()
    lab.shut_down_kernels()
    if is_kept:
        page.forget()
        kept_pages.append(page)


@pytest.fixture
def hold(tmp_path: Path) -> Hold:
    """Return a place where the test's cells wait for the test."""
    return Hold(tmp_path / "go-on")
