"""Show exceptions of a script as they would be shown without this package."""

from __future__ import annotations

import sys
import threading
from types import TracebackType


def show_errors_of_the_script() -> None:
    """Show uncaught exceptions with the script's own hook, without the frames that run the script."""
    hook = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        error.__traceback__ = _behind_ours(traceback)
        _strip(error)
        hook(kind, error, error.__traceback__)

    sys.excepthook = show


def show_errors_of_threads() -> None:
    """Show uncaught exceptions of threads without our frames, with the script's own hook."""
    hook = threading.excepthook

    def show(raised: threading.ExceptHookArgs) -> None:
        error = raised.exc_value
        if error is not None:
            _strip(error)
            raised = threading.ExceptHookArgs((raised.exc_type, error, error.__traceback__, raised.thread))
        hook(raised)

    threading.excepthook = show


def _strip(error: BaseException) -> None:
    # Otherwise there are no frames of ours, and importing the module would import JAX.
    if "jax_debug_widgets.session" in sys.modules:
        from jax_debug_widgets.magics.capture_cell import without_our_frames

        without_our_frames(error)


def _behind_ours(traceback: TracebackType | None) -> TracebackType | None:
    """Return the frames after the last one of this package; frames of `runpy`, which has run it, come before."""
    found, one = traceback, traceback
    while one is not None:
        if str(one.tb_frame.f_globals.get("__name__", "")).startswith(f"{__package__}."):
            found = one.tb_next
        one = one.tb_next
    return found
