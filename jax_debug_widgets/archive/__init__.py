"""Write a run to files, while it is recorded or afterwards, and read it again without JAX.

In:   the events in a store, and further facts about the run; folders and zip files.
Out:  a folder of Arrow, Parquet and JSON files; a store with the same events.
May know: events, store, numpy, pyarrow.   Must not know: JAX, Jupyter, the session.

Importing `archive.writer` or `archive.reader` loads pyarrow; importing the package does not.
"""

from jax_debug_widgets.archive.layout import RunFileError

__all__ = ["RunFileError"]
