"""The tracing and compiling of functions, until it is known which calls they were for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets._jax.running.dispatch import Stage
    from jax_debug_widgets.session.run.record import CallRecord
    from jax_debug_widgets.session.run.trace_prints import PrintInCall


class Preparations:
    """Function -> how long we and each stage of its compilation took, and what it printed while it was traced. Not locked."""

    def __init__(self) -> None:
        self._compiled: dict[str, dict[Stage, float]] = {}
        self._prepared: dict[str, float] = {}
        self._printed: dict[str, list[PrintInCall]] = {}

    def compiled(self, stage: Stage, function: str, seconds: float) -> None:
        """A stage has ended. Of functions traced inside others the outermost comes last, and includes them."""
        self._compiled.setdefault(function, {})[stage] = seconds

    def compiled_by_numba(self, function: str, seconds: float) -> None:
        """Note that Numba has taken so many further seconds of a function's preparation."""
        if seconds > 0:
            stages = self._compiled.setdefault(function, {})
            stages["numba"] = stages.get("numba", 0.0) + seconds

    def prepared(self, function: str, seconds: float) -> None:
        """We have changed its program; JAX lowers it next."""
        self._prepared[function] = seconds

    def printed(self, traced: PrintInCall) -> None:
        """A function has printed while it was traced, outside all calls of the cell."""
        self._printed.setdefault(traced.told.function, []).append(traced)

    def hand_over(self, record: CallRecord) -> None:
        """Give the preparations of this call's function to the call."""
        stages, prepared = self._compiled.pop(record.function, {}), self._prepared.pop(record.function, 0.0)
        if "lower" in stages:
            stages["lower"] += prepared
        record.stages.update(stages)
        for traced in self._printed.pop(record.function, ()):
            record.take_print(traced)

    def compilations(self) -> dict[str, float]:
        """The compilations that were for no call, e.g. un-jitted operations: name -> seconds."""
        return {name: sum(stages.values()) for name, stages in self._compiled.items() if "compile" in stages}
