"""Parse `%jaxdebug check [NAMES] F(X)`: the names of checks, and the call."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Callable

from IPython.core.error import UsageError

from jax_debug_widgets.magics.options import add_options, options_of, parse_with
from jax_debug_widgets.magics.programs import options_first
from jax_debug_widgets.session import Options

_NAMES = re.compile(r"([\w-]+(?:\s*,\s*[\w-]+)*)\s+(\S.*)", re.DOTALL)


def parse_check(line: str, *, echo_by_default: bool, expand: Callable[[str], str]) -> tuple[Options, str]:
    """Return the options of the capture, and the code. Without names all checks are on.

    Raises:
      UsageError: there is no code, or no check with a given name.
    """
    parsed, code = parse_with(_add_check_options, options_first(line))
    only = vars(parsed).pop("only")
    named = _NAMES.fullmatch(code)
    if named and not _is_python(code) and _is_python(named[2]):
        only, code = [*only, named[1]], named[2]
    parsed.check = [*parsed.check, *only] or ["all"]
    if not code:
        raise UsageError("jaxdebug: `check` takes a call, e.g. `%jaxdebug check f(x)` or `%jaxdebug check oob f(x)`")
    return options_of(parsed, echo_by_default=echo_by_default, expand=expand), code


def _add_check_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--only", action="append", metavar="CHECKS", default=[])
    return add_options(parser)


def _is_python(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True
