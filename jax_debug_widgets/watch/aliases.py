"""Names that compute nothing: `accept = info.acceptance_rate` is the value that this is, by a name of its own."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

import jax

from jax_debug_widgets.watch.mentions import is_part, loads_of, texts_of
from jax_debug_widgets.watch.source import Function, Span, Statement, Target, span_of

_ENDS = ast.Return | ast.Raise | ast.Break | ast.Continue
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


def aliases(made: Statement, name: str) -> Iterator[tuple[str, Statement]]:
    """The other names of what a statement assigns to `name`, `info.rate`, and the statements that give them.

    Only of what surely runs after it, once, and before anything else is assigned to that or may have changed it.
    """
    function = made.function
    if function is None or made.repeats:
        return
    copies = {span: one for span, (text, one) in _copies(function).items() if is_part(name, text)}
    roots = (text for target in made.targets for text in texts_of(target)) if copies else ()
    for root in dict.fromkeys(text for text in roots if text.isidentifier() and is_part(name, text)):
        for load in loads_of(function, made, root):
            copy = copies.get(load.span)
            if copy and load.text.startswith(root) and _follows(function, made, copy, root):
                yield copy.targets[0].text + name.removeprefix(load.text), copy


def of_argument(function: Function, span: Span, name: str) -> Statement:
    """What assigns the argument at `span`, as a statement."""
    root = name.partition("[")[0].partition(".")[0]
    return Statement(span, ast.Name(root, ast.Load()), (Target(root),), function, repeats=False)


@functools.lru_cache(maxsize=1024)
def _copies(function: Function) -> dict[Span, tuple[str, Statement]]:
    """What gives one plain variable what is there, by its range: `info.rate` and the statement."""
    found = {
        one.span: (ast.unparse(one.value), one)
        for one in function.statements
        if isinstance(one.value, ast.Name | ast.Attribute | ast.Subscript)
    }
    return {
        span: (text, one)
        for span, (text, one) in found.items()
        if not (one.repeats or one.whole) and len(one.targets) == 1 and one.targets[0].text.isidentifier()
    }


def _follows(function: Function, made: Statement, copy: Statement, root: str) -> bool:
    """Whether a statement runs wherever the other has run, and nothing between them changes what `root` holds."""
    between = _between(function, made.span, copy.span)
    others = (one for one in function.statements if made.span[2:] <= one.span[:2] < copy.span[:2])
    texts = (text for one in others for target in one.targets for text in texts_of(target))
    return (
        between is not None
        and not any(is_part(text, root) for text in texts)
        and not any(isinstance(one, _ENDS) or _may_change(one, root) for node in between for one in _run(node))
    )


def _between(function: Function, first: Span, last: Span) -> list[ast.stmt] | None:
    """What may run from one range to another of the block that has the latter; None where that may not run at all."""
    if isinstance(function.node, ast.Lambda):
        return None
    body: list[ast.stmt] = getattr(function.node, "body", [])
    for block in _blocks(body):
        end = next((n for n, one in enumerate(block) if _assigns(one) and span_of(one).contains(last)), None)
        if end is not None:
            before = [number for number in range(end) if span_of(block[number]).contains(first)]
            is_argument = block is body and first[2:] <= span_of(body[0])[:2]
            return block[before[0] : end] if before else block[:end] if is_argument else None
    return None


def _blocks(block: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    yield block
    for one in block:
        if not isinstance(one, _DEFINITIONS):
            for inner in (getattr(one, key, []) for key in ("body", "orelse", "finalbody")):
                yield from _blocks(inner)


def _assigns(one: ast.stmt) -> bool:
    return isinstance(one, ast.Assign | ast.AnnAssign)


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those in it, without what it only defines."""
    if not isinstance(node, _DEFINITIONS):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _run(child)


def _may_change(node: ast.AST, root: str) -> bool:
    """Whether it is `root.update(...)`, `root["a"].append(...)` or `root(...)`; what an array can be asked changes nothing."""
    called = node.func if isinstance(node, ast.Call) else None
    is_of_array = isinstance(called, ast.Attribute) and hasattr(jax.Array, called.attr)
    return called is not None and not is_of_array and is_part(ast.unparse(called), root)
