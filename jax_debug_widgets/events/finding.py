"""Describe a problem that was found in a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.events.site import CallSite


@dataclass(frozen=True)
class Finding:
    """A problem that was found in a run, with its place, its reason and what to write instead.

    Attributes:
      kind: for a call site: `formatted` (while tracing: an f-string shows the tracer), `hoisted` (XLA moved it out of its
        loop), `lost` (XLA dropped it), `missing` (it fired less often for an unknown reason), `phantom` (some firings exist
        only because of a `vmap`) or `nonfinite` (NaN or infinite values; `seen` counts them). For a check, its name, such as
        `casts`. For an exception, the word of its `checks.Kind`, such as `in-place`.
      site: the call site; None if the finding is about a line without one.
      expected: the number of firings by the program's text, over the calls concerned; for `lost`, at least this number; for
        `phantom`, the number of events that are not phantoms; 0 if the finding is not about a number.
      seen: the number of firings, or events, that came.
      calls: the number of calls concerned.
      message: a sentence: what happened, why, and what to write instead.
      where: the place for people, `train.py:41`.
      headline: the fact without its place; empty if there is only a `message`.
      why: what happened and why, one or two sentences.
      advice: what to do if `fix` is empty, or what to know about it.
      file, span: the range in the source: line, column, last line, end column; columns in UTF-8 bytes, -1 if unknown.
      fix: the lines to write instead; empty if no rewrite is certain.
      event: the position of the first event that shows the finding; -1 if none does.
      lane: the `vmap` lane that shows it first, outermost axis first; () outside `vmap`, and if it is not known.
      followed_by: later findings that this one may have caused.
    """

    kind: str
    site: CallSite | None
    expected: int
    seen: int
    calls: int
    message: str
    where: str = ""
    fix: tuple[str, ...] = ()
    headline: str = ""
    why: str = ""
    advice: str = ""
    file: str = ""
    span: tuple[int, int, int, int] = (0, -1, 0, -1)
    event: int = -1
    lane: tuple[int, ...] = ()
    followed_by: tuple[Finding, ...] = ()

    @classmethod
    def at(
        cls,
        kind: str,
        where: str,
        headline: str,
        why: str,
        fix: tuple[str, ...] = (),
        advice: str = "",
        *,
        file: str = "",
        span: tuple[int, int, int, int] = (0, -1, 0, -1),
        seen: int = 0,
        lane: tuple[int, ...] = (),
    ) -> Finding:
        """Make a finding of a check at a line."""
        sentences = [f"{where}: {headline}.", why, advice]
        if fix:
            sentences.insert(2, f"Write: {'; '.join(line.strip() for line in fix)}")
        message = " ".join(filter(None, sentences))
        return cls(kind, None, 0, seen, 0, message, where, fix, headline, why, advice, file, span, lane=lane)

    def saying(self, also: str, advice: str | None = None) -> Finding:
        """Return the finding with a further sentence about its reason, and with another advice if one is given."""
        advice = self.advice if advice is None else advice
        parts = (self.kind, self.where, self.headline, f"{self.why} {also}", self.fix, advice)
        finding = Finding.at(*parts, file=self.file, span=self.span, seen=self.seen, lane=self.lane)
        return replace(finding, event=self.event)

    def __repr__(self) -> str:
        return f"<{self.kind}: {self.message}>"


@dataclass(frozen=True)
class NonFinite:
    """How many numbers were NaN, how many were infinite, and the position of the first event with one."""

    nan: int
    inf: int
    first: int


@dataclass(frozen=True, slots=True)
class FirstNonFinite:
    """The event with the run's first NaN or infinity.

    Attributes:
      site: the id of its site.
      event: its position.
      nan: whether it has a NaN, and not only infinities.
      masked: whether nothing shows that it reaches a result, because a choice (`jnp.where`) may leave it out.
      lane: the first lane that shows it, as in a `Finding`.
      where, file, line: the line where a check saw the NaN or infinity arise, else the line of the derivative or of the site.
    """

    site: int
    event: int
    nan: bool
    masked: bool
    lane: tuple[int, ...] = ()
    where: str = ""
    file: str = ""
    line: int = 0
