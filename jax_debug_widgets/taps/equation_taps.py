"""Make the tap of a debugging equation; equal equations share one."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from jax_debug_widgets.events import Nesting, Tap
from jax_debug_widgets.taps.sites import SiteBook
from jax_debug_widgets.taps.text import Renderer, unflattener

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import DebugCall
    from jax_debug_widgets.events import CallSite


class EquationTaps:
    """Holds the taps of one capture's equations. Un-jitted loops and recompilations share them."""

    def __init__(self, sites: SiteBook) -> None:
        self._sites = sites
        self._taps: dict[Hashable, Tap] = {}

    def of(self, equation: DebugCall, *, counted: bool, on_device: int, every: int) -> Tap:
        """Return the tap of an equal equation if there is one; otherwise make the tap.

        Args:
          counted: whether each firing hands over the iterations of its loops, see `_jax.origins.equation.record_every`.
          on_device: the program itself calls the host for one firing of `on_device`.
          every: one firing of `every` is recorded in all.
        """
        site = self._sites.site_of(equation)
        static = tuple((position, id(leaf)) for position, leaf in equation.static.items())
        nesting = nesting_of(equation)
        key = (
            object() if equation.in_parts else None,  # Each program cuts such an array in its own way.
            site.id,
            site.where,
            equation.shapes,
            equation.dtypes,
            static,
            equation.lanes,
            equation.text_options,
            equation.types,
            equation.order,
            equation.callers,
            equation.guard and (equation.guard.mapped, equation.guard.causes),
            counted,
            on_device,
            every,
            equation.numbered,
            nesting if nesting.devices is None else repr(nesting),  # The devices are lists.
        )
        if key not in self._taps:
            nesting = replace(nesting, counted=nesting.counted or counted, every=on_device, one_of=every // on_device)
            self._taps[key] = make_tap(site, equation, nesting)
        return self._taps[key]


def make_tap(site: CallSite, equation: DebugCall, nesting: Nesting) -> Tap:
    """Make the tap of one debugging equation at a site, inside this nesting of loops, lanes and devices."""
    lanes = equation.lanes
    sizes = [math.prod(shape) * dtype.itemsize for shape, dtype in zip(equation.shapes, equation.dtypes, strict=True)]
    return Tap(
        site=site,
        lanes=lanes.sizes,
        mapped=lanes.mapped,
        shapes=tuple(shape[sum(axes) :] for shape, axes in zip(equation.shapes, lanes.mapped, strict=True)),
        dtypes=equation.dtypes,
        nesting=nesting,
        nbytes=sum(sizes),
        unflatten=unflattener(equation),
        render=Renderer(equation),
        guard=equation.guard.mapped if equation.guard else None,
        guards=equation.guard.causes if equation.guard else (),
        is_numbered=equation.numbered,
    )


def nesting_of(equation: DebugCall) -> Nesting:
    """Make the `Nesting` of an equation from what `_jax` recorded of it."""
    return Nesting(
        loops=tuple(loop.length for loop in equation.loops if not loop.lanes),
        lanewise=tuple(loop.length or 0 for loop in equation.loops if loop.lanes),
        reverse=tuple(loop.reverse for loop in equation.loops if not loop.lanes),
        conditional=equation.conditional or equation.in_python,
        in_condition=equation.in_condition,
        steady=equation.steady,
        counted=equation.counted,
        hoisted=equation.hoisted,
        axes=equation.axes,
        devices=equation.devices,
        replicas=equation.replicas,
        shuffled=equation.shuffled,
        version=equation.version,
        groups=equation.groups,
        in_parts=equation.in_parts,
    )
