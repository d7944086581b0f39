"""What Python's `print` wrote while a function was being traced."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TracePrint:
    """One `print` that ran because JAX traced the function it stands in: once a trace, not once a call.

    Attributes:
      text: what it wrote to stdout, the newline at its end too.
      where: the place of the call: `train.py:12`.
      function: the function that was traced, `step`; or the un-jitted transformation: `grad`, `vmap`.
      inside: the control flow in it that was traced then, `("scan",)`.
      why: why it was traced, in words.
      trace: counts the traces of the process: prints of the same trace have the same number.
      call: id of the call that traced it, see `Run.calls`; -1 where none of these did.
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
