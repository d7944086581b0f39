"""Test breakpoints, pause and stop in JupyterLab: stop a training program, inspect it and continue it."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import ipykernel
import pytest
from playwright.sync_api import expect

from tests.e2e.debugger import DebuggerOnScreen
from tests.e2e.kernels import all_of, spec_of, versions
from tests.e2e.notebook import NOTEBOOK_7_ITSELF
from tests.e2e.promises import ANSWER_MS, is_kept
from tests.e2e.side_panel import SidePanel

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.e2e.notebook import Notebook

SETUP = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count={devices}"
%load_ext jax_debug_widgets
import jax, jax.numpy as jnp, jax_debug_widgets as jdw
import numpy as np, threading
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P
from sklearn.datasets import load_digits

images, labels = load_digits(return_X_y=True)
steps, devices, width = {steps}, {devices}, {width}
images, labels = images[: steps * 128] / 16, labels[: steps * 128]
batches = jnp.asarray(images.reshape(steps, 128, 64)), jnp.asarray(labels.reshape(steps, 128))
keys = jax.random.split(jax.random.key(0))
params = [0.2 * jax.random.normal(keys[0], (64, width)), jax.random.normal(keys[1], (width, 10)) / width]

def loss_fn(params, x, y):
    scores = jnp.tanh(x @ params[0]) @ params[1]
    return -jax.nn.log_softmax(scores)[jnp.arange(len(y)), y].mean()

threads = set()
def note(loss):
    threads.add(threading.current_thread().name)
    print(f"noted {{loss:.4f}}")

def step(params, batch):
    x, y = batch
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    if devices > 1:
        loss, grads = lax.pmean((loss, grads), "data")
    {stop}
    jax.debug.callback(note, loss)
    return [p - 0.5 * g for p, g in zip(params, grads)], loss

@jax.jit
def train(params, batches):
    def shard(params, batches):
        return lax.scan(step, params, batches)
    if devices == 1:
        return shard(params, batches)
    mesh = Mesh(np.array(jax.devices()), ("data",))
    return jax.shard_map(shard, mesh=mesh, in_specs=(P(), P(None, "data")), out_specs=P(), check_vma=False)(params, batches)
"""
RUN = "%%jaxdebug\ntrained, losses = train(params, batches)"
RUN_UNCAPTURED = "trained, losses = train(params, batches)"
HEALTHY = "jax.effects_barrier(); print(float(jax.jit(lambda x: x + 1)(1.0)), jdw.__version__)"
THREADS = "sorted(threads)"


PLAIN = {"devices": 1, "width": 16, "steps": 6, "stop": "jax.debug.breakpoint()"}
OWN = ipykernel.__version__


def open_notebook(
    lab, lab_page, name: str, *cells: str, version: str = OWN, page: str = "lab", **options: Any
) -> Notebook:
    """Open a notebook, and run its first cell, which defines the program."""
    kernel = "python3" if version == OWN else version
    if version != OWN:
        lab.add_kernel(version, spec_of(version))
    path = lab.write_notebook(f"{name}.ipynb", SETUP.format(**PLAIN | options), *cells, kernel=kernel)
    notebook = lab_page.open_in_notebook_7(path) if page == "notebook" else lab_page.open_notebook(path)
    assert notebook.run_cell(0, timeout_s=120) == []
    return notebook


CASES = [
    pytest.param({"width": 16, "devices": 1}, id="main thread, one device"),
    pytest.param({"width": 2000, "devices": 1}, id="pool threads, one device"),
    pytest.param({"width": 16, "devices": 2}, id="main thread, two devices"),
    pytest.param({"width": 2000, "devices": 2}, id="pool threads, two devices"),
]
EVERY_WAY = [
    pytest.param(page, version, *case.values, id=f"{page}, ipykernel {version}, {case.id}")
    for page in ("lab", "notebook")
    for version in versions()
    for case in CASES
]


every_kernel = pytest.mark.parametrize("version", all_of(versions(), (OWN,)))


