"""A call as the argument of a command: `%jaxdebug callbacks f(x)`, `%jaxdebug step f(x)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError

NameCode = Callable[[str], str]
"""Takes some code, and gives the file by which tracebacks find it."""

_OURS = "__jaxdebug_called__"


def nameless(_code: str) -> str:
    """The file of code that no traceback shows."""
    return "<jaxdebug>"


def call_of(command: str, code: str) -> ast.Call:
    """The call `f(x)` written as `code`.

    Raises:
      UsageError: `code` is no call.
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
    """`function(f, x)` for the call `f(x)` written as `code`: `f` and its arguments are evaluated, `f` is not called.

    Raises:
      UsageError: `code` is no call.
    """
    call = call_of(command, code)
    call.args.insert(0, call.func)
    call.func = ast.copy_location(ast.Name(_OURS, ast.Load()), call)
    expression = compile(ast.fix_missing_locations(ast.Expression(call)), name_code(code.strip()), "eval")
    return eval(expression, {**namespace, _OURS: function})
