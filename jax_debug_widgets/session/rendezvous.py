"""Let process 0 of a job choose the folder of a run, and the others take it."""

from __future__ import annotations

import hashlib
from collections import Counter
from types import TracebackType
from typing import Self

from jax_debug_widgets._jax.compat.processes import joined, own_number, shared_store

_PATIENCE_S = 10.0
"""How long the others wait: all processes come to a capture together, or not at all."""

_BEGUN: Counter[str] = Counter()
"""How often a folder was asked for; the same in all processes that capture alike."""


class Rendezvous:
    """The choice of one folder. Where process 0 cannot make one, the others learn that there is none."""

    def __init__(self, wanted: str) -> None:
        name = hashlib.blake2b(wanted.encode(), digest_size=8).hexdigest()
        _BEGUN[name] += 1
        self._key = f"jax_debug_widgets/folder/{name}/{_BEGUN[name]}"
        self._store = shared_store() if joined() > 1 else None
        self._is_told = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._is_told:
            self.tell("")

    def wait(self) -> str | None:
        """The name that process 0 has chosen; None in process 0, and where it has not."""
        if self._store is None or own_number() == 0:
            return None
        return self._store.wait_for(self._key, _PATIENCE_S) or None

    def tell(self, name: str) -> None:
        """Process 0 has chosen this one."""
        self._is_told = True
        if self._store is not None and own_number() == 0:
            self._store.put(self._key, name)
