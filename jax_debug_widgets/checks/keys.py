"""Find PRNG keys, typed or as two uint32 numbers, that a program uses more than once (S8).

This analyses a program that was just traced; nothing runs. Uses with the same stack of user frames are inside one
function of JAX, such as `jax.random.poisson`. `key_flow` describes how keys are followed.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets.checks.calling import are_within_library
from jax_debug_widgets.checks.key_flow import CONSTANT, KeyFlow, has_uses, inputs_of, is_key
from jax_debug_widgets.checks.key_results import primitives
from jax_debug_widgets.checks.key_uses import Key, Use, UsesInProgram, is_any_element, is_clone, origin_of, overlap
from jax_debug_widgets.checks.python_loops import is_in_loop
from jax_debug_widgets.checks.reuse import Reuse
from jax_debug_widgets.watch import is_library

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr


@dataclass(frozen=True)
class KeyFacts:
    """The uses of keys in a program.

    Attributes:
      consumed: (number of an input, and the part of it or the numbers folded into it) -> what the program does with that key:
        `draws`, `splits`.
      results: the numbers of the results that may be keys.
      cloned: the numbers of the results that are clones, or may derive from one.
      constant: the user's lines that draw with a key that is no argument of the program.
    """

    consumed: Mapping[tuple[int, tuple[Hashable, ...]], str] = field(default_factory=dict)
    results: tuple[int, ...] = ()
    cloned: frozenset[int] = frozenset()
    constant: tuple[Frame, ...] = ()


def reuses(program: ClosedJaxpr) -> list[Reuse]:
    """Return the keys that a program uses more than once, ordered by their second use."""
    if not has_uses(program.jaxpr):
        return []
    uses = UsesInProgram()
    everything = [True] * len(program.jaxpr.outvars)
    KeyFlow(uses, (), recomputes=False).run(program.jaxpr, inputs_of(program), (), everything)
    return list(_found(uses.uses))


def facts_of(program: ClosedJaxpr) -> KeyFacts | None:
    """Return the uses of the keys that a program takes as inputs or has read; None if there are none."""
    inputs = inputs_of(program)
    if not any(inputs) and not has_uses(program.jaxpr):
        return None
    uses = UsesInProgram()
    ends = KeyFlow(uses, (), recomputes=False).run(program.jaxpr, inputs)
    constant = tuple(
        use.frames[0]
        for key, found in uses.uses.items()
        for use in found
        if _is_constant(key) and use.what == "draws" and use.frames and not is_library(use.frames[0].file)
    )
    if not any(inputs) and not constant:
        return None
    consumed = {origin: found[0].what for key, found in uses.uses.items() if found and (origin := _origin(key))}
    results = tuple(number for number, var in enumerate(program.jaxpr.outvars) if is_key(var))
    # The origin of a key that a loop or a branch returns is unknown.
    clones = "random_clone" in primitives(program.jaxpr)
    cloned = frozenset(number for number in results if clones and _may_be_clone(ends[number]))
    return KeyFacts(consumed, results, cloned, constant)


def _is_constant(key: Key) -> bool:
    """Return whether a key is the same in each call: read by the function, or derived from such a key by numbers."""
    root, _ = key
    if root[0] == "split":
        return _is_constant(root[1])
    return root[0] == CONSTANT or (root[0] == "fold" and root[2][:1] == ("number",) and _is_constant(root[1]))


def _may_be_clone(key: Key | None) -> bool:
    return key is None or key[0][0] == "made" or is_clone(key)


def _origin(key: Key) -> tuple[int, tuple[Hashable, ...]] | None:
    """Return the number of the input that a key derives from, and the part of it or the numbers folded into it.

    It is None for other keys.
    """
    root, parts = key
    if root[0] == "input":
        return root[1], tuple(part for part in parts if not is_any_element(part))
    if root[0] != "fold" or parts or root[2][:1] != ("number",) or root[1][1]:
        return None
    inner = _origin(root[1])
    return inner and (inner[0], (*inner[1], root[2][1]))


def _found(uses: Mapping[Key, list[Use]]) -> Iterator[Reuse]:
    reported: set[Any] = set()
    shared: set[Any] = set()
    for key, own in uses.items():
        for use in own:
            if use.iterations and use.frames and use.frames not in reported:
                reported.add(use.frames)
                yield Reuse(use.frames[0], use.what, iterations=use.iterations)
        lanes = next((use for use in own if use.is_shared and use.what == "draws" and use.frames), None)
        if lanes is not None and not is_clone(key) and origin_of(key) not in shared:
            shared.add(origin_of(key))  # Keys that are split from this key are shared, too, and need no finding.
            yield Reuse(lanes.frames[0], lanes.what, is_shared=True)
        together = [use for other, found in uses.items() if overlap(key, other) for use in found]
        stacks = frozenset(use.frames for use in together if use.frames)
        pair = None if stacks in reported else next(_pairs(together), None)
        if pair is not None:
            reported.add(stacks)
            first, again = pair
            here, before = _parting(again.frames, first.frames)
            # Keys that are split from this key are used again at the same two lines.
            if (here, before) not in reported:
                reported.add((here, before))
                yield Reuse(here, again.what, before, first.what)
        elif (often := _in_python_loop(own)) is not None and often.frames not in reported:
            reported.add(often.frames)
            count = sum((use.way, use.chosen) == (often.way, often.chosen) for use in own)
            yield Reuse(_looping(often), often.what, iterations=str(count))


def _pairs(uses: Sequence[Use]) -> Iterator[tuple[Use, Use]]:
    """Return the pairs of uses at different places that may both happen, the earliest first."""
    places = list({(use.frames, use.chosen): use for use in uses if use.frames}.values())
    pairs = itertools.combinations(places, 2)
    return (
        (first, again)
        for first, again in pairs
        if first.frames != again.frames and not first.excludes(again) and not _is_librarys_own(first, again)
    )


def _in_python_loop(uses: Sequence[Use]) -> Use | None:
    """Return a use that a loop of Python has repeated at a line of the user's; None if there is none."""
    counts = Counter((use.way, use.chosen) for use in uses if use.frames)
    often = (use for use in uses if counts[use.way, use.chosen] > 1)
    return next((use for use in often if not is_library(_looping(use).file)), None)


def _looping(use: Use) -> Frame:
    """Return the user's line that is in a loop; the innermost line if a function runs the loop, such as `jax.tree.map`."""
    own = (frame for frame in use.frames if not is_library(frame.file))
    return next((frame for frame in own if is_in_loop(frame.file, frame.line, frame.column)), use.frames[0])


def _is_librarys_own(first: Use, again: Use) -> bool:
    """Return whether one call of the user's makes a library use the key twice, such as a Brownian path at two times."""
    return are_within_library(first.frames, again.frames, [frame.file for frame in (*first.frames, *again.frames)])


def _parting(one: tuple[Frame, ...], other: tuple[Frame, ...]) -> tuple[Frame, Frame]:
    """Return the innermost frames of two stacks.

    If both are the same line, as in a helper function, return the outermost frames that differ: the calls of the
    helper.
    """
    pairs = [(one[0], other[0]), *zip(reversed(one), reversed(other), strict=False)]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
