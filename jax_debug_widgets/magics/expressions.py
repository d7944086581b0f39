"""Evaluate the call in a command such as `%jaxdebug callbacks f(x)`: its function and its arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError

NameCode = Callable[[str], str]
"""Code -> the file name under which tracebacks find the code."""

_OURS = "__jaxdebug_called__"


def nameless(_code: str) -> str:
    """Return the file name for code that tracebacks need not find."""
    return "<jaxdebug>"


def call_of(command: str, code: str) -> ast.Call:
    """Parse the call `f(x)` that is written as `code`.

    Raises:
      UsageError: `code` is not a call.
    """
    wanted = f"jaxdebug: `{command}` takes a call, e.g. `%jaxdebug {command} f(x)`"
    try:
        call = ast.parse(code.strip(), "<jaxdebug>", mode="eval").body
    except SyntaxError as error:
        raise UsageError(f"{wanted}: {error.msg}" if code.strip() else wanted) from None
    if found := re.match(r"(.*\S) -- (.*)", code.strip(), re.DOTALL):
        raise UsageError(f"{wanted}: write `%jaxdebug {command} {found[1]}({found[2].strip()})`")
    if not isinstance(call, ast.Call):
        raise UsageError(wanted)
    return call


def given_to(
    function: Callable[..., Any],
    command: str,
    code: str,
    namespace: dict[str, Any],
    name_code: NameCode = nameless,
) -> Any:
    """Return `function(f, x)` for the call `f(x)` that is written as `code`: `f` and `x` are evaluated, `f` is not called.

    Raises:
      UsageError: `code` is not a call.
    """
    call = call_of(command, code)
    call.args.insert(0, call.func)
    call.func = ast.copy_location(ast.Name(_OURS, ast.Load()), call)
    expression = compile(ast.fix_missing_locations(ast.Expression(call)), name_code(code.strip()), "eval")
    return eval(expression, {**namespace, _OURS: function})
