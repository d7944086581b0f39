"""One server and one browser for all end-to-end tests, a fresh page for each."""

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
    """Add what the browser showed to the report of a failing test."""
    report = yield
    lab_page = getattr(item, "funcargs", {}).get("lab_page")
    if report.failed and report.when != "teardown" and lab_page is not None:
        report.sections.append(("what the browser showed", lab_page.evidence()))
    return report


# Scope "package", not "session": Playwright keeps an event loop on the main thread for as long as it is there, and the
# tests of other folders may want to start their own.
@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterLab]:
    """Serve a temporary folder with JupyterLab."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")  # Each has a server and a browser of its own.
    folder, log = tmp_path_factory.mktemp("lab"), ARTIFACTS / f"jupyterlab-{worker}.log"
    with JupyterLab(folder, log, server=front_ends.server()) as running:
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium; without one the tests fail."""
    with Browser() as running:
        yield running


@pytest.fixture
def lab_page(browser: Browser, lab: JupyterLab, request: pytest.FixtureRequest) -> Iterator[LabPage]:
    """Give the test a page of its own, and end the kernels that it started."""
    page = browser.new_page(lab, request.node.name)
    yield page
    page.close()
    lab.shut_down_kernels()


@pytest.fixture
def hold(tmp_path: Path) -> Hold:
    """A place where the test's cells wait for it."""
    return Hold(tmp_path / "go-on")
