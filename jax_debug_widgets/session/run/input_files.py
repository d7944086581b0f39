"""Write the inputs of a run's newest calls into its file, so that another process can make the calls again; and read them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from jax_debug_widgets.events.amounts import in_bytes
from jax_debug_widgets.session.run.inputs import SEEN, not_kept

if TYPE_CHECKING:
    from jax_debug_widgets.archive.stored_call import StoredCall
    from jax_debug_widgets.archive.writer import RunWriter
    from jax_debug_widgets.session.options import Options
    from jax_debug_widgets.session.run.inputs import KeptInputs

_MOST_BYTES = 1 << 30
"""The most bytes of all inputs in a file without a limit of its own."""

_SHARE_OF_FILE = 4
"""One part in four of the file's limit is for inputs."""

_log = logging.getLogger(__name__)


class KeepsInputs(Protocol):
    """A run as the writing of its inputs uses it."""

    @property
    def options(self) -> Options:
        """The options of its capture."""
        ...

    @property
    def inputs(self) -> KeptInputs:
        """The inputs of its newest calls."""
        ...

    def is_over(self) -> bool:
        """Whether nothing more can happen."""
        ...

    def note(self, sentence: str) -> None:
        """Tell the user something, once."""
        ...


class InputFiles:
    """Keeps the inputs in the file of a run up to date with those in memory."""

    def __init__(self, run: KeepsInputs, writer: RunWriter, bound: int | None) -> None:
        """Start without written inputs; `bound` is the limit of the file in bytes, None for no limit."""
        self._run, self._writer = run, writer
        self._most = _MOST_BYTES if bound is None else bound // _SHARE_OF_FILE
        self._refused: set[int] = set()

    def write(self) -> bool:
        """Write the inputs of the newest calls that are ready and not written yet. Return whether there were any."""
        from jax_debug_widgets.session.run.input_trees import are_ready, stored_call

        kept, has_written, left = dict(self._run.inputs), False, self._most
        for call, inputs in sorted(kept.items(), reverse=True):
            left -= inputs.nbytes
            if left < 0:
                self._refuse(
                    call, f"they have {in_bytes(inputs.nbytes)}, and the file keeps {in_bytes(self._most)} at most"
                )
                break
            if call in self._writer.inputs or call in self._refused:
                continue
            try:
                if not (self._run.is_over() or are_ready((inputs.args, inputs.kwargs))):
                    continue
                name = getattr(inputs.function, "__name__", "")
                self._writer.take_inputs(call, stored_call(name, inputs.args, inputs.kwargs))
                has_written = True
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001 - the rest of the run must be recorded.
                _log.debug("inputs could not be written", exc_info=True)
                self._refuse(call, f"{type(error).__name__}: {error}")
        for call in sorted(self._writer.inputs)[: -self._run.options.kept_inputs]:
            self._writer.forget_inputs(call)
        return has_written

    def _refuse(self, call: int, why: str) -> None:
        if not self._refused:
            self._run.note(
                f"The inputs of call {call} are not in the file: {why}. Inputs of older calls are removed first."
            )
        self._refused.add(call)


class StoredInputs(Mapping[int, "StoredCall"]):
    """Reads the inputs of calls from the file of a run: call -> its inputs."""

    def __init__(self, path: Path, process: int) -> None:
        self._path, self._own = path, f"p{process:05d}"

    def __getitem__(self, call: int) -> StoredCall:
        from jax_debug_widgets.archive.files import files_at
        from jax_debug_widgets.archive.inputs import read_call

        if call not in self._calls():
            raise KeyError(call)
        return read_call(files_at(self._path), self._own, call)

    def __iter__(self) -> Iterator[int]:
        return iter(self._calls())

    def __len__(self) -> int:
        return len(self._calls())

    def of(self, call: int) -> StoredCall:
        """Return the inputs of a call; a negative number counts from the last one.

        Raises:
          LookupError: the inputs are not in the file. RunFileError: they cannot be read.
        """
        calls = self._calls()
        number = calls[call] if -len(calls) <= call < 0 else call
        if number not in calls:
            raise not_kept(call, calls, f"record with keep_inputs=2. It {SEEN}")
        return self[number]

    def _calls(self) -> Sequence[int]:
        from jax_debug_widgets.archive.files import files_at
        from jax_debug_widgets.archive.inputs import calls_with_inputs

        return calls_with_inputs(files_at(self._path), self._own)


def write_inputs(run: Any, writer: RunWriter) -> None:
    """Write the inputs of a run that is saved."""
    InputFiles(run, writer, None).write()
