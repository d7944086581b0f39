"""Checksums of the batches in a file that is being written: Arrow's streams have none, and a flipped byte is no error there."""

from __future__ import annotations

import zlib

import pyarrow as pa

_KEY = b"crc32"


def with_checksum(batch: pa.RecordBatch) -> dict[bytes, bytes]:
    """The metadata to write a batch with."""
    # Read back first: how long buffers are, and whether there are any for what is never null, the format decides.
    return {_KEY: b"%d" % _checksum(pa.ipc.read_record_batch(batch.serialize(), batch.schema))}


def is_as_written(batch: pa.RecordBatch, metadata: pa.KeyValueMetadata | dict[bytes, bytes] | None) -> bool:
    """Whether a batch that was read is the one that was written; also where the writer has made no checksum."""
    wanted = dict(metadata or {}).get(_KEY)
    return wanted is None or wanted == b"%d" % _checksum(batch)


def _checksum(batch: pa.RecordBatch) -> int:
    found = 0
    for column in batch.columns:
        for buffer in column.buffers():
            if buffer is not None:
                found = zlib.crc32(memoryview(buffer), found)
    return found