def some_ways() -> list[Any]:
    """Return the cases: the environment's own kernel with every option, other kernels and Notebook 7 with the first option."""
    of_lab = [pytest.param("lab", OWN, *case.values, id=case.id) for case in CASES[:: len(CASES) - 1]]
    [simple] = CASES[0].values
    others = [("lab", version) for version in versions() if version != OWN]
    rest = [pytest.param(*way, simple, id=", ".join(way)) for way in [*others, ("notebook", OWN)]]
    return of_lab + rest


@pytest.mark.timed
@pytest.mark.behaviour("B1", "B3")
@pytest.mark.parametrize(("page", "version", "options"), all_of(EVERY_WAY, some_ways()))
def test_a_program_stops_at_a_breakpoint_is_inspected_and_continues(lab, lab_page, page, version, options):
    cells = RUN, HEALTHY, THREADS, "import ipykernel; print(ipykernel.__version__)"
    notebook = open_notebook(lab, lab_page, "stopped", *cells, version=version, page=page, **options)
    assert notebook.run_cell(4)[0]["text"] == f"{version}\n"
    debugger = DebuggerOnScreen(lab_page)
    run = notebook.start_cell(1)
    first = debugger.wait_for_stop()
    debugger.record_status(notebook.path)
    notebook.make_subshell()
    assert notebook.is_running(1)
    assert "while the main thread runs a cell" in debugger.way()
    assert ("control channel" in debugger.way()) == version.startswith("6.")
    assert debugger.frames()[0] == "step"
    assert "float32[]" in debugger.local("loss")
    assert float(debugger.run("float(loss)")) == pytest.approx(2.3, abs=0.5)
    assert debugger.run("jnp.argmax(x[0]).shape") == "()"
    assert "ZeroDivisionError" in debugger.run("1/0")
    assert debugger.expression("loss.shape") == "()"
    times = debugger.time_of(["float(loss) + 1", "p loss", "l", "jnp.sum(x)"] * 10)
    p95 = statistics.quantiles(times, n=20)[-1]
    print(f"{len(times)} commands: median {statistics.median(times):.0f} ms, p95 {p95:.0f} ms")
    assert is_kept(p95, at_most=ANSWER_MS)
    assert notebook.is_running(1)
    idle = debugger.longest_idle()
    assert is_kept(idle, at_most=ANSWER_MS), "the page shows the kernel as idle while it stands at a breakpoint"

    debugger.resume("continue")
    assert debugger.wait_for_stop(after=first) != first
    assert "step 1" in debugger.facts()
    lab_page.screenshot(f"debugger-{page}-{version}-{options['width']}-{options['devices']}")
    debugger.resume("quit")
    run.wait(timeout_s=20)
    debugger.panel.wait(stop="", state="stopped")
    # Several devices end at the same step, perhaps one step later.
    assert notebook.printed(1).count("noted") in {options["devices"], 2 * options["devices"]}
    further = str(notebook.outputs(1)[1:])
    assert "stopped at" in further
    assert "Error" not in further, "XLA's traceback is shown"

    healthy = notebook.run_cell(2)
    assert [output.get("text", output) for output in healthy] == ["2.0 0.1.0\n"]
    notebook.wait_until_idle()
    run = notebook.start_cell(1)
    debugger.wait_for_stop()
    debugger.resume("all")
    run.wait(timeout_s=60)
    debugger.panel.wait(state="done", barrier="drained", stop="")
    assert notebook.printed(1).count("noted") == 6 * options["devices"], "prints of all steps land in the cell"
    [names] = [output["data"]["text/plain"] for output in notebook.run_cell(3)]
    assert ("Dummy-" in names) == (options["width"] > 16 or options["devices"] > 1), "not the threads that were meant"
    assert set(lab_page.errors) <= (NOTEBOOK_7_ITSELF if page == "notebook" else set())


