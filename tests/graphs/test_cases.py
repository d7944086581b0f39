"""Test the table of programs for the tools about programs, and properties that hold for each program."""

from __future__ import annotations

import linecache
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from tests.graphs.case_programs import CASES, Case
from tests.graphs.exports import check_export, text_in

ASK = {
    "compare": lambda f, args, names, _: jdw.compare(f, names["g"], *args),
    "float64": lambda f, args, *_: jdw.compare(f, *args, against="float64"),
    "op-by-op": lambda f, args, *_: jdw.compare(f, *args, against="op-by-op"),
    "linked": lambda f, args, *_: jdw.linked(f, *args),
    "to_folder": lambda f, args, _, path: jdw.to_folder(f, *args, path=path / "written", name="f"),
    "table": lambda f, args, *_: jdw.table(f, *args),
    "diff": lambda f, args, names, _: jdw.diff(f, names["g"], *args, other_args=names.get("other_args")),
    "traces": lambda f, args, *_: jdw.traces(f, *args),
}
MIRRORED = {"added": "removed", "removed": "added"}


@pytest.fixture(autouse=True)
def _promotions():
    """Use users' settings for promotion."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield
    jax.effects_barrier()


def made(case: Case, name: str = "/cases/case.py") -> dict[str, Any]:
    """Return the names that the source of a program defines."""
    linecache.cache[name] = (len(case.source), None, case.source.splitlines(keepends=True), name)
    names = {"jax": jax, "jnp": jnp, "np": np, "lax": lax, "__name__": "__main__"}
    exec(compile(case.source, name, "exec"), names)  # noqa: S102 - our own text.
    return names


def words(found: Any, case: Case) -> dict[str, Any]:
    """Return the names that the expressions of the table may use about an answer."""
    told = {"found": found, "text": str(found), "lines": case.lines, "re": re, "jdw": jdw, "same_bits": same_bits}
    if case.asks == "table":
        told["rows"] = lambda primitive: [one for one in found if one.primitive == primitive]
    if case.asks == "linked":
        equations = found.program.equations
        told["of"] = lambda primitive: [at for at, one in enumerate(equations) if one.primitive == primitive]
        told["lines_of"] = lambda fusions: {int(at.rpartition(":")[2]) for one in fusions for at in one.lines}
    if case.asks == "to_folder":
        told["stored"] = stored
        told["module"], told["host"] = text_in(found.path), filled_in(found, case)
    return told


def filled_in(exported: Any, case: Case) -> str:
    """Return the file of the host functions as it was written, after filling in the functions."""
    if not case.host:
        return ""
    with pytest.raises(NotImplementedError, match=r"fill in .* in host\.py"):
        exported.check()
    host = exported.path / "host.py"
    text = host.read_text()
    host.write_text(case.host)
    return text


def stored(exported: Any) -> list[str]:
    """Return the names of the arrays of a package."""
    with np.load(exported.path / "constants.npz", allow_pickle=False) as file:
        return sorted(file.files)


def same_bits(one: Any, other: Any) -> bool:
    """Return whether two pytrees have the same arrays."""
    return all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))


@pytest.mark.behaviour("G1", "G3", "G4", "G5", "G6", "G7")
@pytest.mark.parametrize("case", CASES, ids=lambda one: one.id)
def test_the_answer_has_what_the_table_says(case, tmp_path):
    names = made(case)
    found = ASK[case.asks](names["f"], names["args"], names, tmp_path)
    names |= words(found, case)
    if case.asks == "to_folder":
        found.check()
    for expected in case.expects:
        assert eval(expected, names), f"not so: {expected}\n{found}"  # noqa: S307 - our own text.


def _is_same_as_itself(f, args, *_):  # noqa: ANN002
    found = jdw.diff(f, f, *args)
    assert found.is_in_order and set(found.counts) <= {"same"}, found


def _is_equal_to_itself(f, args, *_):  # noqa: ANN002
    found = jdw.compare(f, f, *args)
    assert found.equal and found.only == (0, 0), found


def _tags_do_not_change_what_is_compiled(f, args, *_):  # noqa: ANN002
    assert jdw.linked(f, *args).exact


def _differences_are_mirrored(f, args, names, _):
    other = made(CASES[0], "/cases/other.py")
    g, others = (names["g"], names.get("other_args", args)) if "g" in names else (other["f"], other["args"])
    forth, back = jdw.diff(f, g, *args, other_args=others), jdw.diff(g, f, *others, other_args=args)
    assert back.counts == {MIRRORED.get(kind, kind): count for kind, count in forth.counts.items()}
    assert seen(forth.mirrored()) == seen(back)
    assert (forth.is_same, forth.is_in_order) == (back.is_same, back.is_in_order)


def seen(found: Any) -> list[str]:
    """Return a comparison as lines of text."""
    return sorted(
        str((one.kind, one.before and one.before.names, one.after and one.after.names, one.what)) for one in found
    )


def _is_exported(f, args, _, path):
    exported = jdw.to_folder(f, *args, path=path / "written", name="f")
    assert exported.is_same or exported.notes or exported.hosts, exported.difference
    if not exported.hosts:
        check_export(exported, f, args, {}, path)


PROPERTIES = (
    _is_same_as_itself,
    _is_equal_to_itself,
    _differences_are_mirrored,
    _tags_do_not_change_what_is_compiled,
    _is_exported,
)


@pytest.mark.each
@pytest.mark.behaviour("G1", "G3", "G4", "G6")
@pytest.mark.parametrize("case", [one for one in CASES if not one.varies], ids=lambda one: one.id)
@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda one: one.__name__)
def test_general_properties_hold_for_every_program_of_the_table(holds, case, tmp_path):
    names = made(case)
    holds(names["f"], names["args"], names, tmp_path)
