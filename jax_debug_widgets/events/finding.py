"""Something about a run that its user should know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.events.site import CallSite


@dataclass(frozen=True)
class Finding:
    """Something that was seen in a run and that its user should know.

    Attributes:
      kind: of a call site: `formatted` (while tracing: an f-string shows the tracer), `hoisted` (XLA moved it out of its
        loop), `lost` (XLA dropped it), `missing` (it fired less often, for a reason that is not known), `phantom` (some
        firings exist only because of a `vmap`) or `nonfinite` (NaN or infinite values: `seen` counts them). Of a check its
        name, such as `casts`; of an exception the word of its `checks.Kind`, such as `in-place`.
      site: the call site; None where it is about a line without one.
      expected: firings that the program says, over the calls concerned; at least so many for `lost`; events that are no
        phantoms; 0 where it is not about their number.
      seen: firings, or events, that came.
      calls: how many calls it concerns.
      message: a sentence: what happened, why, and what to write instead.
      where: the place as people call it, `train.py:41`.
      headline: the fact, without its place; empty where `message` is all there is.
      why: what happened and why, one or two sentences.
      advice: what to do where `fix` is empty, or what to know about it.
      file, span: the range in the source: line, column, last line, end column; columns in UTF-8 bytes, -1 if unknown.
      fix: the lines to write instead; empty where no rewrite is certain.
      event: the position of the first event that shows it; -1 where none does.
      lane: the `vmap` lane that shows it first, of nested ones the outermost first; () outside `vmap`, and where none is known.
      followed_by: findings that came later and that this one may have caused.
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
        """A finding of a check, at a line."""
        sentences = [f"{where}: {headline}.", why, advice]
        if fix:
            sentences.insert(2, f"Write: {'; '.join(line.strip() for line in fix)}")
        message = " ".join(filter(None, sentences))
        return cls(kind, None, 0, seen, 0, message, where, fix, headline, why, advice, file, span, lane=lane)

    def __repr__(self) -> str:
        return f"<{self.kind}: {self.message}>"


@dataclass(frozen=True)
class NonFinite:
    """How many numbers were NaN and how many infinite, and the position of the first event with one."""

    nan: int
    inf: int
    first: int


@dataclass(frozen=True, slots=True)
class FirstNonFinite:
    """The event with the run's first NaN or infinity.

    Attributes:
      nan: it has a NaN, and not infinities alone.
      lane: as of a finding.
      masked: nothing shows that it reaches a result: a choice (`jnp.where`) may leave it out.
      where, file, line: the line that is named: where a check has seen it born, else the derivative or the site it comes from.
    """

    site: int
    event: int
    nan: bool
    masked: bool
    lane: tuple[int, ...] = ()
    where: str = ""
    file: str = ""
    line: int = 0
