"""Test that loading and unloading the extension leaves the shell and JAX as they were."""

from __future__ import annotations

import builtins
import threading

import pytest
from jax._src import debugging  # noqa: TID251 - to see that JAX has its own functions back
from jax._src.interpreters import batching, mlir, pxla  # noqa: TID251

from jax_debug_widgets._jax.origins.context import _settings
from jax_debug_widgets.session import current_session
from tests.magics.shells import Shell


def of_the_shell(shell: Shell) -> dict[str, object]:
    ip = shell.ip
    return {
        "line transformers": list(ip.input_transformers_cleanup),
        "ast transformers": list(ip.ast_transformers),
        "events": {name: list(callbacks) for name, callbacks in ip.events.callbacks.items()},
        "magics": {kind: set(table) for kind, table in ip.magics_manager.magics.items()},
        "registry": set(ip.magics_manager.registry) - {"ExtensionMagics"},  # IPython's own, made when first used
        "names": {name for name in ip.user_ns if not name.startswith("_")},
        "hidden names": {name for name in ip.user_ns_hidden if not name.startswith("_")},
        "attributes": set(vars(ip)),
        "showtraceback": vars(ip).get("showtraceback"),
        "builtins": set(vars(builtins)),
        "later builtins": set(ip.builtin_trap.auto_builtins),
    }


def of_jax() -> dict[str, object]:
    primitives = (debugging.debug_print_p, debugging.debug_callback_p)
    fancy = batching.fancy_primitive_batchers  # Before JAX 0.10 the rules are in the other table.
    return {
        "lowering": mlir.lower_jaxpr_to_module,
        "execution": pxla.ExecuteReplicated.__call__,
        "primitives": [(p.impl, vars(p).get("bind")) for p in primitives],
        "batching": [(fancy if p in fancy else batching.primitive_batchers)[p] for p in primitives],
        "attributes": [set(vars(p)) for p in primitives],
        "settings": _settings.value,
    }


def run_everything(shell: Shell) -> None:
    shell.run("%load_ext jax_debug_widgets")
    shell.run("%%jaxdebug\nf(1.)")
    shell.run("%%jaxdebug\nf(1.)\n1/0")
    shell.run("%jaxdebug f(1.)")
    shell.run("%jaxdebug on")
    shell.run("f(1.)")


def test_unloading_leaves_the_shell_as_it_was(plain):
    plain.run("x = 1")
    before = of_the_shell(plain)
    run_everything(plain)
    plain.run("%unload_ext jax_debug_widgets")
    after = of_the_shell(plain)
    assert after == before


def test_unloading_leaves_jax_as_it_was(plain):
    before = of_jax()
    plain.run("%load_ext jax_debug_widgets")
    assert of_jax() == before
    plain.run("%jaxdebug on")
    assert of_jax() != before
    plain.run("f(1.)")
    plain.run("%unload_ext jax_debug_widgets")
    assert of_jax() == before


def test_a_captured_cell_leaves_jax_as_it_was(ours):
    before = of_jax()
    ours.run("%%jaxdebug\nf(1.)\n1/0")
    assert of_jax() == before


def test_loading_changes_nothing_that_a_cell_can_see(plain):
    plain.run("x = 1")
    before = plain.ip.user_ns.keys() - {"_i", "_ii", "_iii"}
    plain.run("%load_ext jax_debug_widgets", store_history=False)
    assert plain.ip.user_ns.keys() - {"_i", "_ii", "_iii"} == before
    assert plain.run("[n for n in dir(__builtins__) if 'jaxdebug' in n] and 3").error == "None"
    assert not [name for name in vars(builtins) if "jaxdebug" in name]


def test_the_magic_is_gone_after_unloading(plain):
    run_everything(plain)
    plain.run("%unload_ext jax_debug_widgets")
    assert "`%%jaxdebug` not found" in plain.run("%%jaxdebug\nf(1.)").stderr
    assert plain.run("f(2.);").stdout == "x 2.0\n"


