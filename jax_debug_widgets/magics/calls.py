"""Notice the calls of compiled functions in a cell, without a frame of this package in its tracebacks.

`f(x)` becomes `done(n, begin(n, f)(x, **go(n)))`. `begin` returns `f` itself. `go` runs after the arguments are evaluated and
returns an empty dict. So the user's frame calls `f`. A call that never comes to `done` has raised.

Only the cell's own statements are rewritten, not the bodies of its functions, classes and generators. These may be traced,
compiled by other tools (Numba), or outlive the extension.
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
"""The functions in rewritten calls. They are builtins while cells run and the extension is loaded."""

_TIMES = re.compile(r"get_ipython\(\)\.run_(line|cell)_magic\('time',")
"""The pattern of the code that IPython makes of `%time f(x)`."""


class CallRewriter(ast.NodeTransformer):
    """Rewrites the calls of captured cells, and no other code. It is an entry of IPython's `ast_transformers`."""

    def __init__(self, watch: CallWatch, every_cell: Callable[[], bool]) -> None:
        self._watch = watch
        self._every_cell = every_cell

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Rewrite a cell if it is captured, if each cell is, or if `%time` runs it."""
        if not is_captured(node):
            return self.rewrite(node) if self._every_cell() or self._watch.is_timing else node
        enter, *rest = node.body
        rewritten = self.rewrite(ast.Module(rest, node.type_ignores))
        return ast.Module([enter, *rewritten.body], node.type_ignores)

    def rewrite(self, node: ast.Module) -> ast.Module:
        """Rewrite the calls of these statements."""
        return ast.Module([self.visit(statement) for statement in node.body], node.type_ignores)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Rewrite `f(x)` as `done(n, begin(n, f)(x, **go(n)))`."""
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
        """Leave a body as it is, see the module's docstring."""
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef
    visit_TypeAlias = visit_FunctionDef
    # A match pattern `Point(x=0)` is not a call, and a rewritten format in an f-string loses its place in the source.
    visit_Match = visit_JoinedStr = visit_TemplateStr = visit_FunctionDef

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.GeneratorExp:
        """Rewrite only the first iterable, which is evaluated at once."""
        node.generators[0].iter = self.visit(node.generators[0].iter)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        """Rewrite the value, not the annotation, because `from __future__ import annotations` keeps its text."""
        if node.value is not None:
            node.value = self.visit(node.value)
        return node


class CallWatch:
    """Reports the rewritten calls to the run: when each begins, returns or raises."""

    def __init__(self, run: Callable[[], Run | None]) -> None:
        self._run = run
        self._names: list[str] = []
        self._open: list[tuple[int, Any, CallSpan | None]] = []

    def register(self, name: str) -> int:
        """Return a new number for a call with this source."""
        self._names.append(name)
        return len(self._names) - 1

    @property
    def is_timing(self) -> bool:
        """Whether `%time` compiles code now. Code of `%timeit` is not rewritten: the helpers would count in its times."""
        return bool(self._open) and _TIMES.match(self._names[self._open[-1][0]]) is not None

    def namespace(self) -> dict[str, Callable[..., Any]]:
        """Return the helpers by the names that rewritten code uses."""
        return {BEGIN: self._begin, GO: self._go, DONE: self._done}

    def clear(self) -> None:
        """Forget all calls when the cell has ended."""
        self._names.clear()
        self._open.clear()

    def _begin(self, number: int, function: Any) -> Any:
        for index, (opened, _, _) in enumerate(self._open):
            if opened == number:
                # This call begins again and has never returned: it has raised, and the calls inside it too.
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
                # Calls inside it that have not returned have raised, and the exception was caught.
                for _, _, inner in self._open[index + 1 :]:
                    if inner is not None:
                        inner.raised(None)
                del self._open[index:]
                if span is not None:
                    span.returned(result)
                break
        return result
