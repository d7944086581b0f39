"""Keep the inputs of a run's newest calls, so that the calls can be made again."""

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
"""The message if there are no inputs; it says what `keep_inputs` does."""


class KeptInputs(Mapping[int, "Inputs"]):
    """Holds the inputs of the newest calls: call -> inputs. The arrays stay in the memory of their device."""

    def __init__(self, most: int, note: Callable[[str], None]) -> None:
        self._most, self._note = most, note
        self._kept: list[tuple[CallRecord, Inputs]] = []
        self._has_copied = False

    def called(self, record: CallRecord, inputs: Inputs | None) -> None:
        """Keep the inputs of a call that is about to be dispatched."""
        if inputs is None or not self._most:
            return
        self._kept = [*self._kept[-self._most + 1 :], (record, inputs)] if self._most > 1 else [(record, inputs)]
        if inputs.copied and not self._has_copied:
            self._has_copied = True
            self._note(
                f"The inputs of the last {plural(self._most, 'call')} are kept for `jdw.replay`. Those of `{record.name}` have "
                f"{in_bytes(inputs.nbytes)}; {in_bytes(inputs.copied)} of them are copied before each call, because it donates "
                "them (donate_argnums)."
            )

    def clear(self) -> None:
        """Drop all inputs."""
        self._kept = []

    @property
    def nbytes(self) -> int:
        """The bytes of the kept arrays; an array that several calls share counts for each."""
        return sum(inputs.nbytes for _, inputs in self._kept)

    def __getitem__(self, call: int) -> Inputs:
        return next(inputs for record, inputs in self._kept if record.id == call)

    def __iter__(self) -> Iterator[int]:
        return iter([record.id for record, _ in self._kept])

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, call: int) -> Inputs:
        """Return the inputs of a call; a negative number counts from the last one.

        Raises:
          LookupError: the inputs are not kept.
        """
        calls = list(self)
        number = calls[call] if -len(calls) <= call < 0 else call
        if number not in calls:
            raise not_kept(
                call, calls, f"keep_inputs {SEEN}" if self._most else f"capture with keep_inputs=2. It {SEEN}"
            )
        return self[number]


def not_kept(call: int, calls: Sequence[int], remedy: str) -> LookupError:
    """Make the error for a call without kept inputs; it says which calls have some."""
    if not calls:
        return LookupError(f"no inputs of calls are kept: {remedy}")
    return LookupError(f"the inputs of call {call} are not kept; those of {', '.join(map(str, calls))} are")
