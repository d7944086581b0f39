"""Make a report of the results on a GPU from lines of JSON: as one object, and as text."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def lines_in(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a file; none if there is no file. An incomplete last line is left out."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def report_of(
    environment: Mapping[str, Any], lines: list[dict[str, Any]], costs: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the whole report as one object."""
    ran = [line for line in lines if "test" in line]
    failures = [line for line in ran if line["outcome"] == "failed"]
    left_out = Counter[str]()
    for line in lines:
        left_out.update(line.get("left_out", {}))
    tests = {
        "collected": max((line["collected"] for line in lines if "collected" in line), default=0),
        **Counter(line["outcome"] for line in ran),
        "skipped because": Counter(line["why"] for line in ran if line["outcome"] == "skipped"),
        "left out because": left_out,
    }
    tests["not run"] = max(0, tests["collected"] - len({line["test"] for line in ran}))
    return {**environment, "tests": tests, "failures": failures, "costs": costs}


def text_of(report: Mapping[str, Any]) -> str:
    """Return the report for people: failures by test function, with one reason each, and the costs as tables."""
    return "\n".join(_lines_of(report)) + "\n"


def _lines_of(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"# Tests with {report.get('device', 'no device')} as default device"
    yield ", ".join(f"{name} {version}" for name, version in report.get("versions", {}).items())
    tests = report["tests"]
    counts = ("passed", "failed", "skipped", "not run", "collected")
    yield ", ".join(f"{tests.get(name, 0)} {name}" for name in counts)
    yield from (f"- {note}" for note in report.get("notes", ()))
    for title in ("left out because", "skipped because"):
        yield from (f"- {count} {title}: {why}" for why, count in tests[title].items())
    yield "\n## Failures"
    by_test: dict[str, list[str]] = defaultdict(list)
    for failure in report["failures"]:
        first = (failure["why"].splitlines() or [""])[0]
        by_test[failure["test"].split("[")[0]].append(first[:200])
    for test, reasons in sorted(by_test.items(), key=lambda one: -len(one[1])):
        yield f"- {len(reasons)} × `{test}`: {reasons[0]}"
    yield "\n## What watching costs"
    yield "| program | | ms a step | × plain | first call, s more | µs an event |\n|---|---|---|---|---|---|"
    for row in report["costs"]:
        event = f"{row['us']:.1f}" if "us" in row else ""
        figures = f"{row['ms']:.3g} | {row['ratio']:.3f} | {row['first']:.1f} | {event}"
        yield f"| {row['program']} | {row['kind']} | {figures} |"
    noted = {note: None for row in report["costs"] for note in row.get("notes", ())}
    yield from (f"- noted: {note}" for note in noted)
