"""Turn the arguments of a call into plain data and back: containers as JSON, arrays beside them, nothing that could run.

A node is a list that begins with the word for its kind:

    ["leaf", number]                   an array
    ["value", text]                    a number, text, None or bytes, as Python writes it
    ["float", text]                    a float, exact to the bit
    ["dict", [[key, node], ...]]       ["list" or "tuple", [node, ...]]
    ["named", type, [[field, node]]]   a named tuple
    ["custom", type, [[key, node]]]    another pytree, which can be made only from an example of its structure (`like`)
    ["unkept", what]                   a value that no file can hold
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_debug_widgets._jax.compat.arrays import read
from jax_debug_widgets.archive import RunFileError
from jax_debug_widgets.archive.dtypes import is_known
from jax_debug_widgets.archive.stored_call import StoredCall, StoredLeaf

_LITERALS = (bool, int, complex, str, bytes, type(None))

_DEEPEST = 200
"""The most containers inside each other."""


def stored_call(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> StoredCall:
    """Turn the arguments of a call into the form of a file. It waits for arrays that are not ready."""
    packing = _Packing()
    tree = {
        "name": name,
        "args": [packing.node(arg, f"args[{number}]") for number, arg in enumerate(args)],
        "kwargs": [[key, packing.node(value, f"kwargs[{key!r}]")] for key, value in kwargs.items()],
        "devices": packing.devices,
    }
    return StoredCall(tree, tuple(packing.leaves))


def are_ready(args: Any) -> bool:
    """Whether all arrays can be read without waiting."""
    arrays = [leaf for leaf in jax.tree.leaves(args) if isinstance(leaf, jax.Array) and not leaf.is_deleted()]
    return all(_is_ready(jax.random.key_data(one) if _is_key(one) else one) for one in arrays)


def _is_ready(array: Any) -> bool:
    return array.is_ready()


def _is_key(array: jax.Array) -> bool:
    return jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key)


class _Packing:
    """Turns values into nodes, and collects their arrays."""

    def __init__(self) -> None:
        self.leaves: list[StoredLeaf] = []
        self.devices = 1
        """The largest number of devices that an array is on."""

    def node(self, value: Any, path: str, depth: int = 0) -> list[Any]:  # noqa: PLR0911 - a line a kind.
        """Return the node of a value, see the module's docstring."""
        if depth > _DEEPEST:
            return ["unkept", "containers in each other without end"]
        if type(value) is float:
            return ["float", value.hex()]
        if type(value) in _LITERALS:
            return ["value", repr(value)]
        if isinstance(value, jax.Array | np.ndarray | np.generic):
            return self._array(value, path)
        if type(value) is dict and all(type(key) in _LITERALS for key in value):
            return ["dict", [[repr(key), self.node(one, f"{path}[{key!r}]", depth + 1)] for key, one in value.items()]]
        if type(value) in (list, tuple):
            nodes = [self.node(one, f"{path}[{number}]", depth + 1) for number, one in enumerate(value)]
            return [type(value).__name__, nodes]
        if isinstance(value, tuple) and (names := _fields(value)) is not None:
            fields = [[name, self.node(getattr(value, name), f"{path}.{name}", depth + 1)] for name in names]
            return ["named", _type_name(type(value)), fields]
        children, _ = jax.tree_util.tree_flatten_with_path(value, is_leaf=lambda one: one is not value)
        if len(children) == 1 and children[0][1] is value:
            return ["unkept", f"a {_type_name(type(value))}"]
        keys = [(jax.tree_util.keystr(key), one) for key, one in children]
        return ["custom", _type_name(type(value)), [[key, self.node(one, path + key, depth + 1)] for key, one in keys]]

    def _array(self, value: Any, path: str) -> list[Any]:
        if isinstance(value, jax.Array):
            why = _why_unreadable(value)
            if why:
                return ["unkept", why]
            self.devices = max(self.devices, len(value.sharding.device_set))
            is_key = _is_key(value)
            impl = str(jax.random.key_impl(value)) if is_key else ""
            data = _on_host(jax.random.key_data(value) if is_key else value)
            leaf = StoredLeaf(path, "key" if is_key else "array", data, impl, bool(getattr(value, "weak_type", False)))
        else:
            leaf = StoredLeaf(path, "numpy" if isinstance(value, np.ndarray) else "scalar", np.asarray(value))
        if not is_known(leaf.data.dtype):
            return ["unkept", f"an array of {leaf.data.dtype}"]
        self.leaves.append(leaf)
        return ["leaf", len(self.leaves) - 1]


def _why_unreadable(array: jax.Array) -> str:
    if array.is_deleted():
        return "an array that was deleted or donated"
    if not (array.is_fully_addressable or array.is_fully_replicated):
        return "an array that is spread over several processes"
    return ""


def _on_host(array: jax.Array) -> np.ndarray:
    """Return the elements of a copy, because reading the array itself would keep JAX from donating its memory later."""
    with jax.transfer_guard_device_to_device("allow"):
        return read([jax.device_put(array, may_alias=False) if array.is_fully_addressable else array])[0]


def _fields(named: Any) -> tuple[str, ...] | None:
    """Return the fields of a named tuple or of its type; None for other values."""
    return getattr(named, "_fields", None)


