"""Test that the Code view shows a cell as it was written."""

from __future__ import annotations

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.run.written import as_written

CELL = """%%jaxdebug --watch-all
%load_ext jax_debug_widgets
import jax, jax.numpy as jnp
files = !echo a
@jax.jit
def half(x):
    h = x / 2
    return h
%time half(jnp.ones(3))
half?
"""


def test_magics_are_shown_as_they_were_written(ours):
    assert ours.run(CELL).error == "None"
    run = current_session().current
    assert run is not None
    (file,) = {site.file for site in run.store.sites() if site.label == "h"}
    lines = run.source_of(file)["lines"]
    assert lines == ["# %%jaxdebug --watch-all", *CELL.splitlines()[1:]]


@pytest.mark.parametrize(
    "line",
    [
        "%load_ext jax_debug_widgets",
        "%matplotlib",
        "seconds = %timeit -o f(x)",
        "    %time f('a \"b\"')",
        "names = !ls 'my files' {where}",
        "!!ls",
        "!pip list",
        "f?",
        "f??",
        "*int*?",
        "x = f(get_ipython())",
        "get_ipython().run_line_magic(name, 'x')",
        "y = x % 3 if x else f(x)",
    ],
)
def test_a_line_is_as_it_was_before_ipython_translated_it(line):
    block = f"if x:\n{line}\n" if line.startswith(" ") else f"{line}\n"
    translated = TransformerManager().transform_cell(block).splitlines()[-1]
    assert as_written(translated) == line