def test_loading_twice_and_reloading_work(plain):
    for line in ("%load_ext jax_debug_widgets", "%load_ext jax_debug_widgets", "%reload_ext jax_debug_widgets"):
        assert plain.run(line).error == "None"
        assert plain.run("%%jaxdebug\nf(1.)").summaries == 1
    assert len([t for t in plain.ip.input_transformers_cleanup if "jax_debug" in t.__module__]) == 1
    assert not [name for name in vars(builtins) if "jaxdebug" in name]


def test_functions_of_a_captured_cell_work_after_unloading(plain):
    plain.run("%load_ext jax_debug_widgets")
    plain.run(
        "%%jaxdebug\nclass A:\n    def go(self): return f(1.)\n"
        "def q(x): return f(x)\nlam = lambda x: f(x)\ngen = (f(float(i)) for i in range(2))\n"
        "async def co(): return f(5.)\njitted = jax.jit(lambda x: f(x))\njitted(1.)"
    )
    plain.run("%unload_ext jax_debug_widgets")
    outcome = plain.run("A().go(); q(2.); lam(3.); list(gen); await co(); jitted(1.);")
    assert outcome.error == "None"
    assert outcome.stdout == "".join(f"x {x}\n" for x in (1.0, 2.0, 3.0, 0.0, 1.0, 5.0, 1.0))


def test_a_generator_outlives_its_cell_in_another_thread(ours):
    ours.run("%%jaxdebug\ngen = (g(float(i)) for i in range(2))")
    found = []
    thread = threading.Thread(target=lambda: found.extend(ours.ip.user_ns["gen"]))
    thread.start()
    thread.join(10)
    assert len(found) == 2


@pytest.mark.parametrize("first", ["%%jaxdebug\n", "%jaxdebug on\n"])
def test_a_cell_that_unloads_the_extension_runs_to_its_end(plain, first):
    plain.run("%load_ext jax_debug_widgets")
    outcome = plain.run(first + "f(1.)\n%unload_ext jax_debug_widgets\nf(2.)\ny = g(3.)\ny")
    assert outcome.error == "None"
    assert "x 2.0" in outcome.stdout
    assert plain.run("f(4.);").stdout == "x 4.0\n"


def test_a_cell_that_loads_the_extension_can_run_a_captured_cell(plain):
    outcome = plain.run("%load_ext jax_debug_widgets\nr = get_ipython().run_cell('%%jaxdebug\\nf(1.);').success\nr")
    assert outcome.stdout.endswith("True\n")
    assert outcome.summaries == 1


def test_a_traceback_handler_of_another_extension_stays(ours):
    told = []
    ours.ip.showtraceback = lambda *_args, **_kwargs: told.append(1)
    theirs = ours.ip.showtraceback
    try:
        ours.run("%%jaxdebug\nf(1.)\n1/0")
        assert told == [1]
        assert ours.ip.showtraceback is theirs
    finally:
        del ours.ip.showtraceback


def test_reset_does_not_take_the_magic_away(ours):
    ours.run("%reset -f")
    ours.run("import jax")
    assert ours.run("%%jaxdebug\njax.jit(lambda x: x + 1)(1.)").summaries == 1


def test_loading_outside_a_cell_leaves_no_builtins(plain):
    plain.ip.extension_manager.load_extension("jax_debug_widgets")
    assert not [name for name in vars(builtins) if "jaxdebug" in name]
    assert plain.run("%%jaxdebug\nf(1.)").summaries == 1
    assert not [name for name in vars(builtins) if "jaxdebug" in name]


def test_a_panel_that_cannot_be_shown_leaves_no_capture_behind(ours, monkeypatch):
    def fail(_run):
        raise FileNotFoundError("the front end is not built")

    monkeypatch.setattr("jax_debug_widgets.magics.capture_cell.CellCapture.has_panels", lambda _self: True)
    monkeypatch.setattr("jax_debug_widgets.session.Run.panel", property(fail))
    outcome = ours.run("%%jaxdebug\nf(1.)")
    assert "the front end is not built" in outcome.error or "the front end is not built" in outcome.stdout
    assert current_session().active is None
