"""Count the processes of a job that `jax.distributed` has joined, and give access to the store that they share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import jax

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import distributed, xla_bridge

NUMBER, COUNT = "JDW_PROCESS", "JDW_PROCESSES"
"""Environment variables for processes that JAX has not joined, such as engines: the number of this process, and their count."""

_EXISTS = "ALREADY_EXISTS"
"""The store's error message has this text if a key exists already."""


def joined() -> int:
    """Return how many processes run this job's programs, as far as JAX reports it.

    It initializes no backend, because the user may still choose one.
    """
    if not features.available(features.PROCESSES):
        return jax.process_count()
    state = distributed.global_state
    count = state.num_processes or 1 if state.client is not None else 1
    return max(count, jax.process_count()) if xla_bridge.backends_are_initialized() else count


def own_number() -> int:
    """Return the number of this process in its job: JAX's number, or `JDW_PROCESS` if JAX has not joined the processes."""
    own = distributed.global_state.process_id if features.available(features.PROCESSES) else jax.process_index()
    return own if joined() > 1 else _from_environment(NUMBER, own)


def recorded_together() -> int:
    """Return how many processes record one run: those that JAX has joined, or `JDW_PROCESSES`."""
    return max(joined(), _from_environment(COUNT, 1))


def _from_environment(variable: str, otherwise: int) -> int:
    """Return the whole number in an environment variable; `otherwise` without one."""
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else otherwise


@dataclass(frozen=True)
class ProcessShare:
    """The share of this process in a program that several processes run together.

    Attributes:
      devices: the number of the program's devices that belong to this process.
      reporter: the number of the process with the first device, which fires if one process fires for all; None if
        unknown.
      is_reporter: whether that is this process.
      is_of_all: whether the program runs on devices of all processes of the job.
    """

    devices: int
    reporter: int | None
    is_reporter: bool
    is_of_all: bool = False


class SharedStore:
    """JAX's coordination store: texts under keys, each set once, which all processes of the job can read."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def put(self, key: str, text: str) -> None:
        """Set a key; an existing key stays as it is."""
        try:
            self._client.key_value_set(key, text)
        except jax.errors.JaxRuntimeError as error:
            if _EXISTS not in str(error):
                raise

    def get(self, key: str) -> str | None:
        """Return the value of a key; None if it is not set."""
        try:
            return self._client.key_value_try_get(key)
        except jax.errors.JaxRuntimeError:
            return None

    def wait_for(self, key: str, seconds: float) -> str | None:
        """Wait up to `seconds` for a key to be set; return its value, or None."""
        try:
            return self._client.blocking_key_value_get(key, max(int(seconds * 1000), 1))
        except jax.errors.JaxRuntimeError:
            return None

    def remove(self, key: str) -> None:
        """Remove a key."""
        self._client.key_value_delete(key)


def shared_store() -> SharedStore | None:
    """Return the key-value store of this job; None without one, for example without `jax.distributed.initialize`."""
    is_known = features.available(features.PROCESSES)
    client = distributed.global_state.client if is_known else None
    return None if client is None else SharedStore(client)
