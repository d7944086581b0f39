"""Test threads and waits in the timeline, and a ridge plot, for a program with two loader threads beside its training loop."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import boxes_at_rest, shows
from tests.e2e.panel import PanelOnScreen

SETUP = """%load_ext jax_debug_widgets
import threading, time
import jax, jax.numpy as jnp
from sklearn.datasets import load_digits
digits = jnp.asarray(load_digits().data, jnp.float32) / 16"""

PROGRAM = """%%jaxdebug
def log(shard, mean):
    time.sleep(0.01)

@jax.jit
def load(shard):
    x = jax.lax.dynamic_slice_in_dim(digits, 256 * shard, 256)
    jax.debug.callback(log, shard, x.mean())
    return x

@jax.jit
def train(x):
    def step(w, i):
        w = w - 0.01 * (x.T @ (x @ w - 1)) / len(x)
        jax.debug.print("w {w}", w=w)
        return w, None
    return jax.lax.scan(step, jnp.linspace(-1, 1, 64), jnp.arange(60))[0]

threads = [threading.Thread(target=load, args=(shard,), name=f"loader-{shard}") for shard in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
train(digits).block_until_ready()
"""


@pytest.fixture
def panel(lab, lab_page):
    notebook = lab_page.open_notebook(lab.write_notebook("threads.ipynb", SETUP, PROGRAM))
    notebook.run_cell(0, timeout_s=120)
    notebook.run_cell(1, timeout_s=120)
    notebook.output(1)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done", events=62)
    yield panel
    assert lab_page.errors == []
    assert lab_page.requests_elsewhere() == []


def in_both_themes(panel: PanelOnScreen, lab_page, name: str) -> None:
    for theme in ("Dark", "Light"):
        lab_page.set_theme(theme)
        lab_page.wait_for_js(
            "dark => [...document.querySelectorAll('[data-jaxdebug-run] > *')]"
            ".some(host => String(!!host.shadowRoot?.querySelector('.panel.dark')) === dark)",
            str(theme == "Dark").lower(),
        )
        panel.picture(f"{name}-{theme.lower()}")


def test_the_timeline_has_a_row_for_each_thread_and_histograms_form_a_ridge_plot(panel, lab_page):
    panel.open_tab("Timeline")
    names = panel.root.locator(".time-name")
    # In the order of their first events.
    shows(lab_page.page, lambda: sorted(names.all_inner_texts()[1:4]), ["loader-0", "loader-1", "main"])
    expect(names.filter(has_text=re.compile("^ƒ ")).first).to_be_visible()
    expect(panel.root.locator(".time-calls .call-bar")).to_have_count(3)
    panel.root.get_by_test_id("thread-bars").wait_for()
    in_both_themes(panel, lab_page, "threads")

    panel.open_tab("Code")
    panel.root.locator("[data-testid=name][data-of=w]").last.click()
    panel.root.get_by_test_id("spread").wait_for()
    panel.root.get_by_role("button", name="ridge").click()
    ridge = panel.root.get_by_test_id("ridge")
    ridge.wait_for()
    ridge.focus()
    lab_page.page.keyboard.press("ArrowRight")
    panel.root.locator("[data-testid=spread] output", has_text="line ").wait_for()
    in_both_themes(panel, lab_page, "ridge")


WAITING = """%%jaxdebug
import time

@jax.jit
def long(x):
    return jax.lax.fori_loop(0, 120, lambda i, x: jnp.sin(x @ x) * 0.5, x)

y = long(jnp.ones((600, 600)) / 600)
asked = time.time()
y.block_until_ready()
ready = time.time()
"""

WHEN = """started = jdw.last().status().started
print(asked - started, ready - started)
"""


def test_a_wait_for_outputs_is_shown_where_the_program_waited(lab, lab_page):
    cells = [f"{SETUP}\nimport jax_debug_widgets as jdw", WAITING, WHEN]
    notebook = lab_page.open_notebook(lab.write_notebook("waiting.ipynb", *cells))
    for index in range(3):
        notebook.run_cell(index, timeout_s=120)
    asked, ready = map(float, notebook.printed(2).split())
    assert ready - asked > 0.1
    notebook.output(1)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done")
    panel.open_tab("Timeline")
    wait = panel.root.locator(".time-barrier .span.block")
    expect(wait).to_have_attribute("title", re.compile("for outputs in jax.block_until_ready, main"))
    box, field = boxes_at_rest(lab_page.page, wait, panel.root.locator(".time-field"))
    pixel = float(panel.root.get_by_test_id("timeline").get_attribute("data-to") or 0) / field["width"]
    began, waited = (box["x"] - field["x"]) * pixel, box["width"] * pixel
    assert asked - 2 * pixel <= began
    assert began + waited <= ready + 2 * pixel
    assert waited > 0.5 * (ready - asked), "what is left may have gone to another process"
