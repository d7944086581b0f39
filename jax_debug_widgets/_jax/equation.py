"""A debugging equation of a JAX program, as it is found at lowering or when it runs un-jitted."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import jax
import numpy as np
from jax._src import array, debugging, source_info_util

from jax_debug_widgets._jax import versions
from jax_debug_widgets._jax.arrays import cpu

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jax_debug_widgets.events import Kind


@dataclass(frozen=True)
class Frame:
    """The user's frame that made the equation; columns from 0, -1 where unknown."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str


_OUR_FILES = os.path.dirname(os.path.dirname(__file__)) + os.sep
"""Frames of these are no more the user's than JAX's own."""

UNKNOWN_FRAME = Frame("<unknown>", 0, -1, 0, -1, "<unknown>")
"""For equations that JAX made without a user's frame."""


@dataclass(frozen=True)
class Lanes:
    """The `vmap` axes that an equation carries, outermost first, and which operands have them as leading axes."""

    sizes: tuple[int, ...]
    mapped: tuple[tuple[bool, ...], ...]


@dataclass(frozen=True)
class OperandType:
    """What an un-jitted operand is besides its numbers; compiled programs hand over plain numbers, in JAX as well.

    Attributes:
      key: the implementation of a typed PRNG key, None for other operands.
      weak: whether it is weakly typed, as Python scalars are.
    """

    key: Any
    weak: bool


@dataclass(frozen=True)
class Loop:
    """A loop around an equation: how often it runs its body, None where that is known only at run time."""

    length: int | None


@dataclass(frozen=True, eq=False)
class Equation:
    """One debugging call in one program.

    Attributes:
      frame, name_stack: where it is in the user's source and in the program.
      shapes, dtypes: of each operand, `vmap` axes leading (see `lanes`).
      in_tree, static: the structure of `(args, kwargs)`, and those leaves (by position) that are no arrays;
        `in_tree` is None where the structure is not to be found.
      loops: the loops around it, outermost first.
      conditional: whether it may be skipped: it is in a branch of `cond`.
      in_condition: whether it is in the condition of a `while`.
      steady: whether its operands are the same in all iterations of the innermost loop, so that XLA may hoist it.
      axes: the mesh axes over whose devices it is mapped; each firing hands over its coordinates after the operands.
      devices: the name of the device at each of these coordinates, nested lists; None where it is not known.
      order: how many debugging equations stand before it in its program; -1 for un-jitted ones.
      callers: the user's frames outside `frame`, innermost first; of callbacks with results only.
      results: the types of what the user's function returns to the program, `float32[3]`; empty for debugging calls.
      vmap_method: that of a `pure_callback`.
      format: the format string of a print; the callback's name otherwise.
      text: values `(args, kwargs)` -> the text that JAX would write; None for callbacks.
      text_options: what else the text depends on (NumPy's print options when the program was traced).
      types: of each operand of an un-jitted equation; empty for compiled ones.
      run: operands (`jax.Array`s of one lane) -> None, does exactly what JAX does when the equation fires: writes
        the print, logs, calls the user's callback.
    """

    kind: Kind
    ordered: bool
    frame: Frame
    name_stack: str
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype[Any], ...]
    lanes: Lanes
    in_tree: Any
    static: Mapping[int, Any]
    format: str
    text: Callable[[tuple[Any, ...], dict[str, Any]], str] | None
    text_options: Hashable
    run: Callable[..., object]
    types: tuple[OperandType, ...] = ()
    order: int = -1
    loops: tuple[Loop, ...] = ()
    conditional: bool = False
    in_condition: bool = False
    steady: bool = False
    axes: tuple[str, ...] = ()
    devices: Any = None
    callers: tuple[Frame, ...] = ()
    results: tuple[str, ...] = ()
    vmap_method: str | None = None

    def with_types(self, types: tuple[OperandType, ...]) -> Equation:
        """The same equation, its operands of these types again before the user's code sees them."""
        run = self.run
        return replace(self, types=types, run=lambda *operands: run(*restore_types(operands, types)))


def type_of(operand: Any) -> OperandType:
    """The type of a `jax.Array`."""
    is_key = jax.dtypes.issubdtype(operand.dtype, jax.dtypes.prng_key)
    return OperandType(jax.random.key_impl(operand) if is_key else None, getattr(operand, "weak_type", False))


def restore_types(operands: Sequence[Any], types: tuple[OperandType, ...]) -> list[Any]:
    """The operands (`jax.Array`s of plain numbers) with the types that they had; as they are if there are none."""
    if not types:
        return list(operands)
    return [_restored(operand, kind) for operand, kind in zip(operands, types, strict=True)]


def _restored(operand: Any, kind: OperandType) -> Any:
    if kind.key is not None:
        return jax.random.wrap_key_data(operand, impl=kind.key)
    if kind.weak:
        aval = operand.aval.update(weak_type=True)
        return array.ArrayImpl(aval, operand.sharding, [operand], committed=True)
    return operand


