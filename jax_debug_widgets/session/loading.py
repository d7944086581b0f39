"""Load runs from files into the session, so that its panels show them."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from jax_debug_widgets.session.run.loaded import LoadedRun
from jax_debug_widgets.session.run.save import require_pyarrow
from jax_debug_widgets.store import Budget

if TYPE_CHECKING:
    from jax_debug_widgets.session.ports import Loading

LOADED_MB = 2048.0
"""How much of the values of a run is loaded, in MiB, unless said otherwise."""

_MEBIBYTE = 1 << 20


def load(session: Loading, path: str | PathLike[str], *, max_mb: float) -> LoadedRun:
    """See `jax_debug_widgets.load`."""
    require_pyarrow("load()")
    from jax_debug_widgets.archive.reader import read_run

    at = Path(path).expanduser()
    saved = read_run(at, Budget(events=1 << 40, nbytes=max(int(max_mb * _MEBIBYTE), 1)))
    run = LoadedRun(at, saved, session.panels.of)
    session.take_loaded(run)
    return run
