"""`%jaxdebug callbacks f(x)`: what a call would call back, without calling it."""

from __future__ import annotations

import ast
from typing import Any

from IPython.core.error import UsageError

from jax_debug_widgets.session import Session


def callbacks_of(session: Session, code: str, namespace: dict[str, Any]) -> Any:
    """The inventory of the call written as `code`: its function and arguments are evaluated, the call is not made.

    Raises:
      UsageError: `code` is no call.
    """
    try:
        call = ast.parse(code.strip(), "<jaxdebug>", mode="eval").body
    except SyntaxError as error:
        raise UsageError(f"jaxdebug: `callbacks` takes a call, e.g. `%jaxdebug callbacks f(x)`: {error}") from None
    if not isinstance(call, ast.Call):
        raise UsageError("jaxdebug: `callbacks` takes a call, e.g. `%jaxdebug callbacks f(x)`")
    # The call is made of a function of ours, with the user's as its first argument.
    call.args.insert(0, call.func)
    call.func = ast.copy_location(ast.Name("__jaxdebug_inventory__", ast.Load()), call)
    expression = compile(ast.fix_missing_locations(ast.Expression(call)), "<jaxdebug>", "eval")
    return eval(expression, {**namespace, "__jaxdebug_inventory__": session.inventory})
