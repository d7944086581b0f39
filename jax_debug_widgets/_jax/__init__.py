"""The only room that may import `jax._src` and `jaxlib`: what we need of JAX, under names of our own.

In:   a `Tapper`: given a debugging equation, it answers with the function to call when that fires.
Out:  `DebugCall`s at lowering, firings at run time, executions and compilations as they happen.
May know: events.   Must not know: Jupyter, capture, store, transport.

Private names move between JAX versions. `features` looks each up once; when one is missing, the feature that needs
it is off with a sentence that says so, and the rest works.
"""
