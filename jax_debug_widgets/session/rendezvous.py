"""Let process 0 of a job choose the folder of a run; the other processes take the same folder."""

from __future__ import annotations

import hashlib
from collections import Counter
from types import TracebackType
from typing import Self

from jax_debug_widgets._jax.compat.processes import joined, own_number, shared_store

_PATIENCE_S = 10.0
"""How long the other processes wait: all processes come to a capture at about the same time, or not at all."""

_BEGUN: Counter[str] = Counter()
"""Hash of a folder -> how often this process asked for it; the same in all processes that make the same captures."""


class Rendezvous:
    """Passes the name of one folder from process 0 to the others; the name is empty if process 0 cannot make a folder."""

    def __init__(self, wanted: str) -> None:
        name = hashlib.blake2b(wanted.encode(), digest_size=8).hexdigest()
        _BEGUN[name] += 1
        self._key = f"jax_debug_widgets/folder/{name}/{_BEGUN[name]}"
        self._store = shared_store() if joined() > 1 else None
        self._has_published = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._has_published:
            self.publish("")

    def wait(self) -> str | None:
        """Wait for the name that process 0 has chosen; None in process 0, or if process 0 has chosen none."""
        if self._store is None or own_number() == 0:
            return None
        return self._store.wait_for(self._key, _PATIENCE_S) or None

    def publish(self, name: str) -> None:
        """Pass on the name that process 0 has chosen; other processes pass on nothing."""
        self._has_published = True
        if self._store is not None and own_number() == 0:
            self._store.put(self._key, name)
