"""Show the equations of a program as a table, one by one or grouped by line, primitive or scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from jax_debug_widgets.events.amounts import in_bytes, plural
from jax_debug_widgets.graphs.page import Page, PageRow
from jax_debug_widgets.graphs.program import Amount, Equation, Program

if TYPE_CHECKING:
    import pandas as pd

By = Literal["equation", "line", "primitive", "scope"]
"""What a row of the table stands for."""

MOST_ROWS = 200
"""A program with more equations is shown by line by default."""

COUNTED_ONCE = (
    "XLA's own count for the lowered program: {count} flops. It counts the body of a loop once, counts selections and "
    "casts, and leaves out exp, tanh and other transcendental functions, products with padding, and what no result needs."
)


@dataclass(frozen=True)
class EquationGroup:
    """Equations without bodies that belong together; `flops` and `nbytes` are those of all their executions."""

    name: str
    equations: tuple[Equation, ...]
    flops: Amount
    nbytes: Amount

    @property
    def roles(self) -> str:
        """The roles among its equations: `forward`, `backward`, `recompute`."""
        return ", ".join(dict.fromkeys(one.role for one in self.equations))


class ProgramTable(Sequence[Equation]):
    """The equations of one program; each is followed by the equations of its bodies.

    Attributes:
      by: what a row stands for.
      xla_flops: XLA's own count; None if it was not requested.
    """

    def __init__(self, program: Program, by: By | None = None, xla_flops: float | None = None) -> None:
        if by is not None and by not in get_args(By):
            raise ValueError(f"by is one of {', '.join(get_args(By))}, not {by!r}")
        self.program, self.xla_flops = program, xla_flops
        self.by: By = by or ("line" if len(program.equations) > MOST_ROWS else "equation")

    def __len__(self) -> int:
        return len(self.program.equations)

    def __getitem__(self, index: Any) -> Any:
        return self.program.equations[index]

    def __iter__(self) -> Iterator[Equation]:
        return iter(self.program.equations)

    @property
    def flops(self) -> Amount:
        """The floating-point operations of one run of the program."""
        return self.program.body.amount("flops")

    @property
    def nbytes(self) -> Amount:
        """The bytes that the equations of one run read and write, as if none were fused."""
        return self.program.body.amount("nbytes")

    def grouped(self, by: By) -> ProgramTable:
        """Return the same table with other rows.

        Raises:
          ValueError: `by` is none of `equation`, `line`, `primitive`, `scope`.
        """
        return ProgramTable(self.program, by, self.xla_flops)

    def groups(self) -> list[EquationGroup]:
        """Return the equations grouped by `by`: lines in the order of the program, other groups by their flops."""
        found: dict[str, list[Equation]] = {}
        for one in (one for one in self if not one.bodies):
            found.setdefault(_GROUP[self.by](one), []).append(one)
        groups = [
            EquationGroup(name, tuple(own), _sum(own, "flops"), _sum(own, "nbytes")) for name, own in found.items()
        ]
        if self.by in ("equation", "line"):
            return groups
        return sorted(groups, key=lambda one: (-one.flops.known, -one.nbytes.known))

    def page(self) -> Page:
        """Return the table as a page."""
        lines = list(map(_row, self)) if self.by == "equation" else list(map(_group_row, self.groups()))
        headers = _HEADERS if self.by == "equation" else (self.by, "equations", "role", "flops", "bytes")
        return Page(self._title(), headers, lines, list(self._notes()), _NUMBERS)

    def _title(self) -> str:
        flops, nbytes = self.flops.text(_whole), self.nbytes.text(in_bytes)
        return f"{self.program.name}: {plural(len(self), 'equation')}, {flops} flops, {nbytes} unfused; nothing has run"

    def _notes(self) -> Iterator[str]:
        if self.flops.is_open or self.nbytes.is_open:
            yield "?: in a while loop, whose number of iterations is known only when it runs."
        if any(one.conditional for one in self):
            yield "≤: at most, because a branch may be skipped. A cond counts as its largest branch."
        if self.xla_flops is not None:
            yield COUNTED_ONCE.format(count=f"{self.xla_flops:,.0f}")
        if self.by != "equation":
            yield "by='equation' (--by equation) shows each equation."

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with one row for each equation or group; NA stands for what is known only at run time.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        import pandas as pd

        rows = (
            [_record(one) for one in self] if self.by == "equation" else [_group_record(one) for one in self.groups()]
        )
        frame = pd.DataFrame(rows, columns=list(_COLUMNS if self.by == "equation" else _GROUP_COLUMNS))
        return frame.astype({name: "Int64" for name in ("times", "flops", "bytes", "line") if name in frame})

    def __repr__(self) -> str:
        return self.page().text()

    def _repr_html_(self) -> str:
        return self.page().html()


_HEADERS = ("primitive", "name", "inputs", "type", "times", "flops", "bytes", "source", "role")
_NUMBERS = frozenset({"times", "flops", "bytes", "equations"})
_COLUMNS = (
    "primitive", "name", "inputs", "shape", "dtype", "times", "flops", "bytes", "source", "file", "line", "function",
    "scope", "role", "depth", "conditional",
)  # fmt: skip
_GROUP_COLUMNS = ("name", "equations", "role", "flops", "bytes")


def _sum(equations: Sequence[Equation], what: Literal["flops", "nbytes"]) -> Amount:
    """Return the sum over all executions of these equations."""
    amounts = ((one, one.flops_inside if what == "flops" else one.nbytes_inside) for one in equations)
    return sum((replace(own, is_most=one.conditional).times(one.times) for one, own in amounts), Amount())


def _whole(count: int) -> str:
    return f"{count:,}"


def _row(one: Equation) -> PageRow:
    times = "?" if one.times is None else f"{'≤ ' if one.conditional else ''}{one.times:,}"
    is_derived = one.role != "forward"
    return PageRow(
        (
            one.primitive + (f" {one.params['name']}" if one.bodies and "name" in one.params else ""),
            ", ".join(one.names),
            ", ".join(operand.text for operand in one.operands),
            ", ".join(map(str, one.types)),
            times,
            one.flops_inside.text(_whole),
            one.nbytes_inside.text(_whole),
            str(one.source or ""),
            one.role if is_derived else "",
        ),
        indent=one.depth,
    )


def _group_row(one: EquationGroup) -> PageRow:
    return PageRow(
        (
            one.name,
            f"{len(one.equations):,}",
            one.roles if one.roles != "forward" else "",
            one.flops.text(_whole),
            one.nbytes.text(_whole),
        )
    )


def _record(one: Equation) -> tuple[Any, ...]:
    first = one.types[0] if one.types else None
    source = one.source
    return (
        one.primitive,
        ", ".join(one.names),
        tuple(operand.text for operand in one.operands),
        first.shape if first else (),
        first.dtype if first else "",
        one.times,
        _known(one.flops_inside),
        _known(one.nbytes_inside),
        str(source or ""),
        source.file if source else "",
        source.line if source else None,
        source.function if source else "",
        one.scope,
        one.role,
        one.depth,
        one.conditional,
    )


def _group_record(one: EquationGroup) -> tuple[Any, ...]:
    return (one.name, len(one.equations), one.roles, _known(one.flops), _known(one.nbytes))


def _known(amount: Amount) -> int | None:
    return None if amount.is_open else amount.known


_WRAPPED = re.compile(r"^(?:\w+\()+|\)+$")


def scope_of(stack: str) -> str:
    """Return the scopes of a name stack without transformations, so that both passes of a layer have one name."""
    parts = [part for part in stack.split("/") if not part.startswith(("jit(", "pjit("))]
    return "/".join(inner for part in parts if (inner := _WRAPPED.sub("", part))) or "(no scope)"


_GROUP: dict[By, Callable[[Equation], str]] = {
    "equation": lambda one: f"{one.path}{one.number}",
    "line": lambda one: str(one.source or "(made by JAX)"),
    "primitive": lambda one: one.primitive,
    "scope": lambda one: scope_of(one.scope),
}
