"""Define the settings of a capture that are compiled into its programs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, cast


class SampledWatch(Protocol):
    """What `Settings.watch` has.

    Attributes:
      every: one of `every` calls, or iterations, is watched.
      of_taken_calls: whether the program runs only in calls that are watched.
    """

    every: int
    of_taken_calls: bool

    def in_calls(self, *, taken: bool) -> Hashable:
        """Return the same with this value of `of_taken_calls`."""
        ...


@dataclass(frozen=True)
class Settings:
    """The settings that are compiled into a captured program. Equal settings share executables.

    Attributes:
      echo: whether prints are also written to stdout when they fire, as in plain JAX.
      watch: selects the watched values, as the room `watch` defines it; None to watch nothing.
      debug: False to compile programs without their `jax.debug` calls.
      every: one firing of `every` at a site is recorded.
      box: the number of the box that recorders fill. Captures that run at once in several threads have one box each.
      processes: the number of processes of the job that have agreed to compile the same programs; 1 for this one only.
      hands_over: whether programs return small prints among their results, see `_jax.passes.result_passing`.
      check: the checks that programs contain, see `_jax.passes.checking`.
      takes_checks: whether a program may return the hits of checks as further results.
      twin: the settings of a watched twin that runs beside each program, see `_jax.running.twins`; None for no twin.
      is_left_out: whether programs run only in those calls that a sampled watch leaves out.
      keeps_inputs: whether the arguments of each call are kept. Python then dispatches the calls.
    """

    echo: bool = False
    watch: Hashable = None
    debug: bool = True
    every: int = 1
    box: int = 0
    processes: int = 1
    hands_over: bool = False
    check: tuple[str, ...] = ()
    takes_checks: bool = False
    keeps_inputs: bool = False
    is_left_out: bool = False
    twin: Settings | None = None

    @cached_property
    def of_calls(self) -> tuple[Settings, Settings] | None:
        """The settings for calls that are not watched, and for those that are; None if each call is watched."""
        watch = cast("SampledWatch | None", self.watch)
        if watch is None or watch.every == 1 or watch.of_taken_calls:
            return None
        return replace(self, watch=None, is_left_out=True), replace(self, watch=watch.in_calls(taken=True))

    @cached_property
    def taking_checks(self) -> Settings:
        """These settings for programs that return the hits of checks among their results."""
        return replace(self, takes_checks=True)

    @cached_property
    def handing(self) -> Settings | None:
        """These settings for programs that return small prints as results; None with `echo`, which writes at once."""
        return replace(self, hands_over=True) if self.debug and not self.echo else None
