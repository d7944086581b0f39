"""Test cells in a real ipykernel without a browser: panels as HTML and text, unchanged results, no hang."""

from __future__ import annotations

import re

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

pytestmark = pytest.mark.cpu("starts processes that choose their own devices")

SETUP = """\
import jax
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)
import jax.numpy as jnp
%load_ext jax_debug_widgets
f = jax.jit(lambda x: (jax.debug.print('x {}', x), x * 2)[1])
"""
CELLS = {
    "setup": SETUP,
    "plain": "f(1.)",
    "captured": "%%jaxdebug\nf(1.)",
    "ordered": "%%jaxdebug\nprint('mine')\njax.jit(lambda x: jax.debug.print('first {}', x, ordered=True))(4.)",
    "echoed": "%%jaxdebug --echo\nf(3.);",
    "awaited": "%%jaxdebug\nimport asyncio\nawait asyncio.sleep(0)\nf(5.)",
    "expression": "%jaxdebug f(6.)",
    "shell": "%%jaxdebug\n!echo hi",
    "plain error": "# %%jaxdebug\nf(1.)\n\ndef q():\n    1/0\n\nq()",
    "error": "%%jaxdebug\nf(1.)\n\ndef q():\n    1/0\n\nq()",
    "after": "f(2.)",
    "syntax error": "%%jaxdebug\nx = = 1",
    "mistake": "%%jaxdebug --ecko\nf(1.)",
    "panel": "%%jaxdebug\nf(7.);",
    "panel again": "%jaxdebug panel",
    "status": "%jaxdebug status",
    "help": "%jaxdebug?",
    "on": "%jaxdebug on",
    "while on": "f(8.)",
    "off": "%jaxdebug off",
    "slow": (
        "import threading\ngate = threading.Event()\n"
        "slow = jax.pmap(lambda x: (jax.debug.callback(lambda _: gate.wait(20) and None, x), x)[1])"
    ),
    "gives up": "%%jaxdebug --timeout 0.1\nslow(jnp.arange(4.));",
    "released": "gate.set()\n%jaxdebug barrier\n%jaxdebug status",
    "next": "%%jaxdebug\nf(9.);",
    "unload": "%unload_ext jax_debug_widgets",
    "unloaded": "f(10.)",
    # The pump of the run that has timed out ends soon after its effects have drained.
    "threads": (
        "pumps = [t for t in threading.enumerate() if t.name == 'jaxdebug-pump']\n"
        "for pump in pumps: pump.join(10)\n"
        "[pump for pump in pumps if pump.is_alive()]"
    ),
}


