"""Match the equations of a body with the variables of its source.

In:   bodies of programs, notes taken while tracing, syntax trees.
Out:  for each variable its value, and the gradient that belongs to it.
May know: syntax.   Must not know: what is watched.
"""
