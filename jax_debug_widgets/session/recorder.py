"""Write a run to a folder while the run goes on. A separate thread writes, so nothing else waits for the disk."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from jax_debug_widgets._jax.compat.processes import recorded_together
from jax_debug_widgets.archive import RunFileError
from jax_debug_widgets.archive.layout import refuse_zip
from jax_debug_widgets.events.amounts import in_bytes
from jax_debug_widgets.session.clock import clock_for
from jax_debug_widgets.session.following import Followed
from jax_debug_widgets.session.rendezvous import Rendezvous
from jax_debug_widgets.session.run import saved
from jax_debug_widgets.session.run.call_rows import CallRows
from jax_debug_widgets.session.run.input_files import InputFiles
from jax_debug_widgets.session.run.save import begin, require_pyarrow
from jax_debug_widgets.session.run.unwritten import Unwritten
from jax_debug_widgets.session.termination import TERMINATION

if TYPE_CHECKING:
    from jax_debug_widgets.archive.writer import RunWriter
    from jax_debug_widgets.session.options import Options
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.session.run.view import RunView

VARIABLE = "JDW_RECORD"
"""The environment variable that names the folder if the capture does not."""

_PAUSE_S, _STATE_S = 0.5, 2.0
"""Seconds between two writes of events; and seconds between two writes of the state, with a wait for the disk."""

_SHARE = 1 / 50
"""The largest share of time spent on writing the state, and on writing inputs."""

_PART_ROWS, _PART_BYTES, _PARTS = 1_000_000, 64 << 20, 8
"""A file is sealed at this number of events or bytes. With `record_max_mb` files are smaller, so that at least `_PARTS` fit."""

_WAITING_BYTES = 256_000_000
"""The bytes of events that may wait to be written; more if the run may hold more in memory."""

_HURRY_S = 10.0
"""How long a process that receives SIGTERM waits until its events are written; schedulers grant half a minute."""

_log = logging.getLogger(__name__)


class Recorder:
    """Writes one run.

    Attributes:
      folder: the folder of the run.
      stopped: why the recording stopped before the run was over; empty if it did not.
    """

    def __init__(
        self, run: Run, writer: RunWriter, collect: Callable[[], None], place: str, warn: Callable[[str], None]
    ) -> None:
        """Start the thread.

        Args:
          run, writer: the run, and what writes its files.
          collect: moves firings into the store.
          place: the folder of the run, written the same in all processes.
          warn: called with a note that the user must see, also without a panel.
        """
        self.folder, self.stopped, self._warn = writer.folder, "", warn
        self._run, self._writer, self._collect = run, writer, collect
        self._queue = Unwritten()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._wake, self._flushed = threading.Event(), threading.Event()
        self._is_stopped = self._has_state = False
        self._calls, self._spans, self._sites = CallRows(run.call_log), 0, 0
        self._state_at, self._state_pause = 0.0, _STATE_S
        bound = run.options.record_max_mb
        self._bound = None if bound is None else int(bound * 1_000_000)
        self._part_bytes = _PART_BYTES if bound is None else max(min(_PART_BYTES, int(bound * 1_000_000) // _PARTS), 1)
        self._inputs = InputFiles(run, writer, self._bound)
        self._inputs_at = 0.0
        self._most_waiting = max(_WAITING_BYTES, run.options.budget.nbytes)
        self._process = os.getpid()
        atexit.register(self.finish)
        run.when_renamed(self._renamed)
        run.store.follow(self._queue.add)
        self._thread = threading.Thread(target=self._loop, name="jaxdebug-record", daemon=True)
        self._thread.start()
        TERMINATION.call_before(self._hurry)
        self._clock = clock_for(place, self._measured)

    def _measured(self, ahead: float, error: float) -> None:
        """Write how many seconds the clock of this process is ahead of process 0's, and the error in seconds."""
        with self._lock:
            self._guarded(lambda: self._writer.write_clock(ahead, error))

    def finish(self) -> None:
        """Write the rest and seal the run, when the run is over or the process ends."""
        if self._ended.is_set() or os.getpid() != self._process:
            return
        if self._clock is not None:
            self._clock.stop()
        self._ended.set()
        self._wake.set()
        TERMINATION.forget(self._hurry)
        self._flushed.set()
        atexit.unregister(self.finish)
        with self._lock:
            self._guarded(self._seal)
            self._run.store.follow(None)
            with contextlib.suppress(OSError, ValueError):
                self._writer.close()

    def discard(self) -> None:
        """Delete the folder, as if the run had never begun."""
        with self._lock:
            self._is_stopped = True
            self._run.store.follow(None)
            with contextlib.suppress(OSError):
                self._writer.discard()
        self.finish()

    def _renamed(self, run: RunView) -> None:
        """Write the new name of an ended run. A run that goes on writes its name with the state."""
        if self._ended.is_set() and os.getpid() == self._process:
            with contextlib.suppress(OSError, ValueError):
                self._writer.rename(run.name)

    def _hurry(self) -> None:
        """Write all events now, because the process has received SIGTERM."""
        self._wake.set()
        self._flushed.wait(_HURRY_S)

    def _loop(self) -> None:
        followed, took, before = Followed(self.folder), 0.0, 0.0
        while True:
            # One slow write, as the first or one with the state, does not delay the next ones.
            is_hurried = self._wake.wait(followed.pause(_PAUSE_S, min(took, before)))
            began = time.thread_time()
            if self._ended.is_set():
                return
            collected_ns = time.perf_counter_ns() - self._run.life.origin_ns
            with contextlib.suppress(Exception):  # The pump calls it too, and reports its errors.
                self._collect()
            with self._lock:
                if self._is_stopped or self._ended.is_set():
                    return
                if is_hurried:
                    self._state_at = self._inputs_at = 0.0
                self._guarded(partial(self._write, collected_ns))
            if is_hurried:
                self._wake.clear()
                self._flushed.set()
            took, before = time.thread_time() - began, took

    def _guarded(self, write: Callable[[], None]) -> None:
        """Call `write`; if it fails, stop recording with a note. The program goes on."""
        if self._is_stopped:
            return
        try:
            write()
        except OSError as error:
            self._stop(error.strerror or str(error))
        except Exception as error:  # noqa: BLE001
            _log.exception("jax_debug_widgets could not record a run")
            self._stop(f"{type(error).__name__}: {error}")

    def _stop(self, why: str) -> None:
        self._is_stopped = True
        self._flushed.set()
        self._run.store.follow(None)
        self._queue.clear()
        self.stopped = f"Recording stopped: {why}. {self.folder} has what came before."
        self._run.note(self.stopped)
        self._warn(self.stopped)
        with contextlib.suppress(Exception):
            self._writer.stop(why)

    def _write(self, collected_ns: int | None = None) -> None:
        """Write the events that have come since the last time, and the calls, see `CallRows.take`."""
        if (waiting := self._queue.nbytes) > self._most_waiting:
            raise OSError(f"{in_bytes(waiting)} came faster than they could be written")
        while pieces := self._queue.take(self._part_bytes):
            self._writer.take(pieces)
            self._make_room()
        self._writer.take_calls(self._calls.take(collected_ns))
        spans = self._run.call_log.spans.since(self._spans)
        self._spans = spans.first + len(spans.site)
        self._writer.take_spans(spans)
        if time.monotonic() - self._state_at >= self._state_pause:
            # The program may change a container while it is read; the next write tries again.
            with contextlib.suppress(RuntimeError):
                self._write_state()
            self._write_inputs()
            self._writer.sync()

    def _write_inputs(self) -> None:
        """Write the kept inputs, unless that would take more than its share of the time."""
        began = time.monotonic()
        if self._run.options.kept_inputs and began >= self._inputs_at and self._inputs.write():
            self._inputs_at = began + (time.monotonic() - began) / _SHARE

    def _make_room(self) -> None:
        """Seal the file if it is large enough, and drop the oldest files beyond the bound."""
        if self._writer.live_rows >= _PART_ROWS or self._writer.live_bytes >= self._part_bytes:
            if not self._has_state:  # A reader takes sealed files without a state for those of a run that is over.
                self._writer.write_state({"written": time.time(), "is_over": False})
                self._has_state = True
            self._writer.seal()
        while self._bound is not None and self._writer.nbytes > self._bound and self._writer.let_go():
            pass

    def _write_state(self) -> None:
        began = time.monotonic()
        sites = len(self._run.store.sites())
        if sites != self._sites:
            self._sites = sites
            self._writer.take_sources(saved.sources(self._run))
        state = saved.state(self._run, has_all=True)
        if state["is_over"] and not self._ended.is_set():
            return  # Its last events may not be written yet. `finish` writes them, and then this state.
        self._writer.write_state({**state, "dropped": dict(self._writer.dropped)})
        self._has_state = True
        self._state_at = time.monotonic()
        self._state_pause = max(_STATE_S, (self._state_at - began) / _SHARE)

    def _seal(self) -> None:
        self._collect()
        self._write()
        self._sites = -1
        self._inputs_at = 0.0
        self._write_inputs()
        self._write_state()
        self._writer.seal()


