"""Represent a call of the cell that has begun."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.record import CallRecord


class OpenCalls(Protocol):
    """Ends calls that have begun."""

    def end(self, record: CallRecord, result: object) -> None:
        """Note that the call has returned."""
        ...

    def abandon(self, record: CallRecord, error: BaseException | None) -> None:
        """Note that the call has raised."""
        ...


@dataclass(frozen=True)
class CallSpan:
    """A call of the cell that has begun. Exactly one of `returned` and `raised` ends it."""

    log: OpenCalls
    record: CallRecord

    def returned(self, result: object) -> None:
        """Note that the call has returned `result`."""
        self.log.end(self.record, result)

    def raised(self, error: BaseException | None) -> None:
        """Note that the call has raised `error`; None if the cell caught the exception."""
        self.log.abandon(self.record, error)
