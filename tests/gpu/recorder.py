"""A plugin of pytest: what became of each test as a line of JSON, at once, and a time limit for each.

A run that is ended, or that ends with its process, has told all until then. `JDW_GPU_LINES` names the file.
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
"""A test that has not ended by then fails."""


def tell(**what: Any) -> None:
    """Add a line to the file."""
    with open(os.environ["JDW_GPU_LINES"], "a", encoding="utf-8") as lines:
        lines.write(json.dumps(what) + "\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """End a test that takes too long. What hangs outside of Python is ended by `faulthandler_exit_on_timeout`."""
    if callable(signal.getsignal(signal.SIGALRM)):  # A fixture of the test has a handler that it is about.
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
    """What the process that has all reports tells: pytest's only one, or the controller of its workers."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell of a test that has run, was skipped, or failed while it was set up or taken down."""
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
        """Tell of a file that could not be imported."""
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
        """Tell how many tests there are."""
        if session.items:
            tell(collected=len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """The same of the first worker."""
        if node.gateway.id == "gw0":
            tell(collected=len(ids))


class LeftOut:
    """Tells how many tests are of the CPU alone, by their reasons."""

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count those with the marker; the others are cases that `--cases` leaves out."""
        marks = (item.get_closest_marker("cpu") for item in items)
        tell(left_out=Counter(str(mark.args[0]) for mark in marks if mark is not None))


def pytest_configure(config: pytest.Config) -> None:
    """Tell of all tests once, whoever runs them."""
    worker = getattr(config, "workerinput", {}).get("workerid", "")
    if not worker:
        config.pluginmanager.register(Telling())
    if worker in ("", "gw0"):
        config.pluginmanager.register(LeftOut())
