"""Observe what JAX traces, compiles and runs: the only room that may import `jax._src` and `jaxlib`.

In:   a `Tapper`, which returns for a debugging equation the function to call when the equation fires.
Out:  `DebugCall`s at lowering, firings at run time, executions and compilations as they happen.
May know: events; its room `studies` knows graphs.   Must not know: Jupyter, taps, store, transport.

Private names move between JAX versions. `features` looks each up once; when one is missing, the feature that needs
the name is off with a sentence that says so, and the rest works.
"""
