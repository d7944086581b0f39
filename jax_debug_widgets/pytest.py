"""Run tests under the checks: `python -m pytest -p jax_debug_widgets.pytest --jax-check=oob,nonfinite,keys`.

Each test runs in a capture of its own. Findings are shown for each test and fail no test. Prints go to stdout as usual.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from jax_debug_widgets.checks import Kind, checks_of, options

if TYPE_CHECKING:
    from jax_debug_widgets.session import Run

_SECTION = "jax-check"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--jax-check`."""
    group = parser.getgroup("jax")
    names = f"run each test under these checks, see jax_debug_widgets: all, or names of {', '.join(options())}"
    group.addoption("--jax-check", metavar="NAMES", default="", help=names)


def pytest_configure(config: pytest.Config) -> None:
    """Check the names given by `--jax-check`.

    Raises:
      UsageError: a name is not known; the message lists the known ones.
    """
    try:
        checks_of(config.getoption("--jax-check"))
    except ValueError as error:
        raise pytest.UsageError(f"--jax-check: {error}") from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run a test in a capture, and add its findings to its report."""
    asked = item.config.getoption("--jax-check")
    if not asked:
        return (yield)
    from jax_debug_widgets import capture

    run: Run | None = None
    try:
        with capture(title=item.name, check=asked, echo=True) as run:
            return (yield)
    finally:
        if run is not None and (summary := _summary(run, asked)):
            item.add_report_section("call", _SECTION, summary)


def _summary(run: Run, asked: str) -> str:
    """Return the findings of the checks that were asked for, as text."""
    names = {name.strip() for name in asked.split(",")}
    words = {kind.word for kind in Kind if kind.option and (kind.option in names or "all" in names)}
    findings = run.findings
    own = type(findings)(one for one in findings if one.kind in words)
    return repr(own) if own else ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the findings of each test; pytest itself shows report sections of failed tests only."""
    found = [
        (report.nodeid, text)
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, text in report.sections
        if name.startswith(f"Captured {_SECTION}")
    ]
    if found:
        terminalreporter.section(f"{_SECTION}: findings in {len(found)} test{'s' * (len(found) != 1)}")
        for nodeid, text in found:
            terminalreporter.line(f"{nodeid}\n")
            terminalreporter.line(f"{text}\n")
