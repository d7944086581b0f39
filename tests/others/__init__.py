"""JAX's and flax's own tests, each in a capture of its own: what passes without one passes in it.

Not part of the tests of a change: their files are taken where they are found, from the sources of the installed versions.
They need absl-py and cloudpickle besides. `python -m tests.others FOLDER` prints the table.
"""
