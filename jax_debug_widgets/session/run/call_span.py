"""A call of the cell that is under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.record import CallRecord


class OpenCalls(Protocol):
    """The calls that are under way."""

    def end(self, record: CallRecord, result: object) -> None:
        """The call has returned."""
        ...

    def abandon(self, record: CallRecord, error: BaseException | None) -> None:
        """The call has raised."""
        ...


@dataclass(frozen=True)
class CallSpan:
    """A call of the cell that is under way; exactly one of the two ends it."""

    log: OpenCalls
    record: CallRecord

    def returned(self, result: object) -> None:
        """Note that the call has returned `result`."""
        self.log.end(self.record, result)

    def raised(self, error: BaseException | None) -> None:
        """Note that the call has raised `error`; None where the cell caught it."""
        self.log.abandon(self.record, error)
