"""Choose which values of one program are watched, and make a tap for each."""

from __future__ import annotations

import textwrap
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets._jax.compat.guard import HookError
from jax_debug_widgets._jax.passes.body_context import BodyContext
from jax_debug_widgets._jax.passes.choices import left_out_by
from jax_debug_widgets._jax.passes.watch_tap import StopValues, TakenValues
from jax_debug_widgets._jax.passes.watching import JaxLimitError
from jax_debug_widgets._jax.tracing.bindings import is_hindered
from jax_debug_widgets.events import Bundle
from jax_debug_widgets.watch.choosing import lanes
from jax_debug_widgets.watch.choosing.bad_lane import bad_lanes
from jax_debug_widgets.watch.choosing.compile_report import CompiledPrograms, Failure
from jax_debug_widgets.watch.choosing.condition import Condition, ConditionError
from jax_debug_widgets.watch.choosing.price import CostEstimate
from jax_debug_widgets.watch.choosing.reading import reading_of
from jax_debug_widgets.watch.choosing.select import Pattern, Watch, scope_of, wants_file
from jax_debug_widgets.watch.choosing.stops import whole_of
from jax_debug_widgets.watch.choosing.watched_taps import Again, ValueOfBody, WatchedTaps, orders
from jax_debug_widgets.watch.naming.arguments import arguments, names_given_on
from jax_debug_widgets.watch.naming.bindings_of_body import BodyBindings
from jax_debug_widgets.watch.naming.body import BodyWithFrames
from jax_debug_widgets.watch.naming.named import Named, label_of
from jax_debug_widgets.watch.naming.names import every_value, named_values
from jax_debug_widgets.watch.naming.upstream import upstream
from jax_debug_widgets.watch.naming.value_gradient_pairs import ValueGradientPairs
from jax_debug_widgets.watch.naming.variable_types import is_key
from jax_debug_widgets.watch.statistics.statistics import cuda_target
from jax_debug_widgets.watch.syntax.statements import Span

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.lanes import Axes
    from jax_debug_widgets._jax.origins.place import Place
    from jax_debug_widgets.events import Tap
    from jax_debug_widgets.taps import Capture


_LONGEST = 80
"""The most characters of an expression that a finding quotes."""


