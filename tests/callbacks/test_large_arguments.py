"""Test large arguments on several devices: plain JAX can hang there, a captured program finishes. See `make bench`."""

from __future__ import annotations

import pytest

from tests.benchmarks.large import KINDS, finishes


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize("devices", [2, 4])
def test_programs_with_400_kib_arguments_finish_whatever_they_call(devices):
    finishes(KINDS, devices, steps=20, runs=2, timeout=200)
