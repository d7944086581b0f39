"""Watch functions whose bodies were dedented before they were compiled, as marimo does with its cells."""

from __future__ import annotations

import ast
import textwrap
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

SOURCE = """
def cell():
    scale = 3.0

    @jax.jit
    def step(x, w):
        h = jnp.tanh(x @ w)
        pre, post = h * 2, \\
            h + 1
        loss = (pre * post).sum() * scale
        jax.debug.print("loss {}", loss)
        return loss

    double = lambda x: x * 2; sines = lambda x: jnp.sin(x) + x
    def halved(x): return x / 2

    @jax.jit
    def mapped(x):
        names = [len(name) for name in ("ä", "b")]
        pairs = [double(row) + sines(halved(row)) for row in (x, x + 1)]
        return pairs, names
"""


def compiled(file, text, first):
    """Return the names that a text defines if it begins at this line of a file."""
    tree = ast.increment_lineno(ast.parse(text), first - 1)
    names = {"jax": jax, "jnp": jnp}
    exec(compile(tree, str(file), "exec"), names)  # noqa: S102 - as marimo does
    return names


@pytest.fixture
def cells(tmp_path):
    """Return the names of `SOURCE` as a marimo cell and as a file of its own."""
    body = textwrap.dedent(SOURCE.partition("def cell():\n")[2])
    indented, plain = tmp_path / "indented.py", tmp_path / "plain.py"
    indented.write_text(SOURCE)
    plain.write_text(body)
    return compiled(indented, body, 3), compiled(plain, body, 1)


def seen_of(watched, names):
    x, w = jnp.linspace(0, 1, 6).reshape(2, 3), jnp.ones((3, 3))

    def both():
        return jax.grad(names["step"])(x, w), names["mapped"](x)

    run = watched(both, values=True)
    totals = Counter()
    for event in run.events:
        totals[event.site.label, event.site.line, event.site.column] += np.asarray(event.values[-1], np.float64).sum()
    return run, totals


def test_a_dedented_body_has_the_values_that_the_plain_one_has(cells, watched):
    (run, dedented), (_, plain) = (seen_of(watched, names) for names in cells)
    assert {"h", "pre", "post", "loss", "grad/h", "pairs[0]"} <= {label for label, _, _ in dedented}
    assert dedented == {(label, line + 2, column + 4): total for (label, line, column), total in plain.items()}
    (printed,) = {site for site in run.sites if not site.watch}
    assert (printed.line, printed.column, printed.values) == (11, 8, ("loss",))


def test_why_a_name_of_it_has_no_value_is_true(cells, watched):
    run = watched(cells[0]["mapped"], jnp.ones((2, 3)), watch="names,pairs")
    assert any(note.startswith("'names' (line 19) has no values: known while tracing") for note in run.notes), run.notes
