"""Define the commands of the console that resume the program, and the texts of its help."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.breakpoints.stop import Ended

RESUMING: dict[str, Ended] = {
    "c": "continue", "cont": "continue", "continue": "continue", "n": "next", "next": "next", "a": "all", "all": "all",
    "q": "quit", "quit": "quit", "exit": "quit",
}  # fmt: skip
STEPPING: dict[str, Ended] = {
    **{word: how for word, how in RESUMING.items() if how != "all"},
    "s": "step", "step": "step", "n": "step", "next": "step", "i": "into", "into": "into", "o": "out", "out": "out",
}  # fmt: skip


_LOOKING = """h             this help
p EXPR        print the value of an expression; pp EXPR prints it over several lines
l             list the source around the current line
w, bt         the frames, the innermost last
u, d          look at the frame above (the caller), or below
"""

_PYTHON = """q             end the program
Everything else is Python over the variables of the frame; jax, jnp and np are there"""

AT_BREAKPOINT = f"""{_LOOKING}lane I ...    look at another vmap lane
set EXPR      go on with this value instead of the one given to jdw.breakpoint(x); so does  x = EXPR
c             continue;  n  to another breakpoint;  a  without any more stops
{_PYTHON}, and grad("h") where h has a gradient."""

AT_STEP = f"""{_LOOKING}s, n          run this equation;  i  go into its body;  o  run to the end of this body
c             continue to the end of the program
{_PYTHON}."""
