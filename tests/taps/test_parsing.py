"""Test that source can be parsed while other threads parse."""

from __future__ import annotations

import ast
import runpy
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.taps import parsing

_PADDING = "def pad{}(x):\n    h = jnp.sin(x) * 2 + x[0]\n    return {{'a': [h, h + 1], 'b': (h,)}}\n"
_LARGE = "".join(map(_PADDING.format, range(300)))


def test_threads_parse_at_once():
    with ThreadPoolExecutor(8) as pool:
        assert {len(parsed.body) for parsed in pool.map(parsing.parse, [_LARGE] * 16)} == {300}


@pytest.mark.parametrize("error", [SystemError("AST constructor"), ValueError("null bytes"), RecursionError("deep")])
def test_each_failure_of_the_parser_is_a_syntax_error(monkeypatch, error):
    def fail(_text):
        raise error

    monkeypatch.setattr(parsing, "ast", SimpleNamespace(parse=fail))
    with pytest.raises(SyntaxError):
        parsing.parse("x")


def test_parsing_is_tried_again_after_a_disturbance_by_another_thread(monkeypatch):
    tries = []

    def fail_once(text):
        tries.append(text)
        if len(tries) == 1:
            raise SystemError("AST constructor recursion depth mismatch")
        return ast.parse(text)

    monkeypatch.setattr(parsing, "ast", SimpleNamespace(parse=fail_once, Expr=ast.Expr))
    assert ast.unparse(parsing.parse_expression("a + b")) == "a + b"


def test_threads_that_trace_at_once_watch_all_the_same(tmp_path):
    file = tmp_path / "large.py"
    file.write_text(f"import jax.numpy as jnp\n{_LARGE}def f(x):\n    h = x * 2\n    return h + 1\n")
    f = jax.jit(runpy.run_path(str(file))["f"])
    with jdw.capture(watch="h") as run, ThreadPoolExecutor(4) as pool:
        given = [float(one.sum()) for one in pool.map(lambda size: f(jnp.ones(size)), range(2, 6))]
    assert given == [6.0, 9.0, 12.0, 15.0]
    assert list(run["h"]["mean"]) == [2.0] * 4
