"""Report whether a function is traced to the same program each time; if not, where the programs differ, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jax_debug_widgets.graphs.diff import Diff, EquationChange
from jax_debug_widgets.graphs.page import Page, PageRow
from jax_debug_widgets.graphs.program import Equation, text_of

Verdict = Literal["same", "another order", "another program"]


@dataclass(frozen=True)
class Seeds:
    """The traces that fresh interpreters have made, each with another hash seed.

    Attributes:
      count: the number of interpreters; their seeds are 0, 1, ….
      verdict: how the other traces differ from the first.
      seed: the first seed with a difference; 0 if there is none.
      at: the line of the first equation that differs; empty if there is none.
      texts: this equation with seed 0 and with that seed.
    """

    count: int
    verdict: Verdict
    seed: int = 0
    at: str = ""
    texts: tuple[str, str] = ("", "")


@dataclass(frozen=True, eq=False)
class Traces:
    """The result of comparing two traces of one function.

    Attributes:
      diff: the diff of the two programs.
      causes: source lines that may make a difference, `train.py:4`, each with the reason.
      seeds: the traces of other interpreters; None if they were not requested.
    """

    name: str
    diff: Diff
    causes: Sequence[tuple[str, str]]
    seeds: Seeds | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict; with `another order`, results are equal, but JAX's and XLA's caches see another program."""
        if self.diff.is_in_order:
            return "same"
        return "another order" if self.diff.is_same else "another program"

    @property
    def first(self) -> EquationChange | None:
        """The first equation that differs; None if none does."""
        return next((one for one in self.diff if one.kind != "same"), None)

    def page(self) -> Page:
        """Return the result as a page."""
        verdict = {
            "same": "traced twice, the same program",
            "another order": "traced twice, the same equations in another order: results are equal, but caches miss",
            "another program": f"traced twice, two programs: {self.diff.headline}",
        }[self.verdict]
        seeds = self.seeds
        if seeds is not None:
            verdict += f"; {_WITH_SEEDS[seeds.verdict].format(seeds.count)}"
        is_other = self.verdict != "same" or (seeds is not None and seeds.verdict != "same")
        lines = [PageRow(("cause" if is_other else "may differ", where, why)) for where, why in self.causes]
        if self.first is not None:
            lines.insert(0, PageRow(("first", str(_side(self.first).source or ""), _change_text(self.first))))
        if seeds is not None and seeds.verdict != "same":
            lines += [
                PageRow((f"seed {seed}", seeds.at, text))
                for seed, text in zip((0, seeds.seed), seeds.texts, strict=True)
            ]
        return Page(f"{self.name}: {verdict}", ("", "where", "what"), lines)

    def __repr__(self) -> str:
        return self.page().text()

    def _repr_html_(self) -> str:
        return self.page().html()


_WITH_SEEDS = {
    "same": "the same with {} hash seeds in fresh interpreters",
    "another order": "with {} hash seeds in fresh interpreters the same equations in another order",
    "another program": "with {} hash seeds in fresh interpreters not one program",
}


def _side(change: EquationChange) -> Equation:
    found = change.after or change.before
    assert found is not None
    return found


def _change_text(change: EquationChange) -> str:
    what = f" ({'; '.join(change.what)})" if change.what else ""
    return f"{text_of(_side(change))}: {'in another order' if change.kind == 'moved' else change.kind}{what}"
