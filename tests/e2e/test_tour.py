"""The main job, end to end: the tour's training loop watched live in JupyterLab."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest

from tests.e2e.panel import PanelOnScreen

TOUR = Path(__file__).parents[2] / "notebooks" / "01_tour.ipynb"

STEPS = 10_000
COUNTS = {"ordered": STEPS, "unordered": 2 * STEPS, "events": 3 * STEPS}


CELLS = nbformat.read(TOUR, as_version=4).cells
WATCHED = next(index for index, cell in enumerate(CELLS) if cell.source.startswith("%%jaxdebug"))
BEFORE = [index for index, cell in enumerate(CELLS[:WATCHED]) if cell.cell_type == "code"]


@pytest.fixture
def tour(lab, lab_page):
    shutil.copy(TOUR, lab.notebooks / TOUR.name)
    notebook = lab_page.open_notebook(TOUR.name)
    for index in BEFORE:
        notebook.run_cell(index, timeout_s=120)
    return notebook


@pytest.mark.behaviour("P9")
def test_the_panel_is_alive_while_the_cell_runs(tour, lab_page):
    panel = PanelOnScreen(lab_page)
    panel.record()
    run = tour.start_cell(WATCHED)
    tour.output(WATCHED)
    lab_page.wait_for_js("() => window.recordedFrames.some(frame => frame.events > 0)", timeout_s=120)
    assert not run.ended, "the first events were shown only when the cell had ended"
    lab_page.wait_for_js("() => window.recordedFrames.at(-1).events > 1000", timeout_s=120)
    panel.picture("tour-panel-while-running")
    panel.open_tab("Plots")
    while_running = panel.points()
    assert not run.ended, "the plots moved only when the cell had ended"
    lab_page.screenshot("tour-plots-while-running")
    run.wait(timeout_s=120)
    panel.wait(state="done", barrier="drained", **COUNTS)

    assert set(while_running) == {"loss", "norm", "accuracy"}
    assert all(0 < points < STEPS for points in while_running.values())
    assert panel.points() == dict.fromkeys(while_running, STEPS)
    frames = panel.frames()
    moving = [frame for frame in frames if 0 < frame.events < COUNTS["events"]]
    seconds = (moving[-1].at - moving[0].at) / 1000
    assert moving[0].latency <= 1000
    assert len(moving) / seconds >= 10, f"{len(moving)} updates in {seconds:.1f} s"
    barriers = [frame.barrier for frame in frames]
    assert barriers.index("pending") < barriers.index("drained")
    assert lab_page.requests_elsewhere() == []
    assert lab_page.errors == []


@pytest.mark.behaviour("P8")
def test_the_streams_are_told_apart_and_the_counts_are_the_kernels(tour, lab_page):
    tour.run_cell(WATCHED, timeout_s=120)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done", **COUNTS)
    lab_page.screenshot("tour-streams-light")
    ordered, unordered = panel.root.get_by_test_id("stream-ordered"), panel.root.get_by_test_id("stream-unordered")
    assert ordered.get_by_text("loss 0.").count() > 3
    assert ordered.get_by_text("gradient").count() == 0
    assert unordered.get_by_text("gradient").count() > 3
    assert unordered.get_by_text("keep_best").count() > 3
    panel.open_tab("Calls")
    assert panel.root.get_by_role("rowheader", name="train(").count() == 1
    lab_page.screenshot("tour-calls-light")
    lab_page.set_theme("Dark")
    panel.open_tab("Plots")
    lab_page.screenshot("tour-plots-dark")
    panel.open_tab("Streams")
    lab_page.screenshot("tour-streams-dark")
    lab_page.set_theme("Light")


def test_a_reload_brings_all_of_it_back(tour, lab_page):
    tour.run_cell(WATCHED, timeout_s=120)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done", **COUNTS)
    tour.save()
    lab_page.reload()
    tour.wait_until_open()
    tour.wait_until_idle()
    tour.output(WATCHED)
    panel.wait(state="done", barrier="drained", **COUNTS)
    panel.open_tab("Plots")
    assert panel.points() == {"loss": STEPS, "norm": STEPS, "accuracy": STEPS}
    lab_page.screenshot("tour-after-a-reload")


def test_the_reopened_notebook_shows_it_without_a_kernel(tour, lab_page):
    tour.run_cell(WATCHED, timeout_s=120)
    PanelOnScreen(lab_page).wait(state="done", **COUNTS)
    tour.save()
    tour.shut_down_kernel()
    tour.close()
    reopened = lab_page.open_notebook(TOUR.name)
    reopened.shut_down_kernel()
    snapshot = reopened.output(WATCHED)
    snapshot.get_by_text("30,000 events").wait_for()
    assert snapshot.get_by_text("effects drained").is_visible()
    assert snapshot.get_by_text("loss 0.").first.is_visible()
    lab_page.screenshot("tour-reopened-without-a-kernel")


SLOW = """%%jaxdebug
import pathlib, time

def wait(step):
    while not pathlib.Path("go").exists():
        time.sleep(0.01)

@jax.jit
def slow(x):
    def body(i, x):
        jax.debug.print("step {i}", i=i)
        return x * 0.5
    x = lax.fori_loop(0, 2000, body, x)
    jax.debug.callback(wait, x)
    return x

slow(1.0)
"""


def test_the_panel_answers_while_the_main_thread_is_blocked(lab, lab_page):
    setup = "%load_ext jax_debug_widgets\nimport jax\nfrom jax import lax"
    notebook = lab_page.open_notebook(lab.write_notebook("blocked.ipynb", setup, SLOW))
    notebook.run_cell(0)
    panel = PanelOnScreen(lab_page)
    run = notebook.start_cell(1)
    notebook.output(1)
    panel.wait(events=2001, state="running", barrier="pending")
    unordered = panel.root.get_by_test_id("stream-unordered")
    unordered.get_by_label("Unordered events").evaluate("list => { list.scrollTop = 0; }")
    unordered.get_by_text("step 0", exact=True).wait_for()
    assert notebook.is_running(1), "JupyterLab shows the cell as done"
    lab_page.screenshot("blocked-rows-on-demand")

    assert not run.ended
    (lab.notebooks / "go").touch()
    run.wait()
    panel.wait(state="done", barrier="drained")
    assert lab_page.errors == []
