"""Test the Code view of a real training cell while it runs: the numbers beside the lines are those of the kernel."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.e2e.browser import boxes_at_rest, shows
from tests.e2e.clicks import clicks
from tests.e2e.hold import Hold
from tests.e2e.panel import PanelOnScreen
from tests.e2e.test_panel_accessibility import violations
from tests.e2e.test_panel_pictures import FRAMES

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.e2e.browser import LabPage
    from tests.e2e.notebook import Notebook

STEPS = 2000
"""The steps of one call. The cell makes further calls until the test lets it end."""

FIND = """
const [panel] = [...document.querySelectorAll('[data-jaxdebug-run] > *')].map(host => host.shadowRoot).filter(Boolean);
const shown = name => panel.querySelector(`[data-testid=value][data-name=${name}]`);
"""

SETUP = """%load_ext jax_debug_widgets
import itertools
import jax, jax.numpy as jnp, optax
from jax import lax
from sklearn.datasets import load_digits

digits = load_digits()
images, labels = jnp.asarray(digits.data / 16.0), jax.nn.one_hot(digits.target, 10)
key = jax.random.key(0)
params = {"w1": 0.1 * jax.random.normal(key, (64, 32)), "w2": 0.1 * jax.random.normal(key, (32, 10))}
optimiser = optax.adam(1e-3)"""

TRAIN = f"""%%jaxdebug --watch-all
def loss_fn(params, x, y):
    hidden = jax.nn.relu(x @ params["w1"])
    logits = hidden @ params["w2"]
    log_probs = jax.nn.log_softmax(logits)
    loss = -(log_probs * y).sum(axis=-1).mean()
    return loss

@jax.jit
def train(params, key):
    def step(carry, key):
        params, state = carry
        chosen = jax.random.randint(key, (1024,), 0, images.shape[0])
        loss, grads = jax.value_and_grad(loss_fn)(params, images[chosen], labels[chosen])
        updates, state = optimiser.update(grads, state)
        params = optax.apply_updates(params, updates)
        return (params, state), loss
    keys = jax.random.split(key, {STEPS})
    return lax.scan(step, (params, optimiser.init(params)), keys)

for epoch in itertools.count():
    jax.block_until_ready(train(params, jax.random.fold_in(key, epoch)))
    if may_go_on():
        break
"""

AT = 500

ASK = f"""import json
run = %jaxdebug panel
loss = f"loss@In [{{len(In) - 2}}]:6"
names = dict(hidden="hidden.mean", logits="logits.mean", log_probs="log_probs.mean", loss=loss)
found = [(name, run.series(series)[1].tolist()) for name, series in names.items()]
print(json.dumps(dict((name, (len(values), values[{AT}], values[-1])) for name, values in found)))"""

SHRINK = """

@jax.jit
def shrink(x):
    width = x.max() - x.min()
    def body(x, i):
        rest = x - 0.25
        logs = jnp.log(rest)
        x = rest + 0.0 * jnp.maximum(logs, -1.0)
        return x, logs.sum()
    last, sums = lax.scan(body, x + 0.0 * width, jnp.arange(12))
    total = sums.sum()
    return last, total
"""

BROKEN = """%%jaxdebug --watch-all
_ = shrink(jnp.linspace(1.1, 2.1, 8))
"""

CONDITIONAL = """%%jaxdebug --watch logs --histogram --when 'rest.min() > 0'
_ = shrink(jnp.linspace(1.1, 2.1, 8))
"""

LANES = """%%jaxdebug --watch logs
_ = jax.jit(jax.vmap(lambda x: shrink(x)))(jnp.linspace(1.1, 2.1, 24).reshape(3, 8))
"""

RULES = """%%jaxdebug --watch-all
@jax.custom_vjp
def clipped(x):
    return x * 2

def clipped_forward(x):
    doubled = x * 2
    return doubled, x

def clipped_backward(x, cotangent):
    norm = jnp.sqrt((cotangent**2).sum())
    scale = jnp.minimum(1.0, 0.5 / norm)
    back = cotangent * scale * 2
    return (back,)

clipped.defvjp(clipped_forward, clipped_backward)

@jax.jit
def update(w, x):
    def body(w, _):
        loss, pull_back = jax.vjp(lambda w: ((clipped(x @ w) - 1) ** 2).mean(), w)
        (grads,) = pull_back(1.0)
        return w - 0.1 * grads, loss
    return lax.scan(body, w, None, length=20)

