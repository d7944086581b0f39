"""Parse the options of `%%jaxdebug` and `%jaxdebug`. Errors name the option that was probably meant."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Sequence
from typing import Any

from IPython.core.error import UsageError

from jax_debug_widgets.archive.layout import refuse_file
from jax_debug_widgets.checks import checks_of, options
from jax_debug_widgets.magics.config import EXAMPLE, config_of
from jax_debug_widgets.session import Options
from jax_debug_widgets.watch import Watch
from jax_debug_widgets.watch.choosing.select import separated

COMMANDS = (
    "on",
    "off",
    "status",
    "barrier",
    "sites",
    "findings",
    "check",
    "mute",
    "unmute",
    "every",
    "plot",
    "show",
    "callbacks",
    "cost",
    "verify",
    "step",
    "table",
    "graph",
    "compare",
    "diff",
    "traces",
    "export",
    "jaxpr",
    "hlo",
    "panel",
    "replay",
    "save",
    "load",
    "help",
)
"""The commands of `%jaxdebug`."""


_EXAMPLES = {
    "N": "10",
    "S": "30",
    "BY": "line",
    "TRANSFORM": "grad",
    "R": "1e-6",
    "MB": "512",
    "NAMES": "logits,h`, or `--watch-all",
    "WHAT": "nonfinite",
    "CHECKS": "all`, or `--check oob",
    "CONDITION": "'loss > 10'",
    "TITLE": "'without dropout'",
    "NAME": "lr3",
    "CONFIG": EXAMPLE,
    "FILE": "run.jdw",
}
"""Metavar of an option in the help -> an example of its value."""


class _Parser(argparse.ArgumentParser):
    """Raises argparse's errors instead of exiting; `_refused` makes the message."""

    def __init__(self) -> None:
        super().__init__(prog="%jaxdebug", add_help=False, allow_abbrev=False, exit_on_error=False)


def help_of_options() -> str:
    """Return the help on the options of `add_options`, as argparse writes it."""
    return add_options(argparse.ArgumentParser(usage=argparse.SUPPRESS, add_help=False)).format_help()


