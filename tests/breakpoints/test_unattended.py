"""Test breakpoints without a user: the program never hangs, and says which breakpoints it skipped."""

from __future__ import annotations

import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import nbformat
import pytest
from nbclient import NotebookClient

import jax_debug_widgets as jdw
from jax_debug_widgets.breakpoints import run_observers
from jax_debug_widgets.session import current_session
from tests.breakpoints.conftest import Page

pytestmark = pytest.mark.cpu("starts processes that choose their own devices")


def three(x):
    for _ in range(3):
        x = x + 1
        jdw.breakpoint(name="loop")
    return x


@pytest.fixture
def nobody(page, monkeypatch):
    """Return a panel that no page shows."""
    monkeypatch.setattr(page.session.debugger.observers, "_heard", None)
    monkeypatch.setattr(page.session.debugger.observers, "_in_vain", False)
    monkeypatch.setattr(run_observers, "FIRST_PATIENCE", 0.2)
    return page


@pytest.mark.behaviour("B4")
@pytest.mark.usefixtures("nobody")
def test_a_breakpoint_that_no_page_shows_is_skipped_and_reported(capsys):
    began = time.monotonic()
    with jdw.capture() as run:
        run.panel  # noqa: B018
        assert jax.jit(three)(jnp.float32(0)) == 3
    assert time.monotonic() - began < 20, "only the first one waits for a page"
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 1
    assert said[0].startswith("jaxdebug: breakpoint 'loop' at test_unattended.py:")
    assert said[0].endswith("skipped 3 times: nobody is there to continue the program")
    assert any("skipped 3 times" in note for note in run.status().notes)


@pytest.mark.behaviour("B4")
def test_a_page_that_comes_back_is_shown_the_next_stop(nobody):
    def user(page: Page) -> None:
        page.run = run
        page.post("sync", first=0)

    with jdw.capture() as run:
        run.panel  # noqa: B018
        jax.jit(three)(jnp.float32(0))
        assert nobody.session.debugger.observers.patience == 0
        user(nobody)
        assert nobody.session.debugger.observers.patience > 0


@pytest.mark.behaviour("B4")
def test_a_stop_goes_on_by_itself_after_the_timeout(stopped):
    def user(page):
        page.stop()

    result, run = stopped(jax.jit(lambda x: (jdw.breakpoint(), x)[1]), jnp.float32(1), user=user, break_timeout=0.2)
    assert result == 1
    assert any("nobody continued it for 0.2 s" in note for note in run.status().notes)


def test_stops_that_all_go_on_by_themselves_are_one_note(stopped):
    def user(page):
        page.stop()

    def program(x):
        return jax.lax.fori_loop(0, 3, lambda i, x: (jdw.breakpoint(), x + i)[1], x)

    _, run = stopped(jax.jit(program), jnp.float32(1), user=user, break_timeout=0.2)
    (note,) = [note for note in run.status().notes if "nobody continued it" in note]
    assert note.endswith("so the program went on. (3 times)")


@pytest.mark.behaviour("B4")
def test_a_closed_tab_lets_the_program_go_on(stopped, monkeypatch):
    monkeypatch.setattr("jax_debug_widgets.breakpoints.stop_queue.LEASE", 0.3)
    result, run = stopped(jax.jit(lambda x: (jdw.breakpoint(), x)[1]), jnp.float32(1), user=lambda page: page.stop())
    assert result == 1
    assert any("the page was closed" in note for note in run.status().notes)


def test_a_breakpoint_in_plain_python_without_a_terminal_is_skipped(capsys):
    assert not sys.stdin.isatty()
    with jdw.capture() as run:
        assert jax.jit(three)(jnp.float32(0)) == 3
    assert "skipped" in capsys.readouterr().out
    assert current_session().debugger.stop is None
    assert len(run.events) == 3


CELL = """%%jaxdebug {options}
import jax, jax.numpy as jnp
import jax_debug_widgets as jdw
@jax.jit
def f(x):
    for _ in range(2):
        x = x * 2
        jax.debug.breakpoint()
    h = jdw.breakpoint(x, name="h")
    jdw.breakpoint(when=x < 0)
    return h
print("result", f(jnp.float32(1)))
"""


@pytest.mark.behaviour("B4")
def test_a_notebook_executed_without_a_browser_ends_by_itself():
    cells = ["%load_ext jax_debug_widgets", CELL.format(options=""), CELL.format(options="--break-on x>0"), "1 + 1"]
    cells.append("%jaxdebug step f(jnp.float32(1))")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    began = time.monotonic()
    NotebookClient(notebook, timeout=120).execute()
    assert time.monotonic() - began < 100
    text = "".join(output.get("text", "") for output in notebook.cells[1].outputs)
    assert "result 4.0" in text
    assert "breakpoint 'h' at In [2]:9 skipped once: nobody is there" in text
    assert "breakpoint at In [2]:8 skipped 2 times" in text
    again = "".join(output.get("text", "") for output in notebook.cells[2].outputs)
    assert "x>0 (--break-on) skipped" in again
    stepped = "".join(output.get("text", "") for output in notebook.cells[4].outputs)
    assert "stepping skipped once: nobody is there to continue the program" in stepped
    assert notebook.cells[3].outputs[0]["data"]["text/plain"] == "2"


TERMINAL = """
import jax, jax.numpy as jnp, jax_debug_widgets as jdw
def f(x):
    y = x * 2
    {breakpoint}
    return y
with jdw.capture():
    print("result", jax.jit(f)(jnp.float32(3)))
"""


@pytest.mark.behaviour("B4")
@pytest.mark.parametrize("call", ["jax.debug.breakpoint()", "jdw.breakpoint()"])
@pytest.mark.parametrize("stdin", ["closed", "a pipe"])
@pytest.mark.each
def test_a_script_without_a_terminal_goes_on_and_says_so(call, stdin):
    program = [sys.executable, "-c", TERMINAL.format(breakpoint=call)]
    at = {"stdin": subprocess.DEVNULL} if stdin == "closed" else {"input": "p y\nc\n"}
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False, **at)
    assert done.returncode == 0, done.stderr
    assert "result 6.0" in done.stdout
    assert "skipped once: nobody is there to continue the program" in done.stdout


@pytest.mark.behaviour("B4")
@pytest.mark.parametrize("call", ["jax.debug.breakpoint()", "jdw.breakpoint()"])
def test_a_breakpoint_in_a_terminal_opens_the_prompt_of_jax(call):
    program = f"import pty, sys; sys.exit(pty.spawn([sys.executable, '-c', {TERMINAL.format(breakpoint=call)!r}]))"
    done = subprocess.run(
        [sys.executable, "-c", program], input="p y\nc\n", capture_output=True, text=True, timeout=120, check=False
    )
    assert "Entering jdb:" in done.stdout, done.stdout + done.stderr
    assert "Array(6., dtype=float32)" in done.stdout
    assert "result 6.0" in done.stdout
