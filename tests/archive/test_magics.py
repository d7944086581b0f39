"""Test `%jaxdebug save` and `%jaxdebug load`."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.run.loaded import LoadedRun


def test_a_cell_is_saved_and_loaded(ours, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ours.run("%%jaxdebug --name first\nf(jnp.arange(3))")
    told = ours.run('%jaxdebug save "my run.jdw"').stdout
    assert "saved to my run.jdw" in told and (tmp_path / "my run.jdw/run.json").exists()
    ours.run("name = 'my run'")
    run = ours.run('%jaxdebug load "{name}.jdw"').result.result
    assert isinstance(run, LoadedRun) and run.name == "first" and [event.text for event in run.events] == ["x [0 1 2]"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("%jaxdebug load no.jdw", "no.jdw does not exist"),
        ("%jaxdebug load", "say which file"),
        ("%jaxdebug save a b", "say which file"),
        ("%jaxdebug save .", "is there already"),
    ],
)
def test_an_impossible_save_or_load_has_an_error_of_one_line(ours, tmp_path, monkeypatch, line, why):
    monkeypatch.chdir(tmp_path)
    ours.run("%%jaxdebug\nf(jnp.arange(3))")
    assert why in ours.run(line).error


@pytest.mark.behaviour("W5")
@pytest.mark.parametrize("options", ["--record 'my run.jdw'", ""])
def test_the_output_of_a_run_in_a_file_says_how_a_new_kernel_loads_it(ours, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    ours.run(f"%%jaxdebug {options}\nf(jnp.arange(3))")
    run: Any = current_session().current

    def written() -> str:
        return run.panel.bundle()["text/html"]

    if not options:
        assert "jaxdebug load" not in written()
        ours.run("%jaxdebug save 'my run.jdw'")
    (command,) = re.findall(r"In a new kernel: <code>(.*?)</code>", html.unescape(written()))
    assert command == "%jaxdebug load 'my run.jdw'"
    loaded = ours.run(command).result.result
    assert [event.text for event in loaded.events] == ["x [0 1 2]"] and command in loaded.panel.bundle()["text/plain"]


NAN = (
    "step = jax.jit(lambda x, key: [jax.debug.print('y {}', y := jnp.log(x - 2) * 0), y + jax.random.uniform(key)][1])"
)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%jaxdebug replay 1 --watch-all", "y nan"),
        ("%jaxdebug replay 1", "watched y"),
        ("%jaxdebug replay 1 --watch nothing", "y nan"),
        ("%jaxdebug replay", "y 0.0"),
        ("%jaxdebug replay run 1", "y nan"),
        ("%jaxdebug replay run.jdw 1 --with step", "y nan"),
        ("%jaxdebug replay run.jdw 1", "`<lambda>`, which is not here: define it, or add --with F"),
        ("%jaxdebug replay run.jdw 0 --with step", "the inputs of call 0 are not kept; those of 1, 2 are"),
        ("%jaxdebug replay run.jdw 1 --with nothing", "nothing is no function here"),
        ("%jaxdebug replay 1 --step", "stepping (the debugger is a notebook's panel) skipped once: nobody is there"),
        ("%jaxdebug replay no.jdw 1", "no.jdw does not exist"),
        ("%jaxdebug replay jax 1", "takes a run, not a module"),
        ("%jaxdebug replay a b 1", "write `%jaxdebug replay [RUN] CALL"),
    ],
)
def test_a_call_is_replayed_by_a_line(ours, tmp_path, monkeypatch, line, said):
    monkeypatch.chdir(tmp_path)
    ours.run(NAN)
    ours.run("%%jaxdebug --record run.jdw --keep-inputs 2\nfor x in (3, 2, 3):\n    y = step(x, jax.random.key(x))")
    ours.run("run = get_ipython().run_line_magic('jaxdebug', 'panel')")
    done = ours.run(line)
    run: Any = current_session().current
    told = [event.text for event in run.events] + [f"watched {site.label}" for site in run.sites if site.watch]
    assert said in done.error or said in done.stdout or said in told
    assert not [note for note in run.notes if "Nothing is watched" in note]
