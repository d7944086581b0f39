"""Make snapshots to show, and a comm that records."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jax_debug_widgets.events import Barrier, Call, CallSite, Status
from jax_debug_widgets.widgets import PrintLine, ScalarSeries, Snapshot
from tests.fakes import RecordingComm

SITE = CallSite(
    id=1,
    kind="print",
    ordered=True,
    file="train.py",
    line=41,
    column=4,
    end_line=41,
    end_column=40,
    where="train.py:41",
    function="step",
    source='jax.debug.print("loss {}", loss)',
    label="loss",
    values=("loss",),
    format="loss {}",
    order=0,
    name_stack="jit(step)",
    transforms=("jit",),
    phase="forward",
)
CALL = Call(
    id=0,
    name="step(params)",
    origin="cell",
    state="drained",
    started_ns=0,
    trace=0.25,
    lower=0.5,
    compile=1.5,
    dispatched_ns=2_000_000_000,
    ready_ns=3_000_000_000,
    drained_ns=3_500_000_000,
    effects=True,
    ordered=True,
    events=3,
    error="",
    run=0.75,
    run_of=1,
)


@pytest.fixture
def snapshot() -> Callable[..., Snapshot]:
    """Return a function that makes a snapshot of a run with three ordered prints.

    Its arguments change fields of the snapshot or of the run's status.
    """

    def make(**changes: Any):
        barrier = changes.pop("barrier", Barrier(state="drained", pending=(), waited=0.1, timeout=60.0))
        status = Status(
            state="done",
            title="step(params)",
            started=0.0,
            elapsed=2.5,
            events=3,
            rate=1.0,
            dropped=0,
            dropped_by_site={},
            muted=(),
            barrier=barrier,
            notes=(),
        )
        own = {field.name for field in dataclasses.fields(Snapshot)}
        names = {field.name for field in dataclasses.fields(Status)} & set(changes) - own
        status = dataclasses.replace(status, **{name: changes.pop(name) for name in names})
        whole = Snapshot(
            status=status,
            sites=[SITE],
            counts={1: 3},
            ordered=[PrintLine(SITE, step, (), f"loss 0.{step}") for step in range(3)],
            unordered=[],
            series=[ScalarSeries(SITE, "loss", np.arange(3), np.array([3.0, 2.0, 1.0]))],
            calls=[CALL],
        )
        return dataclasses.replace(whole, **changes)

    return make


@pytest.fixture
def comms(monkeypatch) -> list[RecordingComm]:
    """Return the comms that widgets open from now on."""
    opened: list[RecordingComm] = []

    def create(**options: Any):
        opened.append(RecordingComm(**options))
        return opened[-1]

    monkeypatch.setattr("comm.create_comm", create)
    return opened