def add_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options that `%%jaxdebug`, `%jaxdebug EXPR` and `%jaxdebug on` share."""
    defaults = Options()
    echo = "also write prints to stdout, exactly as JAX does (the default where no panel can be shown)"
    parser.add_argument("--echo", action=argparse.BooleanOptionalAction, default=None, help=echo)
    debug = "compile what is traced without its jax.debug.print, .callback, .breakpoint and so on; callbacks with results stay"
    parser.add_argument("--no-debug", dest="debug", action="store_false", default=defaults.debug, help=debug)
    every = "record one firing of N of each site; in loops with values that change no other fires at all. Watch every N-th step"
    parser.add_argument("--every", type=int, metavar="N", default=defaults.every, help=every)
    barrier = "wait at the end until all prints and callbacks have arrived"
    parser.add_argument("--barrier", action=argparse.BooleanOptionalAction, default=defaults.barrier, help=barrier)
    timeout = f"seconds after which that wait gives up (default {defaults.timeout:g})"
    parser.add_argument("--timeout", type=float, metavar="S", default=defaults.timeout, help=timeout)
    stuck = (
        f"seconds after which a host function that has not returned is called stuck (default {defaults.stuck_after:g})"
    )
    parser.add_argument("--stuck-after", type=float, metavar="S", default=defaults.stuck_after, help=stuck)
    events = f"how many events are kept (default {defaults.max_events})"
    parser.add_argument("--max-events", type=int, metavar="N", default=defaults.max_events, help=events)
    megabytes = f"how many MB of values are kept (default {defaults.max_mb:g})"
    parser.add_argument("--max-mb", type=float, metavar="MB", default=defaults.max_mb, help=megabytes)
    ended = f"how many MB of values all ended runs keep together (default {defaults.max_ended_mb:g})"
    parser.add_argument("--max-ended-mb", type=float, metavar="MB", default=defaults.max_ended_mb, help=ended)
    break_on = (
        "stop where this holds: nonfinite (and was finite before), nan or inf alone, of what is printed or "
        "watched (--watch-all: of every named value), a site (train.py:41, its number or name), "
        "or an expression over captured values without blanks (loss>10, grad.h<0) or in quotes ('0 < h < 1', of any element); "
        "may be given several times"
    )
    parser.add_argument("--break-on", action="append", metavar="WHAT", default=[], help=break_on)
    break_timeout = "seconds after which a stop goes on by itself (default: never, while its page is open)"
    parser.add_argument("--break-timeout", type=float, metavar="S", default=defaults.break_timeout, help=break_timeout)
    prompt = "ask at breakpoints with JAX's own prompt where no panel answers"
    parser.add_argument("--prompt", action="store_true", default=defaults.prompt, help=prompt)
    record = "write the run into this folder (run.jdw) while it goes on; it stays; `%%jaxdebug load` reads it"
    parser.add_argument("--record", metavar="FILE", default=defaults.record, help=record)
    record_max = "how many MB that folder may have (default: as many as the disk has); the oldest events go first"
    parser.add_argument("--record-max-mb", type=float, metavar="MB", default=defaults.record_max_mb, help=record_max)
    inputs = "keep the inputs of the last K calls, for `replay`; in the file, too (default: 2 with --break-on, else 0)"
    parser.add_argument("--keep-inputs", type=int, metavar="K", default=defaults.keep_inputs, help=inputs)
    title = "the title of the run in its panel (default: the call)"
    parser.add_argument("--title", metavar="TITLE", default=defaults.title, help=title)
    name = "what the run is called among others"
    parser.add_argument("--name", metavar="NAME", default=defaults.name, help=name)
    config = "what to compare runs by: lr=3e-4,seed=1, or lr={lr} for a variable; may be given again"
    parser.add_argument("--config", action="append", metavar="CONFIG", default=[], help=config)
    check = f"check programs while they run: all, or names of {', '.join(options())}; run.findings has what is found"
    check += "; nonfinite, and with it all, can change the last bit of results"
    parser.add_argument("--check", action="append", metavar="CHECKS", default=[], help=check)
    return _add_watch_options(parser)


def _add_watch_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    names = "watch variables by name: logits,h  'layer*/mlp'  model.py:40-60  'dot_general|exp'; may be given again"
    parser.add_argument("--watch", action="append", metavar="NAMES", default=None, help=names)
    everything = "watch every value that has a name in your files, and its gradient; --watch '*@FILE': in a library's"
    parser.add_argument("--watch-all", action="store_true", help=everything)
    parser.add_argument("--watch-ops", action="store_true", help="watch the result of every equation")
    exact = "give the results of the program as it is; a watched twin of it runs beside it, with --every N in each N-th call"
    parser.add_argument("--exact", action="store_true", help=exact)
    values = "keep whole values (down-sampled if large), not their statistics alone"
    parser.add_argument("--values", action="store_true", help=values)
    histogram = "also count the magnitudes of each watched value, by sign and power of two"
    parser.add_argument("--histogram", action="store_true", help=histogram)
    lanes = "also take the statistics of each lane of a vmap by itself (of the first 512); --watch lanes/h: of h alone"
    parser.add_argument("--lanes", action="store_true", help=lanes)
    when = (
        "take watched values only where this holds, on the device: 'abs(logits).max() > 10', grad.h.max()>1; "
        "'0 < h < 1 and not isnan(x)' holds where it does for any element, 'all(h > 0)' for all"
    )
    parser.add_argument("--when", metavar="CONDITION", default=None, help=when)
    return parser


def _watch_of(values: dict[str, Any]) -> Watch | None:
    """Make the `Watch` of the options, and remove these options from `values`; None to watch nothing."""
    given = values.pop("watch")
    names = None if given is None else [name for text in given for name in separated(text)]
    everything = values.pop("watch_all")
    watch = Watch.of(
        True if everything else names,
        ops=values.pop("watch_ops"),
        every=values["every"],
        values=values.pop("values"),
        histograms=values.pop("histogram"),
        when=values.pop("when"),
        lanes=values.pop("lanes"),
    )
    # Together with `--watch-all`, names like `lanes/h` only select the values to record by lane.
    return watch.by_lane(names) if watch and everything and names else watch


def option_parser() -> argparse.ArgumentParser:
    """Make the parser of the shared options."""
    return add_options(_Parser())


def parse(line: str, *, echo_by_default: bool, expand: Callable[[str], str] = lambda text: text) -> tuple[Options, str]:
    """Return the options at the start of a line, and the rest of the line. `expand` replaces variables such as `{lr}`.

    Raises:
      UsageError: an option is unknown, or a value is invalid. The message names the nearest valid one.
    """
    parsed, rest = parse_with(add_options, line)
    return options_of(parsed, echo_by_default=echo_by_default, expand=expand), rest


def options_of_words(words: Sequence[str], *, echo_by_default: bool) -> Options:
    """Return the options in the words of a command line.

    Raises:
      UsageError: see `parse`.
    """
    return options_of(_parsed(option_parser(), words), echo_by_default=echo_by_default)


def options_of(
    parsed: argparse.Namespace, *, echo_by_default: bool, expand: Callable[[str], str] = lambda text: text
) -> Options:
    """Make the options from the parsed arguments.

    Raises:
      UsageError: a value is invalid.
    """
    values = vars(parsed)
    values["break_on"] = tuple(values["break_on"])
    values["echo"] = echo_by_default if values["echo"] is None else values["echo"]
    try:
        watch = _watch_of(values)
        values["check"] = checks_of(values["check"])
        if values["record"] is not None:
            refuse_file(values["record"])
        values["config"] = config_of(values["config"], expand)
        return Options(**values, watch=watch)
    except ValueError as error:
        raise UsageError(f"jaxdebug: {error}") from None


def parse_with(
    add: Callable[[argparse.ArgumentParser], argparse.ArgumentParser], line: str
) -> tuple[argparse.Namespace, str]:
    """Parse the options at the start of a line, and return the rest of the line.

    Args:
      add: adds the options to a parser.

    Raises:
      UsageError: an option is unknown (the message names the nearest one), or has no value.
    """
    parser = add(_Parser())
    words, rest = _split(line, parser)
    return _parsed(parser, words), rest


def _parsed(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    try:
        parsed, unknown = parser.parse_known_args(words)
    except argparse.ArgumentError as error:
        raise UsageError(_refused(error, parser)) from None
    if unknown:
        raise UsageError(_unknown_option(unknown[0], parser))
    return parsed


def nearest_command(word: str) -> str | None:
    """Return the command with a name nearly like `word`; None without one."""
    near = difflib.get_close_matches(word, COMMANDS, n=1)
    return near[0] if near else None


def _split(line: str, parser: argparse.ArgumentParser) -> tuple[list[str], str]:
    """Split a line into the leading options with their values, and the rest as it was written."""
    takes_value = {flag for action in parser._actions if action.nargs != 0 for flag in action.option_strings}
    words, rest = [], line.strip()
    while rest.startswith("--"):
        word, _, rest = rest.partition(" ")
        words.append(word)
        rest = rest.lstrip()
        if word in takes_value and rest:
            value, rest = _first_word(rest)
            words.append(value)
    return words, rest


def _first_word(text: str) -> tuple[str, str]:
    """Split a text into its first word, which may be in quotes, and the rest as it was written.

    Raises:
      UsageError: the quotes do not end.
    """
    match = re.match(r"""'([^']*)'|"([^"]*)"|([^\s'"]\S*)""", text)
    if match is None:
        raise UsageError(f"jaxdebug: the quotes of {text!r} do not end")
    return next(group for group in match.groups() if group is not None), text[match.end() :].lstrip()


def _refused(error: argparse.ArgumentError, parser: argparse.ArgumentParser) -> str:
    """Make the message for an option with an invalid value."""
    action = next(one for one in parser._actions if "/".join(one.option_strings) == error.argument_name)
    flag = action.option_strings[0]
    if action.nargs == 0:
        return f"jaxdebug: {flag} takes no value"
    wrong = re.search(r"value: (.*)", error.message)
    number = "a whole number" if action.type is int else "a number"
    why = f"{flag} takes {number}, not {wrong[1]}" if wrong else f"{flag} wants to know {action.metavar}"
    if action.choices:
        why = f"{flag} takes one of {', '.join(action.choices)}"
    return f"jaxdebug: {why}; write `{flag} {_EXAMPLES[str(action.metavar)]}`"


def _unknown_option(word: str, parser: argparse.ArgumentParser) -> str:
    flags = [flag for action in parser._actions for flag in action.option_strings]
    name = word.partition("=")[0]
    near = difflib.get_close_matches(name, flags, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(flags)}."
    return f"jaxdebug: unknown option {name}; {hint}"
