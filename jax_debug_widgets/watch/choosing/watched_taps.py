"""Make the sites and taps of watched values."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jax_debug_widgets._jax.compat.processes import own_number
from jax_debug_widgets._jax.origins.place import device_names
from jax_debug_widgets.events import NO_VALUE, CallSite, Derivative, Nesting, Tap, Watched
from jax_debug_widgets.events.tap import Arguments
from jax_debug_widgets.events.texts import BAD_LANE, watched_text
from jax_debug_widgets.taps.sites import phase_of, transforms_of
from jax_debug_widgets.watch.choosing import bad_lane, lanes
from jax_debug_widgets.watch.choosing.select import Watch, scope_of
from jax_debug_widgets.watch.naming.body import BodyWithFrames
from jax_debug_widgets.watch.naming.callers import callers_of
from jax_debug_widgets.watch.naming.derivatives import derivatives_of
from jax_debug_widgets.watch.naming.named import Named, label_of
from jax_debug_widgets.watch.naming.value_gradient_pairs import ValueGradientPairs
from jax_debug_widgets.watch.statistics.full_values import is_taken_whole, is_wide, whole_shape
from jax_debug_widgets.watch.statistics.layout import HISTOGRAM, LANES
from jax_debug_widgets.watch.statistics.statistics import dtype_of, merges_of, names_of
from jax_debug_widgets.watch.syntax.source import source_of

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.lanes import Axes
    from jax_debug_widgets._jax.origins.place import Place
    from jax_debug_widgets._jax.passes.body_context import BodyContext
    from jax_debug_widgets.taps import Capture

_MOST, _AGAIN, _LATE = 2**20, 2**49, 2**50
"""Constants of the sites' order: the most sites of one body, and the first orders of recomputed values and of
gradients. All are below 2^53, up to which JavaScript's numbers are exact.
"""

Again = Literal["", "name", "value"]
"""See `Watched.again`."""


@dataclass(frozen=True, eq=False)
class ValueOfBody:
    """A watched value of a body.

    Attributes:
      named: the value.
      lanes: its axes that are lanes if it is wanted by lane; else ().
      known_lanes: all its axes that are known to be lanes.
      order: see `orders`.
      choice, again: see `Watched`.
    """

    named: Named
    lanes: Axes
    known_lanes: Axes
    order: int
    choice: str
    again: Again


@dataclass(frozen=True, eq=False)
class _Recorded:
    """The arrays that are recorded of a value: its statistics, and its elements if `is_whole`."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype[Any], ...]
    is_whole: bool
    lanes: tuple[int, ...]
    vmapped: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return sum(int(np.prod(shape)) * dtype.itemsize for shape, dtype in zip(self.shapes, self.dtypes, strict=True))


