"""Parse the options of `%%jaxdebug` and `%jaxdebug`; errors name what was probably meant."""

from __future__ import annotations

import argparse
import difflib
import shlex

from IPython.core.error import UsageError

from jax_debug_widgets.session import Options

COMMANDS = ("on", "off", "status", "barrier", "sites", "mute", "unmute", "plot", "show", "callbacks", "panel", "help")
"""What `%jaxdebug` understands besides an expression."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise UsageError(f"jaxdebug: {message}. `%jaxdebug help` lists the options.")


def add_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The options that `%%jaxdebug`, `%jaxdebug EXPR` and `%jaxdebug on` share."""
    defaults = Options()
    echo = "also write prints to stdout, exactly as JAX does (the default where no panel can be shown)"
    parser.add_argument("--echo", action=argparse.BooleanOptionalAction, default=None, help=echo)
    barrier = "wait at the end until all effects have drained"
    parser.add_argument("--barrier", action=argparse.BooleanOptionalAction, default=defaults.barrier, help=barrier)
    timeout = f"seconds after which that wait gives up (default {defaults.timeout:g})"
    parser.add_argument("--timeout", type=float, metavar="S", default=defaults.timeout, help=timeout)
    stuck = (
        f"seconds after which a host function that has not returned is called stuck (default {defaults.stuck_after:g})"
    )
    parser.add_argument("--stuck-after", type=float, metavar="S", default=defaults.stuck_after, help=stuck)
    events = f"how many events are kept (default {defaults.max_events})"
    parser.add_argument("--max-events", type=int, metavar="N", default=defaults.max_events, help=events)
    megabytes = f"how many MiB of values are kept (default {defaults.max_mb:g})"
    parser.add_argument("--max-mb", type=float, metavar="MB", default=defaults.max_mb, help=megabytes)
    return parser


def option_parser() -> argparse.ArgumentParser:
    """The parser of the options alone."""
    return add_options(_Parser(prog="%jaxdebug", add_help=False, allow_abbrev=False))


def parse(line: str, *, echo_by_default: bool) -> tuple[Options, str]:
    """The options at the start of a line, and what follows them.

    Raises:
      UsageError: an unknown option or a value that cannot be; the message names the nearest valid one.
    """
    words, rest = _split(line)
    parsed, unknown = option_parser().parse_known_args(words)
    if unknown:
        raise UsageError(_unknown_option(unknown[0]))
    values = vars(parsed)
    values["echo"] = echo_by_default if values["echo"] is None else values["echo"]
    try:
        return Options(**values), rest
    except ValueError as error:
        raise UsageError(f"jaxdebug: {error}") from None


def nearest_command(word: str) -> str | None:
    """The command that `word` is probably a misspelling of."""
    near = difflib.get_close_matches(word, COMMANDS, n=1)
    return near[0] if near else None


def _split(line: str) -> tuple[list[str], str]:
    """The leading option words, with the values of those that take one, and the rest as it was written."""
    takes_value = {flag for action in option_parser()._actions if action.nargs != 0 for flag in action.option_strings}
    words, rest = [], line.strip()
    while rest.startswith("--"):
        word, _, rest = rest.partition(" ")
        words.append(word)
        rest = rest.lstrip()
        if word in takes_value and rest:
            value, _, rest = rest.partition(" ")
            words += shlex.split(value)
            rest = rest.lstrip()
    return words, rest


def _unknown_option(word: str) -> str:
    flags = [flag for action in option_parser()._actions for flag in action.option_strings]
    name = word.partition("=")[0]
    near = difflib.get_close_matches(name, flags, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(flags)}."
    return f"jaxdebug: unknown option {name}; {hint}"
