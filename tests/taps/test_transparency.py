"""A program says and computes under a capture what it says and computes without one."""

from __future__ import annotations

from collections import Counter

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw


def unordered(x):
    y = jnp.sin(x) * 2
    jax.debug.print("x={x} y={y}", x=x, y=y)
    return y


def ordered(x):
    y = jnp.sin(x) * 2
    jax.debug.print("x={x} y={y}", x=x, y=y, ordered=True)
    return y


def skip_what_jax_refuses(transform, body):
    if body is ordered and transform.devices > 1:
        pytest.skip("JAX refuses ordered effects on several devices")


@pytest.mark.behaviour("P1")
@pytest.mark.parametrize("body", [unordered, ordered])
def test_a_capture_sees_what_jax_would_print_and_changes_no_bit(transform, body, printed, same_bits):
    skip_what_jax_refuses(transform, body)
    program = transform.wrap(body)
    plain, written = printed(program)
    lines = written.splitlines()
    assert len(lines) == transform.firings

    with jdw.capture() as run:
        captured, leaked = printed(program)
    texts = [event.text for event in run.events]

    assert same_bits(plain, captured)
    assert leaked == ""
    assert Counter(texts) == Counter(lines)
    if body is ordered:
        assert texts == lines
