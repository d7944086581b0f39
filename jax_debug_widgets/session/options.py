"""Define and check the options of a capture."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from jax_debug_widgets._jax.running.checking import CHECKERS
from jax_debug_widgets.archive.layout import refuse_file
from jax_debug_widgets.breakpoints import Policy, StopCondition, conditions_of, parse_condition
from jax_debug_widgets.checks import checks_of
from jax_debug_widgets.store import Budget
from jax_debug_widgets.taps import Settings
from jax_debug_widgets.watch import Stops, Watch

_MEGABYTE = 1_000_000

_KEPT_WITH_STOPS = 2
"""The number of calls with kept inputs if the program may stop: the call that stops, and the one before."""

_WITH_VALUES = (
    "every",
    "timeout",
    "stuck_after",
    "max_events",
    "max_mb",
    "max_ended_mb",
    "break_timeout",
    "keep_inputs",
)

_MAY_BE_NONE = ("timeout", "break_timeout", "record_max_mb")


@dataclass(frozen=True)
class Options:
    """The options of `%%jaxdebug` and of `jax_debug_widgets.capture`.

    Attributes:
      echo: also write prints to stdout, exactly as JAX would.
      debug: False to compile programs without their `jax.debug` calls.
      every: one firing of `every` at a site is recorded.
      barrier: wait at the end until all prints and callbacks have arrived.
      timeout: seconds after which that wait gives up; None waits for ever.
      stuck_after: seconds after which a host function that has not returned is called stuck.
      max_events, max_mb: the most events and MB that the run keeps. The oldest events are dropped first, and counted.
      max_ended_mb: the most MB that all ended runs keep together. The oldest arrays are dropped first, and counted.
      watch: the watched values, by their names in the source; None to watch nothing.
      exact: the program runs unwatched and gives the results; a watched twin of it runs beside it.
      break_on: events at which the program stops: `nonfinite`, a site (`train.py:41`), an expression (`loss > 10`).
      break_timeout: seconds after which a stop goes on by itself; None waits for ever, as long as its page is open.
      prompt: ask on stdin, with JAX's own prompt, where no panel answers.
      record: the folder that the run is written into while it goes on; None to write no folder.
      record_max_mb: the most MB in that folder; the oldest events are dropped first. None for no limit.
      title: the title of the run in its panel; empty for the call, or what runs.
      name: the name of the run in lists and tables; empty for no name.
      config: the user's settings, for a table of runs.
      check: the names of the checks that are on, besides those that are always on.
      keep_inputs: the inputs of this number of newest calls are kept; None for 2 if `break_on` is given, else 0.

    Raises:
      TypeError: a value has another type than its option wants.
      ValueError: a number is not positive, a condition cannot be parsed, or options cannot go together.
    """

    echo: bool = False
    debug: bool = True
    every: int = 1
    barrier: bool = True
    timeout: float | None = 60.0
    stuck_after: float = 10.0
    max_events: int = 2_000_000
    max_mb: float = 256.0
    max_ended_mb: float = 512.0
    watch: Watch | None = None
    exact: bool = False
    break_on: tuple[str, ...] = ()
    break_timeout: float | None = None
    prompt: bool = False
    record: str | None = None
    record_max_mb: float | None = None
    title: str = ""
    name: str = ""
    config: Mapping[str, Any] = field(default_factory=dict, compare=False)
    check: tuple[str, ...] = ()
    keep_inputs: int | None = None

    @classmethod
    def of(
        cls,
        *,
        every: int = 1,
        watch: str | Sequence[str] | bool | None = None,
        ops: bool = False,
        values: bool = False,
        histograms: bool = False,
        lanes: bool = False,
        when: str | None = None,
        break_on: str | int | Sequence[str | int] = (),
        check: str | Sequence[str] | bool | None = None,
        **others: Any,
    ) -> Options:
        """Make the options from the arguments of `jax_debug_widgets.capture`, which raises the same errors."""
        refuse_unknown(others)
        others["record"] = _path_of(others.get("record"))
        watched = Watch.of(watch, ops=ops, every=every, values=values, histograms=histograms, when=when, lanes=lanes)
        return cls(every=every, watch=watched, break_on=conditions_of(break_on), check=checks_of(check), **others)

    def __post_init__(self) -> None:
        stops = _stops(self.policy().conditions)
        if self.watch is not None and self.watch.stops != stops:
            object.__setattr__(self, "watch", self.watch.stopping(stops))
        for name in ("echo", "debug", "barrier", "prompt", "exact"):
            if not isinstance(value := getattr(self, name), bool | np.bool_):
                msg = f"{name} must be True or False, got {value!r}"
                raise TypeError(msg)
        _refuse_beside_exact(self)
        if self.every < 1:
            msg = f"every must be at least 1, got {self.every!r}"
            raise ValueError(msg)
        for name in ("timeout", "stuck_after", "max_events", "max_mb", "max_ended_mb", *_MAY_BE_NONE[1:]):
            _refuse_limit(name, getattr(self, name))
        _refuse_count(self.keep_inputs)
        for name, kind, words in (("title", str, "a string"), ("name", str, "a string"), ("config", Mapping, "a dict")):
            if not isinstance(value := getattr(self, name), kind):
                msg = f"{name} must be {words}, got {value!r}"
                raise TypeError(msg)

    def __str__(self) -> str:
        """Write the options that differ from the defaults as after `%%jaxdebug`; without title, name, config and record."""
        return " ".join(_words_of(self))

    def settings(self, box: int, processes: int = 1) -> Settings:
        """Return the settings to compile into the programs of a run.

        Args:
          box: the number of the box that the run reads.
          processes: the number of processes that have agreed on these options.
        """
        keeps = self.kept_inputs > 0
        if self.exact and self.watch is not None:
            twin = Settings(False, self.compiled_watch, False, self.every, box, processes, keeps_inputs=keeps)
            return replace(twin, echo=self.echo, watch=None, debug=self.debug, check=self.check, twin=twin)
        return Settings(
            self.echo, self.watch, self.debug, self.every, box, processes, check=self.check, keeps_inputs=keeps
        )

    @property
    def compiled_watch(self) -> Watch | None:
        """The watch with which programs are compiled; a twin takes every step of the calls in which it runs."""
        return replace(self.watch, every=1) if self.exact and self.watch is not None else self.watch

    @property
    def kept_inputs(self) -> int:
        """The number of newest calls with kept inputs."""
        if self.keep_inputs is None:
            return _KEPT_WITH_STOPS if self.break_on else 0
        return self.keep_inputs

    def policy(self) -> Policy:
        """Make the policy of a new run at its breakpoints.

        Raises:
          ValueError: a condition cannot be parsed.
        """
        conditions = [parse_condition(text, self.watch.names if self.watch else ()) for text in self.break_on]
        return Policy(conditions=conditions, timeout=self.break_timeout, prompt=self.prompt)

    def stopping_at(self, lines: Sequence[str]) -> Options:
        """Return the options with stops at these lines too. With `exact` nothing stops the program, so no line is added."""
        more = tuple(line for line in lines if line not in self.break_on)
        if not more or self.exact:
            return self
        return replace(self, break_on=(*self.break_on, *more))

    @property
    def budget(self) -> Budget:
        """The events and bytes that the store may hold."""
        return Budget(self.max_events, _in_bytes(self.max_mb))

    @property
    def ended_budget(self) -> int:
        """The bytes that all ended runs may hold together."""
        return _in_bytes(self.max_ended_mb)


def _refuse_limit(name: str, value: Any) -> None:
    if value is None and name in _MAY_BE_NONE:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        msg = f"{name} must be a number, got {value!r}"
        raise TypeError(msg)
    if not value > 0 or math.isnan(value):
        msg = f"{name} must be greater than 0, got {value!r}"
        raise ValueError(msg)


def _refuse_beside_exact(options: Options) -> None:
    if options.exact and options.break_on:
        raise ValueError("exact and break_on cannot go together: a stop would hold the twin, and not the program")
    compiled = [one for one in options.check if one in CHECKERS]
    if options.exact and compiled:
        msg = (
            f"exact and check={','.join(compiled)} cannot go together: what these checks look at is compiled into the "
            "program itself, which can move its last bits. Check in a capture of its own, without exact"
        )
        raise ValueError(msg)


def _words_of(options: Options) -> Iterator[str]:
    watch = options.watch
    if watch is not None:
        names = _quoted(",".join(watch.names))
        wishes = {
            "watch-all": watch.everything,
            f"watch {names}": bool(watch.names),
            "watch-ops": watch.ops,
            "values": watch.values,
            "histogram": watch.histograms,
            "lanes": watch.lanes,
            f"when {_quoted(watch.when)}": bool(watch.when),
        }
        yield from (f"--{word}" for word, is_wanted in wishes.items() if is_wanted)
    if options.check:
        yield "--check all" if set(options.check) == set(checks_of(True)) else f"--check {','.join(options.check)}"
    yield from (f"--break-on {_quoted(one)}" for one in options.break_on)
    flags = {
        "exact": options.exact,
        "no-debug": not options.debug,
        "no-barrier": not options.barrier,
        "prompt": options.prompt,
    }
    yield from (f"--{word}" for word, is_set in flags.items() if is_set)
    for name in _WITH_VALUES:
        if (value := getattr(options, name)) != getattr(Options, name):
            yield f"--{name.replace('_', '-')} {_quoted(str(value))}"


def _quoted(text: str) -> str:
    return text if text and not any(sign in text for sign in " '\"") else f'"{text}"' if "'" in text else f"'{text}'"


def _path_of(path: Any) -> str | None:
    try:
        found = None if path is None else os.fsdecode(path)
    except TypeError:
        msg = f"record must be the path of a folder, got {path!r}"
        raise TypeError(msg) from None
    if found is not None:
        refuse_file(found)
    return found


def _in_bytes(megabytes: float) -> int:
    return int(min(max(megabytes * _MEGABYTE, 1), sys.maxsize))


def _stops(conditions: Sequence[StopCondition]) -> Stops:
    """Return the stops that are compiled into programs."""
    return Stops(
        names=tuple(sorted({name for one in conditions for name in one.names})),
        kinds=tuple(sorted({kind for one in conditions for kind in one.kinds})),
        expressions=tuple(one.text for one in conditions if one.is_expression),
    )


def refuse_unknown(names: Iterable[str]) -> None:
    """Refuse names that are not options, and name the nearest option.

    Raises:
      TypeError: one of the names is not an option.
    """
    for name in names:
        if name not in _known():
            near = difflib.get_close_matches(name, _known(), n=1)
            hint = f" did you mean {near[0]}?" if near else ""
            msg = f"there is no option {name};{hint} there are {', '.join(sorted(_known()))}"
            raise TypeError(msg)


@functools.cache
def _known() -> frozenset[str]:
    parameters = inspect.signature(Options.of).parameters
    return frozenset({*(field.name for field in fields(Options)), *parameters} - {"others"})


def _refuse_count(keep_inputs: int | None) -> None:
    if keep_inputs is not None and (not isinstance(keep_inputs, int | np.integer) or keep_inputs < 0):
        msg = f"keep_inputs must be a whole number from 0 on, got {keep_inputs!r}"
        raise ValueError(msg)
