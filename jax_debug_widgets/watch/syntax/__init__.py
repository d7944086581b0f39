"""Read the syntax trees of source files: which statements give names to which expressions.

In:   files and positions.
Out:  statements, their targets, and what to look up in a frame after each line.
May know: of `_jax` how far the columns of code are off, nothing of JAX.   Must not know: naming, choosing, statistics.
"""
