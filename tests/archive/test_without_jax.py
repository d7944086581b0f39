"""Runs are read from files where `import jax` fails: with the same values, findings, plots, reports and panels."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.panel.requests import answer

WITHOUT = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jax", "jaxlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
import jax_debug_widgets as jdw
"""

READ = """
import json
sys.path.insert(0, sys.argv[1])
import tests.archive.read_run as reading

print(json.dumps([reading.told(path) for path in sys.argv[2:]]))
assert "jax" not in sys.modules and "jaxlib" not in sys.modules
"""

REFUSED = """
from jax_debug_widgets.without_jax import NeedsJaxError

run = jdw.load(sys.argv[1])
for use in (
    lambda: jdw.capture().__enter__(),
    lambda: jdw.replay(run, 0, abs),
    lambda: jdw.graph(abs, 1),
    lambda: jdw.verify(abs, 1),
    lambda: jdw.breakpoint(1),
):
    try:
        use()
    except NeedsJaxError as error:
        assert "needs JAX: pip install jax" in str(error), error
    else:
        raise AssertionError(use)
try:
    jdw.last()
except LookupError:
    pass
"""

ROOT = Path(__file__).parents[2]


@jax.jit
def step(w, x):
    h = jnp.tanh(x @ w)
    half = h.astype(jnp.bfloat16)
    loss = jnp.log((half.astype(jnp.float32) ** 2).sum() - x[0])
    jax.debug.print("loss {loss:.3f} {half}", loss=loss, half=half)
    jax.debug.callback(lambda _: None, h)
    return w - 0.1 * loss


def without_jax(code: str, *arguments: object) -> str:
    """Run code in a process in which JAX cannot be imported; return what it prints."""
    command = [sys.executable, "-c", WITHOUT + code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def trained() -> None:
    w = jnp.ones((3, 3)) / 8
    for number in range(6):
        w = step(w, jnp.ones(3) * (number - 2))


def transformed() -> None:
    def loss_fn(x):
        y = jnp.sin(step(jnp.ones((3, 3)), x))
        return y.sum()

    jax.jit(jax.grad(loss_fn))(jnp.ones(3))
    jax.vmap(step, (None, 0))(jnp.ones((3, 3)), jnp.ones((4, 3)))
    jax.debug.print("{key}", key=jax.random.key(3))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A run with prints, callbacks, watched values and a NaN; one with gradients, lanes and a key; one of two processes."""
    folder, paths = tmp_path_factory.mktemp("runs"), []
    for program in (trained, transformed):
        paths.append(folder / f"{program.__name__}.jdw")
        with jdw.capture(watch=True, record=paths[-1], config={"lr": jnp.float32(0.5)}, name=program.__name__):
            program()
    paths.append(folder / "joined.jdw")
    for number in (1, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JDW_PROCESS", str(number))
            patch.setenv("JDW_PROCESSES", "2")
            with jdw.capture(watch="loss", record=paths[-1]):
                trained()
    return paths


@pytest.mark.behaviour("R2")
def test_a_run_is_read_without_jax_as_with_it(recorded, tmp_path):
    from tests.archive.read_run import told

    jdw.load(recorded[0]).save(packed := tmp_path / "packed.jdw.zip")
    paths = [*map(str, recorded), str(packed)]
    found = json.loads(without_jax(READ, ROOT, *paths))
    expected = json.loads(json.dumps([told(path) for path in paths]))
    for got, wanted in zip(found, expected, strict=True):
        assert got.keys() == wanted.keys()
        for name, value in wanted.items():
            assert got[name] == value, name
    assert any(text.startswith("float") for told in found[1]["gradients"].values() for text in told)
    assert "becomes infinite" in found[0]["findings"] and "## Findings" in found[0]["report"] and found[0]["events"]


@pytest.mark.behaviour("R2")
def test_the_panel_is_live_and_the_table_of_runs_compares_without_jax(recorded):
    told = json.loads(
        without_jax(
            """
import json
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.panel.requests import answer
run = jdw.load(sys.argv[1], follow=True)
assert run.wait(20)
runs = jdw.load([sys.argv[1], sys.argv[1]])
asked = [{"type": "sync", "first": 0}, {"type": "rows", "first": 0, "count": 9}, {"type": "findings"}, {"type": "runs"},
         {"type": "source", "file": run.sites[0].file}, {"type": "report"}, {"type": "pause"}]
answers = [list(answer(current_session(), {"run": run.key, "id": 1, **one}))[-1][0]["type"] for one in asked]
print(json.dumps([answers, repr(runs), len(runs.plot("loss").lines), str(run.differences(runs[0]))]))
""",
            recorded[0],
        )
    )
    types, table, lines, differences = told
    assert types == ["batch", "rows", "findings", "runs", "source", "report", "error"]
    assert "trained" in table and lines and "no value differs" in differences


def test_functions_that_need_jax_say_so_without_it(recorded):
    assert without_jax(REFUSED, recorded[0]) == ""
    run: Any = jdw.load(recorded[0])
    assert list(answer(current_session(), {"type": "sync", "run": run.key, "id": 1, "first": 0}))
