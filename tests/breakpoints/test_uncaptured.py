"""Test `jax.debug.breakpoint()` in programs without a capture, while the extension is loaded in a kernel."""

from __future__ import annotations

import threading

import jax
import jax.numpy as jnp
import nbformat
import numpy as np
import pytest
from jax._src import debugging  # noqa: TID251 - whether JAX's own tables are untouched is the test.
from jax._src.debugger import core as jax_debugger  # noqa: TID251
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from nbclient import NotebookClient

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import features
from jax_debug_widgets.breakpoints import run_observers
from tests.breakpoints.conftest import Script
from tests.magics.shells import shell


def tables():
    return debugging.debug_callback_p.impl, jax_debugger.DebuggerFrame.from_frameinfo


def step(x):
    y = x * 2
    jax.debug.breakpoint()
    return y + 1


class Kernel:
    """A kernel with stdin, whose busy main thread cannot be bypassed."""

    _allow_stdin = True


@pytest.fixture
def notebook(page):
    """Return a shell in a kernel, with the extension loaded and a page that shows its panels."""
    before = tables()
    with shell(extension=False) as one:
        one.ip.kernel = Kernel()
        one.run("%load_ext jax_debug_widgets")
        one.ip.push({"f": jax.jit(step), "jdw": jdw, "page": page})
        yield one
    assert tables() == before, "unloaded, JAX is itself again"


class User(Script):
    """A user who acts at the stops of the run that begins meanwhile."""

    def __init__(self, page, act) -> None:
        def at_stops(page):
            stop = page.stops.get(timeout=30)
            page.run = page.session.stoppable
            page.ask("here", stop=stop["id"])
            act(page, stop)

        super().__init__(page, at_stops)


def continuing(page, stop):
    page.go_on(stop)


@pytest.mark.behaviour("B1")
def test_an_uncaptured_breakpoint_opens_a_run_that_ends_with_the_cell(notebook, page):
    def look(page, stop):
        assert stop["frames"][0]["function"] == "step"
        assert {one["name"]: one["dtype"] for one in stop["frames"][0]["locals"]} == {"x": "float32", "y": "float32"}
        assert page.say(stop, "float(y)") == "6.0"
        page.go_on(stop)

    last = page.session.current
    with User(page, look):
        outcome = notebook.run("f(jnp.float32(3))")
    assert outcome.value == "Array(7., dtype=float32)", outcome.error
    assert page.run.title.startswith("breakpoint at test_uncaptured.py:")
    assert page.run.status().state == "done"
    assert [event.kind for event in page.run.events] == ["breakpoint"]
    assert any(page.run.key in output.get("text/html", "") for output in outcome.displayed), "its panel is in the cell"
    assert page.session.stoppable is None
    assert page.session.current is last, "jdw.last() is the last capture, as before"


@pytest.mark.behaviour("B1")
@pytest.mark.parametrize(
    ("call", "values"),
    [
        pytest.param("step(jnp.float32(3))", ["6.0"], id="un-jitted"),
        pytest.param("jax.jit(jax.vmap(step))(jnp.arange(2.0))", ["0.0", "2.0"], id="once a lane"),
        pytest.param("jax.jit(jax.grad(step))(3.0)", ["6.0"], id="differentiated"),
        pytest.param("ordered(jnp.float32(3))", ["6.0"], id="ordered"),
        pytest.param("keyed(jax.random.key(3))", ["6.0"], id="with a typed key"),
        pytest.param("keyed_un_jitted(jax.random.key(3))", ["6.0"], id="with a typed key, un-jitted"),
    ],
)
def test_an_uncaptured_breakpoint_stops_under_each_transformation(notebook, page, call, values):
    def ordered(y):
        y = y * 2
        jax.debug.breakpoint(ordered=True)
        return y

    def keyed(key):
        y = jax.random.key_data(key)[1] * 2
        jax.debug.breakpoint()
        return y

    seen = []

    def look(page, stop):
        while True:
            seen.append(page.say(stop, "float(y)"))
            page.go_on(stop)
            if len(seen) == len(values):
                return
            stop = page.stop()

    notebook.ip.push({"step": step, "ordered": jax.jit(ordered), "keyed": jax.jit(keyed), "keyed_un_jitted": keyed})
    with User(page, look):
        outcome = notebook.run(call)
    assert outcome.error == "None"
    assert seen == values


@pytest.mark.behaviour("B4")
@pytest.mark.cpu("a cell goes on while a GPU runs its program")
@pytest.mark.parametrize("how", ["quit", "halt"])
def test_a_cell_ended_at_a_breakpoint_prints_one_line_and_the_next_cell_runs(notebook, page, how, caplog):
    def end(page, stop):
        if how == "halt":
            page.ask("halt")
        else:
            page.go_on(stop, "quit")

    with User(page, end):
        outcome = notebook.run("f(jnp.float32(3))\nprint('not reached')")
    assert outcome.stdout.strip().startswith("jaxdebug: stopped at test_uncaptured.py:")
    assert len(outcome.stdout.strip().splitlines()) == 1
    assert not caplog.records, "JAX logs no traceback"
    assert page.run.status().state == "stopped"
    assert not page.run.status().captured
    with User(page, continuing):
        assert notebook.run("jax.effects_barrier(); f(jnp.float32(3))").value == "Array(7., dtype=float32)"


def test_passing_all_breakpoints_holds_for_one_cell(notebook, page):
    for _ in range(2):
        with User(page, lambda page, stop: page.go_on(stop, "all")):
            assert notebook.run("[float(f(x)) for x in range(20)][-1]").value == "39.0"
        assert page.stops.empty()
        assert len(page.run.events) == 20


