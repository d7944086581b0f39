"""Write the keys of a pytree's paths as Python does: a field, an item."""

from __future__ import annotations

from typing import Any

import jax


def text_of(key: Any) -> str:
    """Return the text of a key as `jax.tree_util.keystr` writes it; an index of a flattened leaf in brackets."""
    return f"[{key.key}]" if isinstance(key, jax.tree_util.FlattenedIndexKey) else str(key)


def text_in_flax(key: Any) -> str:
    """Return the text of a key in a state of `flax.nnx`: there fields are keys of dicts, and leaves have a `.value`."""
    is_field = isinstance(key, jax.tree_util.DictKey) and isinstance(key.key, str)
    return f".{key.key}" if is_field else "" if str(key) == ".value" else text_of(key)
