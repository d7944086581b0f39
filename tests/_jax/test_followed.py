"""Test the calls and lines that Python reports while JAX traces, by `sys.monitoring` and by `sys.settrace`."""

from __future__ import annotations

import dataclasses
import sys
import textwrap
import threading

import pytest

from jax_debug_widgets._jax.tracing import by_monitoring, by_settrace
from jax_debug_widgets._jax.tracing.followed import CallFollower

monitored = pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="Python 3.11 has no sys.monitoring")


PROGRAMS = {
    "loops": """
        x = 0
        for number in range(3):
            x += number
        while x < 9:
            x += 2
        for number in range(3): x += number
        while x < 20: x += 3
        return [x + one for one in range(3) if one], {one: x for one in range(2)}
    """,
    "generators": """
        def numbers():
            got = yield 1
            try:
                yield got
            except KeyError:
                yield 3
            finally:
                got = 4
            yield from (one for one in range(2))

        made = numbers()
        first = next(made)
        second = made.send(2)
        third = made.throw(KeyError)
        rest = list(made)
        return first, second, third, rest
    """,
    "failures": """
        def failing(depth):
            if not depth:
                raise ValueError
            try:
                return failing(
                    depth - 1,
                )
            finally:
                depth = 0

        try:
            x = failing(2)
        except ValueError as error:
            x = str(error)
        return x
    """,
    "calls": """
        class Point:
            x = 1
            y = x + 1

            @property
            def both(self):
                return self.x, self.y

        def recursive(n): return n and recursive(n - 1)

        key = lambda one: -one
        return Point().both, recursive(3), sorted([1, 3, 2], key=key), (lambda: (
            1,
            2,
        ))()
    """,
    "branches": """
        found = []
        for one in (1, "a", [2, 3], None):
            match one:
                case int():
                    what = "int"
                case [first, *_]:
                    what = first
                case _ if one:
                    what = "other"
                case _:
                    continue
            found.append(what)
        else:
            found.append("end")
        x = (
            1 if found else
            2
        )
        x += 1; x += 1
        return found, x
    """,
}
"""Bodies of functions, in forms that a formatter of this file would change."""


def made(name):
    """Return the function with a body of `PROGRAMS`."""
    text, names = f"def {name}():\n{textwrap.indent(textwrap.dedent(PROGRAMS[name]), '    ')}", {}
    exec(compile(text, FILE, "exec"), names)  # noqa: S102 - the text is above.
    return names[name]


FILE = "/programs.py"


def followed(begin, program):
    """Return the notes about a program: function, executed line, next line and returned value."""
    noted = []

    def lines_of(code):
        lines = {line for _, _, line in code.co_lines() if line}
        return {line: (line,) for line in lines} if code.co_filename == FILE else None

    def note(frame, lines, line, returned):
        noted.append((frame.f_code.co_qualname, *lines, line, repr(returned)[:40]))

    def arguments(frame):
        noted.append((frame.f_code.co_qualname, "is called"))

    def tracing():
        begin(sys._getframe(), CallFollower(lines_of, note, arguments))
        return program()

    tracing()
    program()  # Nothing is noted any more.
    return [one for one in noted if "at 0x" not in one[-1]]


@monitored
@pytest.mark.parametrize("name", PROGRAMS)
def test_settrace_and_monitoring_report_the_same_lines_and_calls(name):
    program = made(name)
    told = followed(by_settrace.begin, program)
    assert followed(by_monitoring.begin, program) == told
    assert len(told) > 10
    assert not by_monitoring.is_on() and not any(map(sys.monitoring.get_tool, (3, 4)))


@monitored
def test_monitoring_ignores_other_threads_and_leaves_other_tools_alone():
    loops, branches = made("loops"), made("branches")
    theirs, tool, event = [], sys.monitoring.COVERAGE_ID, sys.monitoring.events.LINE
    sys.monitoring.use_tool_id(tool, "coverage")
    sys.monitoring.register_callback(tool, event, lambda _code, line: theirs.append(line))
    sys.monitoring.set_local_events(tool, loops.__code__, event)

    def in_two_threads():
        other = threading.Thread(target=branches)
        other.start()
        other.join()
        loops()

    try:
        loops()
        alone = len(theirs)
        noted = followed(by_monitoring.begin, in_two_threads)
    finally:
        sys.monitoring.set_local_events(tool, loops.__code__, 0)
        sys.monitoring.register_callback(tool, event, None)
        sys.monitoring.free_tool_id(tool)
    assert len(theirs) == 3 * alone
    names = {name for name, *_ in noted}
    assert "loops" in names and "branches" not in names


@monitored
def test_two_threads_followed_at_once_get_the_same_notes():
    loops, both, noted = made("loops"), threading.Barrier(2), {}

    def program():
        both.wait(10)
        loops()
        both.wait(10)

    def follow(number):
        noted[number] = [one for one in followed(by_monitoring.begin, program) if one[0] == "loops"]

    threads = [threading.Thread(target=follow, args=(number,)) for number in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert noted[0] == noted[1]
    assert len(noted[0]) > 10


@monitored
def test_calls_are_not_followed_while_a_trace_function_runs():
    """For example, a prompt of `pdb` traces the program: then nothing is followed, and nothing is left behind."""
    told, calls = [], made("calls")

    def trace(frame, event, _given):
        if event == "call" and frame.f_code is calls.__code__:
            told.append(by_monitoring.begin(frame, CallFollower(lambda _: {}, print, print)))

    sys.settrace(trace)
    try:
        calls()
    finally:
        sys.settrace(None)
    assert told == [False]
    assert not any(map(sys.monitoring.get_tool, (3, 4)))


@monitored
@pytest.mark.usefixtures("no_tool_ids")
def test_there_is_no_monitoring_if_all_tool_ids_are_taken():
    assert not by_monitoring.can_be()
    assert not by_monitoring.begin(sys._getframe(), CallFollower(lambda _: {}, print, print))


@monitored
def test_python_reports_once_a_function_that_it_has_generated(monkeypatch):
    """JAX's own dataclasses run generated functions for each equation."""

    @dataclasses.dataclass(frozen=True)
    class Pair:
        one: int
        other: int

    told = []
    is_generated = by_monitoring.is_generated
    monkeypatch.setattr(by_monitoring, "is_generated", lambda frame: told.append(frame.f_code) or is_generated(frame))
    for _ in range(2):
        followed(by_monitoring.begin, lambda: [Pair(number, 1) for number in range(5)])
        assert told.count(Pair.__init__.__code__) == 1
        told.clear()
