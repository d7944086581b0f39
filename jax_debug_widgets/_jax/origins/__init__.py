"""Find where an equation comes from: its frames, its path of transformations, its loops and lanes, its noted names.

In:   equations, their tracebacks and name stacks; notes that were taken while JAX traced.
Out:  places in the source, paths, loops, lanes, names of variables.
May know: compat, events.   Must not know: how programs are changed or run.
"""
