"""Keep the times of tracing and compiling functions until it is known which calls they were for."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets._jax.running.dispatch import Stage
    from jax_debug_widgets.session.run.record import CallRecord
    from jax_debug_widgets.session.run.trace_prints import PrintInCall


@dataclass
class _Compiled:
    """The compilations of one function.

    Attributes:
      stages: the seconds of each stage of the last program.
      programs: the number of compiled programs.
      seconds: the seconds of tracing, lowering and compiling all of them.
    """

    stages: dict[Stage, float] = field(default_factory=dict["Stage", float])
    programs: int = 0
    seconds: float = 0.0


class Preparations:
    """Holds for each function the time of each compilation stage, and its prints while it was traced. It uses no lock."""

    def __init__(self) -> None:
        self._compiled = defaultdict[str, _Compiled](_Compiled)
        self._prepared: dict[str, float] = {}
        self._printed: dict[str, list[PrintInCall]] = {}
        self._retraced: dict[str, str | None] = {}

    def compiled(self, stage: Stage, function: str, seconds: float) -> None:
        """Note that a stage has ended. The seconds of an outer function include those of inner ones."""
        compiled = self._compiled[function]
        compiled.stages[stage] = seconds
        compiled.seconds += seconds
        compiled.programs += stage == "compile"

    def compiled_by_numba(self, function: str, seconds: float) -> None:
        """Add the seconds that Numba took in a function's preparation."""
        if seconds > 0:
            stages = self._compiled[function].stages
            stages["numba"] = stages.get("numba", 0.0) + seconds

    def prepared(self, function: str, seconds: float) -> None:
        """Note the seconds in which this package changed a function's program. JAX lowers it next."""
        self._prepared[function] = seconds

    def printed(self, traced: PrintInCall) -> None:
        """Note that a function printed while it was traced, outside all calls of the cell."""
        self._printed.setdefault(traced.trace_print.function, []).append(traced)

    def retraced(self, function: str, why: str | None) -> None:
        """Note why a function was traced again; None if it was its first trace."""
        self._retraced[function] = why

    def hand_over(self, record: CallRecord) -> None:
        """Give the preparations of this call's function to the call."""
        stages = self._compiled.pop(record.function, _Compiled()).stages
        prepared = self._prepared.pop(record.function, 0.0)
        if "lower" in stages:
            stages["lower"] += prepared
        record.stages.update(stages)
        record.retraced = self._retraced.pop(record.function, record.retraced)
        for traced in self._printed.pop(record.function, ()):
            record.take_print(traced)

    def compilations(self) -> dict[str, float]:
        """Return the compilations that were for no call, e.g. un-jitted operations: name -> seconds."""
        return {name: sum(one.stages.values()) for name, one in self._compiled.items() if one.programs}

    def apart(self) -> tuple[int, float]:
        """Return the number of programs that were compiled for no call, and their seconds of tracing and compiling together."""
        apart = [one for one in self._compiled.values() if one.programs]
        return sum(one.programs for one in apart), sum(one.seconds for one in apart)
