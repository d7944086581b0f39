"""The inputs of the last calls of a run, kept so that the calls can be made once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from jax_debug_widgets.events.amounts import in_bytes, plural

if TYPE_CHECKING:
    from jax_debug_widgets._jax.running.inputs import Inputs
    from jax_debug_widgets.session.run.record import CallRecord


SEEN = (
    "keeps the inputs of jitted calls that print, are watched or call the host: add a print, or watch=True (--watch-all). "
    "Inputs of a call inside an un-jitted jax.grad or vmap are not kept: put jax.jit around that as well"
)
"""The message where there are no inputs: what `keep_inputs` does."""


class KeptInputs(Mapping[int, "Inputs"]):
    """Call -> its inputs, of the last calls. Arrays that are kept stay in the memory of their device."""

    def __init__(self, most: int, note: Callable[[str], None]) -> None:
        self._most, self._note = most, note
        self._kept: list[tuple[CallRecord, Inputs]] = []
        self._has_copied = False

    def called(self, record: CallRecord, inputs: Inputs | None) -> None:
        """A call is about to be dispatched."""
        if inputs is None or not self._most:
            return
        self._kept = [*self._kept[-self._most + 1 :], (record, inputs)] if self._most > 1 else [(record, inputs)]
        if inputs.copied and not self._has_copied:
            self._has_copied = True
            self._note(
                f"The inputs of the last {plural(self._most, 'call')} are kept for `jdw.replay`: {in_bytes(inputs.nbytes)} a "
                f"call. {in_bytes(inputs.copied)} of them are copied before each call, because the call donates them "
                "(donate_argnums)."
            )

    def clear(self) -> None:
        """Keep none of them any more."""
        self._kept = []

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are kept; those that several calls share are counted for each."""
        return sum(inputs.nbytes for _, inputs in self._kept)

    def __getitem__(self, call: int) -> Inputs:
        return next(inputs for record, inputs in self._kept if record.id == call)

    def __iter__(self) -> Iterator[int]:
        return iter([record.id for record, _ in self._kept])

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, call: int) -> Inputs:
        """The inputs of a call; negative counts from the last.

        Raises:
          LookupError: they are not kept.
        """
        calls = list(self)
        number = calls[call] if -len(calls) <= call < 0 else call
        if number not in calls:
            raise not_kept(
                call, calls, f"keep_inputs {SEEN}" if self._most else f"capture with keep_inputs=2. It {SEEN}"
            )
        return self[number]


def not_kept(call: int, calls: Sequence[int], remedy: str) -> LookupError:
    """The error where the inputs of a call are asked for, and others are there."""
    there = f"those of {', '.join(map(str, calls))} are" if calls else f"none are: {remedy}"
    return LookupError(f"the inputs of call {call} are not kept; {there}")
