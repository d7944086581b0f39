"""Test the overview after a training cell: what it shows without a click, and where one click leads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import boxes_at_rest, shows
from tests.e2e.clicks import clicks
from tests.e2e.panel import PanelOnScreen
from tests.e2e.test_panel_accessibility import violations

if TYPE_CHECKING:
    from collections.abc import Iterator

STEPS = 30

CELLS = [
    """%load_ext jax_debug_widgets
import jax, jax.numpy as jnp
key = jax.random.key(0)
sizes = (4, 8), (8, 2)
params = {"layers": [{"w": jax.random.normal(key, size), "b": jnp.zeros(size[1])} for size in sizes]}
x = jax.random.normal(key, (16, 4))""",
    f"""%%jaxdebug --watch-all
def unit(z):
    n2 = (z ** 2).sum(-1, keepdims=True)
    norm = jnp.where(n2 > 0, jnp.sqrt(n2), 1.0)
    return z / norm

def loss_fn(params, x):
    first, second = params["layers"]
    h = unit(x @ first["w"]) + first["b"]
    logits = jnp.tanh(h) @ second["w"] + second["b"]
    return ((logits - 1.0) ** 2).mean()

@jax.jit
def step(params, x, i):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    updates = jax.tree.map(lambda g: jnp.where(jnp.isfinite(g), -0.1 * g, 0.0), grads)
    params = jax.tree.map(lambda p, u: p + u, params, updates)
    jax.debug.print("{{i}} loss {{loss}}", i=i, loss=loss)
    return params

for i in range({STEPS}):
    params = step(params, x.at[0].set(0.0) if i == 20 else x, i)""",
    "%%jaxdebug\nquiet = jax.jit(lambda x: x + 1)(1.0)",
    """%%jaxdebug --watch-all
@jax.jit
def shrink(x):
    def body(x, _):
        rest = x - 0.25
        logs = jnp.log(rest)
        return rest, logs
    return jax.lax.scan(body, x, None, length=6)[1]

_ = jax.vmap(shrink)(jnp.array([9.0, 9.0, 1.1, 9.0]))""",
    """%%jaxdebug --check all
@jax.jit
def total(x):
    return (x * 2).sum()

