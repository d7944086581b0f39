"""Test that exceptions of JAX are explained at the user's line, in a capture and below the traceback."""

from __future__ import annotations

import linecache
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.checks import Kind, explain
from jax_debug_widgets.checks.words import WORDS
from tests.checks.programs import RAISING

ERRORS = (TypeError, ValueError, RuntimeError, IndexError, AttributeError, OverflowError)


@pytest.fixture
def lenient():
    """Use users' settings: the tests' strict promotion would raise before the explained error."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def run(program):
    name = f"/home/me/{program.name.replace(' ', '_')}.py"
    linecache.cache[name] = len(program.source), None, program.source.splitlines(keepends=True), name
    exec(compile(program.source, name, "exec"), {"jax": jax, "jnp": jnp, "np": np})


@pytest.mark.behaviour("S5", "S7", "S9", "S10", "S3")
@pytest.mark.usefixtures("lenient")
@pytest.mark.parametrize("program", RAISING, ids=lambda program: program.name)
def test_an_exception_is_explained_at_its_line_and_the_code_to_write_is_python_and_short(program):
    with pytest.raises(ERRORS) as plain:
        run(program)
    with pytest.raises(ERRORS) as raised, jdw.capture() as captured:
        run(program)
    assert raised.type is plain.type
    one, other = (re.sub(r" at 0x\w+", "", str(error.value)) for error in (raised, plain))
    assert one.splitlines()[0] == other.splitlines()[0]
    (finding,) = captured.findings
    assert finding.where.endswith(f":{program.line}")
    note = raised.value.__notes__[-1]
    assert all(word in note for word in program.says), note
    assert Kind(next(kind for kind in Kind if kind.word == finding.kind)).row == program.row
    assert finding.message in captured.notes
    explanation = explain(plain.value)
    compile("def f():\n" + "\n".join(f"    {line}" for line in explanation.fix or ("pass",)), "fix", "exec")
    assert len(explanation.headline) <= 90


@pytest.mark.parametrize("error", [ValueError("of the user's"), TypeError("unsupported operand"), KeyError("x")])
def test_the_users_own_exceptions_have_no_finding_and_no_note(error):
    with pytest.raises(type(error)) as raised, jdw.capture() as run:
        raise error
    assert run.findings == []
    assert not hasattr(raised.value, "__notes__")


class Bag:
    def __init__(self) -> None:
        self.items = []


def changes_a_tuple():
    pair = (1, 2)
    pair[0] = 3  # pyright: ignore[reportIndexIssue]


def changes_numpys_view():
    np.broadcast_to(1.0, 3)[0] = 2.0


def appends_to_a_bag():
    Bag().append(1)  # pyright: ignore[reportAttributeAccessIssue]


def deletes_of_a_bag():
    del Bag()[0]  # pyright: ignore[reportIndexIssue]


def asks_numpys_array():
    return 1 if np.ones(2) else 0


@pytest.mark.parametrize(
    "mistake", [asks_numpys_array, changes_a_tuple, changes_numpys_view, appends_to_a_bag, deletes_of_a_bag]
)
def test_mistakes_that_are_not_about_jax_are_left_alone(mistake):
    with pytest.raises(ERRORS), jdw.capture() as run:
        mistake()
    assert run.findings == []


def test_every_kind_of_exception_has_its_words():
    assert WORDS.keys() == {kind for kind in Kind if not kind.option}
