"""Test the views of a program, in the notebook and in the panel: open boxes, search, highlight paths, go to the source."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import ARTIFACTS, Theme, boxes_at_rest
from tests.e2e.test_panel_accessibility import violations

MODEL = """%load_ext jax_debug_widgets
import jax, jax.numpy as jnp
import jax_debug_widgets as jdw
class Net:
    def __init__(self, p):
        self.p = p
    def __call__(self, x):
        h1 = jax.nn.relu(x @ self.p["a"])
        h2 = jnp.tanh(h1 @ self.p["b"])
        n2 = (h2 ** 2).sum(-1)
        norm = jnp.where(n2 > 0, jnp.sqrt(n2), 1.0)
        return h2 / norm[:, None]
def block(p, x):
    u = x @ p
    return x + jnp.sin(u)
def loss_fn(p, x, y):
    z = Net(p)(x)
    for _ in range(4):
        z = block(p["c"], z)
    z, _ = jax.lax.scan(lambda c, w: (jnp.tanh(c @ w), c.sum()), z, p["d"])
    nll = jax.nn.log_softmax(z)
    return -(nll * y).mean()
@jax.jit
def step(p, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(p, x, y)
    updates = jax.tree.map(lambda g: -0.1 * g, grads)
    return jax.tree.map(lambda a, b: a + b, p, updates), loss
p = {"a": jnp.ones((8, 16)), "b": jnp.ones((16, 8)), "c": jnp.ones((8, 8)), "d": jnp.ones((5, 8, 8))}
x = y = jnp.ones((4, 8))
"""
GRAPH = "%jaxdebug graph step(p, x, y)"
RUN = "%%jaxdebug\nstep(p, x, y);"
THEMES: list[Theme] = ["Light", "Dark", "Dark High Contrast"]


def boxes(view, title):
    """Return the boxes with this title."""
    return view.locator(f'.box[data-title="{title}"]')


def linked_columns_have_room(lab_page, view):
    """Assert that the columns have space, also in a narrow output, where they are below each other."""
    size = lab_page.page.viewport_size
    for width in (640, 320):
        lab_page.page.set_viewport_size({"width": width + 390, "height": 900})
        [room, *columns] = boxes_at_rest(lab_page.page, view.locator(".jd-columns"), *view.locator(".jd-column").all())
        assert all(column["x"] + column["width"] <= room["x"] + room["width"] + 1 for column in columns), width
    lab_page.page.set_viewport_size(size)


def test_a_program_is_shown_in_the_notebook_and_in_the_panel(lab, lab_page):
    notebook = lab_page.open_notebook(lab.write_notebook("program.ipynb", MODEL, GRAPH, RUN))
    notebook.run_cell(0)
    outputs = notebook.run_cell(1)
    assert "base64" in outputs[0]["data"]["text/html"] and "scan × 5" in outputs[0]["data"]["text/plain"]
    view = notebook.output(1).get_by_test_id("program")
    graph = view.get_by_test_id("graph")
    graph.wait_for()
    expect(notebook.output(1).locator("img"), "the picture gives way to the views").to_be_hidden()

    expect(boxes(view, "exp_1")).to_have_count(0)
    boxes(view, "nll").dblclick()  # The first click opens the details; the second must meet the same box.
    boxes(view, "exp_1").wait_for()
    excerpt = view.get_by_test_id("excerpt")
    excerpt.get_by_text("nll = jax.nn.log_softmax(z)").wait_for()
    expect(excerpt.locator(".here")).to_contain_text("nll = jax")

    lab_page.page.keyboard.press("ArrowDown")
    lab_page.page.keyboard.press("/")
    lab_page.page.keyboard.type("sqrt")
    view.get_by_test_id("description").get_by_text(re.compile("of [0-9]+ equations have “sqrt”")).wait_for()
    expect(boxes(view, "norm").first).to_have_attribute("class", "box")
    expect(boxes(view, "u").first).to_have_class(re.compile("faded"))
    lab_page.page.keyboard.press("Enter")
    boxes(view, "sqrt_1").wait_for()
    view.get_by_test_id("way-outputs").click()
    view.get_by_test_id("description").get_by_text("reaches").wait_for()
    view.get_by_test_id("colour").select_option("flops")
    view.locator(".legend").get_by_text("flops").first.wait_for()

    view.get_by_test_id("program-table").click()
    view.get_by_test_id("view-table").get_by_text(re.compile(r"\d+ equations")).first.wait_for()
    view.get_by_test_id("program-linked").click()
    row = view.get_by_test_id("view-linked").locator(".jd-row", has_text="nll = jax.nn.log_softmax").first
    row.hover()
    view.locator(".jd-column:nth-child(2) .jd-lit").first.wait_for()
    linked_columns_have_room(lab_page, view)

    notebook.run_cell(2)
    panel = notebook.output(2).get_by_test_id("jaxdebug-panel")
    panel.get_by_role("tab", name="Program").click()
    panel.get_by_test_id("graph").wait_for()
    [room] = boxes_at_rest(lab_page.page, panel.get_by_label("The boxes"))
    assert room["height"] > 200, "they have the room of the tab"
    panel.get_by_role("tab", name="Calls").click()
    panel.get_by_role("button", name="program…").click()
    panel.get_by_test_id("graph").wait_for()
    panel.locator(".tools").get_by_text("the program that this call has run").wait_for()
    panel.get_by_test_id("program-table").click()
    panel.get_by_test_id("view-table").get_by_text(re.compile(r"\d+ equations")).first.wait_for()
    assert lab_page.errors == []


def test_differences_are_beside_their_equations_in_a_narrow_output(lab, lab_page):
    shorter = "%jaxdebug diff loss_fn (lambda p, x, y: loss_fn({**p, 'd': p['d'][:4]}, x, y)) -- p, x, y"
    notebook = lab_page.open_notebook(lab.write_notebook("narrow.ipynb", MODEL, shorter))
    notebook.run_cell(0)
    notebook.run_cell(1)
    view = notebook.output(1).get_by_test_id("program")
    view.get_by_text(re.compile("length: 5 → 4")).wait_for()
    size = lab_page.page.viewport_size
    lab_page.page.set_viewport_size({"width": 640 + 390, "height": 1000})
    room, *heads = boxes_at_rest(lab_page.page, view, *view.locator("th").all())
    assert len(heads) == len(["equation", "what", "before", "after"])
    assert all(head["x"] + head["width"] <= room["x"] + room["width"] + 1 for head in heads)
    lab_page.page.set_viewport_size(size)


@pytest.mark.parametrize("theme", THEMES)
def test_the_view_of_a_program_is_legible_without_serious_violations(lab, lab_page, theme):
    notebook = lab_page.open_notebook(lab.write_notebook(f"program-{theme}.ipynb", MODEL, GRAPH), theme)
    notebook.run_cell(0)
    notebook.run_cell(1)
    view = notebook.output(1).get_by_test_id("program")
    boxes(view, "norm").first.click()
    view.get_by_test_id("excerpt").wait_for()
    size = lab_page.page.viewport_size
    for width in (1600, 1280, 640, 320):
        lab_page.page.set_viewport_size({"width": width + 390, "height": 1000})
        view.get_by_test_id("graph").scroll_into_view_if_needed()
        view.screenshot(path=ARTIFACTS / f"program-{theme}-{width}.png".lower().replace(" ", "-"))
        assert violations(lab_page.page, "[data-jaxdebug-program]") == []
    lab_page.page.set_viewport_size(size)
