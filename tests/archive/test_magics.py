"""`%jaxdebug save` and `%jaxdebug load`."""

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
        ("%jaxdebug load no.jdw", "no.jdw is not there"),
        ("%jaxdebug load", "say which file"),
        ("%jaxdebug save a b", "say which file"),
        ("%jaxdebug save .", "is there already"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(ours, tmp_path, monkeypatch, line, why):
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
