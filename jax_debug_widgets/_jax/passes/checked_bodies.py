"""Put the checks into the bodies of a program: the program itself, functions, loops, branches; see `checking`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from typing import Any

from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core, sharding_impls
from jax_debug_widgets._jax.origins.frames import Frame, frames_in_body
from jax_debug_widgets._jax.passes.before_loops import before_loop
from jax_debug_widgets._jax.passes.carried_records import carrying, is_carried_apart, loop_carrying
from jax_debug_widgets._jax.passes.certain import certain_values, results_of_bodies
from jax_debug_widgets._jax.passes.check_records import (
    Record,
    computed_numbers,
    empty_of,
    flat_rows,
    from_end,
    giving,
    in_place,
    passed_on,
    row_of_check,
    without_lines,
)
from jax_debug_widgets._jax.passes.checked import (
    BodyFacts,
    Check,
    Checked,
    Checker,
    DerivativePart,
    LanesOf,
)
from jax_debug_widgets._jax.passes.chosen import choice_of_all, choices_of
from jax_debug_widgets._jax.passes.clones import Clones
from jax_debug_widgets._jax.passes.forward_pass import InForward
from jax_debug_widgets._jax.passes.kept_writes import Definitions, define
from jax_debug_widgets._jax.passes.mesh_records import given_by_devices, gives_records, inside_of_mesh
from jax_debug_widgets._jax.passes.operands import new_number, with_counter
from jax_debug_widgets._jax.passes.taken_checks import of_row, of_taken, taking
from jax_debug_widgets._jax.passes.watch_pass import RUN_ONCE
from jax_debug_widgets._jax.passes.written_values import folded_transposes

_UNCHECKED = {
    "shard_map": "what `shard_map` runs over some axes of a mesh only, or inside of another `shard_map`",
    "while": "loops that a `vmap` ends lane by lane",
    "custom_vmap_call": "functions with a `custom_vmap` rule",
    "pallas_call": "Pallas kernels",
}
"""Primitive -> a name for the part that is not checked, because its records could not be passed on."""


@dataclass
class CheckedBodies:
    """Adds checks to the bodies of one program.

    Attributes:
      checkers: the checkers by their names.
      lanes_of: see `LanesOf`.
      forward: the source ranges with a checked equation in forward passes.
      in_forward: those equations.
      numbers: numbers for loops and checks.
      unchecked: names of the parts that are not checked.
      checks: the variable of a row -> its check.
      definitions: see `Definitions`.
    """

    checkers: dict[str, Checker]
    lanes_of: LanesOf
    forward: frozenset[tuple[str, Frame]]
    in_forward: frozenset[InForward]
    numbers: Iterator[int] = field(default_factory=count)
    unchecked: set[str] = field(default_factory=set[str])
    checks: dict[Any, Check] = field(default_factory=dict[Any, Check])
    definitions: Definitions = field(default_factory=Definitions)

    def body(
        self,
        jaxpr: core.Jaxpr,
        around: tuple[Frame, ...],
        results: Sequence[bool],
        part: DerivativePart,
        *,
        is_inlined: bool = False,
    ) -> tuple[list[core.JaxprEqn], list[Record]]:
        """Return the equations of a body with its checks, and their records; `is_inlined` says that XLA inlines it."""
        equations: list[core.JaxprEqn] = []
        records: list[Record] = []
        lines = [(*frames_in_body(one.source_info.traceback, jaxpr, around), *around) for one in jaxpr.eqns]
        body = self._facts(jaxpr, lines, results, part)
        choices = choices_of(jaxpr, body.certain, body.computed, self.definitions, define(jaxpr, self.definitions))
        waiting: dict[int, list[tuple[Any, Checked, Check]]] = {}  # The number of the equation that they must follow.
        seen, clones = set[Any](), Clones(jaxpr, body.folded.values(), is_inlined=is_inlined)
        made_at = {out: number for number, one in enumerate(jaxpr.eqns) for out in one.outvars}
        for number, (equation, frames) in enumerate(zip(jaxpr.eqns, lines, strict=True)):
            here = replace(body, part=part.of(equation))
            whole = choice_of_all(equation.outvars, body.certain, choices)
            entered, found = self._entered(equation, frames, here if whole is None else taking(here, equation, choices))
            equations += entered
            if whole is None:
                records += found
            else:
                later = ((equation, one, of_row(one, row, whole)) for one, row in found)
                waiting.setdefault(whole.number, []).extend(later)
            choice = choices.get(equation.outvars[0]) if len(equation.outvars) == 1 else None
            here = here if choice is None else taking(here, equation, choices)
            for checked, check in self._checks_of(equation, frames, here, seen):
                last = max([number, *(made_at.get(one, 0) for one in check.operands if isinstance(one, core.Var))])
                at, read = (
                    (last, check) if choice is None else (max(last, choice.number), of_taken(check, choice, equation))
                )
                waiting.setdefault(at, []).append((equation, checked, read))
            for beside, checked, check in waiting.pop(number, ()):
                first, read = clones.read_by(check) if checked.option == "nonfinite" else ([], check)
                also, row = row_of_check(read)
                equations += [without_lines(one, beside.source_info.name_stack) for one in (*first, *also)]
                records.append((checked, row))
                self.checks[row] = check
        return equations, records

    def _facts(
        self, jaxpr: core.Jaxpr, lines: Sequence[tuple[Frame, ...]], results: Sequence[bool], part: DerivativePart
    ) -> BodyFacts:
        beside: dict[Frame, set[str]] = {}
        for equation, frames in zip(jaxpr.eqns, lines, strict=True):
            for frame in frames[:1]:
                beside.setdefault(frame, set()).add(equation.primitive.name)
        inputs = frozenset([*jaxpr.invars, *jaxpr.constvars])
        return BodyFacts(
            certain=certain_values(jaxpr, results),
            computed=certain_values(jaxpr, results, but_for_tests=True),
            forward=self.forward,
            lanes_of=self.lanes_of,
            part=part,
            beside=beside,
            definitions=self.definitions,
            inputs=inputs,
            scope=inputs.union(*(one.outvars for one in jaxpr.eqns)),
            folded=folded_transposes(jaxpr),
        )

    def _checks_of(
        self, equation: core.JaxprEqn, frames: tuple[Frame, ...], body: BodyFacts, seen: set[Any]
    ) -> Iterator[tuple[Checked, Check]]:
        """Yield the checks of an equation that are not in `seen`, and add them to it."""
        for option, checker in self.checkers.items():
            check = self._check(option, checker, equation, frames, body)
            if check is None:
                continue
            key = (option, frames, *map(id, check.operands))
            if key not in seen:  # A tangent reads the same operands as its value.
                seen.add(key)
                name, order = check.primitive or equation.primitive.name, next(self.numbers)
                varies = frozenset[str]().union(*(versions.varying_over(one.aval) for one in check.operands))
                yield Checked(option, name, frames, check.facts, order, varies=varies), check

    def _check(
        self, option: str, checker: Checker, equation: core.JaxprEqn, frames: tuple[Frame, ...], body: BodyFacts
    ) -> Check | None:
        """Return the check of an equation; None without one, or if the forward pass has the same check."""
        if not frames or not checker.is_for(equation):
            return None
        is_done = body.part.is_recomputed and (option, frames[0], equation.primitive.name) in self.in_forward
        return None if is_done else checker.check(equation, frames, body)

    def _entered(
        self, equation: core.JaxprEqn, frames: tuple[Frame, ...], body: BodyFacts
    ) -> tuple[list[core.JaxprEqn], list[Record]]:
        name = equation.primitive.name
        if name in RUN_ONCE and RUN_ONCE[name] in equation.params:
            changed, records = self._call(equation, frames, body)
            return [changed], records
        if name == "cond":
            changed, records = self._branches(equation, frames, body)
            return [changed], records
        if name == "scan" or (name == "while" and not equation.params["cond_jaxpr"].out_avals[0].shape):
            return self._loop(equation, frames, body)
        if name == "shard_map" and gives_records(equation):
            with inside_of_mesh():
                inner, records = self._inner(equation.params["jaxpr"], equation, frames, body)
            return given_by_devices(equation, inner, records) if records else ([equation], [])
        if name in _UNCHECKED:
            self.unchecked.add(_UNCHECKED[name])
        return [equation], []

    def _inner(
        self,
        inner: Any,
        equation: core.JaxprEqn,
        frames: tuple[Frame, ...],
        body: BodyFacts,
        *,
        is_inlined: bool = False,
    ) -> tuple[core.Jaxpr, list[Record]]:
        jaxpr = inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner
        results = results_of_bodies(equation, body.certain)
        equations, records = self.body(jaxpr, frames, results, body.part, is_inlined=is_inlined)
        return jaxpr.replace(eqns=equations), records

    def _call(
        self, equation: core.JaxprEqn, frames: tuple[Frame, ...], body: BodyFacts
    ) -> tuple[core.JaxprEqn, list[Record]]:
        key = RUN_ONCE[equation.primitive.name]
        called = getattr(equation.params[key], "jaxpr", equation.params[key])
        self.definitions.update(zip(called.invars, equation.invars, strict=False))
        inner, records = self._inner(equation.params[key], equation, frames, body, is_inlined=True)
        if not records:
            return equation, []
        rows, outer = passed_on(records)
        params = {**equation.params, key: in_place(equation.params[key], giving(inner, rows))}
        for parameter, filler in (("out_shardings", sharding_impls.UNSPECIFIED), ("out_layouts", None)):
            if parameter in params:
                params[parameter] = (*params[parameter], *[filler] * len(rows))
        return equation.replace(params=params, outvars=[*equation.outvars, *flat_rows(outer)]), outer

    def _branches(
        self, equation: core.JaxprEqn, frames: tuple[Frame, ...], body: BodyFacts
    ) -> tuple[core.JaxprEqn, list[Record]]:
        branches = equation.params["branches"]
        found = [self._inner(one, equation, frames, body) for one in branches]
        records = [record for _, own in found for record in own]
        if not records:
            return equation, []
        changed, before = [], 0
        for branch, (inner, own) in zip(branches, found, strict=True):
            empty = [empty_of(row.aval.size) for _, row in records]
            rows = [row for _, row in empty]
            rows[before : before + len(own)] = flat_rows(own)
            before += len(own)
            filled = inner.replace(eqns=[*inner.eqns, *(one for also, _ in empty for one in also)])
            changed.append(in_place(branch, giving(filled, rows)))
        _, outer = passed_on(records)
        params = {**equation.params, "branches": tuple(changed)}
        return equation.replace(params=params, outvars=[*equation.outvars, *flat_rows(outer)]), outer

    def _loop(
        self, equation: core.JaxprEqn, frames: tuple[Frame, ...], body: BodyFacts
    ) -> tuple[list[core.JaxprEqn], list[Record]]:
        is_scan = equation.primitive.name == "scan"
        key = "jaxpr" if is_scan else "body_jaxpr"
        number = next(self.numbers)
        inner, records = self._inner(equation.params[key], equation, frames, body)
        first, outer = list[core.JaxprEqn](), list[Record]()
        apart = is_carried_apart(getattr(equation.params[key], "jaxpr", equation.params[key]), records)
        if is_scan and not apart:
            first, outer, inner, records = before_loop(equation, inner, records, self.checks, number)
        if not records:
            return [*first, equation], outer
        counter = new_number()
        also, step = [], counter
        if is_scan and equation.params["reverse"]:
            also, (step,) = computed_numbers(partial(from_end, equation.params["length"]), [counter])
        carries = carrying(records, step, apart=apart)
        outer += [
            (replace(checked, around=(number, *checked.around)), one.row)
            for (checked, _), one in zip(records, carries, strict=True)
        ]
        inner = inner.replace(eqns=[*inner.eqns, *also, *chain.from_iterable(one.also for one in carries)])
        changed = with_counter(loop_carrying(equation, key, inner, carries), counter)
        first = [*first, *chain.from_iterable(one.first for one in carries)]
        return [*first, changed, *chain.from_iterable(one.behind for one in carries)], outer
