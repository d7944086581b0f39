"""Define the settings of a capture that are compiled into its programs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property


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
    twin: Settings | None = None

    @cached_property
    def taking_checks(self) -> Settings:
        """These settings for programs that return the hits of checks among their results."""
        return replace(self, takes_checks=True)

    @cached_property
    def handing(self) -> Settings | None:
        """These settings for programs that return small prints as results; None with `echo`, which writes at once."""
        return replace(self, hands_over=True) if self.debug and not self.echo else None
