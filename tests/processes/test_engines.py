"""Test that processes which JAX has not joined (engines of ipyparallel, workers of Ray) record one run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import ipyparallel
import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from tests.waiting import until

ROOT = Path(__file__).parents[2]


@jax.jit
def step(x):
    jax.debug.print("sum {total}", total=x.sum())
    return x * 2


class Here:
    """An engine in this process."""

    def apply_sync(self, function: Callable[..., object], *arguments: object) -> object:
        """Call the function in this process."""
        return function(*arguments)


class Client(dict[int, Here]):
    """A client of ipyparallel, with the methods that are used."""

    @property
    def ids(self) -> list[int]:
        """Return the numbers of the engines."""
        return [*self]


@pytest.mark.behaviour("W6")
def test_engines_record_one_run_that_is_followed(tmp_path, monkeypatch):
    for variable in ("JDW_RECORD", "JDW_PROCESS", "JDW_PROCESSES"):
        monkeypatch.setenv(variable, "")  # `monkeypatch` restores it at the end.
    engines = jdw.follow(Client({4: Here(), 7: Here()}), tmp_path)
    with pytest.raises(LookupError, match="have captured nothing yet"):
        engines.run  # noqa: B018
    for number in (1, 0):
        monkeypatch.setenv("JDW_PROCESS", str(number))
        with jdw.capture():
            step(jnp.full(2, number + 1.0))
        run = engines.run
        assert run.goes_on or number == 0, "process 0 has not begun, and may"
    assert run.wait(20) and run.is_complete
    assert {(event.process, event.text) for event in run.events} == {(0, "sum 2.0"), (1, "sum 4.0")}
    assert "2 processes" in str(run.notes) and engines._repr_mimebundle_()[0]["text/html"]
    engines.stop()
    with jdw.capture():
        step(jnp.ones(2))
    assert [path.name for path in tmp_path.iterdir()] == ["run.jdw"]


def test_engines_of_ipyparallel_are_followed_in_one_panel(tmp_path):
    cluster = ipyparallel.Cluster(n=2, profile_dir=str(tmp_path / "profile"))
    client = cluster.start_and_connect_sync()
    try:
        engines = jdw.follow(client, tmp_path / "runs")
        client[:].execute("%load_ext jax_debug_widgets\nimport jax, jax.numpy as jnp", block=False).get(120)
        client[:].execute("@jax.jit\ndef f(x):\n    jax.debug.print('f {x}', x=x)\n    return x", block=False).get(60)
        asked = client[:].execute("get_ipython().run_cell_magic('jaxdebug', '', 'f(jnp.float32(3))')", block=False)
        until(lambda: engines._newest() is not None)
        run = engines.run
        asked.get(60)
        assert run.wait(60)
        until(lambda: len(run.processes) == 2)
        assert {(event.process, event.text) for event in run.events} == {(0, "f 3.0"), (1, "f 3.0")}
        panels = [
            [one["data"]["text/plain"] for one in outputs if "text/html" in one["data"]] for outputs in asked.outputs
        ]
        assert [["done after" in text for text in own] for own in panels] == [[False, True]] * 2, (
            "the saved notebook has its end"
        )
        assert len({process.place.host for process in run.processes}) == 1 and run.is_complete
    finally:
        cluster.stop_cluster_sync()


def test_the_workers_of_ray_record_one_run(tmp_path):
    """Ray is large, so CI does not install it: `pip install "ray[train]"`."""
    pytest.importorskip("ray", reason="Ray is not installed")
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "RAY_AUTH_MODE": "disabled", "PYTHONPATH": str(ROOT)}
    job = [sys.executable, str(Path(__file__).with_name("ray_job.py")), str(tmp_path)]
    ended = subprocess.run(job, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    told = [line for line in ended.stdout.splitlines() if line.startswith(("complete", "loss"))]
    assert told == ["complete True", "loss 1.0 0.25 0.0625", "loss 1.0 0.25 0.0625"]