@pytest.fixture(scope="module")
def outputs():
    """Return the outputs of each cell of the executed notebook."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS.values()])
    NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    return dict(zip(CELLS, (cell.outputs for cell in notebook.cells), strict=True))


def panels(found):
    return [output.data for output in found if output.output_type == "display_data" and "text/html" in output.data]


def stream(found, name="stdout"):
    return "".join(output.text for output in found if output.output_type == "stream" and output.name == name)


def result(found):
    (data,) = [output.data for output in found if output.output_type == "execute_result"]
    return data["text/plain"]


def error(found):
    (raised,) = [output for output in found if output.output_type == "error"]
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(raised.traceback))


def test_the_panel_of_a_cell_is_stored_as_html_and_text_with_its_prints(outputs):
    (panel,) = panels(outputs["captured"])
    assert set(panel) == {"text/html", "text/plain"}
    assert "x 1.0" in panel["text/html"] and "x 1.0" in panel["text/plain"]
    assert "data-jaxdebug-run" in panel["text/html"]
    assert "Done" in panel["text/html"] and "all effects arrived" in panel["text/html"]
    assert panel["text/plain"].startswith("jaxdebug: f(1.0) — done after ")


def test_the_cell_has_its_own_value_and_streams(outputs):
    assert result(outputs["captured"]) == result(outputs["plain"])
    assert stream(outputs["captured"]) == ""
    assert stream(outputs["plain"]) == "x 1.0\n"
    assert stream(outputs["ordered"]) == "mine\n"
    assert "first 4.0" in panels(outputs["ordered"])[0]["text/html"]


def test_prints_are_echoed_when_asked_for(outputs):
    assert stream(outputs["echoed"]) == "x 3.0\n"
    assert "x 3.0" in panels(outputs["echoed"])[0]["text/plain"]


def test_top_level_await_and_shell_commands_work(outputs):
    assert result(outputs["awaited"]).startswith("Array(10.")
    assert "x 5.0" in panels(outputs["awaited"])[0]["text/plain"]
    assert stream(outputs["shell"]).split() == ["hi"]


def test_an_expression_has_a_panel_and_its_value(outputs):
    assert result(outputs["expression"]).startswith("Array(12.")
    assert "x 6.0" in panels(outputs["expression"])[0]["text/html"]


def test_an_error_is_shown_as_in_a_plain_cell_below_an_updated_panel(outputs):
    plain, ours = error(outputs["plain error"]), error(outputs["error"])
    assert re.sub(r"Cell In\[\d+\]", "Cell", ours) == re.sub(r"Cell In\[\d+\]", "Cell", plain)
    assert "jax_debug_widgets" not in ours
    assert "Failed" in panels(outputs["error"])[0]["text/html"]
    assert "x 1.0" in panels(outputs["error"])[0]["text/html"]


def test_the_cell_after_an_error_is_not_captured(outputs):
    assert panels(outputs["after"]) == []
    assert stream(outputs["after"]) == "x 2.0\n"


def test_syntax_errors_and_unknown_options_are_reported_without_a_panel(outputs):
    assert "SyntaxError" in error(outputs["syntax error"])
    assert "line 2" in error(outputs["syntax error"])
    assert "did you mean --echo" in str(outputs["mistake"])
    assert panels(outputs["mistake"]) == panels(outputs["syntax error"]) == []


def test_panel_shows_the_last_run_again(outputs):
    (again,) = [output.data for output in outputs["panel again"] if "data" in output]
    assert "x 7.0" in again["text/html"]
    (first,) = re.findall(r'data-jaxdebug-run="(\w+)"', panels(outputs["panel"])[0]["text/html"])[:1]
    assert f'data-jaxdebug-run="{first}"' in again["text/html"]


def test_status_and_help_are_text(outputs):
    assert stream(outputs["status"]).startswith("jaxdebug: f(7.0) — done after ")
    assert outputs["help"] == [] or "jaxdebug" in str(outputs["help"])


def test_on_shows_a_panel_that_receives_the_cells_that_follow(outputs):
    assert "x 8.0" in panels(outputs["on"])[0]["text/html"]
    assert panels(outputs["while on"]) == []
    assert stream(outputs["while on"]) == ""


def test_effects_that_exceed_the_timeout_arrive_in_their_own_run_later(outputs):
    (panel,) = panels(outputs["gives up"])
    assert "Was waiting for effects when saved" in panel["text/html"]
    assert "gave up after 0.1 s: slow(jnp.arange(4.0))" in panel["text/html"]
    assert "had not all arrived after 0.1 s" in panel["text/html"]
    assert "4 callbacks, all effects arrived" in stream(outputs["released"])
    assert "x 9.0" in panels(outputs["next"])[0]["text/html"]
    assert ", 1 print, all effects arrived" in panels(outputs["next"])[0]["text/plain"].split("\n")[0]


def test_after_unloading_a_cell_is_plain_and_no_pump_is_left(outputs):
    assert stream(outputs["unload"]) == stream(outputs["unload"], "stderr") == ""
    assert stream(outputs["unloaded"]) == "x 10.0\n"
    assert result(outputs["threads"]) == "[]"


def test_cells_write_nothing_to_stderr(outputs):
    assert {name: said for name in CELLS if (said := stream(outputs[name], "stderr")) and name not in _LOUD} == {}


_LOUD = {"mistake", "shell"}  # A usage error; JAX's warning about os.fork().


def test_a_captured_cell_that_raises_stops_the_notebook():
    cells = [nbformat.v4.new_code_cell(cell) for cell in (SETUP, "%%jaxdebug\nf(1.)\n1/0", "print('not reached')")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    assert notebook.cells[2].outputs == []