class WatchedTaps:
    """Makes the taps of the watched values of one program."""

    def __init__(self, capture: Capture, watch: Watch, partners: ValueGradientPairs) -> None:
        self._capture, self._watch, self._partners = capture, watch, partners
        self._count: dict[object, int] = {}

    def of(
        self,
        value: ValueOfBody,
        body: BodyWithFrames,
        finite: Container[Any],
        given_on: Mapping[Any, tuple[str, ...]],
    ) -> Tap:
        """Make the tap of one value of a body.

        Args:
          finite: see `derivatives_of`.
          given_on: see `names_given_on`.
        """
        one, recorded = value.named, self._recorded(value)
        derivatives = derivatives_of(body, one, finite, self._capture.sites.name_file) if one.role == "gradient" else ()
        site = self._site(value, recorded, body.around, derivatives)
        if site.watch:
            place, around = body.place, body.around
            watched = replace(
                site.watch,
                again=value.again,
                given_on=given_on.get(one.variable, ()) if one.role == "value" else (),
                has_ended_lanes=any(loop.ends_by_lane for loop in place.loops),
                position=around.position if place.loops else (*around.position, one.equation),
            )
            site = replace(site, watch=watched)
        self._partners.add(one, site)
        return Tap(
            site=site,
            lanes=(),
            mapped=((),) * len(recorded.shapes),
            shapes=recorded.shapes,
            dtypes=recorded.dtypes,
            nesting=self._nesting(body),
            nbytes=recorded.nbytes,
            unflatten=partial(_unflatten, site.values),
            render=partial(watched_text, site),
            callers=callers_of(body, one),
        )

    def _recorded(self, value: ValueOfBody) -> _Recorded:
        aval, axes, known = value.named.variable.aval, value.lanes, value.known_lanes
        is_whole = self._watch.values and is_taken_whole(aval)
        names = () if is_whole and is_wide(aval) else names_of(aval)
        if self._watch.histograms and aval.size > 1:
            names = (*names, *HISTOGRAM)
        vmapped = tuple(aval.shape[axis] for axis in known) if bad_lane.has_lane(aval, known) else ()
        names = (*names, BAD_LANE) if vmapped else names
        shapes: tuple[tuple[int, ...], ...] = ((),) * len(names)
        dtypes: tuple[np.dtype[Any], ...] = (dtype_of(aval),) * len(names)
        if axes:
            names, shapes = (*names, LANES), (*shapes, lanes.shape_of(aval.shape, axes))
            dtypes = (*dtypes, lanes.dtype_of(aval, axes))
        if is_whole:
            names, shapes = (*names, "value"), (*shapes, whole_shape(aval.shape))
            dtypes = (*dtypes, np.dtype(aval.dtype))
        sizes = tuple(aval.shape[axis] for axis in axes)
        return _Recorded(names, shapes, dtypes, is_whole, sizes, vmapped)

    def _nesting(self, body: BodyWithFrames) -> Nesting:
        place, around = body.place, body.around
        return Nesting(
            loops=tuple(loop.length for loop in place.loops),
            conditional=place.conditional or bool(self._watch.when),
            counted=bool(place.loops) and len(place.counters) == len(place.loops),
            in_condition=place.in_condition,
            axes=place.axes,
            devices=device_names(place.mesh, place.axes),
            replicas=around.replicas,
            groups=place.groups,
            one_of=1 if place.loops else around.call_of,
            stride=around.every,
            strided=around.sampled_loop,
            reverse=tuple(loop.reverse for loop in place.loops),
        )

    def _site(
        self, value: ValueOfBody, recorded: _Recorded, around: BodyContext, derivatives: tuple[Derivative, ...]
    ) -> CallSite:
        one = value.named
        aval, is_gradient = one.variable.aval, one.role == "gradient"
        partner = self._partners.of(one, is_pass=around.is_pass)
        watched = Watched(
            name=one.name,
            role=one.role,
            shape=tuple(aval.shape),
            dtype=aval.dtype.name,
            primitive=one.primitive,
            scope=scope_of(one.stack),
            full=recorded.is_whole,
            lanes=recorded.lanes,
            value=(partner.id if partner else NO_VALUE) if is_gradient else None,
            intended=tuple(sorted(around.intended.get(one.variable, ()))),
            gradient=partner.id if partner and not is_gradient else None,
            choice=value.choice,
            merges=merges_of(recorded.names),
            derivatives=derivatives,
            vmapped=recorded.vmapped,
        )
        # A trace for another type (a smaller last batch), or with other results, has the same value.
        same = replace(watched, shape=(), dtype="", choice="", derivatives=(), vmapped=())
        place = (same, one.file, one.span, one.function, one.stack, recorded.names)
        number = self._count[place] = self._count.get(place, -1) + 1
        make = partial(self._make_site, one, watched, recorded.names, value.order)
        site = self._capture.sites.site_for(("watch", place, number), make)
        return replace(site, watch=watched, order=value.order)

    def _make_site(self, one: Named, watched: Watched, values: tuple[str, ...], order: int, number: int) -> CallSite:
        source, span = source_of(one.file), one.span
        line = source.lines[span.line - 1].strip() if 1 <= span.line <= len(source.lines) else ""
        return CallSite(
            id=number,
            kind="watch",
            ordered=False,
            file=one.file,
            line=span.line,
            column=source.character(span.line, span.column),
            end_line=span.end_line,
            end_column=source.character(span.end_line, span.end_column),
            where=f"{self._capture.sites.name_file(one.file)}:{span.line}",
            function=one.function,
            source=line,
            label=label_of(one.name, one.role),
            values=values,
            format=one.primitive,
            name_stack=one.stack,
            transforms=transforms_of(one.stack),
            phase=phase_of(one.stack),
            order=order,
            aliases=(),
            watch=watched,
            process=own_number(),
        )


def orders(chosen: Sequence[Named], body: int, place: Place) -> list[int]:
    """Return the order of the sites of body number `body`: its values first, then recomputed values, then gradients.

    Gradients come in the order in which the backward pass computes them: in transposed bodies that of the bodies'
    numbers, in other bodies the reverse.
    """
    is_backward = "transpose(" in str(place.stack)
    first = {"value": body * _MOST, "gradient": _LATE + (body if is_backward else -body) * _MOST}
    again = [_AGAIN * (one.role == "value" and phase_of(one.stack) == "recompute") for one in chosen]
    return [first[one.role] + again[position] + position for position, one in enumerate(chosen)]


def body_of(site: CallSite) -> int:
    """Return the number of the body that a watched value is in, see `orders`."""
    body = site.order // _MOST
    if site.watch is not None and site.watch.role == "gradient":
        return abs(body - _LATE // _MOST)
    return body - (_AGAIN // _MOST) * (site.order >= _AGAIN)


def position_of(site: CallSite) -> int:
    """Return the position of a watched value among those of its body, in the order of the program."""
    return site.order % _MOST


def _unflatten(names: tuple[str, ...], values: Sequence[Any]) -> Arguments:
    return (), dict(zip(names, values, strict=True))
