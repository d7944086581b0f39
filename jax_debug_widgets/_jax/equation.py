"""A debugging equation of a JAX program, as it is found at lowering or when it runs un-jitted."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import jax
import numpy as np
from jax._src import array, debugging, source_info_util

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jax.tree_util import PyTreeDef

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


@dataclass(frozen=True, eq=False)
class Equation:
    """One debugging call in one program.

    Attributes:
      frame, name_stack: where it is in the user's source and in the program.
      shapes, dtypes: of each operand, `vmap` axes leading (see `lanes`).
      in_tree, static: the structure of `(args, kwargs)`, and those leaves (by position) that are no arrays;
        `in_tree` is None where the structure is not to be found.
      order: how many debugging equations stand before it in its program; -1 for un-jitted ones.
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
    in_tree: PyTreeDef | None
    static: Mapping[int, Any]
    format: str
    text: Callable[[tuple[Any, ...], dict[str, Any]], str] | None
    text_options: Hashable
    run: Callable[..., object]
    types: tuple[OperandType, ...] = ()
    order: int = -1

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


class Tapper(Protocol):
    """What the hooks need of the room above: for each equation, the function to call when it fires."""

    def __call__(self, equation: Equation, settings: Any) -> Recorder:
        """Called at lowering, or when an un-jitted equation runs, with the capture's settings; may be slow."""
        ...


def frame_of(traceback: Any) -> Frame:
    """The innermost frame of the user's in a JAX traceback."""
    frames = source_info_util.user_frames(traceback)
    frame = next((frame for frame in frames if not frame.file_name.startswith(_OUR_FILES)), None)
    if frame is None:
        return UNKNOWN_FRAME
    return Frame(
        frame.file_name,
        frame.start_line,
        frame.start_column,
        frame.end_line,
        frame.end_column,
        frame.function_name,
    )


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
        debugging.debug_callback_impl(*operands, **params)

    return Equation(
        kind="callback",
        ordered=isinstance(params["effect"], debugging.OrderedDebugEffect),
        frame=frame,
        name_stack=name_stack,
        shapes=tuple(tuple(aval.shape) for aval in avals),
        dtypes=tuple(aval.dtype for aval in avals),
        lanes=lanes,
        in_tree=in_tree,
        static=static,
        format=getattr(user_callback, "__qualname__", None) or repr(user_callback),
        text=None,
        text_options=None,
        run=run,
    )


def _opened(flat_callback: Any) -> tuple[Any, PyTreeDef | None, Mapping[int, Any]]:
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
