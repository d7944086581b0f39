"""Define fixtures that watch a program and compare the watched values with those of the un-jitted expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import jax_debug_widgets as jdw


@pytest.fixture
def watched() -> Callable[..., Any]:
    """Return a function that runs `f(*args)` watched until its effects are over; it returns a run with `run.result`."""

    def run_it(f: Callable[..., Any], *args: Any, watch: Any = True, **options: Any) -> Any:
        with jdw.capture(watch=watch, **options) as run:
            run.result = jax.block_until_ready(f(*args))
        jax.effects_barrier()
        return run

    return run_it


@pytest.fixture
def whole() -> Callable[..., list[np.ndarray]]:
    """Return a function that returns the values of a name in a run with `values=True`, in the order of steps."""

    def of(run: Any, name: str) -> list[np.ndarray]:
        events = [event for event in run.events if event.site.label == name]
        return [event.values[-1] for event in sorted(events, key=lambda event: event.step)]

    return of


@pytest.fixture
def agrees() -> Callable[..., None]:
    """Return an assertion that a watched value has the statistics of an array at a step, up to rounding of float32."""

    def check(value: Any, array: Any, step: int = 0) -> None:
        array = np.asarray(array).astype(np.complex128 if np.iscomplexobj(array) else np.float64)
        array = np.abs(array) if np.iscomplexobj(array) else array
        if array.size == 1:
            np.testing.assert_allclose(value["value"][step], array.item(), rtol=2e-5, atol=1e-6)
            return
        scale = np.abs(array[np.isfinite(array)]).max(initial=1e-6)
        finite = array[np.isfinite(array)]
        wanted = {"min": finite.min(), "max": finite.max(), "mean": finite.mean(), "std": finite.std()}
        for name, number in wanted.items():
            np.testing.assert_allclose(value[name][step], number, rtol=2e-4, atol=2e-3 * scale, err_msg=name)
        counts = {"zeros": array == 0, "nan": np.isnan(array), "posinf": array == np.inf, "neginf": array == -np.inf}
        for name, which in counts.items():
            assert value[name][step] == which.sum(), name
        if len(finite) == array.size:
            np.testing.assert_allclose(value["l2"][step], np.linalg.norm(array.ravel()), rtol=1e-3)

    return check
