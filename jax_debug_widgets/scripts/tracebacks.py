"""Show exceptions of a script as the script alone would show them."""

from __future__ import annotations

import sys
import threading
from types import TracebackType


def show_errors_of_the_script() -> None:
    """What the script leaves uncaught is shown by the script's own hook, without the frames that have led to the script."""
    hook = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        error.__traceback__ = _behind_ours(traceback)
        _strip(error)
        hook(kind, error, error.__traceback__)

    sys.excepthook = show


def show_errors_of_threads() -> None:
    """Show the errors of threads in the same way."""
    hook = threading.excepthook

    def show(told: threading.ExceptHookArgs) -> None:
        error = told.exc_value
        if error is not None:
            _strip(error)
            told = threading.ExceptHookArgs((told.exc_type, error, error.__traceback__, told.thread))
        hook(told)

    threading.excepthook = show


def _strip(error: BaseException) -> None:
    if (
        "jax_debug_widgets.session" in sys.modules
    ):  # Else nothing of ours is among the frames, and JAX not to be imported.
        from jax_debug_widgets.magics.capture_cell import without_our_frames

        without_our_frames(error)


def _behind_ours(traceback: TracebackType | None) -> TracebackType | None:
    """The frames after those of this package, which come first; `runpy`, which has run it, comes before them."""
    found, one = traceback, traceback
    while one is not None:
        if str(one.tb_frame.f_globals.get("__name__", "")).startswith(f"{__package__}."):
            found = one.tb_next
        one = one.tb_next
    return found
