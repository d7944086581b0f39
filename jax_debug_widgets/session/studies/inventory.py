"""List the callbacks of a program before it runs: where they are, which transformations JAX allows, which XLA keeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets._jax.origins.describe import function_name
from jax_debug_widgets._jax.passes.inventory import survey
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.taps.sites import NameFile
from jax_debug_widgets.taps.survival import REFUSED, TRANSFORMS, variant_of
from jax_debug_widgets.widgets.table import Table

if TYPE_CHECKING:
    import pandas as pd

    from jax_debug_widgets._jax.origins.equation import DebugCall, Loop
    from jax_debug_widgets._jax.passes.inventory import Survey
    from jax_debug_widgets.events import Kind

SHOWN_TRANSFORMS = ("jit", "vmap", "grad", "scan", "shard_map")
"""The transformations of `TRANSFORMS` that have a column in the table."""


@dataclass(frozen=True)
class Callback:
    """One call in the source of a program.

    Attributes:
      where: the place, `train.py:41`.
      function: the name of the user's function, or the format of a print.
      kind: the kind of JAX's call.
      ordered: whether it asked for `ordered=True`.
      returns: the types of its results, `float32[3]`; empty if it returns nothing.
      inside: for each of its places in the program, the loops, outermost first, and then the rest in no order:
        `scan of 3 > while, cond, vmap`.
      runs: how often it runs, and whether JAX guarantees it.
      staged: how often it is in the program as traced.
      kept: the number of calls of Python that the compiled program has for it; None for `inspect_array_sharding`.
      refused: transformation under which JAX refuses it -> why.
    """

    where: str
    function: str
    kind: Kind
    ordered: bool
    returns: tuple[str, ...]
    inside: tuple[str, ...]
    runs: str
    staged: int
    kept: int | None
    refused: dict[str, str]

    @property
    def survives(self) -> tuple[str, ...]:
        """The transformations under which JAX allows it."""
        return tuple(name for name in TRANSFORMS if name not in self.refused)


class Inventory(Sequence[Callback]):
    """Holds the callbacks of one program, in program order."""

    def __init__(self, title: str, callbacks: Iterable[Callback]) -> None:
        self.title = title
        self._callbacks = list(callbacks)

    def __len__(self) -> int:
        return len(self._callbacks)

    def __getitem__(self, index: Any) -> Any:
        return self._callbacks[index]

    def __iter__(self) -> Iterator[Callback]:
        return iter(self._callbacks)

    def table(self) -> Table:
        """Return a table with a row for each callback; below it, why JAX refuses some, and what to do."""
        rows = [_row(callback) for callback in self._callbacks]
        count = plural(len(rows), "callback")
        return Table(_HEADERS, rows, f"{self.title}: {count}; nothing has run", _ways_out(self._callbacks))

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a frame of text.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        import pandas as pd

        return pd.DataFrame(self.table().records(), columns=list(_HEADERS))

    def __repr__(self) -> str:
        return self.table().text() if self._callbacks else f"{self.title}: no callbacks"

    def _repr_html_(self) -> str:
        return self.table().html()


def inventory(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], name_file: NameFile
) -> Inventory:
    """Return the callbacks of `function(*args, **kwargs)`, which is traced and compiled as a jitted function; it does not run.

    Raises:
      Exception: the error that tracing the function raises.
    """
    found = survey(function, args, kwargs)
    groups: dict[object, list[DebugCall]] = {}
    for equation in found.traced:
        key = (equation.frame, equation.kind, equation.ordered, equation.format, equation.vmap_method)
        groups.setdefault(key, []).append(equation)
    title = function_name(function)
    return Inventory(title, [_callback(equations, found, name_file) for equations in groups.values()])


def _callback(equations: list[DebugCall], found: Survey, name_file: NameFile) -> Callback:
    first = equations[0]
    kept = None if first.kind == "sharding" else found.compiled[first.frame]
    return Callback(
        where=f"{name_file(first.frame.file)}:{first.frame.line}",
        function=first.format,
        kind=first.kind,
        ordered=first.ordered,
        returns=first.results,
        inside=tuple(dict.fromkeys(_inside(equation) for equation in equations)),
        runs=("each " if len(equations) > 1 and kept else "") + _runs(first, kept),
        staged=len(equations),
        kept=kept,
        refused=_refused(equations),
    )


def _refused(equations: list[DebugCall]) -> dict[str, str]:
    """Return the transformations that JAX refuses. A function with its own derivative rule may be differentiated."""
    refused = dict(REFUSED[variant_of(equations[0])])
    if all("custom_jvp" in equation.name_stack or "custom_vjp" in equation.name_stack for equation in equations):
        refused.pop("grad", None)
    return refused


def _inside(equation: DebugCall) -> str:
    loops = " > ".join(map(_loop_text, equation.loops))
    parts = [loops] if loops else []
    parts += ["condition of while"] if equation.in_condition else []
    parts += ["cond"] if equation.conditional else []
    parts += [
        name for name in ("vmap", "custom_jvp", "custom_vjp", "shard_map", "remat") if name in equation.name_stack
    ]
    derivative = equation.name_stack.count("jvp(")
    parts += [f"derivative {derivative}"] if derivative else []
    return ", ".join(parts)


def _loop_text(loop: Loop) -> str:
    return "while" if loop.length is None else f"{loop.length} lanes" if loop.lanes else f"scan of {loop.length}"


def _runs(equation: DebugCall, kept: int | None) -> str:
    if equation.kind == "sharding":
        return "once, when the program is compiled"
    if kept == 0:
        return "no: eliminated by the compiler"
    often = _how_often(equation)
    match equation.kind:
        case "io":
            return f"yes: {often}"
        case "pure":
            return f"{often}, while its result is used"
        case _:
            return f"{often}; JAX may drop or repeat it"


def _how_often(equation: DebugCall) -> str:
    lengths = [loop.length for loop in equation.loops]
    known = math.prod(length for length in lengths if length is not None)
    times = "once a call" if known == 1 else f"{known} times a call"
    if None in lengths:
        times = "as often as the while runs" + (f", {known} times each" if known != 1 else "")
    if equation.groups:
        times += f" on one device of each of {equation.groups} groups" if equation.groups > 1 else ""
    elif equation.axes and (equation.devices is None or np.size(equation.devices) > 1):
        times += " on each device"
    return f"{times}, if its branch is taken" if equation.conditional else times


_HEADERS = (
    "where", "function", "kind", "returns", "inside", "guaranteed to run?", "staged", "kept", *SHOWN_TRANSFORMS,
)  # fmt: skip


def _row(callback: Callback) -> tuple[str, ...]:
    return (
        callback.where,
        callback.function,
        f"{'ordered ' if callback.ordered else ''}{callback.kind}",
        ", ".join(callback.returns),
        "\n".join(callback.inside),
        callback.runs,
        str(callback.staged),
        "" if callback.kept is None else str(callback.kept),
        *("no" if name in callback.refused else "yes" for name in SHOWN_TRANSFORMS),
    )


def _ways_out(callbacks: Iterable[Callback]) -> list[str]:
    """Return why JAX refuses transformations of these callbacks, each reason once."""
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for callback in callbacks:
        for transform, why in callback.refused.items():
            if transform not in SHOWN_TRANSFORMS:
                continue
            reasons.setdefault((transform, why), {})[callback.function] = None
    return [f"{transform} of {', '.join(names)}: {why}" for (transform, why), names in reasons.items()]
