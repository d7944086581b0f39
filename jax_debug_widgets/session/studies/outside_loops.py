"""Count the equations of a program that run one by one, to show how far an evaluation has come."""

from __future__ import annotations

from jax_debug_widgets.graphs.program import Program

_LOOPS = frozenset({"scan", "while", "cond"})


def outside_loops(program: Program) -> int:
    """Return the number of equations that run one by one: those in loops and branches run with the equation around them."""
    is_loop = {(one.path, one.number): one.primitive in _LOOPS for one in program.equations}
    return sum(
        not any(is_loop.get((one.path[:depth], number)) for depth, (number, _) in enumerate(one.path))
        for one in program.equations
    )
