"""Take notes while JAX traces a function: which variable holds which tracer, and where cotangents pass.

In:   the lines of the user's frames (`sys.monitoring`; `sys.settrace` in Python 3.11), derivatives and copies that JAX makes.
Out:  notes for `origins`; Python's output while tracing.
May know: compat, origins.   Must not know: how programs are changed or run.
"""
