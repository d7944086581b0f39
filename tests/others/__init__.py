"""Run JAX's and flax's own tests, each in a capture of its own: a test that passes without a capture must pass in one.

These are not run for a change. Their files come from the sources of the installed versions. They also need absl-py and
cloudpickle. `python -m tests.others FOLDER` prints the table.
"""
