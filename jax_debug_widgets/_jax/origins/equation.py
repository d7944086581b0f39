"""Define a debugging equation of a JAX program, as it is found at lowering or when it runs un-jitted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import jax
import numpy as np

from jax_debug_widgets._jax.compat.arrays import unchanging
from jax_debug_widgets._jax.compat.private import array
from jax_debug_widgets.events import ProgramTaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jax_debug_widgets._jax.compat.processes import ProcessShare
    from jax_debug_widgets._jax.origins.frames import Frame
    from jax_debug_widgets.events import Kind


@dataclass(frozen=True)
class Lanes:
    """The `vmap` axes of an equation, outermost first, and which operands have them as leading axes."""

    sizes: tuple[int, ...]
    mapped: tuple[tuple[bool, ...], ...]


@dataclass(frozen=True)
class OperandType:
    """The type of an un-jitted operand besides its numbers; compiled programs hand over plain numbers, as in JAX.

    Attributes:
      key: the implementation of a typed PRNG key; None for other operands.
      weak: whether it is weakly typed, as Python scalars are.
    """

    key: Any
    weak: bool


@dataclass(frozen=True)
class Loop:
    """A loop around an equation.

    Attributes:
      length: how often it runs its body; None if that is known only at run time.
      reverse: whether it runs from the end.
      unrolled: whether its body has several iterations side by side, so that XLA may run them in any order.
      lanes: whether JAX has made it from the lanes of a `vmap`, to call a callback for one lane after the other.
      apart: whether XLA cannot prove two of its iterations equal, see `apart.keeps_apart`.
      ends_by_lane: whether it is a vmapped `while`, which continues until the last lane has left it.
    """

    length: int | None
    reverse: bool = False
    unrolled: bool = False
    lanes: bool = False
    apart: bool = False
    ends_by_lane: bool = False


@dataclass(frozen=True)
class Guard:
    """An operand that shows whether an event is real, or fires only because of a `vmap` (see `phantoms`).

    Attributes:
      operand: the variable with the booleans: True for a real event.
      mapped: which of the `vmap` axes the operand has.
      causes: the primitives that may make the event a phantom: `cond`, `while`.
    """

    operand: Any
    mapped: tuple[bool, ...]
    causes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class StopPoint:
    """The facts about a debugging equation that is a breakpoint.

    Attributes:
      name: the name to show; may be empty.
      conditional: whether the first operand is the condition, a boolean for each lane.
      going_on: the operands with which the program continues; the user may replace them.
      tree: their treedef.
      names: the name of each operand in the frames.
      frames: takes the operands of one lane (`jax.Array`s); returns the frames (`stack.StackFrame`), innermost first.
    """

    name: str
    conditional: bool
    going_on: slice
    tree: Any
    names: tuple[str, ...]
    frames: Callable[[Sequence[Any]], list[Any]]


@dataclass(frozen=True, eq=False)
class DebugCall:
    """One debugging call in one program.

    Attributes:
      frame, name_stack: its place in the user's source and in the program.
      shapes, dtypes: those of each operand, with leading `vmap` axes (see `lanes`).
      in_tree, static: the structure of `(args, kwargs)`, and position -> leaf for the leaves that are not arrays;
        `in_tree` is None if the structure is not found.
      loops: the loops around it, outermost first.
      conditional: whether it may be skipped: it is in a branch of `cond`.
      in_condition: whether it is in the condition of a `while`.
      steady: whether its operands are the same in all iterations of the innermost loop, so that XLA may hoist it.
      countable: whether a firing can hand over the iteration of each loop without preventing an optimization of XLA.
      guard: the operand after the values that shows whether an event is real; None if all events are.
      hoisted: the lengths of the loops that JAX has moved it out of, outermost first (see `hoisting`).
      axes: the mesh axes over which it is mapped; each firing hands over its coordinates after all other values.
      devices: the name of the device at each of these coordinates, as nested lists; None if unknown.
      order: how many debugging equations stand before it in its program; -1 for un-jitted ones.
      callers: the user's frames outside `frame` in its program, innermost first.
      results: the types of what the user's function returns to the program, `float32[3]`; empty for debugging calls.
      returns: shape and dtype of each of these results; None if JAX does not check them.
      vmap_method: the `vmap_method` of a `pure_callback`.
      stop: the stop point of a breakpoint that our debugger may open.
      replicas: how many devices run the program.
      in_parts: whether each device fires with its own part of the operands, as the compiler has cut them.
      groups: how many groups of devices there are, if one device of each fires, see `Place.groups`.
      numbered: whether the last value of each firing is its number among the lanes that are called one by one.
      version: the version of the program that it is in, see `Place`; a call runs one version.
      in_python: whether the loops are Python's (`python_loops`): each firing hands over their iterations, and the
        program's text does not show how often it fires.
      format: the format string of a print; the callback's name otherwise.
      text: values `(args, kwargs)` -> the text that JAX would write, under `text_options`; None for callbacks.
      text_options: NumPy's print options when the program was traced, as items; empty if they do not matter.
      types: the type of each operand of an un-jitted equation; empty for compiled ones.
      run: operands (`jax.Array`s of one lane) -> None, does exactly what JAX does when the equation fires: writes the
        print, logs, calls the user's callback.
    """

    kind: Kind
    ordered: bool
    frame: Frame
    name_stack: str
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype[Any], ...]
    lanes: Lanes
    in_tree: Any
    format: str
    run: Callable[..., object]
    static: Mapping[int, Any] = field(default_factory=dict[int, Any])
    text: Callable[[tuple[Any, ...], dict[str, Any]], str] | None = None
    text_options: tuple[tuple[str, Any], ...] = ()
    types: tuple[OperandType, ...] = ()
    order: int = -1
    loops: tuple[Loop, ...] = ()
    conditional: bool = False
    in_condition: bool = False
    steady: bool = False
    countable: bool = False
    guard: Guard | None = None
    hoisted: tuple[int | None, ...] = ()
    axes: tuple[str, ...] = ()
    devices: Any = None
    callers: tuple[Frame, ...] = ()
    results: tuple[str, ...] = ()
    returns: tuple[tuple[tuple[int, ...], Any], ...] | None = None
    vmap_method: str | None = None
    stop: StopPoint | None = None
    replicas: int = 1
    in_parts: bool = False
    groups: int = 0
    numbered: bool = False
    in_python: bool = False
    version: str = ""

    @property
    def counted(self) -> bool:
        """Whether each firing hands over the iteration of each loop, because counting firings would not give it."""
        is_known = not (self.conditional or self.shuffled) and None not in (loop.length for loop in self.loops[1:])
        return self.in_python or (self.countable and not is_known)

    @property
    def shuffled(self) -> bool:
        """Whether events may be out of order.

        It may fire for a later iteration before an earlier one, or on several devices without naming them.
        """
        return self.in_parts or (not self.ordered and any(loop.unrolled for loop in self.loops))

    def with_types(self, types: tuple[OperandType, ...]) -> DebugCall:
        """Return the equation with another `run`.

        It restores the types of the operands before the user's code gets them.
        """
        run = self.run
        return replace(self, types=types, run=lambda *operands: run(*restore_types(operands, types)))


def type_of(operand: Any) -> OperandType:
    """Return the type of a `jax.Array`."""
    is_key = jax.dtypes.issubdtype(operand.dtype, jax.dtypes.prng_key)
    return OperandType(jax.random.key_impl(operand) if is_key else None, getattr(operand, "weak_type", False))


def on_host(operands: Sequence[Any]) -> tuple[list[np.ndarray], tuple[OperandType, ...]]:
    """Return un-jitted operands as plain numbers on the host, and their types.

    As in JAX's own rule, Python scalars become arrays of JAX's dtype.
    """
    # JAX would share the memory of the user's arrays, which may change.
    now = [unchanging(one) if isinstance(one, np.ndarray) else one for one in operands]
    moved = jax.device_put(now, jax.local_devices(backend="cpu")[0])
    types = tuple(map(type_of, moved))
    plain = [x if kind.key is None else jax.random.key_data(x) for x, kind in zip(moved, types, strict=True)]
    return list(map(np.asarray, plain)), types


def restore_types(operands: Sequence[Any], types: tuple[OperandType, ...]) -> list[Any]:
    """Return the operands (`jax.Array`s of plain numbers) with their original types.

    Without types they are returned as they are.
    """
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


def record_every(record: Recorder) -> int | None:
    """Return n if the program calls `record` only in every n-th iteration, with the number of the iteration.

    Return None if the program calls it in all iterations, without their numbers.
    """
    return getattr(record, "every", None)


def parts_of(record: Any) -> Sequence[tuple[Any, slice]]:
    """Return the recorders that `record` calls, each with the slice of its operands.

    For a plain recorder, that is the recorder itself with all operands.
    """
    return getattr(record, "parts", ((record, slice(None)),))


class Recorders:
    """The recorders of one compiled program, in the order of its equations.

    Attributes:
      taps: the taps of all recorders; they are read at each call of the program.
      on_many_devices: whether the program runs on several devices.
      are_counted: whether it is known how often a call of the program calls each recorder.
      fire_elsewhere: whether threads of XLA call them, now or earlier, not the thread that calls the program.
      are_results: whether they record results of the program; then the call of each result is known.
      share: the share of this process in the execution that begins; None if it runs all of the program.
      program: returns the program that JAX has traced; None if it is gone or unknown.
    """

    def __init__(self, recorders: Iterable[Any], *, fire_elsewhere: bool, are_results: bool = False) -> None:
        self.taps = ProgramTaps(tap for one in recorders for tap in getattr(one, "taps", None) or (one.tap,))
        self.on_many_devices = any(tap.nesting.replicas > 1 for tap in self.taps)
        self.are_counted = all(tap.nesting.firings is not None for tap in self.taps)
        self.fire_elsewhere, self.are_results = fire_elsewhere, are_results
        self.share: ProcessShare | None = None
        self.program: Callable[[], Any] = lambda: None


class CompiledSettings(Hashable, Protocol):
    """The settings of a capture, as far as `_jax` reads them."""

    @property
    def debug(self) -> bool:
        """Whether programs are compiled with their `jax.debug` calls."""
        ...

    @property
    def processes(self) -> int:
        """How many processes of the job have agreed to compile the same programs."""
        ...


class Tapper(Protocol):
    """Makes the recorder of each equation: the function that is called when the equation fires."""

    def __call__(self, equation: DebugCall, settings: Any) -> Recorder:
        """Called at lowering, or when an un-jitted equation runs, with the capture's settings; may be slow."""
        ...