@pytest.mark.behaviour("B1", "B4")
@pytest.mark.parametrize("version", all_of(versions(), (versions()[0], OWN)))  # The oldest differs most.
@pytest.mark.parametrize("page", all_of(["lab", "notebook"], ["lab"]))
def test_a_reloaded_page_shows_the_stop_again(lab, lab_page, page, version):
    notebook = open_notebook(lab, lab_page, "reloaded", RUN, HEALTHY, version=version, page=page)
    debugger = DebuggerOnScreen(lab_page)
    notebook.start_cell(1)
    first = debugger.wait_for_stop()
    debugger.resume("continue")
    stop = debugger.wait_for_stop(after=first)
    debugger.run("float(loss) > 0")
    debugger.run("1/0")
    log = debugger.root.get_by_test_id("console")
    typed = log.inner_text()
    debugger.root.get_by_label("Frame above").click()
    shown = debugger.root.get_by_test_id("frames").locator("[aria-pressed=true]")
    shown.get_by_text("shard").wait_for()
    facts, frame = debugger.facts(), shown.inner_text()
    notebook.save()
    lab_page.reload()
    notebook.wait_until_open()
    notebook.output(1)
    assert debugger.wait_for_stop() == stop
    assert debugger.facts() == facts
    expect(shown).to_have_text(frame, use_inner_text=True)
    expect(log).to_have_text(typed, use_inner_text=True)
    assert "ZeroDivisionError" in typed
    lab_page.screenshot(f"debugger-{page}-after-a-reload")
    debugger.root.get_by_label("Frame below").click()
    assert debugger.run("loss.shape") == "()"
    debugger.resume("all")
    debugger.panel.wait(state="done", barrier="drained", stop="")
    notebook.wait_until_idle()
    assert [output["text"] for output in notebook.run_cell(2)] == ["2.0 0.1.0\n"]
    run = notebook.start_cell(1)
    debugger.wait_for_stop(after=stop)
    debugger.resume("all")
    run.wait()
    debugger.panel.wait(state="done", barrier="drained", stop="")


@pytest.mark.behaviour("B1", "B4")
@every_kernel
@pytest.mark.parametrize("width", [16, 2000])  # 16 runs in the main thread, 2000 in XLA's pool.
def test_a_breakpoint_outside_a_capture_opens_under_the_cell(lab, lab_page, width, version):
    cells = RUN_UNCAPTURED, HEALTHY, THREADS
    notebook = open_notebook(lab, lab_page, "uncaptured", *cells, width=width, version=version)
    debugger = DebuggerOnScreen(lab_page)
    run = notebook.start_cell(1)
    first = debugger.wait_for_stop()
    assert notebook.is_running(1)
    assert debugger.frames()[0] == "step"
    assert "float32[]" in debugger.local("loss")
    assert float(debugger.run("float(loss)")) == pytest.approx(2.3, abs=0.5)
    lab_page.screenshot(f"debugger-lab-uncaptured-{width}")
    debugger.resume("continue")
    stop = debugger.wait_for_stop(after=first)
    notebook.save()
    lab_page.reload()
    notebook.wait_until_open()
    notebook.output(1)
    assert debugger.wait_for_stop() == stop
    assert debugger.run("loss.shape") == "()"
    debugger.resume("all")
    debugger.panel.wait(state="done", stop="")
    notebook.wait_until_idle()

    for end in ("quit", "halt", "interrupt"):
        run = notebook.start_cell(1)
        stop = debugger.wait_for_stop(after=stop)
        match end:
            case "quit":
                debugger.resume("quit")
            case "halt":
                debugger.panel.open_tab("Prints")  # The Code view has its own buttons to continue.
                debugger.root.get_by_test_id("halt").click()
            case "interrupt":
                notebook.interrupt()
        run.wait(timeout_s=20)
        how = "interrupted" if end == "interrupt" else "stopped"
        debugger.panel.wait(state=how, stop="")
        [error] = [output for output in notebook.outputs(1) if output["output_type"] == "error"]
        assert how in error["evalue"]
        assert len(error["traceback"]) == 1, "XLA's traceback is shown"
        assert [output["text"] for output in notebook.run_cell(2)] == ["2.0 0.1.0\n"]

    run = notebook.start_cell(1)
    debugger.wait_for_stop(after=stop)
    debugger.resume("all")
    run.wait(timeout_s=60)
    assert notebook.printed(1).count("noted") == 6, "prints of all steps land in the cell"
    [names] = [output["data"]["text/plain"] for output in notebook.run_cell(3)]
    assert ("Dummy-" in names) == (width > 16), "not the threads that were meant"
    assert lab_page.errors == []


