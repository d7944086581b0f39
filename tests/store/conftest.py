"""Make firings for the store, without JAX."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from jax_debug_widgets.events import CallSite, Nesting, Tap
from tests.store.firing_batches import Fired

FLOAT32 = np.dtype(np.float32)
UNNESTED = Nesting()


def make_site(number: int, values: int = 1) -> CallSite:
    return CallSite(
        id=number,
        kind="print",
        ordered=False,
        file="train.py",
        line=number,
        column=0,
        end_line=number,
        end_column=9,
        where=f"train.py:{number}",
        function="step",
        source="",
        label="x",
        values=tuple(f"v{index}" for index in range(values)),
        format="{}",
        name_stack="jit(step)",
        transforms=("jit",),
        phase="forward",
        order=-1,
    )


def shapes_with_lanes(tap: Tap) -> list[tuple[int, ...]]:
    return [
        (*(size for size, present in zip(tap.lanes, axes, strict=True) if present), *shape)
        for axes, shape in zip(tap.mapped, tap.shapes, strict=True)
    ]


@pytest.fixture
def make_tap() -> Callable[..., Tap]:
    """Return a function that makes a tap.

    It takes the number of its site and the lanes; shape, mapped axes and dtype of each value; and the nesting.
    """

    def make(number, lanes=(), shapes=((),), *, mapped=None, dtypes=None, nesting=UNNESTED) -> Tap:
        tap = Tap(
            site=make_site(number, len(shapes)),
            lanes=lanes,
            mapped=mapped or tuple((True,) * len(lanes) for _ in shapes),
            shapes=shapes,
            dtypes=dtypes or (FLOAT32,) * len(shapes),
            nesting=nesting,
            nbytes=0,
            unflatten=lambda values: (tuple(values), {}),
            render=lambda values: " ".join(map(str, values)),
        )
        sizes = [math.prod(s) * d.itemsize for s, d in zip(shapes_with_lanes(tap), tap.dtypes, strict=True)]
        object.__setattr__(tap, "nbytes", sum(sizes))
        return tap

    return make


@pytest.fixture
def fire() -> Callable[..., Fired]:
    """Return a function that makes a firing with random values."""

    def make(tap, time_ns, rng) -> Fired:
        shapes = zip(shapes_with_lanes(tap), tap.dtypes, strict=True)
        values = [np.asarray(rng.standard_normal(s) * 9).astype(d) for s, d in shapes]
        coordinates = [np.asarray(rng.integers(2), np.int32) for _ in tap.nesting.axes]
        return tap, time_ns, (*values, *coordinates)

    return make
