"""Describe a Python `print` that ran while a function was being traced."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TracePrint:
    """A `print` that ran because JAX traced its function: once a trace, not once a call.

    Attributes:
      text: the text that it wrote to stdout, with the newline at its end.
      where: the place of the call: `train.py:12`.
      function: the name of the traced function, `step`; or the un-jitted transformation: `grad`, `vmap`.
      inside: the control flow in the function that was traced then, `("scan",)`.
      why: why JAX traced the function, in words.
      trace: the number of the trace in the process; prints of the same trace have the same number.
      call: id of the call that traced the function, see `Run.calls`; -1 if no call of the run did.
      time_ns: nanoseconds since the run started.
    """

    text: str
    where: str
    function: str
    inside: tuple[str, ...]
    why: str
    trace: int
    call: int
    time_ns: int

    def __str__(self) -> str:
        path = " > ".join((self.function, *self.inside))
        return f"{self.where} in {path}: {self.text.rstrip()} ({self.why})"
