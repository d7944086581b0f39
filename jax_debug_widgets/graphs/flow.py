"""Find which operation uses the result of another one, across calls, loops and branches.

It also finds the paths from one operation to others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from jax_debug_widgets.graphs.program import Body, Equation, Operand, Program

Made = frozenset[int]
"""The numbers of the equations that a value may come from."""

_LOOPS = ("scan", "while")


@dataclass(frozen=True)
class Way:
    """The equations on a path.

    Attributes:
      equations: their numbers.
      description: a sentence about the path; may be empty.
    """

    equations: frozenset[int]
    description: str


class Flow:
    """The flow of values between the equations of a program that have no bodies.

    Attributes:
      equations: all equations of the program.
      takes: for each equation, the numbers of the equations with results that it uses. The values that a loop passes to its
        next iteration are left out.
      gives: the reverse of `takes`.
      again: an equation at the end of an iteration -> the equations that use its result in the next iteration.
      results: for each result of the program, the equations that it may come from.
    """

    def __init__(self, program: Program) -> None:
        self.equations = program.equations
        self.takes: list[set[int]] = [set() for _ in self.equations]
        self.again: dict[int, set[int]] = {}
        self._given: dict[int, list[Operand]] = {}
        """Equation -> its operands that no equation computes: arguments and arrays."""
        self._next = 0
        self.results = self._read(program.body, [frozenset()] * len(program.body.inputs))
        self.gives: list[set[int]] = [set() for _ in self.equations]
        for number, taken in enumerate(self.takes):
            for one in taken:
                self.gives[one].add(number)

    def _read(self, body: Body, inputs: Sequence[Made], carried: Sequence[Made] = ()) -> list[Made]:
        made: list[list[Made]] = []

        def read(one: Operand, given: Sequence[Made]) -> Made:
            if one.kind == "result":
                return made[one.number][one.position]
            return given[one.number] if one.kind == "input" and one.number < len(given) else frozenset()

        for equation in body.equations:
            number, self._next = self._next, self._next + 1
            operands = [read(one, inputs) for one in equation.operands]
            if equation.bodies:
                made.append(self._run(equation, operands))
                continue
            self.takes[number].update(*operands)
            pairs = zip(equation.operands, operands, strict=True)
            self._given[number] = [one for one, made in pairs if not made and one.kind != "number"]
            for operand in equation.operands:
                if operand.kind == "input" and operand.number < len(carried):
                    for one in carried[operand.number]:
                        self.again.setdefault(one, set()).add(number)
            made.append([frozenset({number})] * max(len(equation.types), 1))
        return [read(one, inputs) for one in body.results]

    def _run(self, equation: Equation, operands: Sequence[Made]) -> list[Made]:
        """Return the origins of the results of an equation with bodies."""
        chosen = operands[0] if equation.primitive == "cond" else frozenset[int]()
        found: list[Made] = [chosen] * len(equation.types)
        for body in equation.bodies:
            inputs, first = _inputs(equation, body, operands), self._next
            results = self._read(body, inputs)
            if equation.primitive in _LOOPS and len(results) and not body.key.startswith("cond"):
                self._next = first
                start = _first_carried(body)
                kept = [frozenset[int]()] * start + results[: len(body.inputs) - start]
                self._read(body, inputs, _of_carries(equation, body, kept))
            if len(results) == len(found) and not body.key.startswith("cond"):
                found = [one | more for one, more in zip(found, results, strict=True)]
            else:  # All results depend on a loop's condition, and on a body with other results.
                found = [one.union(*results) for one in found]
        return found

    def after(self, start: Iterable[int]) -> frozenset[int]:
        """Return these equations and all that depend on them, also in later iterations."""
        return self._reached(start, lambda one: (*self.gives[one], *self.again.get(one, ())))

    def before(self, start: Iterable[int]) -> frozenset[int]:
        """Return these equations and all on which they depend."""
        back: dict[int, list[int]] = {}
        for one, later in self.again.items():
            for number in later:
                back.setdefault(number, []).append(one)
        return self._reached(start, lambda one: (*self.takes[one], *back.get(one, ())))

    def _reached(self, start: Iterable[int], step: Callable[[int], Iterable[int]]) -> frozenset[int]:
        found = set(start)
        todo = list(found)
        while todo:
            for one in step(todo.pop()):
                if one not in found:
                    found.add(one)
                    todo.append(one)
        return frozenset(found)

    def to_outputs(self, start: Iterable[int], names: Sequence[str] = ()) -> Way:
        """Return the paths from these equations to the results of the program."""
        after = self.after(start)
        reached = [number for number, made in enumerate(self.results) if made & after]
        ends = frozenset[int]().union(*(self.results[one] & after for one in reached)) if reached else frozenset[int]()
        way = after & self.before(ends) | frozenset(start)
        results = [names[one] if one < len(names) and names[one] else f"result {one}" for one in reached]
        many = f" and {len(results) - _MOST} more" if len(results) > _MOST else ""
        end = (
            f"reaches {', '.join(results[:_MOST])}{many}: {len(results)} of {len(self.results)} results"
            if results
            else ""
        )
        return Way(way, end or "reaches no result of the program")

    def from_inputs(self, start: Iterable[int]) -> Way:
        """Return all equations on which these depend."""
        found = self.before(start)
        inputs = [one.text for number in sorted(found) for one in self._given.get(number, ()) if one.kind == "input"]
        names = list(dict.fromkeys(inputs))
        many = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
        return Way(found, f"depends on {len(found)} equations and on {', '.join(names[:_MOST])}{many}" if names else "")

    def why_dtype(self, number: int) -> Way:
        """Return where the dtype of an equation's result comes from, and the results of that dtype on the way."""
        types = self.equations[number].types
        if not types:
            return Way(frozenset({number}), "gives nothing")
        dtype = types[0].dtype

        def has(one: int) -> bool:
            return any(kind.dtype == dtype for kind in self.equations[one].types)

        found = self._reached([number], lambda one: [other for other in self.takes[one] if has(other)])
        reasons = list(dict.fromkeys(why for one in sorted(found) for why in self._begins(one, dtype, has)))
        many = f"; and {len(reasons) - _MOST} more" if len(reasons) > _MOST else ""
        return Way(found, f"{dtype} since {'; '.join(reasons[:_MOST])}{many}")

    def _begins(self, number: int, dtype: str, has: Callable[[int], bool]) -> Iterator[str]:
        """Yield why a result has a dtype that none of its operands computed by equations has."""
        one = self.equations[number]
        at = f" ({one.source})" if one.source else ""
        given = [operand for operand in self._given.get(number, ()) if operand.type.dtype == dtype]
        for operand in given:
            word = operand.text if operand.kind == "input" else "an array that is part of the program"
            yield f"{word} has it{at}"
        if not given and not any(has(other) for other in self.takes[number]):
            others = ", ".join(dict.fromkeys(operand.type.dtype for operand in one.operands))
            yield f"{one.primitive} makes it{f' of {others}' if others else ''}{at}"


