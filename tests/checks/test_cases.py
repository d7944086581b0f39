"""Test the table of programs for the checks: each has its finding, and near misses have none."""

from __future__ import annotations

import linecache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax, random

import jax_debug_widgets as jdw
from tests.checks.case_programs import CASES, Case


def run_case(case: Case):
    """Run a program as a file of its own; return its findings."""
    name = f"/cases/{case.id}.py"
    linecache.cache[name] = (len(case.source), None, case.source.splitlines(keepends=True), name)
    names = {"jax": jax, "jnp": jnp, "np": np, "lax": lax, "random": random, "__name__": "__main__"}
    raised = ""
    with (
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
        jdw.capture(check=case.check) as run,
    ):
        try:
            exec(compile(case.source, name, "exec"), names)
        except Exception as error:  # noqa: BLE001 - what it raises is compared.
            raised = type(error).__name__
            run.returned(error)
    assert raised == case.raises
    return run.findings


def is_found(case: Case, findings) -> bool:
    """Return whether a finding is at the line of the case and has its words."""
    place = f"{case.id}.py:{case.line}"
    return any(
        (finding.where.endswith(place) or f"called from {place}" in finding.message)
        and all(word in finding.message for word in case.says)
        and all(word in finding.message.replace('"', "'") for word in case.fix)
        for finding in findings
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [one for one in CASES if not one.near_miss], ids=lambda one: one.id)
def test_the_finding_is_at_the_line_with_its_words(case):
    findings = run_case(case)
    assert is_found(case, findings), [one.message for one in findings]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [one for one in CASES if one.near_miss], ids=lambda one: one.id)
def test_a_near_miss_has_no_finding(case):
    assert run_case(case) == []
