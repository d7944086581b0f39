"""Find prints that were formatted while tracing: `jax.debug.print(f"{x}")` shows a tracer instead of a value."""

from __future__ import annotations

import ast
import re

from jax_debug_widgets.events import CallSite, Finding
from jax_debug_widgets.taps.parsing import parse

_TRACER = re.compile(r"\b\w*Tracer\W|\bTraced<")
"""The pattern of a tracer's text: `JitTracer(~float32[])`, before 0.9 `Traced<ShapedArray(float32[])>with<...>`."""


def formatted_while_tracing(site: CallSite) -> Finding | None:
    """Return the finding about a site whose text contains a tracer; None for other sites."""
    if site.kind not in ("print", "log") or site.values or not _TRACER.search(site.format):
        return None
    better = corrected(site.source)
    advice = f": write {better}" if better else " of the call"
    message = (
        f"{site.where}: the text was formatted while tracing, so it shows a tracer and no value. "
        f"Pass the value as an argument{advice}"
    )
    return Finding("formatted", site, 0, 0, 0, message)


def corrected(source: str) -> str:
    """Rewrite the call in a line of source: its f-string becomes a format and arguments. Empty if the line has no such call."""
    try:
        tree = parse(source)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.JoinedStr):
            return ast.unparse(_without_f(node, node.args[0]))
    return ""


def _without_f(call: ast.Call, text: ast.JoinedStr) -> ast.Call:
    pieces, positional, keywords = [], [], []
    for part in text.values:
        if isinstance(part, ast.Constant):
            pieces.append(str(part.value).replace("{", "{{").replace("}", "}}"))
        elif isinstance(part, ast.FormattedValue):
            conversion = f"!{chr(part.conversion)}" if part.conversion > 0 else ""
            spec = f":{ast.unparse(part.format_spec)[2:-1]}" if part.format_spec else ""
            name = part.value.id if isinstance(part.value, ast.Name) else ""
            pieces.append("{" + name + conversion + spec + "}")
            if not name:
                positional.append(part.value)
            elif name not in {keyword.arg for keyword in keywords}:
                keywords.append(ast.keyword(name, part.value))
    return ast.Call(
        call.func, [ast.Constant("".join(pieces)), *positional, *call.args[1:]], [*keywords, *call.keywords]
    )
