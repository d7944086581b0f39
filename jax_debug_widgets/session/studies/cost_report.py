"""Report the cost of a program's debugging calls: a row and a sentence for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.events.amounts import in_bytes, in_time, plural
from jax_debug_widgets.widgets.table import Table

if TYPE_CHECKING:
    import pandas as pd

    from jax_debug_widgets.events import Kind


@dataclass(frozen=True)
class SiteCost:
    """The cost that one call in the source adds to its program.

    Attributes:
      where: the place, `train.py:41`.
      function: the format of a print, or the name of the user's function.
      kind: the kind of JAX's call.
      ordered: whether it asked for `ordered=True`.
      firings: how often it fires on all devices during `per`; 0 if XLA removes it from the program.
      per: `"a call"` of the program; `"an iteration of its while"` or `"where its branch is taken"` if the number of firings in
        a call is known only at run time.
      nbytes: the bytes that these firings hand to the host.
      removable: whether the program works without it, because it returns nothing.
      partitioned: whether each device hands over its own part (`partitioned=True`).
      compiled: whether the program without it was compiled. If not, the following figures are 0.
      temporaries: bytes of temporary memory that it adds on each device; negative if XLA needs less memory with it.
      kernels: the kernels that it adds, besides the call itself.
      fusions: the fused kernels among these.
      broken: the values, by JAX's names, that would stay inside a fused kernel without it.
      collectives: the collectives that it adds, such as `all-gather`.
      is_refused: whether the persistent cache refuses the program.
      is_alone: whether the persistent cache refuses the program only because of this call.
      plain, captured: seconds in `per`, in plain JAX and in a capture, estimated from the time of an event on this machine.
    """

    where: str
    function: str
    kind: Kind
    ordered: bool
    firings: int
    per: str
    nbytes: int
    removable: bool
    plain: float
    captured: float
    partitioned: bool = False
    compiled: bool = False
    temporaries: int = 0
    kernels: int = 0
    fusions: int = 0
    broken: tuple[str, ...] = ()
    collectives: Mapping[str, int] | None = None
    is_refused: bool = False
    is_alone: bool = False

    @property
    def sentence(self) -> str:
        """The whole cost in words."""
        if self.kind == "sharding":
            return f"{self.where} {self.function}: called once, when the program is compiled; no cost when it runs."
        place = f"{self.where} {self.function}"
        if not self.firings:
            return f"{place}: XLA removes it from the program, so it does not fire and costs nothing."
        often = f"1 firing {self.per} moves" if self.firings == 1 else f"{self.firings} firings {self.per} move"
        took = f"about {in_time(self.plain)} as JAX does it and {in_time(self.captured)} captured"
        parts = [f"{place}: {often} {in_bytes(self.nbytes)} to the host, {took}"]
        if self.compiled:
            parts.append(_added(self))
        elif self.removable:
            parts.append("the program without it was not compiled, because the time was up (--timeout S)")
        else:
            parts.append("the program needs what it returns, so it cannot be measured without it")
        if self.is_refused:
            others = "" if self.is_alone else " and the others"
            parts.append(f"this program is not written to the persistent cache because of it{others}")
        return "; ".join(parts) + "."


@dataclass(frozen=True)
class CostReport(Sequence[SiteCost]):
    """The cost of the calls of one program, in program order, and their cost together.

    Attributes:
      title: the function's name.
      sites: the cost of each call in the source.
      all: the cost of all calls together, as if they were one; calls with results are not removed. Its times are the sums of
        the rows' times.
      temporaries: bytes of temporary memory of the program with all calls, on each device; None if XLA does not say it.
      kernels, fusions: the kernels of the program with all calls, and the fused ones among them.
      is_cacheable: whether JAX may write the program to its persistent cache.
      with_all, without_all: seconds of a run with all calls and without them; None if the program was not run.
    """

    title: str
    sites: tuple[SiteCost, ...]
    all: SiteCost
    temporaries: int | None
    kernels: int
    fusions: int
    is_cacheable: bool
    with_all: float | None = None
    without_all: float | None = None

    def __len__(self) -> int:
        return len(self.sites)

    def __getitem__(self, index: Any) -> Any:
        return self.sites[index]

    def __iter__(self) -> Iterator[SiteCost]:
        return iter(self.sites)

    @property
    def sentences(self) -> list[str]:
        """A sentence for each call in the source."""
        return [site.sentence for site in self.sites]

    def table(self) -> Table:
        """Return a table with a row for each call and one for all together; the sentences are below it."""
        count = f"{plural(len(self), 'call')} to the host"
        temporaries = "" if self.temporaries is None else f", {in_bytes(self.temporaries)} of temporaries"
        ran = (
            "nothing has run"
            if self.with_all is None or self.without_all is None
            else f"{in_time(self.with_all)} a run, {in_time(self.without_all)} without them"
        )
        title = (
            f"{self.title}: {count}; {plural(self.kernels, 'kernel')}, {self.fusions} of them fused{temporaries}; {ran}"
        )
        rows = [*map(_row, self.sites), *([self._row_of_all()] if len(self) > 1 else [])]
        cache = (
            []
            if self.is_cacheable
            else [
                (
                    "This version of JAX does not write programs that call Python to its persistent cache, so it does not "
                    "write this one."
                )
            ]
        )
        sums = [
            f"Each row has the time of its events measured alone; in the row `all` is their sum: {self._together()}."
        ]
        return Table(_HEADERS, rows, title, [*self.sentences, *(sums if len(self) > 1 else []), *cache])

    def _row_of_all(self) -> tuple[str, ...]:
        *others, plain, captured, cache = _row(self.all)
        return (*others, f"sum {plain}", f"sum {captured}", cache)

    def _together(self) -> str:
        if self.with_all is None or self.without_all is None:
            return "`--run` (`run=True`) measures how long they take together in a run"
        return (
            f"together, as JAX does it, they take {in_time(max(self.with_all - self.without_all, 0.0))} of the "
            f"{in_time(self.with_all)} that a run takes"
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return a frame with a row for each call, its figures as numbers: bytes, counts and seconds.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        import pandas as pd

        columns = list(SiteCost.__dataclass_fields__)
        return pd.DataFrame([[getattr(site, name) for name in columns] for site in self.sites], columns=columns)

    def __repr__(self) -> str:
        return self.table().text() if self.sites else f"{self.title}: calls nothing on the host, so there is no cost"

    def _repr_html_(self) -> str:
        return self.table().html()


_HEADERS = (
    "where", "what", "kind", "firings", "to the host", "temporaries", "kernels", "fusions broken", "collectives",
    "as JAX does it", "captured", "keeps it from the cache",
)  # fmt: skip


def _row(site: SiteCost) -> tuple[str, ...]:
    differs = site.compiled
    return (
        site.where,
        site.function,
        f"{'ordered ' if site.ordered else ''}{site.kind}" if site.function else "",
        _often(site),
        in_bytes(site.nbytes),
        _signed(in_bytes(abs(site.temporaries)), site.temporaries) if differs else "",
        _signed(str(abs(site.kernels)), site.kernels) if differs else "",
        str(len(site.broken)) if differs else "",
        ", ".join(f"+{count} {name}" for name, count in (site.collectives or {}).items()),
        in_time(site.plain),
        in_time(site.captured),
        ("yes" if site.is_alone else "with others") if differs and site.firings else "",
    )


def _often(site: SiteCost) -> str:
    if site.kind == "sharding":
        return "when compiled"
    return f"{site.firings} {site.per}" if site.firings else "removed by XLA"


def _added(site: SiteCost) -> str:
    """Describe the additions to the program."""
    parts = [f"{in_bytes(site.temporaries)} of temporaries"] if site.temporaries > 0 else []
    parts += [plural(site.kernels, "kernel")] if site.kernels > 0 else []
    parts += [f"{count} {name}" for name, count in (site.collectives or {}).items()]
    added = f"it adds {_listed(parts)}" if parts else "it adds no temporaries and no kernels"
    if site.collectives and site.kind in ("print", "callback") and not (site.partitioned or site.ordered):
        added += ", which `partitioned=True` would not: each device then hands over its own part"
    if not site.broken:
        return added
    times = plural(len(site.broken), "fusion")
    names = _listed([f"`{name.rpartition('/')[2]}`" for name in Counter(site.broken)])
    return f"{added}; it breaks {times}: {names} would not be written to memory"


def _listed(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _signed(text: str, number: int) -> str:
    return text if not number else f"{'+' if number > 0 else '-'}{text}"