LONG = """%%jaxdebug
@jax.jit
def settle(x):
    def body(carry):
        i, x = carry
        jax.debug.print("round {i}: {r}", i=i, r=jnp.abs(x).max())
        return i + 1, jnp.tanh(x @ jnp.eye(len(x))) * 1.0001
    return lax.while_loop(lambda carry: carry[0] < 10_000_000, body, (0, x))
settled = settle(jnp.ones((SIZE, SIZE)))
"""


@pytest.mark.behaviour("B4")
@every_kernel
@pytest.mark.parametrize("size", all_of([4, 400], [400]))
def test_a_program_without_breakpoints_is_paused_and_ended(lab, lab_page, size, version):
    notebook = open_notebook(lab, lab_page, "paused", LONG.replace("SIZE", str(size)), HEALTHY, version=version)
    debugger = DebuggerOnScreen(lab_page)
    run = notebook.start_cell(1)
    notebook.output(1)
    debugger.root.locator("[data-testid=pause]:enabled").wait_for()
    debugger.root.get_by_test_id("pause").click()
    first = debugger.wait_for_stop(timeout_s=20)
    expect(debugger.root.get_by_test_id("state")).to_have_text("Paused")
    assert "i" in debugger.run("sorted(dir())") or debugger.frames()
    lab_page.screenshot(f"debugger-lab-paused-{size}")
    debugger.resume("continue")
    debugger.root.locator("[data-stands=false]").wait_for()
    debugger.root.get_by_test_id("pause").click()
    debugger.wait_for_stop(after=first, timeout_s=20)
    debugger.resume("continue")
    debugger.root.locator("[data-stands=false]").wait_for()
    began = lab_page.page.evaluate("performance.now()")
    debugger.root.get_by_test_id("halt").click()
    run.wait(timeout_s=20)
    took = lab_page.page.evaluate("performance.now()") - began
    print(f"Stop: {took:.0f} ms until the cell had ended")
    assert took < 5000
    [error] = [output for output in notebook.outputs(1) if output["output_type"] == "error"]
    assert len(error["traceback"]) == 1
    assert "stopped" in error["evalue"]
    debugger.panel.wait(state="stopped", barrier="drained")
    expect(debugger.root.get_by_test_id("state")).to_have_text("Stopped")
    side = SidePanel(lab_page)
    side.show()
    side.wait_for_row(state="stopped")
    expect(side.runs.first.get_by_text("Stopped", exact=True)).to_be_visible()
    lab_page.screenshot(f"debugger-lab-ended-{size}")
    assert [output["text"] for output in notebook.run_cell(2)] == ["2.0 0.1.0\n"]


@pytest.mark.behaviour("B4")
@every_kernel
@pytest.mark.parametrize("width", all_of([16, 2000], [2000]))
def test_the_interrupt_button_leaves_a_stop(lab, lab_page, width, version):
    notebook = open_notebook(lab, lab_page, "interrupted", RUN, HEALTHY, width=width, version=version)
    debugger = DebuggerOnScreen(lab_page)
    run = notebook.start_cell(1)
    debugger.wait_for_stop()
    notebook.interrupt()
    run.wait(timeout_s=20)
    debugger.panel.wait(stop="")
    [error] = [output for output in notebook.outputs(1) if output["output_type"] == "error"]
    assert "interrupted" in error["evalue"]
    assert [output["text"] for output in notebook.run_cell(2)] == ["2.0 0.1.0\n"]
    expect(debugger.root.get_by_test_id("debugger")).to_have_attribute("data-stands", "false")


SET = """%%jaxdebug
@jax.jit
def newton(x):
    def body(i, x):
        x = x - (x**2 - 2) / (2 * x)
        x = jdw.breakpoint(x, when=~jnp.isfinite(x).all(), name="diverged")
        return x
    return lax.fori_loop(0, 6, body, x)
roots = jax.vmap(newton)(jnp.array([1.0, 0.0, -3.0]))
"""


