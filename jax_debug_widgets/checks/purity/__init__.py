"""Find what a function reads and changes besides its arguments while JAX traces it (S1, S2, S4).

`reached` finds the functions that a call may run, `prints` compares values without keeping them, `impure` sees calls of
clocks and random numbers, `watcher` runs all this around each trace, `findings` makes the findings.
"""

from jax_debug_widgets.checks.purity.watcher import PurityWatch

__all__ = ["PurityWatch"]
