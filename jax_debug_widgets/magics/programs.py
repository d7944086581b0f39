"""Define the commands of `%jaxdebug` about the program of a call: `cost f(x)`, `table f(x)`, `diff f g -- x`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from IPython.core.error import UsageError

from jax_debug_widgets.graphs.table import By
from jax_debug_widgets.magics.expressions import NameCode, given_to, nameless
from jax_debug_widgets.magics.functions_given import (
    functions_and_arguments,
    given_to_fitting,
    is_expression,
    refuse_undefined,
    refuse_unfit,
)
from jax_debug_widgets.magics.options import parse_with
from jax_debug_widgets.session import Session
from jax_debug_widgets.session.studies import programs, questions
from jax_debug_widgets.session.studies.comparing import WAYS, comparison_of, refuse_overwriting, refuse_unknown
from jax_debug_widgets.session.studies.cost import COMPILE_SECONDS
from jax_debug_widgets.session.studies.export import ExportError, FolderError, export
from jax_debug_widgets.session.studies.graph import graph_of
from jax_debug_widgets.session.studies.linked import linked_of
from jax_debug_widgets.session.studies.seeds.sending import CannotBeSentError


def cost_of(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode = nameless) -> Any:
    """Return the cost of the debugging calls and callbacks in the program of `[--run] [--timeout S] f(x)`.

    The call runs only with `--run`.

    Raises:
      UsageError: the line is not a call, or has an unknown option.
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
    """Return the table of equations of `[--by line] [--xla] f(x)`. The options may follow the call.

    Raises:
      UsageError: the line is not a call, or has an unknown option.
    """
    options, code = parse_with(_add_table_options, options_first(line))

    def ask(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return programs.table_of(session, function, args, kwargs, by=options.by, xla=options.xla)

    return given_to_fitting(ask, "table", code, namespace, name_code)


def _add_table_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--by", choices=get_args(By), metavar="BY", default=None)
    parser.add_argument("--xla", action=argparse.BooleanOptionalAction, default=None)
    return parser


def program_stages(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode = nameless) -> Any:
    """Return source, equations, StableHLO and optimised HLO of `[--by-line] f(x)` beside each other.

    Raises:
      UsageError: the line is not a call, or has an unknown option.
    """
    options, code = parse_with(_add_stages_options, options_first(line))

    def ask(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return linked_of(session, function, args, kwargs, exact=not options.by_line)

    return given_to_fitting(ask, "hlo", code, namespace, name_code)


def _add_stages_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--by-line", action="store_true")
    return parser


def compared(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode = nameless) -> Any:
    """Run and compare `f g -- x`, or `f -- x --against float64`.

    Raises:
      UsageError: the line has another form, or an unknown option.
    """
    if missing := re.search(r"\s(--(?:against|save|rtol))\s*$", line):
        raise UsageError(f"jaxdebug: `compare`: {missing[1]} wants a value behind it: {_VALUES[missing[1]]}")
    options, rest = parse_with(_add_compare_options, options_first(line))
    is_alone = bool(options.against or options.save)
    functions, given = functions_and_arguments("compare", rest, 1 if is_alone else 2)
    try:
        if options.against is not None:
            refuse_unknown(options.against)
        if options.save is not None:
            refuse_overwriting(options.save)
    except (ValueError, FileExistsError) as refused:
        raise UsageError(f"jaxdebug: `compare`: {refused}") from None

    def ask(*both: Any, **kwargs: Any) -> Any:
        function, other, *args = both
        refuse_unfit("compare", (function,) if is_alone else (function, other), args, kwargs)
        taken = args if is_alone else (other, *args)
        how = {"rtol": options.rtol, "against": options.against, "save": options.save}
        return comparison_of(session, function, taken, kwargs, **how)

    refuse_undefined("compare", functions, namespace)
    others = functions[1] if len(functions) > 1 else "None"
    return given_to(ask, "compare", f"({functions[0]})({others}, {given})", namespace, name_code)


_VALUES = {"--against": ", ".join(WAYS), "--save": "the name of a file", "--rtol": "a number, 1e-6"}


def _add_compare_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--rtol", type=float, metavar="R", default=None)
    parser.add_argument("--against", metavar="WAY", default=None)
    parser.add_argument("--save", metavar="FILE", default=None)
    return parser


def program_diff(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode = nameless) -> Any:
    """Return the difference between the programs of `f g -- x`, or of `f -- x --before grad`.

    Raises:
      UsageError: the line has another form, or an unknown option.
    """
    options, rest = parse_with(_add_diff_options, options_first(line))
    functions, given = functions_and_arguments("diff", rest, 1 if options.before else 2)

    def ask(function: Callable[..., Any], other: Any, /, *args: Any, **kwargs: Any) -> Any:
        refuse_unfit("diff", (function,) if options.before else (function, other), args, kwargs)
        if options.before is None:
            return programs.diff_of(session, function, other, args, kwargs, xla=options.xla)
        other, other_args = programs.transformed(function, options.before, args)
        return programs.diff_of(session, function, other, args, kwargs, other_args=other_args, xla=options.xla)

    refuse_undefined("diff", functions, namespace)
    others = functions[1] if len(functions) > 1 else "None"
    return given_to(ask, "diff", f"({functions[0]})({others}, {given})", namespace, name_code)


def _add_diff_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--before", choices=("grad", "vmap"), metavar="TRANSFORM", default=None)
    parser.add_argument("--xla", action="store_true")
    return parser


def exported(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode = nameless) -> Any:
    """Write the program of the call in `f(x) DIR` as a package into the folder.

    Raises:
      UsageError: the line has another form or an unknown option, or the program cannot be written.
    """
    options, rest = parse_with(_add_export_options, options_first(line))
    code, folder = _call_and_folder(rest)

    def ask(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        try:
            return export(session, function, args, kwargs, folder, name=options.name, overwrite=options.overwrite)
        except (ExportError, FolderError) as refused:
            raise UsageError(f"jaxdebug: {refused}") from None

    return given_to_fitting(ask, "export", code, namespace, name_code)


def traced_twice(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode = nameless) -> Any:
    """Compare two traces of `[--seeds N] f(x)`: are they the same program?

    Raises:
      UsageError: the line is not a call, has an unknown option, or its function cannot be sent to another process.
    """
    options, code = parse_with(_add_traces_options, options_first(line))
    if options.seeds is not None and options.seeds < 2:  # noqa: PLR2004 - one cannot differ.
        raise UsageError("jaxdebug: `traces --seeds N` compares interpreters: N is 2 or more")

    def ask(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        try:
            return programs.traces_of(session, function, args, kwargs, seeds=options.seeds)
        except CannotBeSentError as refused:
            raise UsageError(f"jaxdebug: `traces --seeds`: {refused}") from None

    return given_to_fitting(ask, "traces", code, namespace, name_code)


def _add_traces_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--seeds", type=int, metavar="N", default=None)
    return parser


def _call_and_folder(line: str) -> tuple[str, str]:
    """Split a line into the call and the folder behind it."""
    words = line.split(" ")
    for at in range(len(words) - 1, 0, -1):
        code, folder = " ".join(words[:at]), " ".join(words[at:]).strip()
        if folder and is_expression(code):
            return code, folder.strip("'" + '"')
    raise UsageError("jaxdebug: `export` takes a call and a folder: `%jaxdebug export f(x) DIR`")


def _add_export_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--name", metavar="NAME", default=None)
    parser.add_argument("--overwrite", action="store_true")
    return parser


_LAST = re.compile(r"^(.*?\S)((?:\s+--[a-z][\w-]*(?:[= ][^\s()-]\S*)?)+)\s*$", re.DOTALL)


def options_first(line: str) -> str:
    """Move the options from the end of a line, `f(x) --by line`, to its start."""
    found = _LAST.match(line)
    return f"{found[2].strip()} {found[1]}" if found else line


ProgramCommand = Callable[[Session, str, dict[str, Any], NameCode], Any]
"""Runs a command: takes the session, the text after the command, the user's namespace, and the function that names code."""


def _of_call(command: str, ask: Callable[..., Any], **options: Any) -> ProgramCommand:
    """Make a command that takes one call and no options."""

    def answer(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode) -> Any:
        if option := re.match(r"--[A-Za-z][\w-]*", options_first(line.strip())):
            raise UsageError(f"jaxdebug: `{command}`: unknown option {option[0]}; it takes a call and no options")

        def of_function(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            return ask(session, function, args, kwargs, **options)

        give = given_to if ask is _inventory else given_to_fitting  # The inventory shows where the call is written.
        return give(of_function, command, line, namespace, name_code)

    return answer


def _inventory(session: Session, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return questions.inventory_of(session, function, *args, **kwargs)


PROGRAM_COMMANDS: dict[str, ProgramCommand] = {
    "callbacks": _of_call("callbacks", _inventory),
    "compare": compared,
    "cost": cost_of,
    "diff": program_diff,
    "export": exported,
    "graph": _of_call("graph", graph_of),
    "hlo": program_stages,
    "jaxpr": _of_call("jaxpr", linked_of, compiled=False),
    "table": program_table,
    "traces": traced_twice,
}
"""Name -> command about the program of a call. Only `compare` and `cost --run` run the program."""