def _type_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_type(kind: type, name: str) -> bool:
    """Whether a type has this name. The same module may be `__main__` in one process, and have its own name in another."""
    is_of_program = kind.__module__ == "__main__" or name.startswith("__main__.")
    return name == _type_name(kind) or (is_of_program and name.endswith(f".{kind.__qualname__}"))


def arguments_of(stored: StoredCall, like: Sequence[Any] = ()) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Restore the arguments. `like` has examples of positional arguments, for structures that a file cannot hold.

    Raises:
      ValueError: a value cannot be made, or an example does not fit the file.
    """
    tree, examples = stored.tree, [*like]
    making = _Making(stored.leaves)
    args, kwargs = tree.get("args"), tree.get("kwargs")
    if not isinstance(args, list) or not isinstance(kwargs, list):
        raise RunFileError("the inputs have no arguments")
    examples += [None] * (len(args) - len(examples))
    made = tuple(
        making.value(node, f"args[{n}]", like) for n, (node, like) in enumerate(zip(args, examples, strict=False))
    )
    return made, {str(key): making.value(node, f"kwargs[{key!r}]") for key, node in _pairs(kwargs)}


class _Making:
    """Restores values from nodes."""

    def __init__(self, leaves: Sequence[StoredLeaf]) -> None:
        self._leaves = leaves

    def value(self, node: Any, path: str, like: Any = None) -> Any:  # noqa: PLR0911 - a line a kind.
        """Return the value of a node."""
        match node:
            case ["leaf", int(number)] if 0 <= number < len(self._leaves):
                return array_of(self._leaves[number])
            case ["float", str(text)]:
                return float.fromhex(text)
            case ["value", str(text)]:
                return ast.literal_eval(text)
            case ["list" | "tuple" as kind, list(nodes)]:
                examples = like if isinstance(like, list | tuple) and len(like) == len(nodes) else [None] * len(nodes)
                made = [
                    self.value(one, f"{path}[{n}]", ex) for n, (one, ex) in enumerate(zip(nodes, examples, strict=True))
                ]
                return made if kind == "list" else tuple(made)
            case ["dict", list(pairs)]:
                keys = [(ast.literal_eval(key), one) for key, one in _pairs(pairs)]
                return {key: self.value(one, f"{path}[{key!r}]", _item(like, key)) for key, one in keys}
            case ["named", str(kind), list(pairs)]:
                made = {key: self.value(one, f"{path}.{key}", getattr(like, key, None)) for key, one in _pairs(pairs)}
                return _named_tuple(kind, [*made], like, path)(**made)
            case ["custom", str(kind), list(pairs)]:
                return self._custom(kind, _pairs(pairs), path, like)
            case ["unkept", str(what)]:
                if like is None:
                    raise ValueError(f"{path} is {what}, which is not in the file: give it in like=")
                return like
        raise RunFileError(f"{path} of the inputs cannot be read: {node!r:.80}")

    def _custom(self, kind: str, pairs: Sequence[tuple[str, Any]], path: str, like: Any) -> Any:
        if like is None or not _is_type(type(like), kind):
            other = "" if like is None else f", not a {_type_name(type(like))}"
            raise ValueError(
                f"{path} is a {kind}{other}: give one of the same structure in like=, whose values do not matter"
            )
        children, treedef = jax.tree.flatten(like, is_leaf=lambda one: one is not like)
        if len(children) != len(pairs):
            raise ValueError(f"{path} has {len(pairs)} parts, the one in like= has {len(children)}")
        made = [self.value(one, path + key, example) for (key, one), example in zip(pairs, children, strict=True)]
        return jax.tree.unflatten(treedef, made)


def _pairs(pairs: Sequence[Any]) -> list[tuple[str, Any]]:
    try:
        return [(str(key), node) for key, node in pairs]
    except (TypeError, ValueError):
        raise RunFileError(f"{pairs!r:.80} among the inputs are no pairs") from None


def _item(like: Any, key: Any) -> Any:
    return like.get(key) if isinstance(like, Mapping) else None


def _named_tuple(kind: str, fields: list[str], like: Any, path: str) -> Any:
    """Return the type of a named tuple: the example's, or one from a loaded module. Reading a file imports nothing."""
    module, _, name = kind.rpartition(".")
    found = type(like) if like is not None else getattr(sys.modules.get(module), name, None)
    is_it = isinstance(found, type) and issubclass(found, tuple) and _fields(found) == tuple(fields)
    if not is_it:
        raise ValueError(f"{path} is a {kind} with {', '.join(fields)}: import its module, or give one in like=")
    return found


def array_of(leaf: StoredLeaf) -> Any:
    """Return the array, or NumPy scalar, of a leaf in the file."""
    if leaf.kind == "numpy":
        return leaf.data.copy()
    if leaf.kind == "scalar":
        return leaf.data[()]
    if leaf.kind == "key":
        return jax.random.wrap_key_data(jnp.asarray(leaf.data), impl=leaf.impl)
    array = jnp.array(leaf.data)
    if array.dtype != leaf.data.dtype:
        raise ValueError(
            f'{leaf.path} is of {leaf.data.dtype}: jax.config.update("jax_enable_x64", True) makes such arrays'
        )
    if not leaf.weak:
        return array
    weak = jnp.broadcast_to(leaf.data.dtype.type(0).item(), leaf.data.shape).at[...].set(array)
    if weak.dtype != array.dtype or not weak.weak_type:
        raise ValueError(f"{leaf.path} is of {leaf.data.dtype} as of a Python number, which cannot be made here")
    return weak
