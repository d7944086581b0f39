"""Add checksums to the batches of a file that is being written, and check them.

Arrow's streams have no checksums of their own, so Arrow does not notice a changed byte.
"""

from __future__ import annotations

import zlib

import pyarrow as pa

_KEY = b"crc32"


def with_checksum(batch: pa.RecordBatch) -> dict[bytes, bytes]:
    """Return the metadata with which to write a batch: its checksum."""
    # The checksum is of the batch as it will be read: serializing may change the length of buffers, or omit some.
    return {_KEY: b"%d" % _checksum(pa.ipc.read_record_batch(batch.serialize(), batch.schema))}


def is_as_written(batch: pa.RecordBatch, metadata: pa.KeyValueMetadata | dict[bytes, bytes] | None) -> bool:
    """Return whether a batch that was read matches its checksum; True if it has no checksum."""
    wanted = dict(metadata or {}).get(_KEY)
    return wanted is None or wanted == b"%d" % _checksum(batch)


def _checksum(batch: pa.RecordBatch) -> int:
    found = 0
    for column in batch.columns:
        for buffer in column.buffers():
            if buffer is not None:
                found = zlib.crc32(memoryview(buffer), found)
    return found
