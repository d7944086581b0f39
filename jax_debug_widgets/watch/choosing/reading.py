"""Plan which variables of a body are read for its watched values, and what is computed from them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax

from jax_debug_widgets._jax.passes.elementwise_calls import Copied, copied, with_calls_inlined
from jax_debug_widgets.watch.choosing.bad_lane import BadLanes
from jax_debug_widgets.watch.choosing.lanes import by_lane
from jax_debug_widgets.watch.choosing.select import Watch
from jax_debug_widgets.watch.statistics import histogram
from jax_debug_widgets.watch.statistics.full_values import is_taken_whole, sampled
from jax_debug_widgets.watch.statistics.recompute_plan import chains_of
from jax_debug_widgets.watch.statistics.statistics import (
    ChainOf,
    cuda_target,
    native_target,
    origins,
    stacked,
    stacked_if,
)

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.lanes import Axes


@dataclass(frozen=True)
class ReadPlan:
    """A plan that computes the watched values from as few variables as possible.

    Attributes:
      variables: the variables that are read.
      rows: for each value the index of its row: an index into `variables`, then into the values that the chains make.
      lanes: for each value its axes whose lanes get statistics of their own.
      chains: the chains that compute the values that are not read.
      copied: computes the operands of chains that are no variables of the body; they come after `variables`.
      bad_lanes: computes the first lane that is not finite; its variables are read after `variables`.
    """

    watch: Watch
    variables: Sequence[Any]
    rows: Sequence[int]
    lanes: Sequence[Axes]
    chains: Sequence[ChainOf]
    copied: Copied | None
    bad_lanes: BadLanes

    @property
    def read(self) -> list[Any]:
        """Return all variables that are read."""
        return [*self.variables, *self.bad_lanes.variables]

    @property
    def compute_if(self) -> Callable[..., list[Any]] | None:
        """As `compute`, with a bool[] before the arrays: where it is false, nothing is read. None if that is not possible.

        A kernel on a GPU can look at the condition by itself. Anything else than its table XLA computes in each case.
        """
        is_table = not (any(self.lanes) or self.watch.values or self.watch.histograms or self.bad_lanes.variables)
        if not (is_table and cuda_target()) or self.chains:
            return None
        return lambda wanted, *arrays: [stacked_if(wanted, arrays, self.rows)]

    def compute(self, *arrays: jax.Array) -> list[Any]:
        """Compute the arrays that a bundle of taps hands over from the arrays that were read: see `events.Bundle`."""
        arrays, further = arrays[: len(self.variables)], arrays[len(self.variables) :]
        if self.copied:
            taken = [arrays[self.variables.index(one)] for one in self.copied.inputs]
            arrays = (*arrays, *self.copied.compute(taken))
        table = stacked(arrays, self.rows, self.chains)
        if self.watch.histograms and any(array.size > 1 for array in arrays):
            table = histogram.beside(table, arrays, self.rows)
        handed = [self.bad_lanes.beside(table, further)]
        for row, axes in zip(self.rows, self.lanes, strict=True):
            handed += [by_lane(arrays[row], axes)] if axes else []
            handed += [sampled(arrays[row])] if self.watch.values and is_taken_whole(arrays[row]) else []
        return handed


def reading_of(
    watch: Watch, jaxpr: Any, values: Sequence[Any], lanes: Sequence[Axes], replicas: int, bad_lanes: BadLanes
) -> ReadPlan:
    """Plan how to compute the statistics of these variables of a body, each with its lanes."""
    if not watch.values:
        origin = origins(jaxpr)
        values = [one if axes else origin.get(one, one) for one, axes in zip(values, lanes, strict=True)]
    # A chain computes only statistics, and only of the elements that one device has.
    is_plain = not (watch.values or watch.histograms) and replicas == 1
    is_native = jax.default_backend() == "cpu" and native_target()
    plain = [one for one, axes in zip(values, lanes, strict=True) if not axes] if is_plain and is_native else []
    inlined = with_calls_inlined(jaxpr) if plain else jaxpr
    chains = chains_of(inlined, plain)
    made = [one for chain in chains for one in chain.watched]
    read = {*values}.difference(made).union(one for one, axes in zip(values, lanes, strict=True) if axes)
    sources = list(dict.fromkeys(itertools.chain.from_iterable(chain.sources for chain in chains)))
    copies = copied(jaxpr, inlined, sources)
    inputs, results = (copies.inputs, copies.results) if copies else ((), ())
    own = [one for one in sources if one not in results]
    variables = list(dict.fromkeys([*(one for one in values if one in read), *own, *inputs]))
    number_of = {variable: number for number, variable in enumerate([*variables, *results])}
    row_of = {**number_of, **{variable: number for number, variable in enumerate(made, len(number_of))}}
    return ReadPlan(
        watch=watch,
        variables=variables,
        rows=[(number_of if axes else row_of)[one] for one, axes in zip(values, lanes, strict=True)],
        lanes=lanes,
        chains=[(chain, [number_of[source] for source in chain.sources]) for chain in chains],
        copied=copies,
        bad_lanes=bad_lanes,
    )
