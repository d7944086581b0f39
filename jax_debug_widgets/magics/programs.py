"""`%jaxdebug cost f(x)`: what is to be known of a call without making it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any, get_args

from jax_debug_widgets.graphs.table import By
from jax_debug_widgets.magics.expressions import NameCode, given_to, nameless
from jax_debug_widgets.magics.options import parse_with
from jax_debug_widgets.session import Session
from jax_debug_widgets.session.studies import programs, questions
from jax_debug_widgets.session.studies.cost import COMPILE_SECONDS


def cost_of(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode = nameless) -> Any:
    """What the calls in the program of `[--run] [--timeout S] f(x)` cost; the call is made only with `--run`.

    Raises:
      UsageError: it is no call, or an unknown option.
    """
    options, code = parse_with(_add_cost_options, line)

    def ask(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return questions.cost_of(session, function, args, kwargs, timeout=options.timeout, run=options.run)

    return given_to(ask, "cost", code, namespace, name_code)


def _add_cost_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--timeout", type=float, metavar="S", default=COMPILE_SECONDS)
    return parser


def program_table(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode = nameless) -> Any:
    """The equations of `[--by line] [--xla] f(x)`; the options may stand behind the call.

    Raises:
      UsageError: it is no call, or an unknown option.
    """
    options, code = parse_with(_add_table_options, options_first(line))

    def ask(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return programs.table_of(session, function, args, kwargs, by=options.by, xla=options.xla)

    return given_to(ask, "table", code, namespace, name_code)


def _add_table_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--by", choices=get_args(By), metavar="BY", default=None)
    parser.add_argument("--xla", action=argparse.BooleanOptionalAction, default=None)
    return parser


_LAST = re.compile(r"^(.*\S)((?:\s+--[a-z][\w-]*(?:[= ][^\s()-]\S*)?)+)\s*$", re.DOTALL)


def options_first(line: str) -> str:
    """The line with the options at its end, `f(x) --by line`, put before what is asked for."""
    found = _LAST.match(line)
    return f"{found[2].strip()} {found[1]}" if found else line