_MOST = 3
"""The most names in a sentence."""


def _inputs(equation: Equation, body: Body, operands: Sequence[Made]) -> list[Made]:
    """Return the origins of a body's inputs, leaving out what earlier iterations pass on."""
    count = len(body.inputs)
    if equation.primitive == "scan" and count == len(operands):
        return list(operands)
    if equation.primitive == "while":
        start = _first_carried(body)
        carries = count - start
        constant = [operands[at] if at is not None else frozenset[int]() for at in body.given[:start]]
        return [*constant, *operands[len(operands) - carries :]]
    if all(at is not None for at in body.given):
        return [operands[at] for at in body.given if at is not None]
    everything = frozenset[int]().union(*operands)
    return list(operands) if count == len(operands) else [everything] * count


def _first_carried(body: Body) -> int:
    """Return the first input that changes between iterations: a carry, or the first slice if there is no carry."""
    return next((at for at, given in enumerate(body.given) if given is None), len(body.inputs))


def _of_carries(equation: Equation, body: Body, kept: Sequence[Made]) -> list[Made]:
    """Return the origins of the body's inputs in the previous iteration.

    The number of carries of a scan is not in the data. Inputs count as carries as long as each has the type of the result at
    the same position.
    """
    if equation.primitive != "scan":
        return list(kept)
    start, found = _first_carried(body), list[Made]()
    for number, one in enumerate(body.inputs):
        at = number - start
        is_carried = 0 <= at < len(body.results) and one.type == body.results[at].type == equation.operands[number].type
        if at >= 0 and not is_carried:
            break
        found.append(kept[number] if is_carried and number < len(kept) else frozenset())
    return found
