"""Write the outcome of each test as a line of JSON at once, and give each test a time limit, as a plugin of pytest.

If the run is ended, the lines up to then are there. `JDW_GPU_LINES` names the file.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

LIMIT_S = 60
"""The time limit of a test in seconds; a longer test fails."""


def tell(**what: Any) -> None:
    """Add a line to the file."""
    with open(os.environ["JDW_GPU_LINES"], "a", encoding="utf-8") as lines:
        lines.write(json.dumps(what) + "\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """End a test that takes too long.

    `faulthandler_exit_on_timeout` ends tests that hang outside of Python.
    """
    if callable(signal.getsignal(signal.SIGALRM)):  # The test is about signals: its fixture has a handler of its own.
        return (yield)

    def over(*_: object) -> None:
        pytest.fail(f"{item.nodeid} takes more than {LIMIT_S} s", pytrace=True)

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Telling:
    """Writes the outcomes in the process that receives all reports: pytest's only one, or the controller of workers."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the outcome of a test that has run, was skipped, or failed in setup or teardown."""
        if report.when != "call" and not (report.failed or report.skipped):
            return
        why = ""
        if report.skipped:
            why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(getattr(report, "wasxfail", ""))
        elif report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = getattr(crash, "message", "") or str(report.longrepr)
        text = report.longreprtext[-4000:] if report.failed else ""
        tell(test=report.nodeid, outcome=report.outcome, when=report.when, seconds=report.duration, why=why, text=text)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write the error of a file that could not be imported."""
        if report.failed:
            tell(
                test=report.nodeid,
                outcome="failed",
                when="collect",
                seconds=0.0,
                why=report.longreprtext[-300:],
                text="",
            )

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write the number of tests."""
        if session.items:
            tell(collected=len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Write the number of tests of the first worker."""
        if node.gateway.id == "gw0":
            tell(collected=len(ids))


class LeftOut:
    """Writes how many tests run only on a CPU, by reason."""

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count the tests with the marker; `--cases` leaves out the others."""
        marks = (item.get_closest_marker("cpu") for item in items)
        tell(left_out=Counter(str(mark.args[0]) for mark in marks if mark is not None))


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugins so that each test is reported once, whichever process runs it."""
    worker = getattr(config, "workerinput", {}).get("workerid", "")
    if not worker:
        config.pluginmanager.register(Telling())
    if worker in ("", "gw0"):
        config.pluginmanager.register(LeftOut())
