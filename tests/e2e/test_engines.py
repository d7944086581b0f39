"""Test the engines of an ipyparallel client in JupyterLab: a live panel for each, or one panel for all."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest
from playwright.sync_api import expect

CONNECT = """import ipyparallel as ipp
rc = ipp.Client(profile_dir={profile!r}, timeout=120)
rc.wait_for_engines(2, timeout=120)
"""

SETUP = """%%px
%load_ext jax_debug_widgets
import jax, jax.numpy as jnp
{define}
engine = get_ipython().kernel.engine_id

@jax.jit
def step(x, i):
    jax.debug.print("engine {{e}} step {{i}}", e=engine, i=i)
    return x * 0.5
"""

RUN = """%%px {block}
%%jaxdebug
x = jnp.ones(2)
for i in range(20):
    x = step(x, i)
wait()
print(f"engine {{engine}} has waited")
step(x, 20)
"""

FOLLOW = "import jax_debug_widgets as jdw\nengines = jdw.follow(rc)\nengines"

SHOW = """import time
while "newest none" in repr(engines):
    time.sleep(0.1)
engines
"""


@pytest.fixture
def connect(tmp_path):
    """Start a controller and two engines; return the code with which a notebook connects to them."""
    folder = tmp_path / "profile"
    command = [sys.executable, "-m", "ipyparallel.cluster", "start", "--n=2", f"--profile-dir={folder}"]
    with (tmp_path / "cluster.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    yield CONNECT.format(profile=str(folder))
    process.send_signal(signal.SIGINT)  # The controller ends its engines.
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def panels_of(notebook, cell, *, state, events):
    """Return the panels in the output of a cell, once they have this state and this number of events."""
    panels = notebook.output(cell).get_by_test_id("jaxdebug-panel")
    return panels.and_(notebook.lab_page.page.locator(f"[data-state={state}][data-events='{events}']"))


def wait_until_stored(notebook, cell, *words: str):
    """Wait until the outputs of a cell, as they would be saved, contain each of these texts as often as it is given."""
    notebook.lab_page.wait_for_js(
        "([path, cell, words]) => { const texts = window.notebookDriver.outputs(path, cell)"
        ".map(({ data }) => [data?.['text/plain']].flat().join('')); return words.every((word) =>"
        " texts.filter((text) => text.includes(word)).length >= words.filter((other) => other === word).length); }",
        [notebook.path, cell, words],
    )


def saved_states(lab, notebook, cell):
    """Return the state and the numbers of each panel in the file."""
    notebook.save()
    outputs = lab.read_notebook(notebook.path).cells[cell].outputs
    found = []
    for output in outputs:
        if "data-jaxdebug-run" in (html := output.get("data", {}).get("text/html", "")):
            text = re.sub(r"<[^>]*>", " ", re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL))
            found.append(" ".join(text.split()[:9]))
    return found


@pytest.mark.own_page
@pytest.mark.behaviour("W6")
def test_two_engines_have_two_live_panels_whose_saved_states_are_true(lab, lab_page, hold, connect):
    cells = [connect, SETUP.format(define=hold.define), RUN.format(block="")]
    notebook = lab_page.open_notebook(lab.write_notebook("engines.ipynb", *cells))
    for index in (0, 1):
        notebook.run_cell(index, timeout_s=150)
    running = notebook.start_cell(2)
    panels = panels_of(notebook, 2, state="running", events=20)
    expect(panels).to_have_count(2, timeout=60_000)
    seen = set()
    for panel in panels.all():
        panel.get_by_role("tab", name="Prints").click()
        seen |= {number for number in (0, 1) if panel.get_by_text(f"engine {number} step 19").count()}
        # The client relays no request while its cell waits.
        pause = panel.get_by_test_id("pause")
        expect(pause).to_be_disabled()
        expect(pause).to_have_attribute("title", re.compile("The program runs in another process"))
    assert seen == {0, 1}
    assert all("Was running when saved" in one for one in saved_states(lab, notebook, 2))

    hold.go_on()
    running.wait()
    expect(panels_of(notebook, 2, state="done", events=21)).to_have_count(4)  # Each is displayed again at its end.
    wait_until_stored(
        notebook, 2, *["done after"] * 4, *(f"engine {number} has waited" for number in (0, 1)), "Out[0:2]"
    )
    saved = saved_states(lab, notebook, 2)
    assert len(saved) == 4 and all(one.startswith("Done") and "21 prints" in one for one in saved), saved
    lab_page.reload()
    notebook.wait_until_open()
    for output in notebook.output(2).locator("[data-jaxdebug-run]").all():
        expect(output).to_contain_text("engine")
        expect(output).to_contain_text("Done")
    assert lab_page.errors == []


@pytest.mark.own_page
@pytest.mark.behaviour("W6")
def test_all_engines_are_followed_in_one_live_panel(lab, lab_page, hold, connect):
    cells = [connect, SETUP.format(define=hold.define), FOLLOW, RUN.format(block="--noblock"), SHOW]
    notebook = lab_page.open_notebook(lab.write_notebook("followed.ipynb", *cells))
    for index in range(5):
        notebook.run_cell(index, timeout_s=150)
    panel = panels_of(notebook, 4, state="running", events=40)
    panel.wait_for(timeout=60_000)
    panel.get_by_role("tab", name="Prints").click()
    for number in (0, 1):
        panel.get_by_test_id("filter").fill(f"process:{number}")
        panel.get_by_text(f"engine {number} step 19").first.wait_for()
        expect(panel.get_by_text(f"engine {1 - number} step 19")).to_have_count(0)
    expect(panel.get_by_test_id("pause")).to_have_attribute("title", re.compile("runs in another process"))

    hold.go_on()
    expect(panels_of(notebook, 4, state="done", events=42)).to_have_count(1)
    wait_until_stored(notebook, 4, "done after")
    (saved,) = saved_states(lab, notebook, 4)
    assert saved.startswith("Done") and "42 prints" in saved
    lab_page.reload()
    notebook.wait_until_open()
    expect(panels_of(notebook, 4, state="done", events=42)).to_have_count(1)
    assert lab_page.errors == []
