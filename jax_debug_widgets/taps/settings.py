"""The settings of a capture that are compiled into the programs that it sees."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property


@dataclass(frozen=True)
class Settings:
    """The settings that are compiled into a captured program. Equal settings share executables.

    Attributes:
      echo: prints are also written to stdout, when they fire, as JAX writes them.
      watch: which values are watched, as the room that watches says it; None for none.
      debug: False to compile programs without what they say through `jax.debug`.
      every: of how many firings of a site one is recorded.
      box: which box is filled; captures in several threads at once have one each.
      processes: how many processes of the job have agreed to compile the same; 1 for this one only.
      hands_over: whether programs that can give what they say among their results, see `_jax.passes.result_passing`.
      check: what programs are checked for while they run, see `_jax.passes.checking`.
      takes_checks: whether a program is called, so that what is found may be among its results.
      twin: with which settings a watched twin of each program runs beside it, see `_jax.running.twins`; None for no twin.
      keeps_inputs: whether what functions are called with is kept, so that Python dispatches them.
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
        """These settings for programs that return what the checks found among their results."""
        return replace(self, takes_checks=True)

    @cached_property
    def handing(self) -> Settings | None:
        """These settings for programs that return small prints as results; None with `echo`, which writes at once."""
        return replace(self, hands_over=True) if self.debug and not self.echo else None
