"""Parse functions and their arguments in a command, `f g -- x`, and explain what is wrong with them."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from IPython.core.error import UsageError

from jax_debug_widgets.magics.expressions import NameCode, given_to


def functions_and_arguments(command: str, line: str, count: int) -> tuple[list[str], str]:
    """Split a line into the functions before `--`, which are `count` expressions (1 or 2), and the arguments after it.

    Raises:
      UsageError: there is no `--`, or another number of expressions before it.
    """
    functions, dashes, given = f"{line} ".partition(" -- ")
    words = functions.split(" ")
    splits = (
        [[" ".join(words[:at]), " ".join(words[at:])] for at in range(1, len(words))] if count > 1 else [[functions]]
    )
    found = next((parts for parts in splits if all(map(is_expression, parts))), None)
    if (
        not dashes or found is None or re.search(r"(?:^|\s)--[a-z]", functions)
    ):  # `f --rtol` is Python: f minus minus rtol.
        option = {"diff": "--before grad", "compare": "--against float64"}.get(command, "")
        alone = f"`%jaxdebug {command} f -- x {option}`"
        example = alone if count == 1 else f"`%jaxdebug {command} f g -- x`" + (f", or {alone}" if option else "")
        raise UsageError(f"jaxdebug: `{command}` takes functions and their arguments: {example}")
    if not _are_arguments(given):
        raise UsageError(f"jaxdebug: `{command}`: these are no arguments: {given.strip()}")
    return found, given.strip()


def given_to_fitting(
    function: Callable[..., Any], command: str, code: str, namespace: dict[str, Any], name_code: NameCode
) -> Any:
    """Return `function(f, x)` for the call `f(x)` that is written as `code`, if `f` takes these arguments.

    Raises:
      UsageError: `code` is not a call, or its function does not take its arguments.
    """

    def ask(called: Any, /, *args: Any, **kwargs: Any) -> Any:
        if callable(called):
            refuse_unfit(command, (called,), args, kwargs, "it is given")
        return function(called, *args, **kwargs)

    return given_to(ask, command, code, namespace, name_code)


def _are_arguments(text: str) -> bool:
    """Whether a text can stand between the parentheses of one call."""
    try:
        call = ast.parse(f"_({text})", mode="eval").body
    except SyntaxError:
        return False
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name)


def refuse_undefined(command: str, functions: Sequence[str], namespace: Mapping[str, Any]) -> None:
    """Refuse a function that is an undefined name.

    Args:
      functions: the functions as they were written.

    Raises:
      UsageError: one of them is undefined.
    """
    for name in map(str.strip, functions):
        if name.isidentifier() and name not in namespace and not hasattr(builtins, name):
            raise UsageError(
                f"jaxdebug: `{command}`: {name} is no function here: define it, or write what there is before the `--`"
            )


def refuse_unfit(
    command: str,
    functions: Sequence[Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    where: str = "stands behind `--`",
) -> None:
    """Refuse functions that are not callable, or do not take these arguments.

    Args:
      where: says in the message where the arguments are written.

    Raises:
      UsageError: a function is refused.
    """
    for one in functions:
        name = getattr(one, "__name__", type(one).__name__)
        if not callable(one):
            raise UsageError(
                f"jaxdebug: `{command}` takes functions, and {name} is none: the arguments stand behind `--`"
            )
        try:
            signature = inspect.signature(one)
        except (TypeError, ValueError):
            continue
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise UsageError(f"jaxdebug: `{command}`: {name}{signature} does not take what {where}: {error}") from None


def is_expression(text: str) -> bool:
    """Whether a text is a Python expression."""
    try:
        ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return False
    return True
