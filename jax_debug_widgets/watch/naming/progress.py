"""Find how far a statement has come when it makes an equation, by the instructions of the functions that it calls.

Outside of loops a function's instructions run in their order, so an instruction before the last one belongs to another
execution. JAX records the function and the instruction that made an equation, but not which call of the function it
was.
"""

from __future__ import annotations

import dis
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

from jax_debug_widgets._jax.compat.caching import cached_by_identity
from jax_debug_widgets._jax.origins.frames import frames_from
from jax_debug_widgets._jax.origins.inlining import traceback_of
from jax_debug_widgets.watch.naming.body import BodyWithFrames
from jax_debug_widgets.watch.naming.source_sites import SourceSite
from jax_debug_widgets.watch.syntax.source import SourceFile
from jax_debug_widgets.watch.syntax.statements import Span

_ITERATES = re.compile(r"(?<![\w.])(functools\.|itertools\.)?(map|starmap|reduce|accumulate|sum)\(")
"""Functions that run a function, or an operator, several times without a loop in Python's instructions."""


@dataclass(frozen=True)
class Progress:
    """The point in the execution of a statement at which an equation is made.

    Attributes:
      way: the instruction of each user function that leads there, outermost first; the last one may be the beginning of
        the first loop.
      is_looped: whether it is in a loop of a function that the statement calls, JAX's own functions included.
    """

    way: tuple[tuple[CodeType, int], ...]
    is_looped: bool

    def is_behind(self, other: Progress) -> bool:
        """Whether one execution cannot reach this point after the other point."""
        for (code, instruction), (other_code, other_instruction) in zip(self.way, other.way, strict=False):
            if code is not other_code:
                return False
            if instruction != other_instruction:
                return instruction < other_instruction
        return False


def progress_of(body: BodyWithFrames, call: SourceSite, number: int) -> Progress:
    """Return how far the statement at `call` has come when it makes this equation."""
    levels = body.levels[number][call.depth :]
    if len(levels) > 1 and levels[1].is_inlined:
        return Progress((), is_looped=True)
    own_frames = [level for level in levels if not level.is_inlined]
    iterates = [_iterates(body.source(one.file), Span(*one.span)) for one in own_frames]
    way: list[tuple[CodeType, int]] = []
    frames = frames_from(traceback_of(body.equations[number].source_info), len(own_frames))
    is_direct, is_looped, users = True, False, 0
    for code, instruction, is_users in frames:
        is_direct = is_direct and is_users
        begin = None if users == 0 else _loop_around(code, instruction)
        if is_direct and users:
            way.append((code, instruction if begin is None else begin))
        users += is_users
        if begin is not None or (is_users and iterates[users - 1]):
            is_looped = True
            break
    return Progress(tuple(way), is_looped)


@functools.lru_cache(maxsize=4096)
def _iterates(source: SourceFile, span: Span) -> bool:
    return bool(_ITERATES.search(source.text(span)))


@cached_by_identity
def _loop_around(code: CodeType, instruction: int) -> int | None:
    """Return the offset at which the outermost loop or comprehension around an instruction begins; None outside of loops."""
    return min((begin for begin, end in _loops(code) if begin <= instruction <= end), default=None)


@cached_by_identity
def _loops(code: CodeType) -> list[tuple[int, int]]:
    return list(_backward_jumps(code))


def _backward_jumps(code: CodeType) -> Iterator[tuple[int, int]]:
    """Yield where each loop of a function begins and ends, as offsets of instructions.

    Exception handlers are placed after all other code and jump back to where the function goes on; these jumps are not
    loops.
    """
    instructions = list(dis.get_instructions(code))
    heads = {one.offset for one in instructions if one.opname == "FOR_ITER"}
    handles = next((one.offset for one in instructions if one.opname == "PUSH_EXC_INFO"), len(code.co_code))
    for one in instructions:
        if "JUMP_BACKWARD" in one.opname and (one.offset < handles or one.argval in heads):
            yield one.argval, one.offset