_ = update(jnp.eye(4), jnp.linspace(-1, 1, 12).reshape(3, 4))
"""

WHOLE = """%%jaxdebug --watch-all --values
_ = shrink(jnp.linspace(1.1, 2.1, 8))
"""

REPEATED = """%%jaxdebug --watch-all
for start in (1.0, 10.0, 100.0):
    _ = shrink(jnp.linspace(start, 2 * start, 8))
"""

VERIFY = """verified = %jaxdebug verify shrink(jnp.linspace(1.1, 2.1, 8))"""


@pytest.fixture(scope="module")
def hold(tmp_path_factory):
    return Hold(tmp_path_factory.mktemp("source") / "go-on")


@pytest.fixture(scope="module")
def opened(lab, browser, hold):
    """Open a notebook with the cells above and run the first one, because its imports take longer than any other cell."""
    page = browser.new_page(lab, "source")
    setup = SETUP + "\n\n" + hold.define + SHRINK
    cells = setup, TRAIN, ASK, BROKEN, CONDITIONAL, VERIFY, LANES, RULES, WHOLE, REPEATED
    opened = page.open_notebook(lab.write_notebook("source.ipynb", *cells))
    opened.run_cell(0, timeout_s=120)
    yield opened
    page.close()
    lab.shut_down_kernels()


@pytest.fixture
def lab_page(opened, request):
    page = opened.lab_page
    page.name = request.node.name
    yield page
    page.forget()


@pytest.fixture
def notebook(opened, lab_page):
    """Clear the outputs of other tests; the test fails if the page reports an error or makes a request to another origin."""
    lab_page.set_theme("Light")
    lab_page.ask("command", "notebook:clear-all-cell-outputs", opened.path, 0)
    yield opened
    assert lab_page.requests_elsewhere() == []
    assert lab_page.errors == []


def panel_of(notebook: Notebook, lab_page: LabPage, cell: int) -> PanelOnScreen:
    """Run a cell to its last effect; return its panel."""
    notebook.run_cell(cell, timeout_s=120)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done", barrier="drained")
    panel.open_tab("Code")
    return panel


def value(panel: PanelOnScreen, name: str) -> Locator:
    """Return the element beside the line that computes `name`, after scrolling: a panel off the screen is not painted."""
    panel.root.scroll_into_view_if_needed()
    return panel.root.locator(f"[data-testid=value][data-name={name}]").first


def numbers_beside(panel: PanelOnScreen, name: str) -> dict[str, float]:
    """Return the numbers beside `name` from the text for screen readers: `{"mean": 0.25, …}`."""
    words = value(panel, name).get_attribute("aria-description") or ""
    found = re.findall(r"(\w+)(?: of finite)? (-?[\d.]+(?:e[-+]\d+)?|nan|-?inf)\b", words)
    return {stat: float(number) for stat, number in found}


def wait_for_number(panel: PanelOnScreen, name: str, wanted: object, *stats: str) -> None:
    """Wait until the first of these statistics that is shown for `name` has the wanted value."""

    def number() -> float | None:
        numbers = numbers_beside(panel, name)
        return next((numbers[stat] for stat in stats if stat in numbers), None)

    shows(panel.root.page, number, wanted)


def kernel_says(notebook: Notebook, index: int) -> dict[str, tuple[int, float, float]]:
    """Run `ASK`; return, for each name, the number of steps in all calls, its value at step `AT` and at the last step."""
    notebook.run_cell(index, timeout_s=60)
    return json.loads(notebook.printed(index))


@pytest.mark.behaviour("W1")
@pytest.mark.behaviour("W2")
def test_values_stand_beside_their_lines_while_the_cell_runs(hold, notebook, lab_page):
    panel = PanelOnScreen(lab_page)
    run = notebook.start_cell(1)
    notebook.output(1)
    panel.open_tab("Code")
    value(panel, "logits").wait_for(timeout=120_000)
    lab_page.wait_for_js(
        f"() => {{ {FIND} const button = shown('logits'); return button && Number(button.dataset.event) > 2000; }}",
        timeout_s=120,
    )
    first = numbers_beside(panel, "loss")["value"]
    lab_page.wait_for_js(
        f"before => {{ {FIND} return !shown('loss').ariaDescription.includes(`value ${{before}}`); }}",
        first,
        timeout_s=60,
    )
    panel.picture("panel-source-light")
    assert not run.ended  # So the page showed all this while the cell was running.
    hold.go_on()
    run.wait(timeout_s=240)
    panel.wait(state="done", barrier="drained")

    expected = kernel_says(notebook, 2)
    steps = panel.root.get_by_test_id("step")
    total, loss, _ = expected["loss"]
    assert total >= STEPS
    for which, chosen in ((1, AT), (2, total - 1)):
        steps.fill(str(chosen))
        for name, figures in expected.items():
            wait_for_number(panel, name, pytest.approx(figures[which], rel=1e-4), "mean", "value")
    expect(panel.root.get_by_test_id("live")).to_have_attribute("aria-pressed", "true")

    # All views share the step of the panel.
    steps.fill(str(AT))
    wait_for_number(panel, "loss", pytest.approx(loss, rel=1e-4), "value")
    event = value(panel, "loss").get_attribute("data-event") or ""
    panel.root.get_by_test_id("live").click()
    expect(value(panel, "loss")).not_to_have_attribute("data-event", event)
    panel.open_tab("Prints")
    panel.root.get_by_test_id("step").fill(str(AT))
    panel.open_tab("Code")
    expect(value(panel, "loss")).to_have_attribute("data-event", event)
    wait_for_number(panel, "loss", pytest.approx(loss, rel=1e-4), "value")

    # Pointing at an expression shows its facts, a click inspects it.
    part = panel.root.locator("[data-line='6'] .can-point").filter(has_text="log_probs * y").last
    part.hover()
    panel.root.get_by_role("tooltip").wait_for()
    value(panel, "logits").click()
    inspect = panel.root.get_by_test_id("inspect")
    over_steps = inspect.get_by_test_id("section-over-steps").get_by_test_id("plot")
    over_steps.wait_for()
    expect(over_steps).to_have_attribute("data-points", str(total))
    panel.root.locator("[data-of=hidden] .name-tick").first.click()
    inspect.get_by_test_id("overlay").wait_for()
    assert violations(lab_page.page) == []
    panel.open_tab("Prints")
    expect(panel.root.locator(".row")).to_have_count(0)
    panel.open_tab("Code")
    lab_page.set_theme("Dark")
    lab_page.page.evaluate(FRAMES)
    panel.picture("panel-source-dark")
    assert violations(lab_page.page) == []


def test_the_first_value_that_is_not_finite_is_jumped_to(notebook, lab_page):
    panel = panel_of(notebook, lab_page, 3)
    first = panel.root.get_by_test_id("first-nan")
    first.get_by_text("logs").wait_for()
    first.click()
    inspect = panel.root.get_by_test_id("inspect")
    inspect.locator(".inspector-name", has_text="logs").get_by_text("f32[8]").wait_for()
    # Why it is NaN, one click away: the operand, and how many of its elements are negative.
    why = inspect.get_by_test_id("section-why")
    why.get_by_text("jnp.log(rest)").wait_for()
    expect(why.locator("[data-operand=rest]")).to_contain_text("-0.15 …")
    # 1.1 - 0.25 n and 1.24 - 0.25 n are negative from the fifth step on: two of eight logarithms are NaN.
    expect(inspect).to_contain_text(re.compile("(execution|step) 4"))
    wait_for_number(panel, "logs", 2, "NaN")
    panel.root.locator(".source-row.current [data-name=logs]").wait_for()
    lab_page.screenshot("source-first-nan")

    # At the last step no element is finite, so there is no mean.
    panel.root.get_by_test_id("live").click()
    panel.root.locator("[data-testid=live][aria-pressed=true]").wait_for()
    wait_for_number(panel, "logs", 8, "NaN")
    last = numbers_beside(panel, "logs")
    assert math.isnan(last["mean"]) and math.isnan(last["min"])

    panel.root.get_by_test_id("watch-toggle").click()
    panel.root.locator("[data-testid=watch-toggle][aria-pressed=false]").wait_for()
    panel.root.get_by_test_id("watch-toggle").click()
    panel.root.locator("[data-testid=watch-toggle][aria-pressed=true]").wait_for()


def test_findings_show_the_line_and_lead_to_it(notebook, lab_page):
    panel = panel_of(notebook, lab_page, 3)
    panel.open_tab("Findings")
    found = panel.root.get_by_test_id("finding")
    found.first.get_by_text("becomes NaN").wait_for()
    expect(found).to_have_count(1)
    expect(found.locator(".guilty")).to_contain_text("logs = jnp.log(rest)")
    expect(found).to_contain_text(re.compile(r"\d+ others? later"))
    for theme in ("Dark", "Light"):
        lab_page.set_theme(theme)
        lab_page.page.evaluate(FRAMES)
        lab_page.screenshot(f"findings-{theme.lower()}")
        assert violations(lab_page.page) == []
    found.locator("header button.link").click()
    panel.root.locator(".source-row.current [data-name=logs]").wait_for()


@pytest.mark.behaviour("W4")
def test_histograms_are_limited_to_the_steps_that_a_condition_selects(notebook, lab_page):
    panel = panel_of(notebook, lab_page, 4)
    value(panel, "logs").wait_for()
    # The smallest number, 1.1 - 0.25 n, is positive in the first four iterations.
    expect(value(panel, "logs")).to_have_attribute("aria-description", re.compile(r"step 3\b"))
    value(panel, "logs").click()
    inspect = panel.root.get_by_test_id("inspect")
    canvas = inspect.get_by_test_id("magnitudes").locator("canvas")
    expect(canvas).to_have_attribute("aria-label", re.compile("At this step:.*2"))
    words = canvas.get_attribute("aria-label") or ""
    counted = dict(re.findall(r"([-+](?:0|2\^-?\d+)) (\d+)", words.partition("At this step:")[2]))
    logs = [math.log(1.1 + i / 7 - 0.25 * 4) for i in range(8)]
    assert "over 4 steps" in words and sum(map(int, counted.values())) == len(logs)
    assert int(counted["-2^0"]) == sum(1 <= -log < 8 for log in logs)
    assert violations(lab_page.page) == []
    panel.picture("panel-magnitudes-light")
    lab_page.set_theme("Dark")
    panel.picture("panel-magnitudes-dark")
    panel.open_tab("Overview")
    hits = panel.root.get_by_test_id("hits").locator(".latest-row")
    assert [re.findall(r"step \d", hit) for hit in hits.all_inner_texts()] == [[f"step {i}"] for i in range(4)]
    hits.nth(1).click()
    panel.root.locator("[data-testid=value][data-name=logs][aria-description*='step 1']").wait_for()


def test_an_added_name_is_watched_when_the_cell_runs_again(notebook, lab_page):
    panel = panel_of(notebook, lab_page, 4)
    panel.root.scroll_into_view_if_needed()
    add = panel.root.get_by_test_id("add-watch")
    add.filter(has_text="+ watch rest").click()
    panel.root.locator("[data-testid=add-watch][aria-pressed=true]").wait_for()
    expect(add.filter(has_text="rest")).to_have_text("rest: watched from the next run on")
    assert violations(lab_page.page) == []
    lab_page.screenshot("source-added")

    panel = panel_of(notebook, lab_page, 4)
    value(panel, "rest").wait_for()
    wait_for_number(panel, "rest", pytest.approx(1.1 - 4 * 0.25, rel=1e-4), "min")
    expect(value(panel, "logs")).to_be_visible()

    # Switched off again: the next run watches only what the cell names.
    value(panel, "rest").click()
    panel.root.get_by_test_id("watch-toggle").click()
    panel.root.locator("[data-testid=watch-toggle][aria-pressed=false]").wait_for()
    panel = panel_of(notebook, lab_page, 4)
    panel.root.get_by_test_id("add-watch").filter(has_text="+ watch rest").wait_for()
    expect(value(panel, "rest")).to_have_count(0)


def test_values_before_a_loop_are_those_of_the_call_of_the_chosen_step(notebook, lab_page):
    """Values outside of the loop arrive when the loop is over."""
    panel = panel_of(notebook, lab_page, 9)
    for step, wanted in ((0, 1), (11, 1), (12, 10), (18, 10), (24, 100)):
        panel.root.get_by_test_id("step").fill(str(step))
        wait_for_number(panel, "x", 1.5 * wanted, "mean", "value")
        wait_for_number(panel, "width", wanted, "value")
        is_over = step == 11
        expect(value(panel, "total").get_by_text("not yet")).to_have_count(0 if is_over else 1)


def test_a_verified_call_says_so_in_the_text_and_in_the_panel(notebook, lab_page):
    notebook.run_cell(5, timeout_s=120)
    assert "all 2 arrays of the result are bitwise equal" in notebook.printed(5)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done", barrier="drained")
    panel.root.get_by_text("bitwise equal to the unwatched program").first.wait_for()


def test_the_lanes_of_a_value_are_asked_for_and_shown(notebook, lab_page):
    panel = panel_of(notebook, lab_page, 6)
    value(panel, "logs").click()
    panel.root.get_by_test_id("by-lane-toggle").click()
    panel.root.get_by_text("by lane from the next run on").wait_for()

    panel = panel_of(notebook, lab_page, 6)
    value(panel, "logs").click()
    table = panel.root.get_by_test_id("by-lane").locator("tr")
    table.nth(3).wait_for()
    first_column = "rows => rows.map(row => row.cells[0].innerText.trim())"
    shows(lab_page.page, lambda: table.evaluate_all(first_column), ["lane", "0", "1", "2"])
    panel.root.get_by_test_id("step").fill("0")
    starts = [1.1 + lane * 8 / 23 - 0.25 for lane in range(3)]
    panel.root.get_by_test_id("by-lane").get_by_text(f"{math.log(starts[2]):.3g}"[:5]).first.wait_for()
    second_column = "rows => rows.slice(1).map(row => Number(row.cells[1].innerText.trim()))"
    logs = [pytest.approx(math.log(start), rel=1e-2, abs=1e-3) for start in starts]
    shows(lab_page.page, lambda: table.evaluate_all(second_column), logs)
    assert violations(lab_page.page) == []
    lab_page.screenshot("source-lanes")


@pytest.mark.behaviour("W4")
def test_values_of_a_derivative_rule_are_beside_its_lines(notebook, lab_page):
    panel = panel_of(notebook, lab_page, 7)
    value(panel, "scale").wait_for()
    steps = panel.root.get_by_test_id("step")
    steps.fill("0")
    weights, x = np.eye(4), np.linspace(-1, 1, 12).reshape(3, 4)
    cotangent = 2 * (2 * x @ weights - 1) / x.size
    norm = np.linalg.norm(cotangent)
    back = cotangent * min(1.0, 0.5 / norm) * 2
    wait_for_number(panel, "doubled", pytest.approx((2 * x).mean(), abs=1e-5), "mean")
    wait_for_number(panel, "norm", pytest.approx(norm, rel=1e-4), "value")
    wait_for_number(panel, "back", pytest.approx(back.mean(), rel=1e-3), "mean")
    choice = panel.root.get_by_test_id("function-choice")
    choice.select_option(label=next(one for one in choice.locator("option").all_inner_texts() if "update" in one))
    wait_for_number(panel, "grads", pytest.approx(np.linalg.norm(x.T @ back), rel=1e-3), "l2")
    assert violations(lab_page.page) == []
    lab_page.screenshot("source-rules")


@pytest.mark.behaviour("O2")
def test_an_array_at_a_step_is_a_picture_two_clicks_after_the_cell(notebook, lab_page):
    notebook.run_cell(8, timeout_s=120)
    panel = PanelOnScreen(lab_page)
    panel.wait(state="done", barrier="drained")
    panel.root.scroll_into_view_if_needed()
    shown, slider = panel.root.get_by_test_id("section-value"), panel.root.get_by_test_id("step")
    with clicks(lab_page.page, 2):
        panel.root.locator(".legend-name", has_text=re.compile("^logs$")).first.click()
        shown.get_by_test_id("heat-map").wait_for()
        [box] = boxes_at_rest(lab_page.page, slider)
        share = 2 / int(slider.get_attribute("max") or 0)
        slider.click(position={"x": 8 + share * (box["width"] - 16), "y": box["height"] / 2})
        expect(slider).to_have_value("2")
    least, most = (math.log(start - 3 * 0.25) for start in (1.1, 2.1))
    line = shown.get_by_test_id("slice-line")
    line.get_by_text(f"min {least:.5g}"[:9]).wait_for()
    expect(line).to_contain_text(f"max {most:.5g}"[:9])
    expect(panel.root.get_by_test_id("inspect-when")).to_contain_text("step 2")
    statistics = panel.root.get_by_test_id("statistics")
    shows(lab_page.page, lambda: statistics.inner_text().split()[:2], ["min", f"{least:.3g}"[:5]])
    assert violations(lab_page.page) == []
    lab_page.screenshot("source-value")
