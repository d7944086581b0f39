"""Test the main use end to end: watch the tour's training loop live in JupyterLab."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import shows
from tests.e2e.panel import PanelOnScreen
from tests.e2e.promises import PAUSE_MS, is_kept
from tests.e2e.tour import COUNTS, STEPS, TOUR, WATCHED, open_tour, prepare


@pytest.fixture
def tour(lab, lab_page, hold):
    return open_tour(lab, lab_page, hold)


@pytest.mark.behaviour("P9")
@pytest.mark.timed
def test_the_panel_is_alive_while_the_cell_runs(hold, tour, lab_page):
    prepare(tour, held=True)
    panel = PanelOnScreen(lab_page)
    panel.record()
    run = tour.start_cell(WATCHED)
    tour.output(WATCHED)
    lab_page.wait_for_js("() => window.recordedFrames.at(-1)?.events > 1000", timeout_s=120)
    panel.picture("tour-panel-while-running")
    panel.open_tab("Overview")
    shows(lab_page.page, lambda: set(panel.points()), {"loss", "norm", "accuracy"})
    while_running = panel.points()
    lab_page.screenshot("tour-overview-while-running")
    assert not run.ended
    hold.go_on()
    run.wait(timeout_s=120)
    panel.wait(state="done", barrier="drained", **COUNTS)

    assert all(0 < points < STEPS for points in while_running.values())
    shows(lab_page.page, panel.points, dict.fromkeys(while_running, STEPS))
    frames = panel.frames()
    moving = [frame for frame in frames if 0 < frame.events < COUNTS["events"]]
    pauses = [later.at - earlier.at for earlier, later in pairwise(moving)]
    assert is_kept(moving[0].latency, at_most=1000)
    pause = median(pauses)
    assert is_kept(pause, at_most=PAUSE_MS), f"half of the updates came more than {pause:.0f} ms after the one before"
    barriers = [frame.barrier for frame in frames]
    assert barriers.index("pending") < barriers.index("drained")
    assert lab_page.requests_elsewhere() == []
    assert lab_page.errors == []


@pytest.mark.behaviour("P8")
def test_the_streams_and_counts_are_the_kernels_and_outlive_page_and_kernel(tour, lab_page):
    prepare(tour)
    tour.run_cell(WATCHED, timeout_s=120)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done", **COUNTS)
    the_streams_are_told_apart(panel, lab_page)
    a_reload_brings_all_of_it_back(tour, panel, lab_page)
    the_reopened_notebook_shows_it_without_a_kernel(tour, lab_page)


def the_streams_are_told_apart(panel, lab_page):
    lab_page.screenshot("tour-overview-light")
    panel.open_tab("Prints")
    lab_page.screenshot("tour-streams-light")
    ordered, unordered = panel.root.get_by_test_id("stream-ordered"), panel.root.get_by_test_id("stream-unordered")
    ordered.get_by_text("loss 0.").nth(3).wait_for()
    expect(ordered.get_by_text("gradient")).to_have_count(0)
    unordered.get_by_text("gradient").nth(3).wait_for()
    unordered.get_by_text("keep_best").nth(3).wait_for()
    panel.open_tab("Calls")
    expect(panel.root.get_by_role("rowheader", name="train(")).to_have_count(1)
    lab_page.screenshot("tour-calls-light")
    lab_page.set_theme("Dark")
    panel.open_tab("Code")
    lab_page.screenshot("tour-code-dark")
    panel.open_tab("Prints")
    lab_page.screenshot("tour-streams-dark")
    lab_page.set_theme("Light")


def a_reload_brings_all_of_it_back(tour, panel, lab_page):
    tour.save()
    lab_page.reload()
    tour.wait_until_open()
    tour.wait_until_idle()
    tour.output(WATCHED)
    panel.wait(state="done", barrier="drained", **COUNTS)
    panel.open_tab("Overview")
    shows(lab_page.page, panel.points, {"loss": STEPS, "norm": STEPS, "accuracy": STEPS})
    lab_page.screenshot("tour-after-a-reload")


def the_reopened_notebook_shows_it_without_a_kernel(tour, lab_page):
    tour.save()
    tour.shut_down_kernel()
    tour.close()
    reopened = lab_page.open_notebook(TOUR.name)
    reopened.shut_down_kernel()
    snapshot = reopened.output(WATCHED)
    snapshot.get_by_text("30,000 prints and callbacks ·").wait_for()
    expect(snapshot.get_by_text("all effects arrived")).to_be_visible()
    expect(snapshot.get_by_text("loss 0.").first).to_be_visible()
    lab_page.screenshot("tour-reopened-without-a-kernel")


def test_the_panel_answers_while_the_main_thread_is_blocked(lab, lab_page, hold):
    setup = "%load_ext jax_debug_widgets\nimport jax\nfrom jax import lax"
    notebook = lab_page.open_notebook(lab.write_notebook("blocked.ipynb", setup, hold.blocked_cell(2000)))
    notebook.run_cell(0)
    panel = PanelOnScreen(lab_page)
    run = notebook.start_cell(1)
    notebook.output(1)
    panel.wait(events=2001, state="running", barrier="pending")
    panel.open_tab("Prints")
    unordered = panel.root.get_by_test_id("stream-unordered")
    unordered.get_by_label("Unordered prints").evaluate("list => { list.scrollTop = 0; }")
    unordered.get_by_text("step 0", exact=True).wait_for()
    assert notebook.is_running(1), "JupyterLab shows the cell as done"
    lab_page.screenshot("blocked-rows-on-demand")

    assert not run.ended
    hold.go_on()
    run.wait()
    panel.wait(state="done", barrier="drained")
    assert lab_page.errors == []
