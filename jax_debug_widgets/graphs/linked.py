"""Link the source, jaxpr, StableHLO and optimized HLO of one program.

The links say which parts of one correspond to which parts of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property

from jax_debug_widgets.events.amounts import in_bytes, plural
from jax_debug_widgets.graphs.by_line import ByLine
from jax_debug_widgets.graphs.hlo import MADE_BY_XLA, Executable, Instruction
from jax_debug_widgets.graphs.linked_html import Cell, columns
from jax_debug_widgets.graphs.page import Page, PageRow
from jax_debug_widgets.graphs.program import Operand, Program, Source, text_of


@dataclass(frozen=True, eq=False)
class Fusion:
    """A kernel in which XLA has fused several operations: their source lines, and the bytes it reads and writes."""

    name: str
    lines: tuple[str, ...]
    reads: int
    writes: int
    equations: frozenset[int]

    def __str__(self) -> str:
        lines = f"{plural(len(self.lines), 'line')}: {', '.join(self.lines)} · " if self.lines else ""
        return f"{lines}{in_bytes(self.reads)} read · {in_bytes(self.writes)} written"


_PRODUCTS = {"dot": "dot_general", "convolution": "conv_general_dilated"}
"""Instruction -> the only primitive that is compiled to it."""


@dataclass(frozen=True, eq=False)
class Linked:
    """The stages of a program, linked by its equations.

    Attributes:
      program: the program. Its `equations` are numbered in order; these numbers identify them here.
      chains: for each equation, the tags of the equations around it and its own; empty if nothing was compiled.
      stablehlo: the lines with their tags.
      executable: the compiled program; None if nothing was compiled.
      exact: whether each instruction is linked with the equations that it computes, in the program that runs.
      why: what the user should know about the links.
      source_lines: the text of the source lines.
      values: for watched equations, the last value in words.
      by_line: finds the links of instructions without tags; None if instructions have tags.
    """

    program: Program
    chains: Sequence[tuple[int, ...]] = ()
    stablehlo: Sequence[tuple[str, tuple[int, ...]]] = ()
    executable: Executable | None = None
    exact: bool = True
    why: str = ""
    source_lines: Mapping[Source, str] = field(default_factory=dict[Source, str])
    values: Mapping[int, str] = field(default_factory=dict[int, str])
    by_line: ByLine | None = None

    @cached_property
    def _by_tags(self) -> Mapping[tuple[int, ...], AbstractSet[int]]:
        found: dict[tuple[int, ...], set[int]] = {}
        for number, chain in enumerate(self.chains):
            found.setdefault(chain, set()).add(number)
            found.setdefault(chain[-1:], set()).add(number)
        return found

    def equations_of(self, tags: tuple[int, ...]) -> frozenset[int]:
        """Return the equations with these tags.

        If the tags do not distinguish the calls of a shared body, the equations of all its calls are returned.
        """
        return frozenset(self._by_tags.get(tags) or self._by_tags.get(tags[-1:], ()))

    def of_instruction(self, one: Instruction) -> frozenset[int]:
        """Return the numbers of the equations that an instruction computes."""
        return self._of_instructions.get(one.name, frozenset())

    @cached_property
    def _of_instructions(self) -> Mapping[str, frozenset[int]]:
        """Maps the name of each instruction to its equations, with those of the instructions inside it."""
        of_part = self._of_part if self.by_line is None else self.by_line.of_instruction
        executable = self.executable
        instructions = executable.instructions if executable else ()
        own = {one.name: of_part(one) for one in instructions}
        return {
            one.name: frozenset().union(*(own[part.name] for part in executable.parts_of(one)))
            for one in instructions
            if executable
        }

    def _of_part(self, part: Instruction) -> frozenset[int]:
        """Return the equations with the tags of an instruction, and a product that is folded into it.

        XLA writes `transpose(dot(a, b))` as `dot(b, a)` with only the tag of the transpose; the product is added.
        """
        tagged: frozenset[int] = frozenset().union(*map(self.equations_of, part.tags))
        primitive, equations = _PRODUCTS.get(part.opcode), self.program.equations
        if primitive is None or any(equations[number].primitive == primitive for number in tagged):
            return tagged
        taken = (self._producer(number, one) for number in tagged for one in equations[number].operands)
        return tagged | {number for number in taken if number is not None and equations[number].primitive == primitive}

    def _producer(self, number: int, operand: Operand) -> int | None:
        """Return the equation that computes an operand; None for an input, a number or an array."""
        path = self.program.equations[number].path
        return self._by_place.get((path, operand.number)) if operand.kind == "result" else None

    @cached_property
    def _by_place(self) -> Mapping[tuple[object, int], int]:
        return {(one.path, one.number): number for number, one in enumerate(self.program.equations)}

    @cached_property
    def reached(self) -> frozenset[int]:
        """The equations that any instruction computes."""
        return frozenset().union(*self._of_instructions.values())

    def is_folded(self, number: int) -> bool:
        """Return whether the compiled program has nothing left of an equation; False if only lines are known."""
        if self.executable is None or self.by_line is not None:
            return False
        return number not in self.reached and not self.program.equations[number].bodies

    @cached_property
    def unlinked(self) -> list[Instruction]:
        """The instructions that compute something and have no equation; if links are exact, XLA has made them."""
        own = self.executable.own() if self.executable else []
        return [one for one in own if one.opcode not in MADE_BY_XLA and not self.of_instruction(one)]

    @cached_property
    def fusions(self) -> list[Fusion]:
        """The fusions, in the order of the compiled program."""
        found = (one for one in self.executable.own() if one.opcode == "fusion") if self.executable else ()
        return [self._fusion(one) for one in found]

    def _fusion(self, one: Instruction) -> Fusion:
        assert self.executable is not None
        numbers = self.of_instruction(one)
        sources = {str(source) for number in numbers if (source := self.program.equations[number].source)}
        return Fusion(one.name, tuple(sorted(sources, key=_by_line)), self.executable.read_by(one), one.nbytes, numbers)

    @cached_property
    def _own(self) -> Mapping[int, list[Instruction]]:
        """Maps each equation to the instructions of its own; if linked by line, the first equation of each line and scope."""
        found: dict[int, list[Instruction]] = {}
        for one in self.executable.own() if self.executable else ():
            if one.opcode not in MADE_BY_XLA:
                for number in self._lit(self.of_instruction(one)):
                    found.setdefault(number, []).append(one)
        return found

    def instructions_of(self, number: int) -> list[Instruction]:
        """Return the instructions that run for an equation.

        If linked by line, they are those for all equations of its line and scope.
        """
        return self._own.get(number if self.by_line is None else self.by_line.group[number], [])

    def page(self) -> Page:
        """Return the links as a page: one row for each equation, under its source line."""
        headers = ("equation", "compiled", "")
        notes = [f"{one.name}: {one}" for one in self.fusions]
        if self.why:
            notes.append(self.why)
        return Page(self._title(), headers, list(self._lines()), notes, longest=72)

    def _title(self) -> str:
        text = f"{self.program.name}: {plural(len(self.program.equations), 'equation')}"
        if self.executable is None:
            return f"{text}; nothing has run, nothing was compiled"
        own = [one for one in self.executable.own() if one.opcode not in MADE_BY_XLA]
        text = f"{text}, {plural(len(own), 'instruction')}"
        if self.by_line is not None:
            return f"{text}; linked by line, {len(self.unlinked)} without one"
        folded = sum(map(self.is_folded, range(len(self.program.equations))))
        return f"{text}; {folded} folded away, {len(self.unlinked)} made by XLA"

    def _lines(self) -> Iterator[PageRow]:
        last: object = None
        for number, one in enumerate(self.program.equations):
            source = one.source
            compiled = ", ".join(dict.fromkeys(each.name for each in self.instructions_of(number)))
            of_line, own = ("", compiled) if self.by_line is None else (compiled, "")
            if source is not None:
                key = (source.file, source.line) if self.by_line is None else self.by_line.group[number]
                if key != last:
                    yield PageRow((f"{source}  {self.source_lines.get(source, '')}".rstrip(), of_line, ""), kind="head")
                last = key
            own = own or ("folded away" if self.is_folded(number) else "")
            yield PageRow((text_of(one), own, self.values.get(number, "")), one.depth + 1)

    def __repr__(self) -> str:
        return self.page().text()

    def _repr_html_(self) -> str:
        return columns(self._title(), self._columns(), self.why)

    def _columns(self) -> Iterator[tuple[str, list[Cell]]]:
        equations = self.program.equations
        yield "source", list(self._source_cells())
        yield (
            "jaxpr",
            [
                Cell(
                    text_of(one),
                    self._lit(frozenset({number})),
                    one.depth,
                    is_gone=self.is_folded(number),
                    note=self._note(number),
                )
                for number, one in enumerate(equations)
            ],
        )
        if self.executable is None:
            return
        yield (
            "StableHLO",
            [Cell(text, self._lit(self.equations_of(tags)) if tags else frozenset()) for text, tags in self.stablehlo],
        )
        yield "optimised HLO", list(self._instruction_cells())

    def _lit(self, equations: frozenset[int]) -> frozenset[int]:
        """Return the equations to highlight together.

        If linked by line, the first equation stands for all equations of its line and scope.
        """
        return equations if self.by_line is None else frozenset(self.by_line.group[number] for number in equations)

    def _note(self, number: int) -> str:
        """Return the role of an equation, and its value in the last run."""
        role = self.program.equations[number].role
        return " · ".join(word for word in (role if role != "forward" else "", self.values.get(number, "")) if word)

    def _source_cells(self) -> Iterator[Cell]:
        numbers: dict[tuple[str, int], set[int]] = {}
        texts: dict[tuple[str, int], str] = {}
        for number, one in enumerate(self.program.equations):
            if one.source is not None:
                key = one.source.label, one.source.line
                numbers.setdefault(key, set()).add(number)
                texts[key] = self.source_lines.get(one.source, "")
        for key in sorted(numbers):
            yield Cell(texts[key], self._lit(frozenset(numbers[key])), note=f"{key[0]}:{key[1]}")

    def _instruction_cells(self) -> Iterator[Cell]:
        assert self.executable is not None
        fusions = {one.name: one for one in self.fusions}
        for one in self.executable.own():
            fusion = fusions.get(one.name)
            is_made = one.opcode in MADE_BY_XLA
            note = str(fusion) if fusion else "" if is_made else f"{in_bytes(one.nbytes)} written"
            yield Cell(
                one.text, self._lit(self.of_instruction(one)), note=note, is_box=fusion is not None, is_grey=is_made
            )


def _by_line(place: str) -> tuple[str, int]:
    label, _, line = place.rpartition(":")
    return label, int(line)
