"""Test the findings of a run as text and as a frame."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw


def read(x, i):
    return x[i]  # an element of a small array


def test_a_finding_is_shown_with_its_source_why_and_what_to_write():
    with jdw.capture(check="oob") as run:
        jax.jit(read)(jnp.arange(3.0), 7)
    line = read.__code__.co_firstlineno + 1
    assert repr(run.findings).splitlines() == [
        f"oob: test_findings.py:{line}: index 7 is outside axis 0 (size 3)",
        "   |",
        f"{line} |     return x[i]  # an element of a small array",
        "   |            ^^^^",
        "   = why: JAX raises no IndexError in a compiled program: the nearest element was read.",
        (
            "   = note: The last valid index is 2. If an index outside is meant, say what becomes of it: "
            'x.at[i].get(mode="fill", fill_value=0)'
        ),
    ]


def test_findings_are_a_list_and_a_frame():
    pytest.importorskip("pandas")
    with jdw.capture(check="oob") as run:
        jax.jit(read)(jnp.arange(3.0), 1)
        assert run.findings == []
        assert repr(run.findings) == "<no findings>"
        jax.jit(read)(jnp.arange(3.0), 7)
    frame = run.findings.to_pandas()
    assert list(frame["kind"]) == ["oob"]
    assert list(frame["row"]) == ["S6"]
    assert frame["headline"][0].startswith("index 7 is outside")
