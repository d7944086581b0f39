"""Change a program just before it is lowered: put taps where it prints, calls the host or computes a watched value.

In:   jaxprs, with the origins of their equations.
Out:  jaxprs with taps, and the lowering rules of these taps.
May know: compat, origins, tracing, events.   Must not know: dispatch and executions.
"""
