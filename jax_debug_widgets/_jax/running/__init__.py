"""Install the hooks, follow each call of a program, and read the results that it hands over.

In:   calls, compilations and executions, as JAX makes them.
Out:  executions with their stages; results that carry prints; programs reused as they were compiled before.
May know: compat, origins, tracing, passes.   Must not know: studies.
"""
