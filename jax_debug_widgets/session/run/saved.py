"""Make the facts about a run for its file, besides its events and calls."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from jax_debug_widgets.archive.plain import as_plain
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.session.run import report
from jax_debug_widgets.session.run.run_summary import outline

if TYPE_CHECKING:
    from jax_debug_widgets.events import Finding, Status, TracePrint
    from jax_debug_widgets.session.options import Options


class Written(report.Reported, Protocol):
    """A run as the writing to a file uses it."""

    config: dict[str, Any]
    cell: int | None
    asked: str

    @property
    def name(self) -> str:
        """See `RunView`."""
        ...

    @property
    def findings(self) -> list[Finding]:
        """See `Run`."""
        ...

    @property
    def trace_prints(self) -> list[TracePrint]:
        """See `Run`."""
        ...

    @property
    def compilations(self) -> dict[str, float]:
        """See `Run`."""
        ...

    def status(self) -> Status:
        """See `Run`."""
        ...

    def is_over(self) -> bool:
        """See `Run`."""
        ...

    def source_of(self, file: str) -> Mapping[str, Any]:
        """See `Run`."""
        ...


def about(run: Written, package: str) -> dict[str, Any]:
    """Return the facts about a run that are known when it begins."""
    import jax

    return {
        "writer": package,
        "jax": jax.__version__,
        "key": run.key,
        "name": run.name,
        "title": run.title,
        "cell": run.cell,
        "asked": run.asked,
        "config": plain_config(run.config),
        "options": _plain_options(run.options),
        "record_max_mb": run.options.record_max_mb,
        "started": run.life.started,
        "host": socket.gethostname(),
        "pid": os.getpid(),
    }


def state(run: Written, *, has_all: bool = False) -> dict[str, Any]:
    """Return the state of the run as it is now. With `has_all`, the file also has the events that memory has dropped."""
    run.collect()
    status, left_out = run.status(), set(report.of_what_is_let_go(run) if has_all else ())
    lost = run.store.dropped - run.store.oldest if has_all else 0
    overview_notes = (
        [f"{plural(lost, 'event')} came faster than memory holds, and are in no file: --max-mb makes room."]
        if lost
        else []
    )
    return {
        "written": time.time(),
        "is_over": run.is_over(),
        "title": run.title,
        "name": run.name,
        "config": plain_config(run.config),
        "status": as_plain(
            replace(status, notes=(*(note for note in status.notes if note not in left_out), *overview_notes))
        ),
        "findings": as_plain(report.findings(run)),
        "outline": {**as_plain(outline(run)), "findings": len(run.findings)},
        "trace_prints": as_plain(run.trace_prints),
        "compilations": run.compilations,
        "watched": [as_plain(site) for site in list(run.watched)],
        "dropped": run.store.dropped_by_site(),
        "dropped_calls": run.call_log.dropped,
    }


def sources(run: Written) -> dict[str, Mapping[str, Any]]:
    """Return file -> text, for the source files of the run that are available."""
    found = {}
    for file in dict.fromkeys(site.file for site in run.store.sites()):
        try:
            found[file] = run.source_of(file)
        except LookupError:
            continue
    return found


def plain_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of a run for JSON; a value that JSON does not have becomes its `repr`."""
    return {str(name): _plain(value) for name, value in config.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic) or (hasattr(value, "__array__") and getattr(value, "ndim", None) == 0):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return plain_config(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return repr(value)


def _plain_options(options: Options) -> dict[str, Any]:
    left_out = ("config", "title", "name", "record", "record_max_mb")
    return {one.name: as_plain(getattr(options, one.name)) for one in fields(options) if one.name not in left_out}
