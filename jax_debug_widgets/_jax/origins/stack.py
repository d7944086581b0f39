"""Capture the Python frames around a breakpoint while tracing, and fill them with values when the program stops."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import jax

from jax_debug_widgets._jax.compat.private import core, traceback_util
from jax_debug_widgets._jax.compat.private import debugger as jax_debugger
from jax_debug_widgets._jax.compat.trees import is_endless
from jax_debug_widgets._jax.origins.frames import is_ours

_DEFINITION = re.compile(r"\s*(?:async\s+)?def\s+(\w+)")


@dataclass(frozen=True, eq=False)
class StackFrame:
    """One Python frame.

    Attributes:
      file: the file's name, as the interpreter has it; `line`: the current line, from 1.
      source: the text of the enclosing function, or as much of the file as is known; it starts at `first_line`.
      variables: the local variables: tracers in a traced program, and arrays after it has stopped.
      globals: the globals of the module; empty if they are unknown.
      unset: why a variable of its function may have no value here, and what to do.
      elsewhere: further values by name, for a frame that is made from firings.
    """

    file: str
    line: int
    function: str
    first_line: int
    source: tuple[str, ...]
    variables: Mapping[str, Any]
    globals: dict[str, Any]
    unset: str = "nothing has been assigned to it yet"
    elsewhere: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Stack:
    """Frames with variables that may be traced: the tracers become operands of the program, the rest is kept here.

    Attributes:
      frames: the frames, innermost first.
      operands: the tracers among their variables, once each.
      names: the name of each operand: `h`, `params['w']`.
    """

    def __init__(self, frames: Sequence[StackFrame]) -> None:
        self.frames = frames
        self.operands: list[Any] = []
        self.names: list[str] = []
        found: dict[int, int] = {}
        self._leaves: list[dict[str, tuple[Any, list[Any], list[int]]]] = []
        for frame in frames:
            self._leaves.append({name: self._opened(name, value, found) for name, value in frame.variables.items()})

    def _opened(self, name: str, value: Any, found: dict[int, int]) -> tuple[Any, list[Any], list[int]]:
        """Return a variable as a tree with its leaves, and the operand number of each leaf (-1 for none)."""
        try:
            if is_endless(value):
                return None, [value], [-1]
            paths, tree = jax.tree_util.tree_flatten_with_path(value)
        except Exception:  # noqa: BLE001 - a pytree of the user may raise anything; then it is kept as it is.
            return None, [value], [-1]
        leaves, numbers = [leaf for _, leaf in paths], []
        for path, leaf in paths:
            if not isinstance(leaf, core.Tracer):
                numbers.append(-1)
                continue
            if id(leaf) not in found:
                found[id(leaf)] = len(self.operands)
                self.operands.append(leaf)
                self.names.append(name + jax.tree_util.keystr(path))
            numbers.append(found[id(leaf)])
        # A tracer must not outlive its trace: only its number is kept.
        return tree, [leaf if number < 0 else None for leaf, number in zip(leaves, numbers, strict=True)], numbers

    def release(self) -> None:
        """Forget the tracers, after the operands have been bound."""
        self.operands = []
        self.frames = [replace(frame, variables={}) for frame in self.frames]

    def filled(self, values: Sequence[Any]) -> list[StackFrame]:
        """Return the frames with `values` in place of the operands."""
        return [
            replace(frame, variables={name: _closed(*opened, values) for name, opened in leaves.items()})
            for frame, leaves in zip(self.frames, self._leaves, strict=True)
        ]


def _closed(tree: Any, leaves: Sequence[Any], numbers: Sequence[int], values: Sequence[Any]) -> Any:
    filled = [leaf if number < 0 else values[number] for leaf, number in zip(leaves, numbers, strict=True)]
    return filled[0] if tree is None else jax.tree_util.tree_unflatten(tree, filled)


def calling_stack(count: int) -> Stack:
    """Return the innermost `count` user frames that called us."""
    frames: list[StackFrame] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(frames) < count:
        if traceback_util.include_frame(frame) and not is_ours(frame.f_code.co_filename):
            frames.append(_of_python(frame))
        frame = frame.f_back
    return Stack(frames)


def _of_python(frame: FrameType) -> StackFrame:
    code = frame.f_code
    is_module = code.co_name == "<module>"
    lines = linecache.getlines(code.co_filename)
    last = len(lines) if is_module else max((line for *_, line in code.co_lines() if line), default=frame.f_lineno)
    first = 1 if is_module else max(code.co_firstlineno, 1)
    return StackFrame(
        file=code.co_filename,
        line=frame.f_lineno,
        function=code.co_qualname,
        first_line=first,
        source=tuple(line.rstrip("\n") for line in lines[first - 1 : last]),
        # The variables of a module are its globals, which hold everything defined there: they do not belong to the frame.
        variables={} if is_module else dict(frame.f_locals),
        globals=frame.f_globals,
    )


def of_jax(frame: Any) -> StackFrame:
    """Convert a frame of JAX's own debugger."""
    source = tuple(frame.source)
    first = frame.lineno - (frame.offset or 0)
    defined = _DEFINITION.match(next((line for line in source if line.lstrip().startswith(("def ", "async "))), ""))
    is_module = _is_namespace(frame.locals)
    function = "<module>" if is_module else "<lambda>" if defined is None else defined[1]
    return StackFrame(
        file=frame.filename,
        line=frame.lineno,
        function=function,
        first_line=first,
        source=source,
        variables={} if is_module else dict(frame.locals),
        globals=dict(frame.globals) or _globals_of(frame),
    )