def test_inside_a_capture_and_outside_it_the_same_function_stops_as_it_should(notebook, page):
    runs = []

    def look(page, stop):
        runs.append((page.session.active is not None, page.run.title))
        page.go_on(stop)

    for cell in ("f(jnp.float32(3))", "%%jaxdebug\nf(jnp.float32(3))", "f(jnp.float32(3))"):
        with User(page, look):
            assert notebook.run(cell).error == "None"
    assert [captured for captured, _ in runs] == [False, True, False]
    assert runs[1][1] == "f(jnp.float32(3))"


def test_a_capture_in_a_cell_that_has_stopped_before_is_one_of_its_own(notebook, page):
    titles = []

    def look(page, stop):
        for _ in range(2):
            titles.append(page.run.title)
            page.go_on(stop)
            stop = page.stop()
            page.run = page.session.stoppable
        titles.append(page.run.title)
        page.go_on(stop)

    cell = (
        "f(jnp.float32(3))\nwith jdw.capture(title='mine') as run:\n    run.panel; f(jnp.float32(3))\nf(jnp.float32(3))"
    )
    with User(page, look):
        assert notebook.run(cell).error == "None"
    assert titles[1] == "mine"
    assert titles[0] == titles[2] != "mine"


def test_a_program_compiled_ahead_of_time_stops_in_the_capture_that_runs_it(notebook, page):
    notebook.ip.push({"ahead": jax.jit(step).lower(jnp.float32(3)).compile()})
    with User(page, continuing):
        assert notebook.run("%%jaxdebug --break-timeout 30\nahead(jnp.float32(3))").error == "None"
    assert page.run.title == "ahead(jnp.float32(3))"


@pytest.mark.behaviour("B4")
def test_breakpoints_without_a_page_are_skipped_with_one_line(notebook, page, monkeypatch):
    monkeypatch.setattr(page.session.debugger.observers, "_heard", None)
    monkeypatch.setattr(run_observers, "FIRST_PATIENCE", 0.2)
    outcome = notebook.run("[float(f(x)) for x in range(3)]")
    assert outcome.value == "[1.0, 3.0, 5.0]"
    assert "skipped 3 times: nobody is there to continue the program" in outcome.stdout


def test_the_debugger_that_the_user_has_asked_for_opens(notebook, monkeypatch):
    opened = []
    monkeypatch.setitem(jax_debugger._debugger_registry, "mine", (-5, lambda frames, *_: opened.append(frames)))

    def chosen(x):
        jax.debug.breakpoint(backend="mine")
        return x

    notebook.ip.push({"chosen": jax.jit(chosen)})
    assert notebook.run("chosen(jnp.float32(3))").error == "None"
    assert len(opened) == 1


def test_callbacks_that_are_no_breakpoints_go_jaxs_way(notebook):
    assert "x 3.0" in notebook.run("jax.jit(lambda x: jax.debug.callback(lambda x: print('x', x), x))(3.0)").stdout


def test_the_extension_replaces_no_rule_of_jax_in_a_terminal():
    before = tables()
    with shell():
        assert tables() == before


@pytest.mark.parametrize(
    ("cell", "waits"), [("running(x)", True), ("%%jaxdebug --no-barrier\nrunning(x)", False)], ids=["plain", "captured"]
)
def test_a_cell_waits_for_what_may_come_to_a_breakpoint_unless_it_is_captured(notebook, page, cell, waits):
    mesh = Mesh(np.array(jax.devices("cpu")[:2]), ("data",))
    go_on, done = threading.Event(), []

    def note(_):
        # Either the cell waits for the program, or the program for the cell.
        done.append(go_on.wait(0.5 if waits else 20))

    program = jax.shard_map(
        lambda x: (jax.debug.callback(note, x), x)[1], mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False
    )
    notebook.ip.push({"running": jax.jit(program), "x": jnp.ones(3)})
    with User(page, continuing):
        notebook.run("f(jnp.float32(3))")  # From now on there is a breakpoint.
    assert notebook.run(f"{cell};").error == "None"
    assert len(done) == (2 if waits else 0)
    go_on.set()
    jax.effects_barrier()
    assert done == [not waits] * 2


def test_the_extension_replaces_no_rule_if_jax_lacks_a_name(monkeypatch):
    before = tables()
    monkeypatch.setattr(features, "missing", lambda: {features.UNCAPTURED: "jax 0 has none of it, so it is off."})
    with shell(extension=False) as one:
        one.ip.kernel = Kernel()
        assert one.run("%load_ext jax_debug_widgets").error == "None"
        assert tables() == before


CELLS = [
    "%load_ext jax_debug_widgets",
    """import jax, jax.numpy as jnp
@jax.jit
def f(x):
    for _ in range(2):
        x = x * 2
        jax.debug.breakpoint()
    return x
print("result", f(jnp.float32(1)))""",
    "%%jaxdebug\nprint('result', f(jnp.float32(1)))",
    "%unload_ext jax_debug_widgets\n1 + 1",
]


@pytest.mark.behaviour("B4")
def test_a_notebook_executed_without_a_browser_ends_by_itself():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, timeout=120).execute()
    for cell, place in zip(notebook.cells[1:3], ("In [2]:6", "In [2]:6"), strict=True):
        text = "".join(output.get("text", "") for output in cell.outputs)
        assert "result 4.0" in text
        assert f"jaxdebug: breakpoint at {place} skipped 2 times: nobody is there to continue the program\n" in text
    assert notebook.cells[3].outputs[0]["data"]["text/plain"] == "2"
