"""See the calls of compiled functions that a cell makes, without a frame of ours in its tracebacks.

`f(x)` becomes `done(n, begin(n, f)(x, **go(n)))`: `begin` gives `f` itself back, `go` runs after the arguments have
been evaluated and gives an empty dict, and `f` is called by the user's frame. A call that never comes to `done` raised.

Only the cell's own statements are rewritten, not the bodies of the functions, classes and generators it defines: those
may be traced, compiled by others (numba), or outlive the extension.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.magics.cell import is_captured

if TYPE_CHECKING:
    from jax_debug_widgets.session import CallSpan, Run

BEGIN, GO, DONE = "__jaxdebug_begin__", "__jaxdebug_go__", "__jaxdebug_done__"
"""The functions that rewritten calls use, builtins while cells run and the extension is loaded."""

_TIMES = re.compile(r"get_ipython\(\)\.run_(line|cell)_magic\('time',")
"""How IPython writes `%time f(x)`."""


class CallRewriter(ast.NodeTransformer):
    """IPython's `ast_transformers` entry: rewrites the calls of captured cells, leaves all other code alone."""

    def __init__(self, watch: CallWatch, every_cell: Callable[[], bool]) -> None:
        self._watch = watch
        self._every_cell = every_cell

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Rewrite a captured cell."""
        if not is_captured(node):
            return self.rewrite(node) if self._every_cell() or self._watch.is_timing else node
        enter, *rest = node.body
        rewritten = self.rewrite(ast.Module(rest, node.type_ignores))
        return ast.Module([enter, *rewritten.body], node.type_ignores)

    def rewrite(self, node: ast.Module) -> ast.Module:
        """Rewrite the calls of these statements."""
        return ast.Module([self.visit(statement) for statement in node.body], node.type_ignores)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """`f(x)` -> `done(n, begin(n, f)(x, **go(n)))`."""
        name = " ".join(ast.unparse(node).split())
        self.generic_visit(node)
        number = self._watch.register(name)
        begun = self._helper(BEGIN, number, node.func)
        gone = ast.keyword(None, self._helper(GO, number))
        call = ast.copy_location(ast.Call(begun, node.args, [*node.keywords, gone]), node)
        return ast.fix_missing_locations(ast.copy_location(self._helper(DONE, number, call), node))

    def _helper(self, name: str, number: int, *arguments: ast.expr) -> ast.Call:
        return ast.Call(ast.Name(name, ast.Load()), [ast.Constant(number), *arguments], [])

    def visit_FunctionDef(self, node: ast.AST) -> ast.AST:
        """Leave it alone, see the module's docstring."""
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef
    visit_TypeAlias = visit_FunctionDef
    # A match pattern `Point(x=0)` is no call, and a format in an f-string loses its place when rewritten.
    visit_Match = visit_JoinedStr = visit_TemplateStr = visit_FunctionDef

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.GeneratorExp:
        """Rewrite what is evaluated at once: the first iterable."""
        node.generators[0].iter = self.visit(node.generators[0].iter)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        """Rewrite the value; `from __future__ import annotations` keeps the annotation's text."""
        if node.value is not None:
            node.value = self.visit(node.value)
        return node


class CallWatch:
    """Hear from rewritten calls: which of them are of compiled functions, when they go and when they are done."""

    def __init__(self, run: Callable[[], Run | None]) -> None:
        self._run = run
        self._names: list[str] = []
        self._open: list[tuple[int, Any, CallSpan | None]] = []

    def register(self, name: str) -> int:
        """A number for a call with this source."""
        self._names.append(name)
        return len(self._names) - 1

    @property
    def is_timing(self) -> bool:
        """Whether what is compiled now is what `%time` runs; of `%timeit` our calls would be a part of the time."""
        return bool(self._open) and _TIMES.match(self._names[self._open[-1][0]]) is not None

    def namespace(self) -> dict[str, Callable[..., Any]]:
        """The names that the rewritten code needs to find."""
        return {BEGIN: self._begin, GO: self._go, DONE: self._done}

    def clear(self) -> None:
        """The cell has ended."""
        self._names.clear()
        self._open.clear()

    def _begin(self, number: int, function: Any) -> Any:
        for index, (opened, _, _) in enumerate(self._open):
            if opened == number:
                # This call is made again and was never done: it has raised, and what it was nested in with it.
                for _, _, stale in self._open[index:]:
                    if stale is not None:
                        stale.raised(None)
                del self._open[index:]
                break
        self._open.append((number, function, None))
        return function

    def _go(self, number: int) -> dict[str, Any]:
        run = self._run()
        for index in range(len(self._open) - 1, -1, -1):
            opened, function, _ = self._open[index]
            if opened == number:
                if run is not None:
                    self._open[index] = (number, None, run.begin_call(self._names[number], function))
                break
        return {}

    def _done(self, number: int, result: Any) -> Any:
        for index in range(len(self._open) - 1, -1, -1):
            opened, _, span = self._open[index]
            if opened == number:
                # What was opened inside it and not done has raised, and was caught.
                for _, _, inner in self._open[index + 1 :]:
                    if inner is not None:
                        inner.raised(None)
                del self._open[index:]
                if span is not None:
                    span.returned(result)
                break
        return result
