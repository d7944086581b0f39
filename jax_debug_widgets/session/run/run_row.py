"""Make a row of a table of runs from the file of a run, without reading its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.archive.layout import stem_of
from jax_debug_widgets.archive.plain import from_plain
from jax_debug_widgets.session.run.facts import cell_of, config_of, name_of
from jax_debug_widgets.session.run.run_summary import RunSummary, outline

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.loaded import LoadedRun


@dataclass(frozen=True)
class RunRow:
    """One run of a table.

    Attributes:
      path: the path of its file.
      name: the user's name for it; empty without one.
      title: its title, which says what was run.
      state: how it has ended; `interrupted` also if its process is still running.
      started: seconds since the epoch.
      elapsed: seconds until its end, or until its last write.
      events: the number of its events.
      findings: the number of its findings.
      outline: its most important value, its steps and their speed.
      options: the options of its capture that the user set.
      config: the user's settings for comparing runs.
      cell: the number of its cell; None without a cell, or if it is not known.
      asked: the options as they are written after `%%jaxdebug`.
      key: the key of the run in messages to the browser.
      of_one: whether one process has written it.
    """

    path: Path
    name: str
    title: str
    state: str
    started: float
    elapsed: float
    events: int
    findings: int
    outline: RunSummary
    options: Mapping[str, Any]
    config: Mapping[str, Any]
    cell: int | None = None
    asked: str = ""
    key: str = ""
    of_one: bool = True

    @property
    def called(self) -> str:
        """The name that distinguishes it: the user's name, else the name of its file."""
        return self.name or stem_of(self.path)


def row_of(
    path: Path,
    about: Mapping[str, Any],
    state: Mapping[str, Any],
    load: Callable[[], LoadedRun],
    *,
    of_one: bool = True,
) -> RunRow:
    """Make the row of a run.

    Args:
      load: reads the whole run, if its state in the file is not enough.
      of_one: whether one process has written it. Each of several processes has its own state.
    """
    outlined, status = state.get("outline"), state.get("status")
    if isinstance(outlined, dict) and isinstance(status, dict) and state.get("is_over") and of_one:
        found, findings = from_plain(RunSummary, outlined), outlined.get("findings", 0)
        title, how, elapsed, events = (status.get(name) for name in ("title", "state", "elapsed", "events"))
    else:
        run = load()
        found, findings, now = outline(run), len(run.findings), run.status()
        title, how, elapsed, events = now.title, now.state, now.elapsed, now.events
    started = about.get("started")
    return RunRow(
        path=path,
        name=name_of(about, state),
        title=str(title),
        state=str(how),
        started=float(started) if isinstance(started, int | float) else 0.0,
        elapsed=float(elapsed) if isinstance(elapsed, int | float) else 0.0,
        events=events if isinstance(events, int) else 0,
        findings=findings if isinstance(findings, int) else 0,
        outline=found,
        options=_asked_for(about.get("options")),
        config=config_of(about, state),
        cell=cell_of(about),
        asked=str(about.get("asked", "")),
        of_one=of_one,
    )


def _asked_for(options: Any) -> dict[str, Any]:
    """Return the options that differ from the defaults, as they are written."""
    if not isinstance(options, dict):
        return {}
    watch = options.get("watch")
    found: dict[str, Any] = {}
    if isinstance(watch, dict):
        names = watch.get("names")
        found["watch"] = (
            "all" if watch.get("everything") else ",".join(map(str, names if isinstance(names, list) else []))
        )
        wishes = ("ops", "values", "histograms", "lanes", "when")
        found |= {name: watch[name] for name in wishes if watch.get(name)}
    if isinstance(options.get("every"), int) and options["every"] > 1:
        found["every"] = options["every"]
    if options.get("break_on"):
        found["break_on"] = ", ".join(map(str, options["break_on"]))
    return found
