"""Where in the user's program a value comes from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["print", "log", "callback", "breakpoint", "pure", "io", "sharding", "watch"]
"""`jax.debug.print`, `.log`, `.callback`, `.breakpoint`; `pure_callback`, `io_callback`;
`jax.debug.inspect_array_sharding`; and a value that is watched, which no call of the program's says."""

Phase = Literal["forward", "backward", "recompute"]
"""`backward`: in the transposed program of `grad` / `vjp`; `recompute`: run again for `jax.checkpoint`."""


NO_VALUE = -1
"""Of a gradient: the value has no site; another execution's, or another program's, has its name."""


@dataclass(frozen=True, slots=True)
class Derivative:
    """A line whose derivative may have made a gradient infinite or NaN: that of `n2` the line `n = jnp.sqrt(n2)`.

    Attributes:
      text: the expression that is differentiated, `jnp.sqrt(n2)`.
      file, line: where that is.
      where: the same as people call it, `model.py:5`.
      or_later: whether a later line may have done it as well: the gradient that comes in to this one is not known.
    """

    text: str
    file: str
    line: int
    where: str
    or_later: bool = False


@dataclass(frozen=True, slots=True)
class Watched:
    """A value of a compiled program that is watched by its name in the source.

    Attributes:
      name: the variable it is assigned to, `logits`, `self.w`; its expression where it is never assigned.
      role: the value itself, or its cotangent where the program differentiates.
      shape, dtype: in the program: `vmap` axes are axes of it. A site has others in a program that was traced for another type.
      primitive: what computes it, `dot_general`; `argument` where it is one of its function's.
      scope: the named scopes around it, `layer0/mlp`.
      lanes: sizes of the `vmap` axes, outermost first, where statistics of each lane are taken as well; those after them.
      full: whether the values are taken whole (down-sampled if large), after the statistics.
      value: of a gradient the id of the site of its value, `NO_VALUE` where it has none that comes before.
      meant: which infinities the source puts there, `neginf` for `jnp.where(mask, scores, -jnp.inf)`: they are no findings.
      gradient: of a value the id of the site of its gradient, where that came first.
      choice: the expression through which alone it goes to the results of its body, if that may leave it out:
        `jnp.where(x > 0, h, 0.0) at model.py:7`.
      derivatives: of a gradient the lines that may make it infinite or NaN, where it is the first that is; none where it
        is handed on.
      again: `name` where it is there under this name already, as what the iteration before has made or as an argument; `value`
        where it is under another one, nearer to what makes it.
      vmapped: sizes of the `vmap` axes, outermost first, where the site's value `bad lane` counts them: it is the first lane
        that is not finite.
      has_ended_lanes: whether lanes that have left their vmapped `while` count in its statistics, as JAX computes it for them.
      given_on: what the next iteration of its loop calls it, as an argument.
      merges: for each of the site's values how those of lanes that fire one by one become that of all, see `merges_of`.
    """

    name: str
    role: Literal["value", "gradient"]
    shape: tuple[int, ...]
    dtype: str
    primitive: str
    scope: str
    full: bool = False
    lanes: tuple[int, ...] = ()
    value: int | None = None
    meant: tuple[str, ...] = ()
    gradient: int | None = None
    choice: str = ""
    again: Literal["", "name", "value"] = ""
    merges: tuple[str, ...] = ()
    derivatives: tuple[Derivative, ...] = ()
    vmapped: tuple[int, ...] = ()
    given_on: tuple[str, ...] = ()
    has_ended_lanes: bool = False

    def lane(self, number: int) -> tuple[int, ...]:
        """The lane that `bad lane` counts with this number, outermost first; () where it is none."""
        if not 0 <= number < math.prod(self.vmapped):
            return ()
        found: list[int] = []
        for size in reversed(self.vmapped):
            number, place = divmod(number, size)
            found.append(place)
        return tuple(reversed(found))


@dataclass(frozen=True, slots=True)
class CallSite:
    """One debugging call as one compiled program contains it.

    The same line of source has several sites when transformations multiply it: `grad` of a checkpointed function
    has it in the forward pass and in the recomputation, with different name stacks; a function called from several lines
    has it once for each.

    Attributes:
      id: counts the sites of this process; equal for equal sites, so that it survives recompilation.
      file, line, column, end_line, end_column: the range of the call in its source, columns from 0;
        `file` is the name the interpreter knows it by.
      where: what a person calls the place: `train.py:41`, or `In [7]:12` for the cell of a notebook.
      function: qualified name of the enclosing function.
      source: the text of the call's first line, stripped; empty where the source is not to be had.
      label: what the site is about: the source expression of its value when it has just one, else its format.
      values: the source expression of each value, in the order of `Event.values`.
      callers: the user's calls that lead to it in its program, as `where`, innermost first; recursion left out. Lines that are
        called from several places have a site for each.
      aliases: for each value what else it may be called, the keyword that it was passed as or the expression; empty where it
        was passed by position, and for sites of the compiler.
      watch: what is watched, of a site of kind `watch`: its range is what computes the value, its `values` are statistics.
      format: the format string of a print, the callback's name otherwise.
      name_stack: JAX's name stack, e.g. `jit(f)/transpose(jvp())/while/body`.
      order: how many debugging calls stand before it in its program; -1 where it is not part of one. Sites that differ in it
        alone are equal: a line in a Python loop has several, and another program may have it elsewhere.
      transforms: the transformations in it, outermost first, e.g. `("jit", "transpose", "jvp")`.
      process: the number of the process that it fires in.
    """

    id: int
    kind: Kind
    ordered: bool
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    where: str
    function: str
    source: str
    label: str
    values: tuple[str, ...]
    format: str
    name_stack: str
    transforms: tuple[str, ...]
    phase: Phase
    order: int = field(compare=False)
    aliases: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()
    watch: Watched | None = None
    process: int = 0

    @property
    def choice(self) -> str:
        """What may mask a NaN of it, which is then no news by itself: see `Watched.choice`; empty for others."""
        return self.watch.choice if self.watch else ""


def told_apart(sites: Iterable[CallSite]) -> dict[int, str]:
    """Site id -> what tells it from others of the same line and name, for sites that have such others.

    That is its caller, its process, or both.
    """
    groups: dict[object, list[CallSite]] = {}
    for site in sites:
        groups.setdefault((site.where, site.label, site.kind, site.phase), []).append(site)
    return {
        site.id: " · ".join(filter(None, (_caller_of(site, group), _process_of(site, group))))
        for group in groups.values()
        for site in group
        if len({(other.callers, other.process) for other in group}) > 1
    }


def _caller_of(site: CallSite, group: Sequence[CallSite]) -> str:
    own = [other for other in group if other.process == site.process]
    return next((one for one in site.callers if not all(one in other.callers for other in own)), "")


def _process_of(site: CallSite, group: Sequence[CallSite]) -> str:
    return f"process {site.process}" if any(other.process != site.process for other in group) else ""
