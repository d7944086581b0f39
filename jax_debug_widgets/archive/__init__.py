"""Runs as files: what a run has seen, written while it goes on or when it is over, and read again without JAX.

In:   events that a store has taken in, what else a run says of itself; folders and zip files.
Out:  a folder of Arrow and Parquet files with JSON beside them; a store with the same events.
May know: events, store, numpy, pyarrow.   Must not know: JAX, Jupyter, the session.

Whoever imports `archive.writer` or `archive.reader` loads pyarrow; the room itself does not.
"""

from jax_debug_widgets.archive.layout import RunFileError

__all__ = ["RunFileError"]
