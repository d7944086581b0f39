"""The commands of `%jaxdebug` about the program of a call: `cost f(x)`, `table f(x)`, `diff f g -- x`."""

from __future__ import annotations

import argparse
import ast
import builtins
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from IPython.core.error import UsageError

from jax_debug_widgets.graphs.table import By
from jax_debug_widgets.magics.expressions import NameCode, given_to, nameless
from jax_debug_widgets.magics.options import parse_with
from jax_debug_widgets.session import Session
from jax_debug_widgets.session.studies import programs, questions
from jax_debug_widgets.session.studies.comparing import comparison_of, refuse_overwriting, refuse_unknown
from jax_debug_widgets.session.studies.cost import COMPILE_SECONDS
from jax_debug_widgets.session.studies.export import ExportError, FolderError, export
from jax_debug_widgets.session.studies.graph import graph_of
from jax_debug_widgets.session.studies.linked import linked_of


def cost_of(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode = nameless) -> Any:
    """The cost of the calls in the program of `[--run] [--timeout S] f(x)` cost; the call is made only with `--run`.

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


def compared(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode = nameless) -> Any:
    """How `f g -- x` compare, or `f -- x --against float64`; they are run.

    Raises:
      UsageError: it is something else, or an unknown option.
    """
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

    _refuse_undefined("compare", functions, namespace)
    others = functions[1] if len(functions) > 1 else "None"
    return given_to(ask, "compare", f"({functions[0]})({others}, {given})", namespace, name_code)


def _add_compare_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--rtol", type=float, metavar="R", default=None)
    parser.add_argument("--against", metavar="WAY", default=None)
    parser.add_argument("--save", metavar="FILE", default=None)
    return parser


def program_diff(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode = nameless) -> Any:
    """The difference between the programs of `f g -- x`, or of `f -- x --before grad`.

    Raises:
      UsageError: it is something else, or an unknown option.
    """
    options, rest = parse_with(_add_diff_options, options_first(line))
    functions, given = functions_and_arguments("diff", rest, 1 if options.before else 2)

    def ask(function: Callable[..., Any], other: Any, /, *args: Any, **kwargs: Any) -> Any:
        refuse_unfit("diff", (function,) if options.before else (function, other), args, kwargs)
        if options.before is None:
            return programs.diff_of(session, function, other, args, kwargs)
        other, other_args = programs.transformed(function, options.before, args)
        return programs.diff_of(session, function, other, args, kwargs, other_args=other_args)

    _refuse_undefined("diff", functions, namespace)
    others = functions[1] if len(functions) > 1 else "None"
    return given_to(ask, "diff", f"({functions[0]})({others}, {given})", namespace, name_code)


def _add_diff_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--before", choices=("grad", "vmap"), metavar="TRANSFORM", default=None)
    return parser


def exported(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode = nameless) -> Any:
    """Write `f(x) DIR` as a package.

    Raises:
      UsageError: it is something else, an unknown option, or what cannot be written.
    """
    options, rest = parse_with(_add_export_options, options_first(line))
    code, folder = _call_and_folder(rest)

    def ask(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        try:
            return export(session, function, args, kwargs, folder, name=options.name, overwrite=options.overwrite)
        except (ExportError, FolderError) as refused:
            raise UsageError(f"jaxdebug: {refused}") from None

    return given_to(ask, "export", code, namespace, name_code)


def _call_and_folder(line: str) -> tuple[str, str]:
    """The call, and what stands behind it."""
    words = line.split(" ")
    for at in range(len(words) - 1, 0, -1):
        code, folder = " ".join(words[:at]), " ".join(words[at:]).strip()
        if folder and _is_expression(code):
            return code, folder.strip("'" + '"')
    raise UsageError("jaxdebug: `export` takes a call and a folder: `%jaxdebug export f(x) DIR`")


def _add_export_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--name", metavar="NAME", default=None)
    parser.add_argument("--overwrite", action="store_true")
    return parser


def functions_and_arguments(command: str, line: str, count: int) -> tuple[list[str], str]:
    """The functions before `--`, one or two expressions, and what stands behind it.

    Raises:
      UsageError: there is no `--`, or there are not so many expressions before it.
    """
    functions, dashes, given = f"{line} ".partition(" -- ")
    words = functions.split(" ")
    splits = (
        [[" ".join(words[:at]), " ".join(words[at:])] for at in range(1, len(words))] if count > 1 else [[functions]]
    )
    found = next((parts for parts in splits if all(map(_is_expression, parts))), None)
    if (
        not dashes or found is None or re.search(r"(?:^|\s)--[a-z]", functions)
    ):  # `f --rtol` is Python: f minus minus rtol.
        option = {"diff": "--before grad", "compare": "--against float64"}.get(command, "")
        example = f"f -- x {option}" if count == 1 else "f g -- x"
        raise UsageError(f"jaxdebug: `{command}` takes functions and their arguments: `%jaxdebug {command} {example}`")
    if not _are_arguments(given):
        raise UsageError(f"jaxdebug: `{command}`: these are no arguments: {given.strip()}")
    return found, given.strip()


def _are_arguments(text: str) -> bool:
    """Whether it is what stands between the brackets of one call."""
    try:
        call = ast.parse(f"_({text})", mode="eval").body
    except SyntaxError:
        return False
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name)


def _refuse_undefined(command: str, functions: Sequence[str], namespace: Mapping[str, Any]) -> None:
    """Say which of the functions, as they were written, is a name that nothing has."""
    for name in map(str.strip, functions):
        if name.isidentifier() and name not in namespace and not hasattr(builtins, name):
            raise UsageError(
                f"jaxdebug: `{command}`: {name} is no function here: define it, or write what there is before the `--`"
            )


def refuse_unfit(command: str, functions: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Say which of the functions is none, or does not take such arguments.

    Raises:
      UsageError: one of them.
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
            raise UsageError(
                f"jaxdebug: `{command}`: {name}{signature} does not take what stands behind `--`: {error}"
            ) from None


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return False
    return True


_LAST = re.compile(r"^(.*\S)((?:\s+--[a-z][\w-]*(?:[= ][^\s()-]\S*)?)+)\s*$", re.DOTALL)


def options_first(line: str) -> str:
    """The line with the options at its end, `f(x) --by line`, put before what is asked for."""
    found = _LAST.match(line)
    return f"{found[2].strip()} {found[1]}" if found else line


ProgramCommand = Callable[[Session, str, dict[str, Any], NameCode], Any]
"""Answers what is written behind a command, with the user's namespace and the name of the code."""


def _of_call(command: str, ask: Callable[..., Any], **options: Any) -> ProgramCommand:
    """Make a command without options: it takes one call."""

    def answer(session: Session, line: str, namespace: dict[str, Any], name_code: NameCode) -> Any:
        if option := re.match(r"--[A-Za-z][\w-]*", options_first(line.strip())):
            raise UsageError(f"jaxdebug: `{command}`: unknown option {option[0]}; it takes a call and no options")

        def of_function(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            return ask(session, function, args, kwargs, **options)

        return given_to(of_function, command, line, namespace, name_code)

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
    "hlo": _of_call("hlo", linked_of, compiled=True),
    "jaxpr": _of_call("jaxpr", linked_of, compiled=False),
    "table": program_table,
    "traces": _of_call("traces", programs.traces_of),
}
"""The commands about the program of a call. Nothing runs, but `compare` and `cost --run` do."""
