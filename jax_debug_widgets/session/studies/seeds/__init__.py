"""Trace a function in fresh interpreters, each with another hash seed.

In:   a function and its arguments.
Out:  the programs that the interpreters traced, as digests and texts.
May know: JAX, session.studies.   Must not know: Jupyter.
"""
