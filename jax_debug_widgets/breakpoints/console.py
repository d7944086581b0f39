"""Run the console of a stop: JAX's commands, and Python over the variables of a frame.

Python runs in a separate thread, because an expression that never ends must not keep the program from going on.
"""

from __future__ import annotations

import ast
import contextlib
import io
import pprint
import queue
import re
import rlcompleter
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_debug_widgets._jax.compat.arrays import computing_apart
from jax_debug_widgets._jax.origins.frames import is_ours
from jax_debug_widgets.breakpoints.console_texts import AT_BREAKPOINT, AT_STEP, RESUMING, STEPPING
from jax_debug_widgets.breakpoints.namespace import (
    assigned,
    own_names,
    require_values,
    summarised_in,
    to_compute_with,
    values_seen_from,
)
from jax_debug_widgets.breakpoints.stop import NO_LANES, Stop
from jax_debug_widgets.breakpoints.summarised import KEEP, NumbersNotKeptError
from jax_debug_widgets.events.function_names import short_function

_COMMAND = re.compile(r"\s*([a-z]+|\?)(?:\s+(.*))?$", re.DOTALL)
_PYTHON = re.compile(r"\s*(=|[-+*/%@&|^<>.,\[(]|if\b|in\b|is\b|and\b|or\b)")
"""The pattern of the text after a variable that has the name of a command: `c + 1`, not `c`."""

_CONSOLE = "<console>"
_SETTING = "write {name} = jdw.breakpoint({name}) there to be able to set it"
_TOKEN = re.compile(r"[^\W\d][\w.]*$")

Reply = Callable[[str, bool], None]
"""Called with the output of a command, and whether the command failed."""


class Console:
    """Runs the commands of one stop, one after the other."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._namespaces: dict[tuple[int, tuple[int, ...]], dict[str, Any]] = {}
        self._work: queue.SimpleQueue[tuple[str, Reply] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def run(self, text: str, reply: Reply) -> None:
        """Run a command. Commands that move or resume are done at the return; Python runs later, in the console's thread."""
        command = _COMMAND.match(text)
        if command is None or (command[2] and _PYTHON.match(command[2])):
            self._later(text, reply)
            return
        word, rest = command[1], (command[2] or "").strip()
        resuming = STEPPING if self._stop.scene.kind == "step" else RESUMING
        if word in resuming and not rest:
            self._stop.resume(resuming[word])
            reply("", False)
        elif word in _MOVING and (word == "lane" or not rest):
            try:
                reply(_MOVING[word](self._stop, rest), False)
            except (IndexError, ValueError) as error:
                reply(str(error), True)
        elif word in ("p", "pp", "set") and rest:
            self._later(text, reply)
        else:
            self._later(text, reply)

    def close(self) -> None:
        """End the thread after its present command, because the stop is over."""
        self._work.put(None)

    def namespace(self) -> dict[str, Any]:
        """Return the namespace of Python in the chosen frame and lane. Assignments stay until the stop is over."""
        stop = self._stop
        key = (stop.frame, stop.lane)
        if key not in self._namespaces:
            given = {"jax": jax, "jnp": jnp, "np": np}
            frame = stop.frames()[stop.frame]
            seen = values_seen_from(frame)
            if stop.replaceable is not None and stop.frame == 0 and stop.replaceable.name.isidentifier():
                seen.setdefault(stop.replaceable.name, stop.replaceable.value(stop.lane))
            self._namespaces[key] = {**given, **{name: to_compute_with(value) for name, value in seen.items()}}
        return self._namespaces[key]

    def complete(self, text: str, cursor: int) -> tuple[int, list[str]]:
        """Complete the name before `cursor`: return where it starts, and its completions."""
        token = _TOKEN.search(text[:cursor])
        if token is None:
            return cursor, []
        completer = rlcompleter.Completer(self.namespace())
        matches: dict[str, None] = {}
        for state in range(500):
            match = completer.complete(token[0], state)
            if match is None:
                break
            matches[match.rstrip(" (:)")] = None
        return token.start(), list(matches)

    def replace(self, expression: str) -> str:
        """Let the program go on with the value of an expression. Return a sentence about it.

        Raises:
          ValueError: the breakpoint returns no value, or the new value has another structure, shape or dtype.
          Exception: the error that the expression raises.
        """
        replaceable = self._stop.replaceable
        if replaceable is None:
            msg = f"this breakpoint returns no value that could be set: {_SETTING.format(name='x')}"
            raise ValueError(msg)
        value = self._value(expression)
        replaceable.set(self._stop.lane, value)
        if replaceable.name.isidentifier():
            self.namespace()[replaceable.name] = to_compute_with(replaceable.value(self._stop.lane))
        return f"{replaceable.name} goes on as {replaceable.value(self._stop.lane)!r}"

    def _later(self, text: str, reply: Reply) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="jaxdebug-console", daemon=True)
            self._thread.start()
        self._work.put((text, reply))

    def _loop(self) -> None:
        while (work := self._work.get()) is not None:
            text, reply = work
            with _own_output() as output, computing_apart():
                failed = self._failed(text)
            reply(output.getvalue().rstrip("\n"), failed)

    def _failed(self, text: str) -> bool:
        try:
            self._execute(text)
        except BaseException as error:  # noqa: BLE001 - the console prints every error.
            print("".join(_shown(error)), end="")  # noqa: T201
            return True
        return False

    def _execute(self, text: str) -> None:
        command = _COMMAND.match(text)
        word, rest = (command[1], (command[2] or "").strip()) if command else ("", "")
        if word == "set" and rest and not _PYTHON.match(rest):
            print(self.replace(rest))  # noqa: T201
        elif word in ("p", "pp") and rest and not _PYTHON.match(rest):
            value = self._value(rest)
            print(pprint.pformat(value) if word == "pp" else repr(value))  # noqa: T201
        else:
            self._python(text)

    def _value(self, expression: str) -> Any:
        return self._run(ast.parse(expression.strip(), _CONSOLE, "eval"))

    def _run(self, tree: ast.Expression | ast.Module) -> Any:
        """Run code in the namespace. Return the value of an expression, None for statements."""
        namespace = self.namespace()
        require_values(tree, self._stop.frames()[self._stop.frame], namespace)
        mode = "eval" if isinstance(tree, ast.Expression) else "exec"
        try:
            return eval(compile(tree, _CONSOLE, mode), namespace)  # noqa: S307 - the console of the user's own kernel.
        except Exception as error:
            # JAX's own error for a value that is not an array would not mention that only statistics were recorded.
            if isinstance(error, NumbersNotKeptError) or not (names := summarised_in(tree, namespace)):
                raise
            raise NumbersNotKeptError(f"only statistics of {' and '.join(names)} were recorded: {KEEP}") from None

    def _python(self, text: str) -> None:
        namespace = self.namespace()
        replaceable = self._stop.replaceable
        name = replaceable.name if replaceable is not None and self._stop.frame == 0 else ""
        before = namespace.get(name)
        tree = ast.parse(text.strip(), _CONSOLE)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        self._run(tree)
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = self._run(ast.Expression(last.value))
            if value is not None:
                print(repr(value))  # noqa: T201
        if name and namespace.get(name) is not before:
            try:
                print(self.replace(name))  # noqa: T201
            except ValueError:
                namespace[name] = before
                raise
        for other in sorted(self._changed_here_alone(tree) - {name}):
            print(f"{other} has changed in this console only, not in the program: {_SETTING.format(name=other)}")  # noqa: T201

    def _changed_here_alone(self, tree: ast.AST) -> set[str]:
        """Return the variables of the frame that code assigns. The program does not see these assignments."""
        frame = self._stop.frames()[self._stop.frame]
        return assigned(tree) & (own_names(frame) | frame.variables.keys())


