"""Test the reading of source: all kinds of assignments, and the ranges that the interpreter reports for them."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap

import pytest

from jax_debug_widgets._jax.origins.libraries import is_library
from jax_debug_widgets.watch.syntax.source import SourceFile
from jax_debug_widgets.watch.syntax.statements import Span


def parse(text: str) -> SourceFile:
    return SourceFile(textwrap.dedent(text).lstrip("\n").splitlines(keepends=True))


@pytest.mark.parametrize(
    ("line", "expression", "targets"),
    [
        ("y = a + b", "a + b", ["y"]),
        ("y = z = a + b", "a + b", ["y", "z"]),
        ("y, (z, *w) = f(a)", "f(a)", ["(y, (z, *w))"]),
        ("y, z = a + b, f(a)", "a + b", ["y", "z"]),
        ("y += a", "y += a", ["y"]),
        ("self.w[0] += a * b", "self.w[0] += a * b", ["self.w[0]"]),
        ("y: Array = a + b", "a + b", ["y"]),
        ("self.w = a + b", "a + b", ["self.w"]),
        ('params["w"] = a + b', "a + b", ["params['w']"]),
        ("g((n := a + b))", "a + b", ["n"]),
        ("y = (a +\n     b)", "a +\n         b", ["y"]),
        ("größe = a + b  # ä", "a + b", ["größe"]),
        ("return a + b", "a + b", []),
    ],
)
def test_the_range_of_an_assignment_is_what_the_interpreter_says_of_its_operation(line, expression, targets):
    text = "def f(a, b, y, self, params):\n" + textwrap.indent(line, "    ") + "\n"
    source = SourceFile(text.splitlines(keepends=True))
    statement = source.statements[0]
    start = text.encode().index(expression.encode())
    before = text.encode()[:start].decode().splitlines() or [""]
    assert (statement.span.line, statement.span.column) == (len(before), len(before[-1].encode()))
    assert [target.text for one in source.statements for target in one.targets] == targets
    assert statement.is_return == (not targets)
    # The ranges of all instructions in CPython's code objects.
    code = compile(text, "<test>", "exec").co_consts[0]
    assert tuple(statement.span) in {(a, c, b, d) for a, b, c, d in code.co_positions()}


def test_functions_know_their_lines_arguments_and_returns():
    source = parse(
        """
        class Layer:
            @jit
            def call(self, x, *, train=False):
                h = x * 2
                return h, lambda u: u + 1
        """
    )
    call, inner = source.functions
    assert (call.name, call.first, call.last, call.arguments) == ("Layer.call", 2, 5, ("self", "x", "train"))
    assert inner.name == "Layer.call.<locals>.<lambda>"
    assert [source.text(one.span) for one in call.returns] == ["(h, lambda u: u + 1)"]
    assert [source.text(one.span) for one in inner.returns] == ["u + 1"]
    assert source.function_at(2, "Layer.call") is call and source.function_at(9, "call") is None


def test_small_numbers_are_written_as_in_the_source():
    source = parse("x = f(a) / (b + 1e-6) * 2.5e-12\n")
    assert source.text(source.statements[0].span) == "f(a) / (b + 1e-6) * 2.5e-12"


def test_statements_in_a_python_loop_are_marked_as_repeating():
    source = parse("for w in ws:\n    x = x @ w\ny = [(z := a + b) for a in c]\nt = x + 1\n")
    assert {one.targets[0].text: one.repeats for one in source.statements} == {
        "w": True, "x": True, "y": False, "z": True, "t": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("a, b = x @ w\n", {"a, b": "x @ w"}),
        ("(a, (b, c)), d = f(x), y\n", {"(a, (b, c))": "f(x)", "(b, c)": "f(x)"}),
        ("a, b = x, y\n", {}),
        ("a, b = f(x) if c else g(x)\n", {}),
        ("for a, b in zip(x, y):\n    a\n", {"for a, b in zip(x, y): a": "zip(x, y)", "a, b": "zip(x, y)"}),
        ("a, b = (f(x) for x in xs)\n", {"a, b": "a, b"}),
    ],
)
def test_the_targets_of_an_unpacking_are_parts_of_its_value(text, apart):
    source = parse(text)
    lines = text.splitlines()

    def written(span):
        parts = lines[span.line - 1 : span.end_line]
        parts[-1] = parts[-1][: span.end_column]
        return " ".join(one.strip() for one in (parts[0][span.column :], *parts[1:]))

    told = {written(one): written(of) for one, of in source.taken_apart.items()}
    assert told.items() >= apart.items() and (apart or not told)


def test_columns_are_converted_from_bytes_to_characters():
    source = parse("größe = ä + b\n")
    assert source.character(1, source.statements[0].span.column) == 8
    assert source.character(7, 3) == 3 and source.character(1, -1) == -1


def test_text_that_is_not_python_has_no_statements():
    source = parse("%time f(x)\n")
    assert source.statements == [] and source.statements_at(Span(1, 0, 1, 4)) == []
    assert source.text(Span(1, 0, 1, 4)) == "%time f(x)"


def test_installed_files_are_libraries():
    assert is_library(textwrap.__file__) and is_library(pytest.__file__)
    assert not is_library(__file__) and not is_library("/tmp/ipykernel_1/2.py")  # noqa: S108 - how cells are called


_OF_A_COMMAND = """
import jax
import jax.numpy as jnp
import jax_debug_widgets as jdw

def step(total, x):
    b = x + 2.0
    c = b * x
    return total + (jnp.sin(c) * b).sum(), None

@jax.jit
def loss(x):
    return jax.value_and_grad(lambda x: jax.lax.scan(step, 0.0, x)[0])(x)

with jdw.capture(watch=True) as run:
    loss(jnp.ones((2, 3)))
print(sorted(run.values))
"""


def test_generated_code_in_a_command_line_program_names_nothing():
    """The file of a dataclass's generated `__init__` is `<string>`, too; Python 3.13 has its source."""
    command = [sys.executable, "-c", _OF_A_COMMAND]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"JAX_PLATFORMS": "cpu"}
    )
    names = ast.literal_eval(done.stdout)
    if sys.version_info >= (3, 13):
        assert {"b", "c", "grad/b", "grad/c"} <= set(names)
    assert "val" not in names
