"""Run a script as Python does, in a capture: `python -m jax_debug_widgets record FILE train.py args`.

In:   the arguments of a command line.
Out:  the effects of the script; a folder with its run.
May know: every room below.   Must not: import JAX before the script does, which may set environment variables for it.
"""