Recorder = Callable[..., tuple[()]]
"""Called with the operands as NumPy arrays each time an equation fires. Must not block, call JAX or raise."""


class Recorders(tuple[Recorder, ...]):
    """The recorders of one compiled program, in the order of its equations."""

    __slots__ = ()


class Tapper(Protocol):
    """What the hooks need of the room above: for each equation, the function to call when it fires."""

    def __call__(self, equation: Equation, settings: Any) -> Recorder:
        """Called at lowering, or when an un-jitted equation runs, with the capture's settings; may be slow."""
        ...


def frame_of(traceback: Any) -> Frame:
    """The innermost frame of the user's in a JAX traceback."""
    return next(iter(frames_of(traceback)), UNKNOWN_FRAME)


def describe_print(
    params: Mapping[str, Any], frame: Frame, name_stack: str, avals: Sequence[Any], lanes: Lanes
) -> Equation:
    """The equation of a `debug_print` primitive with these parameters."""
    record = params.get("logging_record")  # `jax.debug.log` is younger than 0.8
    print_options = dict(params["np_printoptions"])
    format_string, has_placeholders = params["fmt"], params["has_placeholders"]

    def text(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        # The two branches of `jax._src.debugging._format_print_callback`, without the write to stdout.
        if not has_placeholders:
            assert not kwargs, "Format without placeholders should not have kwargs."
            return " ".join((format_string, *(str(arg) for arg in args)))
        with np.printoptions(**print_options):
            return format_string.format(*args, **kwargs)

    def run(*operands: Any) -> None:
        debugging.debug_print_impl(*operands, **params)

    return Equation(
        kind="print" if record is None else "log",
        ordered=params["ordered"],
        frame=frame,
        name_stack=name_stack,
        shapes=tuple(tuple(aval.shape) for aval in avals),
        dtypes=tuple(aval.dtype for aval in avals),
        lanes=lanes,
        in_tree=params["in_tree"],
        static=dict(params["static_args"]),
        format=format_string,
        text=text,
        text_options=params["np_printoptions"],
        run=run,
    )


def describe_callback(
    params: Mapping[str, Any], frame: Frame, name_stack: str, avals: Sequence[Any], lanes: Lanes
) -> Equation:
    """The equation of a `debug_callback` primitive with these parameters."""
    flat_callback = params["callback"]
    user_callback, in_tree, static = _opened(flat_callback)

    def run(*operands: Any) -> None:
        # `debug_callback_impl` without its `device_put`: the operands are on the host already, and it takes 10 µs to see it.
        with versions.callback_context(cpu()[0]):
            try:
                flat_callback(*operands)
            except BaseException:
                debugging.logger.exception("jax.debug.callback failed")
                raise

    return Equation(
        kind="breakpoint" if is_breakpoint(user_callback) else "callback",
        ordered=isinstance(params["effect"], debugging.OrderedDebugEffect),
        frame=frame,
        name_stack=name_stack,
        shapes=tuple(tuple(aval.shape) for aval in avals),
        dtypes=tuple(aval.dtype for aval in avals),
        lanes=lanes,
        in_tree=in_tree,
        static=static,
        format=function_name(user_callback),
        text=None,
        text_options=None,
        run=run,
    )


def function_name(function: Any) -> str:
    """What a person calls a callback."""
    if is_breakpoint(function):
        return "breakpoint"
    return getattr(function, "__qualname__", None) or repr(function)


def is_breakpoint(function: Any) -> bool:
    """Whether this is what `jax.debug.breakpoint` passes to a callback."""
    name = getattr(function, "__qualname__", "")
    return name.startswith("breakpoint.<locals>") and getattr(function, "__module__", "") == "jax._src.debugger.core"


def frames_of(traceback: Any) -> tuple[Frame, ...]:
    """The frames of the user's in a JAX traceback, innermost first."""
    frames = source_info_util.user_frames(traceback)
    return tuple(
        Frame(one.file_name, one.start_line, one.start_column, one.end_line, one.end_column, one.function_name)
        for one in frames
        if not one.file_name.startswith(_OUR_FILES)
    )


def joined(inner: tuple[Frame, ...], outer: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """The frames of an equation and of what it lies in; older versions of JAX have the outer ones in both."""
    return inner if inner[len(inner) - len(outer) :] == outer else (*inner, *outer)


def _opened(flat_callback: Any) -> tuple[Any, Any, Mapping[int, Any]]:
    """The user's function and the structure of its arguments, out of the closure that `jax.debug.callback` made.

    JAX keeps them nowhere else. A callback bound by other code (equinox binds the primitive itself) has no such
    closure: it is its own user function and its arguments are flat.
    """
    code, cells = getattr(flat_callback, "__code__", None), getattr(flat_callback, "__closure__", None)
    if code is None or cells is None:
        return flat_callback, None, {}
    closure = dict(zip(code.co_freevars, (cell.cell_contents for cell in cells), strict=True))
    if not {"callback", "in_tree", "static_args"} <= closure.keys():
        return flat_callback, None, {}
    return closure["callback"], closure["in_tree"], dict(closure["static_args"])