class ProgramWatcher:
    """Watches one program: see `_jax.passes.watcher.Watcher`."""

    def __init__(
        self,
        capture: Capture,
        watch: Watch,
        seen: CompiledPrograms,
        bodies: Iterator[int],
        prepared: Callable[[str, float], None],
    ) -> None:
        self._report_prepared, self._bodies = prepared, bodies
        self._capture, self._watch, self._seen = capture, watch, seen
        self._patterns = [Pattern(name, capture.sites.name_file) for name in watch.names]
        self._added = [Pattern(name, capture.sites.name_file) for name in (*watch.added, *watch.stops.names)]
        """Names only, not primitives."""
        self._names: set[Pattern] = set()
        """The patterns that are names in this program, and therefore not primitives."""
        self._condition = Condition(watch.when) if watch.when else None
        self._lanes = lanes.ProgramLanes(capture.lanes, self._is_by_lane, seen.laneless)
        self._partners = ValueGradientPairs(seen.sites, seen.carried)
        self._taps = WatchedTaps(capture, watch, self._partners)
        self._work = CostEstimate()
        self._names_in_loops: dict[int, set[str]] = {}
        """Identity of the equation that runs a body -> the names of the values in that body."""

    def prepared(self, program: str, seconds: float) -> None:
        """See `_jax.passes.watcher.Watcher`."""
        self._seen.failures.pop(program, None)  # The failure was of another program of this name, or has been fixed.
        self._report_prepared(program, seconds)

    def failed(self, program: Any, name: str, error: Exception) -> None:
        """See `_jax.passes.watcher.Watcher`."""
        first_line = str(error).partition("\n")[0]
        reason = f"with its taps it could not be compiled: {type(error).__name__}: {first_line}"
        explains_itself = isinstance(error, ConditionError | HookError | JaxLimitError)
        self._seen.failures[name] = Failure(first_line if explains_itself else reason, weakref.ref(program))

    def unasked(self, jaxpr: Any, place: Place, around: BodyContext) -> None:
        """See `_jax.passes.watcher.Watcher`."""
        body = BodyWithFrames(jaxpr, place, around, self._wants_file)
        chosen = self._chosen(body, named_values(BodyBindings(body), self._wants_file, self._seen.mingled))
        if self._watch.everything:
            chosen = [one for one in chosen if self._is_added(one)]
        self._seen.unasked.update(dict.fromkeys(label_of(one.name, one.role) for one in chosen))
        self._found_by(chosen)

    def every(self) -> int:
        """See `_jax.passes.watcher.Watcher`."""
        return self._watch.every

    def calls(self) -> Callable[[], bool] | None:
        """See `_jax.passes.watcher.Watcher`."""
        if self._watch.of_taken_calls:
            return None
        return partial(self._capture.sites.counter().takes, self._watch.every)

    def samples_beside(self) -> bool:
        """See `_jax.passes.watcher.Watcher`."""
        return cuda_target() is not None

    def conditional(self) -> bool:
        """See `_jax.passes.watcher.Watcher`."""
        return self._condition is not None

    def body(self, jaxpr: Any, place: Place, around: BodyContext) -> TakenValues | None:
        """See `_jax.passes.watcher.Watcher`."""
        body = BodyWithFrames(jaxpr, place, around, self._wants_file)
        bound = BodyBindings(body)
        named = named_values(bound, self._wants_file, self._seen.mingled)
        self._seen.keys.update((one.file, one.span, one.name) for one in arguments(bound, self._wants_file, is_key))
        chosen = self._chosen(body, named)
        holds = self._condition.within(named) if self._condition else None
        if self._condition and chosen:
            self._seen.conditional |= holds is not None
            if holds is None:
                self._seen.untaken.update(dict.fromkeys(label_of(one.name, one.role) for one in chosen))
                self._found_by(chosen)
                chosen = []
        self._seen.places.update(dict.fromkeys(((one.file, one.span, one.name) for one in chosen), True))
        self._seen.functions.update(
            (level.file, level.function) for levels in body.levels for level in levels if level.file
        )
        variables = [one.variable for one in chosen]
        self._work.add(jaxpr, variables, place, self._watch.every)
        if not chosen:
            return None
        known = self._lanes.of(body, named, chosen)
        axes = self._lanes.wanted(chosen, known)
        number = next(self._bodies)
        taps = self._taps_of(body, named, self._values_of(body, chosen, axes, known, number))
        self._note_taps(taps, chosen, upstream(jaxpr, variables, number))
        reading = reading_of(
            self._watch, jaxpr, variables, axes, around.replicas, bad_lanes(jaxpr, variables, known, taps)
        )
        bundle = Bundle(tuple(taps))
        return TakenValues(
            variables=reading.read,
            compute=reading.compute,
            record=self._capture.bundle_recorder(bundle),
            when=holds,
            stop=self._stop(bundle, jaxpr, chosen, named),
            # XLA would compute the statistics of an array that is split over devices in each case.
            compute_if=reading.compute_if if around.replicas == 1 else None,
        )

    def _values_of(
        self,
        body: BodyWithFrames,
        chosen: Sequence[Named],
        axes: Sequence[Axes],
        known: Sequence[Axes],
        number: int,
    ) -> list[ValueOfBody]:
        """Return the watched values of body `number`, with their axes that are wanted by lane, and all known lanes."""
        order, choices, again = (
            orders(chosen, number, body.place),
            self._choices(body, chosen),
            self._again(body, chosen),
        )
        return list(map(ValueOfBody, chosen, axes, known, order, choices, again))

    def _taps_of(self, body: BodyWithFrames, named: Sequence[Named], values: Sequence[ValueOfBody]) -> list[Tap]:
        given_on = names_given_on(body, named)
        # A masked value, or a mask, may be infinite before the first finding.
        sure = (one.named for one in values if one.named.role == "gradient" or not one.choice)
        finite = {one.variable for one in sure} - set(body.around.intended)
        return [self._taps.of(value, body, finite, given_on) for value in values]

    def _note_taps(self, taps: Sequence[Tap], chosen: Sequence[Named], sources: Sequence[Any]) -> None:
        """Note the sites of a body for the notes of the run; `sources` are those of `upstream`."""
        for tap, found in zip(taps, self._found_by(chosen), strict=True):
            for sites in found:
                sites.add(tap.site.id)
        own = {tap.site.id for tap in taps}
        self._seen.hindered = self._seen.hindered | own if is_hindered() else self._seen.hindered - own
        self._seen.works.update((tap.site.id, self._work) for tap in taps)
        self._seen.upstream.update((tap.site.id, found) for tap, found in zip(taps, sources, strict=True))

    def _stop(self, bundle: Bundle, jaxpr: Any, chosen: Sequence[Named], named: Sequence[Named]) -> StopValues | None:
        """Return the values that a tap hands over where the program may stop; None if it never stops."""
        intended = [tap.site.watch.intended if tap.site.watch else () for tap in bundle.taps]
        whole = whole_of(self._watch.stops, jaxpr, chosen, named, intended)
        if whole is None:
            return None
        types = {bundle.taps[row]: chosen[row].variable.aval for row in whole.rows}
        taps = {tap: tap.with_value(tuple(aval.shape), np.dtype(aval.dtype)) for tap, aval in types.items()}
        return StopValues(whole.variables, whole.holds, whole.compute, self._capture.whole_recorder(bundle, taps))

    def _chosen(self, body: BodyWithFrames, named: list[Named]) -> list[Named]:
        self._partners.add_carried(named)
        plain = [one for one in named if not one.is_alias or self._is_added(one)]
        self._seen.names.update(dict.fromkeys(one.name for one in named))
        for one in named:
            self._seen.places.setdefault((one.file, one.span, one.name), False)
        if self._watch.ops:
            return every_value(body, plain, lambda _: True)
        if self._watch.everything:
            # An iteration's inputs were computed by the iteration before: they exist already.
            is_there = self._partners.is_carried
            return [one for one in plain if not (is_there(one) or one.name.startswith("_")) or self._is_added(one)]
        chosen = [one for one in named if self._is_asked_for(one) or self._is_added(one)]
        left = [one for one in self._patterns if one not in self._names]

        def is_left(one: Named) -> bool:
            return any(pattern.matches_value(one) for pattern in left)

        for one in every_value(body, plain, is_left) if left else ():
            self._seen.primitives[one.primitive] = None
            self._seen.scopes.update({scope: None} if (scope := scope_of(one.stack)) else {})
            if one not in chosen and is_left(one):
                chosen.append(one)
        return sorted(chosen, key=lambda one: one.equation)

    def _is_asked_for(self, one: Named) -> bool:
        asked = [pattern for pattern in self._patterns if pattern.matches(one)]
        self._names.update(asked)
        return bool(asked)

    def _is_added(self, one: Named) -> bool:
        return any(pattern.matches(one) for pattern in self._added)

    def _is_by_lane(self, one: Named) -> bool:
        asked = (pattern for pattern in (*self._patterns, *self._added) if pattern.by_lane)
        return self._watch.lanes or any(pattern.matches(one) for pattern in asked)

    def _again(self, body: BodyWithFrames, chosen: Sequence[Named]) -> list[Again]:
        """Return for each value whether another one already reports it: in this iteration, or at the end of the last."""
        values = [one for one in chosen if one.role == "value"]
        reported = {one.name for one in values if not self._partners.is_carried(one)}
        loop = id(body.around.equation)
        if body.place.in_condition:  # The pass visits it after the body, but it runs before.
            reported |= self._names_in_loops.get(loop, set())
        else:
            self._names_in_loops[loop] = {one.name for one in values}
        nearest: dict[Any, Named] = {}
        for one in chosen:
            known = nearest.setdefault(one.variable, one)
            nearest[one.variable] = one if len(one.outer) > len(known.outer) else known
        names: set[tuple[Any, ...]] = set()
        again: list[Again] = []
        for one in chosen:
            key = one.variable, one.name, one.role
            is_given = one.role == "value" and self._partners.is_carried(one) and one.name in reported
            is_other = nearest[one.variable] is not one
            again.append("name" if is_given or key in names else "value" if is_other else "")
            names.add(key)
        return again

    def _choices(self, body: BodyWithFrames, chosen: Sequence[Named]) -> list[str]:
        """Return for each value the expression of the choice that may leave it out; empty for others."""
        choices = left_out_by(body.jaxpr)

        def expression(variable: Any) -> str:
            levels = body.levels[choices[variable]] if variable in choices else ()
            if not levels:
                return ""
            file, span = levels[-1].file, Span(*levels[-1].span)
            text = textwrap.shorten(body.source(file).text(span), _LONGEST, placeholder=" …")
            return f"{text} at {self._capture.sites.name_file(file)}:{span.line}"

        return [expression(one.variable) for one in chosen]

    def _found_by(self, chosen: Sequence[Named]) -> list[list[set[int]]]:
        """Return for each value the sets in `CompiledPrograms.matched` of the patterns that match it."""
        matched = self._seen.matched
        return [
            [matched.setdefault(one.text, set()) for one in self._patterns if one.matches_value(value)]
            for value in chosen
        ]

    def _wants_file(self, file: str) -> bool:
        return wants_file((*self._patterns, *self._added), file)
