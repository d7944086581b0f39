"""Describe the place in the user's program that a value comes from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["print", "log", "callback", "breakpoint", "pure", "io", "sharding", "watch"]
"""`jax.debug.print`, `.log`, `.callback`, `.breakpoint`; `pure_callback`, `io_callback`;
`jax.debug.inspect_array_sharding`; and `watch` for a watched value, which has no debugging call."""

Phase = Literal["forward", "backward", "recompute"]
"""`backward`: in the transposed program of `grad` / `vjp`; `recompute`: run again for `jax.checkpoint`."""


NO_VALUE = -1
"""The value of a gradient has no site here; a value of the same name belongs to another execution or program."""


@dataclass(frozen=True, slots=True)
class Derivative:
    """A line with a derivative that may have made a gradient infinite or NaN: `n = jnp.sqrt(n2)` for the gradient of `n2`.

    Attributes:
      text: the expression that is differentiated, `jnp.sqrt(n2)`.
      file, line: its place.
      where: its place for people, `model.py:5`.
      or_later: whether a later line may be the cause, because the gradient that comes in to this line is not known.
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
      name: the variable that it is assigned to, `logits`, `self.w`; its expression if it is never assigned.
      role: `value` for the value itself, `gradient` for its cotangent in a differentiated program.
      shape, dtype: the type in the program, which includes `vmap` axes. The site has another type in a program that was
        traced for other arguments.
      primitive: the primitive that computes it, `dot_general`; `argument` for an argument of its function.
      scope: the named scopes around it, `layer0/mlp`.
      lanes: sizes of the `vmap` axes, outermost first, if statistics of each lane are recorded too, after those of all.
      full: whether whole values are recorded (down-sampled if large), after the statistics.
      value: for a gradient, the id of the site of its value, `NO_VALUE` if that has none that comes before.
      intended: the infinities that the source puts there on purpose: `neginf` for `jnp.where(mask, scores, -jnp.inf)`.
      gradient: for a value, the id of the site of its gradient, if that came first.
      choice: the only expression through which it reaches the results of its body, if this may leave it out:
        `jnp.where(x > 0, h, 0.0) at model.py:7`.
      derivatives: for a gradient, the lines that may make it infinite or NaN if it is the first such gradient; empty if
        it is only passed on.
      again: `name` if this value was recorded before under the same name, in the iteration before or as an argument;
        `value` if it was recorded under another name, nearer to the operation that makes it.
      vmapped: sizes of the `vmap` axes, outermost first, if the site has the statistic `bad lane`, the first lane that
        is not finite.
      position: the numbers of the equations around it, each in its own program, outermost first, and of the one that
        makes it (-1 for an argument). In a loop it ends with the outermost one. It shows what comes before a loop.
      has_ended_lanes: whether its statistics count lanes that have left their vmapped `while`, because JAX computes
        them too.
      given_on: the names of the value as an argument of the next iteration of its loop.
      merges: for each of the site's values how the values of lanes that fire one by one are merged, see `merges_of`.
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
    intended: tuple[str, ...] = ()
    gradient: int | None = None
    choice: str = ""
    again: Literal["", "name", "value"] = ""
    merges: tuple[str, ...] = ()
    derivatives: tuple[Derivative, ...] = ()
    vmapped: tuple[int, ...] = ()
    given_on: tuple[str, ...] = ()
    has_ended_lanes: bool = False
    position: tuple[int, ...] = field(default=(), compare=False)

    def lane(self, number: int) -> tuple[int, ...]:
        """Return the lane with this number in `bad lane`, outermost axis first; () for no lane."""
        if not 0 <= number < math.prod(self.vmapped):
            return ()
        found: list[int] = []
        for size in reversed(self.vmapped):
            number, place = divmod(number, size)
            found.append(place)
        return tuple(reversed(found))


@dataclass(frozen=True, slots=True)
class CallSite:
    """One debugging call, or one watched value, as a compiled program contains it.

    The same line of source has several sites if transformations multiply it: `grad` of a checkpointed function has the line in
    the forward pass and in the recomputation, with different name stacks. A function that is called from several lines has a
    site for each of these lines.

    Attributes:
      id: the number of the site in this process. Equal sites have the same id, so that it survives recompilation.
      file, line, column, end_line, end_column: the range of the call in its source, columns from 0. `file` is the name that
        the interpreter uses.
      where: the place for people: `train.py:41`, or `In [7]:12` for the cell of a notebook.
      function: the qualified name of the enclosing function.
      source: the text of the call's first line, stripped; empty if the source is not available.
      label: the name of the site: the source expression of its value if it has just one, else its format.
      values: the source expression of each value, in the order of `Event.values`.
      callers: the user's calls that lead to it in its program, as `where`, innermost first, without recursion. A line that is
        called from several places has a site for each.
      aliases: another name for each value: the keyword that it was passed as, or the expression. Empty if it was passed by
        position, and for sites of the compiler.
      watch: the watched value, for a site of kind `watch`. The site's range computes the value; its `values` are statistics.
      format: the format string of a print, the callback's name otherwise.
      name_stack: JAX's name stack, e.g. `jit(f)/transpose(jvp())/while/body`.
      order: the number of debugging calls before it in its program; -1 if it is not part of one. Sites that differ only in
        their order are equal: a line in a Python loop has several, and another program may have it elsewhere.
      transforms: the transformations in the name stack, outermost first, e.g. `("jit", "transpose", "jvp")`.
      process: the number of the process in which it fires.
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
        """The expression that may mask a NaN of a watched value, see `Watched.choice`; empty for other sites."""
        return self.watch.choice if self.watch else ""

    def __repr__(self) -> str:
        kind = "watched value" if self.kind == "watch" else self.kind
        return f"<{kind} {self.label} at {self.where}>"


def distinguishing_texts(sites: Iterable[CallSite]) -> dict[int, str]:
    """Return words that distinguish sites of the same line and name: site id -> its caller, its process, or both.

    Sites without such others are not in it.
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
