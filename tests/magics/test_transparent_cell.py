"""Test that a cell does under `%%jaxdebug` what it does without."""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
import re
from dataclasses import replace

import pytest

from tests.magics import cells
from tests.magics.shells import Shell, shell

MAGIC = "%%jaxdebug --echo\n"


@pytest.fixture(scope="module")
def twins():
    """Return two shells, the second one with the extension."""
    with shell(extension=False) as plain, shell() as ours:
        yield plain, ours


@pytest.fixture(autouse=True)
def _no_log_of_jax():
    # JAX logs failed callbacks to the real stderr, and pytest would show it.
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def both(twins: tuple[Shell, Shell], cell: str, **options: object):
    """Run a cell without the magic and with it.

    Without it a comment takes the line of the magic, so that line numbers agree.
    """
    seen = []
    for one, first in zip(twins, (MAGIC if cell.startswith("%%") else "# " + MAGIC, MAGIC), strict=True):
        if one is twins[0] and cell.startswith("%%"):
            first = ""  # noqa: PLW2901 - a cell magic must be the first line.
        one.start_anew()
        one.run("41")
        outcome = one.run(first + cell, **options)
        state = one.state()
        state["raw history"] = [typed.removeprefix(first.strip()).strip() for typed in state["raw history"]]
        seen.append((outcome, state, one.run("print(_, __)\nundefined if len('') else 1")))
    return seen


def table(*parts: dict[str, str]):
    pairs = list(itertools.chain.from_iterable(part.items() for part in parts))
    return pytest.mark.parametrize("cell", [cell for _, cell in pairs], ids=[name for name, _ in pairs])


@table(cells.VALUES, cells.STATEMENTS, cells.MAGICS)
def test_a_captured_cell_does_what_a_plain_cell_does(twins, cell):
    plain, ours = both(twins, cell)
    assert ours == plain
    assert plain[0].summaries == 0
    assert ours[0].summaries == 1
    assert ours[2].summaries == 0


@table(cells.SYNTAX_ERRORS)
def test_a_syntax_error_is_shown_as_in_a_plain_cell(twins, cell):
    plain, ours = both(twins, cell)
    assert ours == plain
    assert re.search("(Syntax|Indentation|IncompleteInput)Error", ours[0].stdout)
    assert "jaxdebug_" not in ours[0].stdout


def without_explanation(text: str) -> str:
    """Remove from a traceback our explanation of an error of JAX: `In [2]:4: Python needs the value of …`."""
    return re.sub(
        r"\n(?:\x1b\[[\d;]*m)*In \[\d+\]:\d+: .*?\n *= (?:write|note): [^\n]*(?:\n {4,}[^\n]*)*",
        "",
        text,
        flags=re.DOTALL,
    )


@table(cells.ERRORS)
def test_an_error_has_the_users_traceback_and_none_of_our_frames(twins, cell):
    plain, ours = both(twins, cell)
    outcome = replace(ours[0], stdout=without_explanation(ours[0].stdout))
    assert (outcome, *ours[1:]) == tuple(plain)
    assert "jax_debug_widgets" not in ours[0].stdout + ours[0].stderr
    assert "__jaxdebug" not in ours[0].stdout + ours[0].stderr
    assert ours[0].summaries == 1
    assert ours[2].summaries == 0


def test_the_summary_comes_before_the_traceback(twins):
    ours = twins[1]
    ours.start_anew()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        ours.ip.run_cell("%%jaxdebug\nf(1.)\n1/0")
    assert 0 < out.getvalue().index("jaxdebug: ") < out.getvalue().index("Traceback")


def test_prints_of_the_cell_and_of_jax_are_in_order(twins):
    """The cell's own prints and those of JAX are in the order in which they were made."""
    _, (ours, _, _) = both(twins, "print('a')\nf(1.)\nprint('b')\nf(2.);")
    assert ours.stdout == "a\nx 1.0\nb\nx 2.0\n"


@pytest.mark.parametrize("interactivity", ["all", "last", "last_expr", "last_expr_or_assign", "none"])
def test_every_interactivity_shows_what_it_shows_in_a_plain_cell(twins, interactivity):
    for one in twins:
        one.ip.ast_node_interactivity = interactivity
    plain, ours = both(twins, "1\ny = 2\n3\nz = f(4.)")
    for one in twins:
        one.ip.ast_node_interactivity = "last_expr"
    assert ours == plain


def test_a_silent_cell_stays_silent_and_leaves_no_history(twins):
    plain, ours = both(twins, "f(1.)", silent=True)
    assert ours == plain
    assert ours[0].stdout == "x 1.0\n"


def test_a_cell_without_history_leaves_none(twins):
    plain, ours = both(twins, "f(1.)", store_history=False)
    assert ours == plain


@pytest.mark.parametrize("mode", ["Plain", "Verbose", "Minimal"])
def test_every_mode_of_tracebacks_shows_the_users_frames_only(twins, mode):
    for one in twins:
        one.ip.run_line_magic("xmode", f"-- {mode}" if mode.startswith("-") else mode)
    plain, ours = both(twins, "def h(x):\n    y = f(x)\n    return 1 / 0\nh(1.)")
    for one in twins:
        one.ip.run_line_magic("xmode", "Context")
    if mode != "Verbose":  # `Verbose` prints all globals, also those with hashes.
        assert ours == plain
    assert "ZeroDivisionError" in ours[0].stdout
    assert "jax_debug_widgets/" not in ours[0].stdout


def test_the_raw_history_keeps_what_was_typed(twins):
    ours = twins[1]
    ours.start_anew()
    ours.run(MAGIC + "f(1.)\n# done")
    assert ours.ip.history_manager.input_hist_raw[-1] == MAGIC + "f(1.)\n# done"


def test_the_second_run_of_a_cell_compiles_nothing(twins):
    ours = twins[1]
    ours.start_anew()
    ours.run("h = jax.jit(lambda x: (jax.debug.print('{}', x), x)[1])")
    ours.run(MAGIC + "h(1.)")
    compiled = ours.ip.user_ns["h"]._cache_size()
    ours.run(MAGIC + "h(1.)")
    assert ours.ip.user_ns["h"]._cache_size() == compiled == 1