_MACHINERY = re.compile(
    r"[\\/](?:site-packages|dist-packages)[\\/](?:jax|jaxlib|IPython|ipykernel|traitlets|tornado|zmq|_pytest|pluggy)[\\/]"
    r"|[\\/]ipykernel(?:_launcher\.py|[\\/]\w+\.py)$|^<frozen "
    r"|[\\/]lib[\\/]python[\d.]+[\\/](?:asyncio[\\/]|runpy\.py|threading\.py|contextlib\.py)"
)
"""Matches files of code that calls the user's program; their frames are not the user's."""


def is_machinery(file: str) -> bool:
    """Return whether a file belongs to code that calls the user's program."""
    return is_ours(file) or bool(_MACHINERY.search(file))


def _is_namespace(variables: Mapping[str, Any]) -> bool:
    return "__name__" in variables and "__builtins__" in variables


def _globals_of(frame: Any) -> dict[str, Any]:
    """Return the globals of the module of `frame`, which JAX does not keep."""
    if _is_namespace(frame.locals):
        return dict(frame.locals)
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == frame.filename:
            return vars(module)
    return vars(sys.modules["__main__"])


def jax_prompt(frames: Sequence[StackFrame]) -> None:
    """Open JAX's own debugger on these frames, as `jax.debug.breakpoint()` does."""
    import threading

    thread = threading.current_thread()
    number = None if thread is threading.main_thread() else threading.get_ident()
    theirs = [
        jax_debugger.DebuggerFrame(
            frame.file, dict(frame.variables), {}, "", list(frame.source), frame.line, frame.line - frame.first_line
        )
        for frame in frames
    ]
    with jax_debugger.debug_lock:
        jax_debugger.get_debugger()(theirs, number)


def frames_of_breakpoint(callback: Callable[..., Any]) -> Callable[[Sequence[Any]], list[StackFrame]] | None:
    """Return a function that turns the operands of the callback of `jax.debug.breakpoint` into frames.

    Return None if the user chose a debugger (`backend=...`, or one registered above JAX's prompt): that debugger opens
    then.
    """
    closure = _closure_of(callback)
    if "frames_tree" not in closure or closure.get("backend") is not None or not _has_own_prompt():
        return None
    tree = closure["frames_tree"]

    def frames(values: Sequence[Any]) -> list[StackFrame]:
        theirs = jax.tree_util.tree_unflatten(tree, values)
        return [of_jax(frame) for frame in theirs if not is_machinery(frame.filename)]

    return frames


def names_in_breakpoint(callback: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names, in the frames, of the values that JAX passes to the callback of a breakpoint."""
    tree = _closure_of(callback).get("frames_tree")
    if tree is None:
        return ()
    names: list[str] = []
    for frame in jax.tree_util.tree_unflatten(tree, [_Place(number) for number in range(tree.num_leaves)]):
        for name, value in frame.locals.items():
            for path, leaf in jax.tree_util.tree_leaves_with_path(value, is_leaf=lambda one: isinstance(one, _Place)):
                if isinstance(leaf, _Place):
                    names.append(name + jax.tree_util.keystr(path))
    return tuple(names)


@dataclass(frozen=True)
class _Place:
    number: int


def _has_own_prompt() -> bool:
    highest = max(jax_debugger._debugger_registry.items(), key=lambda item: item[1][0], default=("", ()))
    return highest[0] == "cli"


def _closure_of(callback: Any) -> dict[str, Any]:
    code, cells = getattr(callback, "__code__", None), getattr(callback, "__closure__", None)
    if code is None or cells is None:
        return {}
    closure = dict(zip(code.co_freevars, (cell.cell_contents for cell in cells), strict=True))
    # With a token, JAX wraps the callback that has the frames.
    return _closure_of(closure["_breakpoint_callback"]) if "_breakpoint_callback" in closure else closure