@pytest.mark.behaviour("B2")
@every_kernel
def test_a_value_is_changed_in_the_lane_that_stopped(lab, lab_page, version):
    notebook = open_notebook(lab, lab_page, "set", SET, "print(roots)", version=version)
    debugger = DebuggerOnScreen(lab_page)
    run = notebook.start_cell(1)
    debugger.wait_for_stop()
    root = debugger.root
    assert "diverged" in debugger.facts()
    expect(root.get_by_label("Lane", exact=True)).to_have_value("1")
    expect(root.get_by_test_id("lane")).to_contain_text("1 stopped")
    assert "inf" in debugger.run("x")
    root.get_by_label("Lane", exact=True).fill("2")
    root.get_by_label("Lane", exact=True).press("Enter")
    root.locator("[data-local=x]", has_text="-1.83").wait_for()
    root.get_by_label("Previous lane that stopped").click()
    root.locator("[data-local=x]", has_text="inf").wait_for()
    lab_page.screenshot("debugger-lab-lanes")
    root.get_by_label("Continue with another value of x").fill("1.5")
    root.get_by_label("Continue with another value of x").press("Enter")
    root.get_by_text("x goes on as").wait_for()
    debugger.resume("continue")
    run.wait(timeout_s=30)
    assert notebook.run_cell(2)[0]["text"] == "[ 1.4142135  1.4142135 -1.4142135]\n"


WATCHED = """%%jaxdebug --watch-all --break-on "doubled > 3"
@jax.jit
def step(x):
    doubled = x * 2
    jdw.breakpoint()
    tripled = x * 3
    return doubled + tripled
for i in range(3):
    jax.block_until_ready(step(jnp.float32(i)))
"""


@pytest.mark.behaviour("B2")
def test_the_values_beside_the_lines_are_those_of_the_step_at_which_it_stands(lab, lab_page):
    notebook = open_notebook(lab, lab_page, "watched", WATCHED)
    debugger, stop = DebuggerOnScreen(lab_page), ""

    def value(name: str, number: int, state: str = ":not(.earlier)") -> Locator:
        found = debugger.root.locator(f"[data-testid=value][data-name={name}]{state} .value-range")
        return found.filter(has_text=re.compile(rf"(^|\s){number}$"))

    run = notebook.start_cell(1)
    # In the last call `doubled` is above 3, so both stop: the breakpoint, and the condition on the watched value.
    for call, tripled in ((0, None), (1, 0), (2, 3), (2, 3), (2, 6)):
        stop = debugger.wait_for_stop(after=stop)
        if call:
            value("doubled", 2 * call).wait_for()
        if tripled is None:
            pass
        elif tripled == 3 * call:
            value("tripled", tripled).wait_for()
        else:  # It is computed after the breakpoint, so the value of the previous call is shown.
            value("tripled", tripled, ".earlier").get_by_text(f"call {call - 1}").wait_for()
        expect(debugger.root.get_by_test_id("locals").locator("h4")).to_contain_text(f"call {call}")
        if call:  # The first call has no earlier step.
            expect(debugger.root.get_by_test_id("when")).to_contain_text(f"call {call}")
        lab_page.screenshot(f"debugger-values-{stop}")
        debugger.resume("continue")
    run.wait(timeout_s=30)


@pytest.mark.behaviour("B4")
def test_nbconvert_skips_breakpoints(lab):
    path = lab.notebooks / lab.write_notebook("unattended.ipynb", SETUP.format(**PLAIN), RUN, RUN_UNCAPTURED, HEALTHY)
    command = [sys.executable, "-m", "jupyter", "nbconvert", "--to", "notebook", "--execute", "--stdout", path.name]
    done = subprocess.run(command, cwd=lab.notebooks, capture_output=True, text=True, timeout=120, check=True)
    skipped = [line for line in done.stdout.splitlines() if "jaxdebug: breakpoint" in line and "skipped" in line]
    assert len(skipped) == 2, "one line for each of the cells, captured or not"
    assert all("skipped 6 times: nobody is there to continue the program" in line for line in skipped)
    assert done.stdout.count("noted 2.") == 12
