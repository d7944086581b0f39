"""Study a program apart from any run: what its callbacks cost, which kernels it has, what each equation computes.

In:   a function and its arguments.
Out:  costs, kernels, values equation by equation.
May know: every other room of `_jax` but running; graphs.
"""
