"""Group boxes so that no level has too many: by name scope, by operation, and repetitions as one box."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from jax_debug_widgets.graphs.box import Box, grouped
from jax_debug_widgets.graphs.program import Equation

MOST_BOXES = 60
"""The most boxes of one level."""

_MANY = 24
"""With more equations than this, the boxes of one level are grouped by scope."""

_REPEATS = 3
"""The fewest neighbours with the same operations that are shown as one box."""


_DIGITS = re.compile(r"\d+")


class Levels:
    """Puts neighbouring boxes into new boxes if there are many, or if they do the same."""

    def __init__(self, equations: Sequence[Equation]) -> None:
        self._equations = equations

    def of(self, children: list[Box], *, by_scope: bool = True) -> list[Box]:
        """Return the same boxes in levels of at most `MOST_BOXES`."""
        if by_scope and sum(one.kind == "equation" for one in children) > _MANY:
            children = self._by_scope(children)
        children = self._folded(children)
        if len(children) > MOST_BOXES:
            children = self._by_primitive(children)
        return self._in_parts(children)

    def _in_parts(self, children: list[Box]) -> list[Box]:
        while len(children) > MOST_BOXES:
            size = max(math.ceil(len(children) / MOST_BOXES), MOST_BOXES // 3)
            parts = [children[at : at + size] for at in range(0, len(children), size)]
            children = [grouped(part, f"{part[0].title} … {part[-1].title}") for part in parts]
        return children

    def _by_scope(self, children: list[Box], depth: int = 0) -> list[Box]:
        """Put the equations of each of JAX's name scopes into a box; modules of Flax make such scopes."""
        found: dict[object, list[Box]] = {}
        for number, one in enumerate(children):
            scope = _scopes(self._equations[one.equations[0]]) if one.kind in ("equation", "body") else ()
            found.setdefault(scope[depth] if len(scope) > depth else number, []).append(one)
        boxes: list[Box] = []
        for name, own in found.items():
            if len(own) == 1 or not isinstance(name, str):
                boxes += own
                continue
            inner = self._by_scope(own, depth + 1)
            title = name
            while len(inner) == 1 and inner[0].kind == "scope":
                title, inner = f"{title}/{inner[0].title}", inner[0].children
            box = grouped(self.of(inner, by_scope=False), title)
            box.kind = "scope"
            boxes.append(box)
        return boxes if len(boxes) > 1 or depth else (boxes[0].children if boxes[0].kind == "scope" else boxes)

    def _folded(self, children: list[Box]) -> list[Box]:
        """Put neighbours that do the same into one box: `Block_0 … Block_11`."""
        found: list[list[Box]] = []
        for one in children:
            is_alike = bool(found) and one.kind in ("scope", "body") and self._alike(found[-1][-1], one)
            found[-1].append(one) if is_alike else found.append([one])
        folded: list[Box] = []
        for own in found:
            if len(own) < _REPEATS:
                folded += own
                continue
            title = own[0].title if own[0].title == own[-1].title else f"{own[0].title} … {own[-1].title}"
            folded.append(grouped(own, title, f"× {len(own)}"))
        return folded

    def _alike(self, one: Box, other: Box) -> bool:
        if one.kind != other.kind or _DIGITS.sub("", one.title) != _DIGITS.sub("", other.title):
            return False
        first, second = ([self._equations[number] for number in own.equations] for own in (one, other))
        return Counter((each.primitive, each.types) for each in first) == Counter(
            (each.primitive, each.types) for each in second
        )

    def _by_primitive(self, children: list[Box]) -> list[Box]:
        found: dict[object, list[Box]] = {}
        for number, one in enumerate(children):
            is_plain = one.kind == "equation"
            role = self._equations[one.equations[0]].role if is_plain else ""
            name = self._equations[one.equations[0]].primitive
            found.setdefault((name, role) if is_plain else number, []).append(one)
        return [
            own[0]
            if len(own) == 1
            else grouped(self._in_parts(own), self._equations[own[0].equations[0]].primitive, f"× {len(own)}")
            for own in found.values()
        ]


def _scopes(equation: Equation) -> tuple[str, ...]:
    """Return the name scopes of an equation, without those that transformations and calls add."""
    parts = [part for part in re.split(r"[/()]", equation.scope) if part and part not in _WORDS]
    return tuple(parts[1:])


_WORDS = frozenset(
    {
        "jvp",
        "transpose",
        "vmap",
        "jit",
        "pjit",
        "checkpoint",
        "rematted_computation",
        "while",
        "body",
        "cond",
        "scan",
        "remat",
    }
    | {"closed_call", "core_call", "shard_map", "pmap", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"}
)
"""The words that JAX itself writes into name stacks."""