def refuse_without_pyarrow(options: Options) -> None:
    """Refuse to record without pyarrow; called before a capture begins.

    Raises:
      ImportError: pyarrow is not installed.
    """
    if _folder_for(options):
        require_pyarrow("Recording")


def _folder_for(options: Options) -> str | None:
    return options.record or os.environ.get(VARIABLE)


def recorder_of(run: Run, collect: Callable[[], None], warn: Callable[[str], None]) -> Recorder | None:
    """Make the recorder of a run, see `Recorder`.

    It is None if the run is not to be recorded, or if its folder cannot be made; a note says why.
    """
    wanted = _folder_for(run.options)
    if not wanted or not run.is_captured:
        return None
    try:
        refuse_zip(wanted)
        folder = Path(wanted).expanduser().absolute()  # The program may change the working directory.
        writer = _writer(run, folder)
        if writer.folder != folder:
            run.note(f"{wanted} is there already: this run is recorded into {writer.folder}.")
        return Recorder(run, writer, collect, wanted, warn)
    except (OSError, RunFileError) as error:
        run.note(f"This run is not recorded: {error}.")
        return None


def _writer(run: Run, wanted: Path) -> RunWriter:
    """Make the writer for the first of `run.jdw`, `run-2.jdw`, … that does not exist; the same in all processes.

    Raises:
      OSError: the folder cannot be made.
    """
    with Rendezvous(str(wanted)) as rendezvous:
        agreed = rendezvous.wait()
        for number in itertools.count(1):
            name = wanted.name if number == 1 else f"{wanted.stem}-{number}{wanted.suffix}"
            with contextlib.suppress(RunFileError):
                writer = begin(run, wanted.with_name(agreed or name), processes=recorded_together())
                rendezvous.publish(writer.folder.name)
                return writer
            agreed = None
    raise AssertionError
