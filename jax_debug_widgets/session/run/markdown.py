"""Write a run as one Markdown text for others: facts, findings with their source lines, values, last lines."""

from __future__ import annotations

import base64
import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.events.amounts import plural, plural_came
from jax_debug_widgets.events.cut import cut
from jax_debug_widgets.session.run.counters import Counters
from jax_debug_widgets.session.run.headline import headline, numbers_of
from jax_debug_widgets.session.run.naming import SelectedValue
from jax_debug_widgets.session.run.ports import Readable
from jax_debug_widgets.session.run.run_summary import outline
from jax_debug_widgets.session.run.sources import lines_up_to, place_of
from jax_debug_widgets.session.run.strands import Strands
from jax_debug_widgets.session.run.written import as_written

if TYPE_CHECKING:
    from jax_debug_widgets.events import Finding

_VALUES, _LINES, _CHARACTERS, _LINES_OF_ONE = 12, 20, 300, 6
_PACKAGES = "jax", "jaxlib", "numpy", "jax-debug-widgets", "flax", "equinox", "optax"
_LINES_BEFORE = 2


def report(run: Readable, picture: str = "") -> str:
    """Return the text. Empty sections are left out; `picture` is an SVG."""
    run.collect()
    found = run.findings
    messages = {one.message for one in found}
    notes = [note for note in run.notes if note not in messages]
    sections = {
        "Findings": "\n\n".join(_finding(run, one) for one in found),
        "Values": "\n".join(_values(run)),
        "Last lines": _fenced(_last_lines(run), ""),
        "Notes": "\n".join(f"- {note}" for note in notes),
        "Versions": ("Read from a file with " if run.is_loaded else "") + ", ".join(_versions(run)),
    }
    parts = [f"## {title}\n\n{text}" for title, text in sections.items() if text]
    title = f"{run.name} ({run.title})" if run.name not in ("", run.title) else run.title
    data = base64.b64encode(picture.encode("utf-8", "backslashreplace")).decode()
    drawn = [f"![Overview](data:image/svg+xml;base64,{data})"] if picture else []
    return "\n\n".join([f"# {_one_line(title)}", _facts(run), *drawn, *parts]) + "\n"


def _facts(run: Readable) -> str:
    status, about, calls = run.status(), outline(run), run.call_log.newest + 1
    facts = [status.state, *([plural(calls, "call")] if calls else []), plural_came(status.events)]
    if run.checked_calls:
        facts.append(f"{plural(run.checked_calls, 'call')} checked")
    if about.value and about.last is not None:
        strand = f" ({about.strand})" if about.strand else ""
        facts.append(f"`{about.value}` {about.last:.4g}{strand} after {plural(about.steps, 'step')}")
    if about.ms_a_step is not None:
        facts.append(f"{about.ms_a_step:.3g} ms a step")
    if status.dropped:
        facts.append(f"{plural_came(status.dropped)} dropped")
    return " · ".join(facts)


def _finding(run: Readable, finding: Finding) -> str:
    where = finding.where or (finding.site.where if finding.site else "")
    headline_ = finding.headline or finding.message.removeprefix(f"{where}: ")
    file, line = place_of(finding)
    parts = [f"**{where}: {headline_}**" if where else f"**{headline_}**"]
    parts.append(_fenced(_source(run, file, line), "python"))
    parts.append(finding.why)
    if finding.fix:
        parts += ["Write:", _fenced(finding.fix, "python")]
    parts.append(finding.advice)
    if finding.followed_by:
        labels = [f"`{one.site.label}`" for one in finding.followed_by if one.site]
        parts.append(f"{plural(len(finding.followed_by), 'other')} later: {', '.join(labels[:8])}.")
    return "\n\n".join(filter(None, parts))


def _source(run: Readable, file: str, line: int) -> list[str]:
    """Return a line and the lines above it, numbered; the line itself is marked."""
    lines = [as_written(one) for one in lines_up_to(run, file, line, before=_LINES_BEFORE)]
    shown = enumerate(lines, line - len(lines) + 1)
    return [f"{'>' if number == line else ' '} {number:4} | {text}" for number, text in shown]


def _values(run: Readable) -> Iterator[str]:
    """Yield a row for each of the most important values: its first and last number, its range, how often it was not finite."""
    rows: list[tuple[SelectedValue, str, str]] = []
    chosen = headline(run.store.sites())
    counters = Counters(run.store, (choice for choice, _ in chosen))
    for choice, name in chosen:
        values = numbers_of(run.store, choice)
        if values is not None and not counters.has(choice, values):
            values = values.astype(np.float64)
            finite = values[np.isfinite(values)]
            least, greatest = (f"{finite.min():.4g}", f"{finite.max():.4g}") if len(finite) else ("", "")
            odd = _nonfinite(run, choice, values)
            strands = Strands(run.store, choice.site.id)
            first, last = (
                f"{values[at]:.4g} ({strand})" if (strand := strands.words(at)) else f"{values[at]:.4g}"
                for at in (0, -1)
            )
            cells = str(strands.steps), first, last, least, greatest, str(odd or "")
            rows.append((choice, name, " | ".join(cells)))
        if len(rows) == _VALUES:
            break
    if rows:
        if any(choice.site.watch and choice.name.endswith(".mean") and cells[-1] != " " for choice, _, cells in rows):
            yield "A mean is of the finite elements.\n"
        yield "| value | steps | first | last | least | greatest | not finite |"
        yield "|---|--:|--:|--:|--:|--:|--:|"
        for (_, _, cells), name in zip(rows, _distinguished([(choice, name) for choice, name, _ in rows]), strict=True):
            yield f"| `{name.replace('|', chr(92) + '|')}` | {cells} |"


def _nonfinite(run: Readable, choice: SelectedValue, values: np.ndarray) -> int:
    """Return in how many events the value was not finite. The mean of a watched array is over its finite elements only."""
    odd = ~np.isfinite(values)
    for name in ("nan", "posinf", "neginf"):
        if choice.site.watch and name in choice.site.values:
            counts_ = run.store.history.series(choice.site.id, choice.site.values.index(name))[2]
            both = min(len(odd), len(counts_))
            odd[len(odd) - both :] |= counts_[len(counts_) - both :] > 0
    return int(odd.sum())


def _distinguished(named: Sequence[tuple[SelectedValue, str]]) -> Iterator[str]:
    """Yield the names of the rows. Equal names get their line, and a number if the line is the same too."""
    names, places = Counter(name for _, name in named), Counter[str]()
    for choice, name in named:
        place = name if names[name] == 1 else choice.place
        places[place] += 1
        yield place if places[place] == 1 else f"{place}#{places[place]}"


def _last_lines(run: Readable) -> list[str]:
    sites = {site.id for site in run.store.sites() if site.kind not in ("watch", "breakpoint")}
    stop = len(run.store)
    start = max(run.store.oldest, stop - 50 * _LINES)
    positions = [event.seq for event in run.store.range(start, stop) if event.site.id in sites][-_LINES:]
    texts = run.texts.of(np.array(positions, np.int64))
    return [cut(texts[one], _CHARACTERS, _LINES_OF_ONE) for one in positions if texts.get(one)]


def _versions(run: Readable) -> Iterator[str]:
    for name in _PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    yield f"Python {platform.python_version()}"
    if not run.is_loaded:
        import jax

        devices = jax.devices()
        yield f"{len(devices)} × {devices[0].device_kind}"


def _fenced(lines: Sequence[str], language: str) -> str:
    """Return the lines as a code block, with a longer fence than any in the lines."""
    if not lines:
        return ""
    text = "\n".join(lines)
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
