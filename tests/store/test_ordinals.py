"""Test the iteration of a firing: how often its tap had fired before in its call, over all batches."""

from __future__ import annotations

import numpy as np

from jax_debug_widgets.store.ordinals import Ordinals
from tests.store.firing_batches import batch_of


def test_ordinals_continue_over_several_batches_of_a_call(make_tap):
    tap, other, ordinals = make_tap(1), make_tap(2), Ordinals()

    def of(calls, tap=tap):
        batch = batch_of([(tap, number, (np.zeros((), np.float32),)) for number in range(len(calls))])
        return ordinals.of(batch, np.array(calls)).tolist()

    assert of([5, 5, 5]) == [0, 1, 2]
    assert of([5, 5]) == [3, 4]
    assert of([5], other) == [0]
    assert of([5, 6, 5, 6]) == [5, 0, 6, 1]  # Calls of two threads.
    assert of([6, 6]) == [2, 3]
    assert of([5]) == [7]
    ordinals.doubtful[1] = 6
    assert of([6, 7, 7]) == [-1, 0, 1]