def _shown(error: BaseException) -> list[str]:
    """Return the lines of a traceback without the frames of this package."""
    if isinstance(error, NumbersNotKeptError):
        return [str(error)]
    if isinstance(error, SyntaxError) and error.filename == _CONSOLE:
        return traceback.format_exception_only(error)
    shown = traceback.TracebackException.from_exception(error)
    own = [frame for frame in shown.stack if not is_ours(frame.filename)] if isinstance(error, Exception) else []
    shown.stack = traceback.StackSummary.from_list(own)
    return list(shown.format())


def _context(stop: Stop, around: int = 2) -> str:
    frame = stop.frames()[stop.frame]
    lines = [f"> {frame.file}({frame.line})"]
    for number, text in enumerate(frame.source, frame.first_line):
        if abs(number - frame.line) <= around:
            lines.append(f"{'->' if number == frame.line else '  '}  {text}")
    return "\n".join(lines)


def _backtrace(stop: Stop, _rest: str) -> str:
    lines = ["Traceback:"]
    for frame in reversed(stop.frames()):
        at = frame.line - frame.first_line
        lines.append(f'  File "{frame.file}", line {frame.line}, in {short_function(frame.function)}')
        lines.append(f"    {frame.source[at].strip() if 0 <= at < len(frame.source) else '<no source>'}")
    return "\n".join(lines)


def _up(stop: Stop, _rest: str) -> str:
    if stop.frame == len(stop.frames()) - 1:
        return "At topmost frame."
    stop.choose_frame(stop.frame + 1)
    return _context(stop)


def _down(stop: Stop, _rest: str) -> str:
    if stop.frame == 0:
        return "At bottommost frame."
    stop.choose_frame(stop.frame - 1)
    return _context(stop)


def _lane(stop: Stop, rest: str) -> str:
    if not rest:
        return f"lane {list(stop.lane)} of the vmap axes {list(stop.scene.sizes)}" if stop.lane else f"{NO_LANES}."
    if not all(map(str.isdecimal, words := rest.replace(",", " ").split())):
        raise ValueError(f"a lane is a number for each vmap axis, as in `lane 0`, not {rest!r}")
    stop.choose_lane([int(word) for word in words])
    return f"lane {list(stop.lane)}"


_MOVING: dict[str, Callable[[Stop, str], str]] = {
    **dict.fromkeys(("h", "help", "?"), lambda stop, _: AT_STEP if stop.scene.kind == "step" else AT_BREAKPOINT),
    **dict.fromkeys(("l", "list"), lambda stop, _: _context(stop, 5)),
    **dict.fromkeys(("w", "bt", "where"), _backtrace),
    **dict.fromkeys(("u", "up"), _up),
    **dict.fromkeys(("d", "down"), _down),
    "lane": _lane,
}


class _Split(io.TextIOBase):
    """A stream that sends the writes of one thread elsewhere, because other threads go on printing meanwhile."""

    def __init__(self, usual: Any, thread: int, output: io.StringIO) -> None:
        self._usual, self._thread, self._output = usual, thread, output

    def write(self, text: str) -> int:
        own = threading.get_ident() == self._thread
        return (self._output if own else self._usual).write(text)

    def flush(self) -> None:
        self._usual.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usual, name)


@contextlib.contextmanager
def _own_output() -> Iterator[io.StringIO]:
    """Capture the prints of this thread."""
    output, usual = io.StringIO(), sys.stdout
    split = _Split(usual, threading.get_ident(), output)
    sys.stdout = split  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield output
    finally:
        if sys.stdout is split:
            sys.stdout = usual