for n in (3, 4, 5):
    total(jnp.ones(n))""",
]


@pytest.fixture
def notebook(lab, lab_page) -> Iterator:
    notebook = lab_page.open_notebook(lab.write_notebook("overview.ipynb", *CELLS))
    notebook.run_cell(0)
    yield notebook
    assert lab_page.requests_elsewhere() == []
    assert lab_page.errors == []


def all_steps_drawn(root):
    """Wait for the last update, which comes a moment after the last event."""
    root.get_by_test_id("fact-steps").locator(f".fact-value:text-is('{STEPS}')").wait_for()


@pytest.mark.behaviour("O1")
def test_after_a_training_cell_curves_and_gradients_are_there_and_one_click_leads_to_the_line_of_the_first_nan(
    notebook, lab_page
):
    notebook.run_cell(1, timeout_s=120)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done", barrier="drained")
    root = panel.root
    root.scroll_into_view_if_needed()
    with clicks(lab_page.page, 0):
        for chart in ("loss", "Gradient norms"):
            expect(root.locator(f"[data-chart='{chart}'] .chart canvas")).to_be_in_viewport()
    all_steps_drawn(root)
    expect(root.get_by_test_id("fact-loss")).to_contain_text("→")
    expect(root.locator("[data-chart=i]"), "a counter is no curve").to_have_count(0)
    gradients = root.locator("[data-chart='Gradient norms']")
    expect(gradients.locator(".legend-group")).to_have_text(["layers[0]", "layers[1]"])
    shows(lab_page.page, lambda: sorted(gradients.locator(".legend-name").all_inner_texts()), ["b", "b", "w", "w"])
    expect(root.locator("[data-chart='Update / weight']")).to_have_attribute("data-lines", "4")
    spreads = root.locator("[data-chart='Std of values'] .legend-name").all_inner_texts()
    assert {"h", "logits"} <= set(spreads) and not {"x", "params"} & set(spreads)
    expect(root.get_by_test_id("last-prints")).to_contain_text(f"{STEPS - 1} loss")
    lab_page.screenshot("overview-light")
    for theme in ("Light", "Dark"):
        lab_page.set_theme(theme)
        assert violations(lab_page.page) == []
    lab_page.screenshot("overview-dark")
    lab_page.set_theme("Light")

    fact = root.get_by_test_id("fact-nan")
    expect(fact).to_contain_text("n2")
    expect(fact).to_contain_text("In [2]:4, step 20")
    with clicks(lab_page.page, 1):
        fact.click()
        expect(root.locator("#tab-source")).to_have_attribute("aria-selected", "true")
        expect(root.locator(".source-row.current")).to_contain_text("jnp.sqrt(n2)")
        # The derivative that makes the NaN, and its operand: one row of zeros.
        why = root.get_by_test_id("section-why")
        expect(why).to_contain_text("derivative of jnp.sqrt(n2)")
        operand = why.locator("[data-operand=n2]").last
        expect(operand).to_contain_text("0 …")
        expect(operand).to_be_in_viewport()
    lab_page.screenshot("one-click-operands")


def test_a_click_on_a_chart_moves_the_moment_and_the_names_have_their_numbers_then(notebook, lab_page):
    notebook.run_cell(1, timeout_s=120)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done", barrier="drained")
    root = panel.root
    root.scroll_into_view_if_needed()
    all_steps_drawn(root)
    number = root.locator("[data-chart='Gradient norms'] .legend-value").first
    root.get_by_test_id("facts").hover()  # While the pointer is on the chart, the numbers are those at the pointer.
    last = number.inner_text()
    canvas = root.locator("[data-chart='Gradient norms'] canvas")
    [box] = boxes_at_rest(lab_page.page, canvas)
    canvas.click(position={"x": 60, "y": box["height"] / 2})
    root.locator("[data-testid=scrubber]:not([data-moment=live])").wait_for()
    root.get_by_test_id("facts").hover()
    expect(number).not_to_have_text(last)
    root.get_by_test_id("live").click()
    root.locator("[data-testid=scrubber][data-moment=live]").wait_for()
    root.get_by_test_id("facts").hover()
    expect(number).to_have_text(last)


@pytest.mark.parametrize(
    ("cell", "fact", "seen"),
    [
        pytest.param(3, "nan", "[data-testid=first-nan]:has-text('logs'):has-text('lane 2')", id="which lane blew up"),
        pytest.param(
            4, "compiled", "[data-kind=retraces]:has-text('traced 3 times')", id="why it compiled three times"
        ),
    ],
)
def test_one_click_on_a_fact_leads_to_its_answer(notebook, lab_page, cell, fact, seen):
    notebook.run_cell(cell, timeout_s=120)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done")
    panel.root.scroll_into_view_if_needed()
    with clicks(lab_page.page, 1):
        panel.root.get_by_test_id(f"fact-{fact}").click()
        expect(panel.root.locator(seen)).to_be_in_viewport()
    lab_page.screenshot(f"one-click-{fact}")
    assert violations(lab_page.page) == []


def test_a_run_without_numbers_says_how_to_see_some(notebook, lab_page):
    notebook.run_cell(2, timeout_s=120)
    PanelOnScreen(lab_page).root.get_by_test_id("nothing-drawn").get_by_text("%%jaxdebug --watch-all").wait_for()


def test_operations_that_compile_before_a_function_is_called_are_counted(lab, lab_page, hold):
    cell = f"""%%jaxdebug
{hold.define}
import jax, jax.numpy as jnp
def init():
    for n in range(12):
        jnp.cumsum(jnp.ones(n + 1))
init()
wait()
jax.jit(lambda x: jax.debug.print("x {{x}}", x=x))(1.0)"""
    notebook = lab_page.open_notebook(lab.write_notebook("apart.ipynb", "%load_ext jax_debug_widgets", cell))
    notebook.run_cell(0)
    run = notebook.start_cell(1)
    root = PanelOnScreen(lab_page).root
    note = re.compile(r"JAX compiles operations outside jit: [1-9]\d+ so far, in [\d.]+ m?s\.")
    root.get_by_test_id("nothing-drawn").get_by_text(note).wait_for()
    root.get_by_test_id("state").click()
    expect(root.get_by_test_id("life")).to_contain_text(note)
    lab_page.screenshot("compiling-outside-jit")
    hold.go_on()
    run.wait()
    root.get_by_test_id("last-prints").get_by_text("x 1.0").wait_for()
    assert lab_page.errors == []
