"""Follow PRNG keys through a program: where each comes from, and which equations use it.

Each key has an identity: its origin, and the path from the origin to the part that it is. Wrapping and unwrapping keep the
identity.
Elements of a split differ by their index, results of `fold_in` by its data. If a loop passes a key unchanged to each
iteration, the key is used as often as the loop runs. The branches of a `cond` are alternatives, and so are opposite
branches of two `cond`s that one value chooses. `jax.random.clone` makes another key. A use that `jax.checkpoint` or the
rule of a backward pass computes again is not a second use.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from jax_debug_widgets._jax.origins.frames import Frame, frames_in_body
from jax_debug_widgets.checks.key_choices import CHOICES, kind_of
from jax_debug_widgets.checks.key_equations import batches, calls_in_body, is_recomputed, loop_of, vmaps_at
from jax_debug_widgets.checks.key_results import inner_bodies, primitives, returned
from jax_debug_widgets.checks.key_uses import (
    Key,
    Use,
    UsesInProgram,
    base_of,
    chosen_key,
    is_chosen,
    overlap,
    repeated,
    taken_key,
)
from jax_debug_widgets.watch import is_library

_USES = {
    "random_bits": "draws",
    "random_gamma": "draws",
    "rng_bit_generator": "draws",
    "threefry2x32": "draws",
    "random_split": "splits",
}
"""The primitives that consume the key in their first operand, and what they do with it."""

_SAME = frozenset(
    {
        "broadcast_in_dim",
        "convert_element_type",
        "copy",
        "device_put",
        "pbroadcast",
        "pvary",
        "random_unwrap",
        "random_wrap",
        "reshape",
        "sharding_constraint",
        "squeeze",
        "transpose",
    }
)
"""The primitives that return their key unchanged."""

_SAME_NUMBER = frozenset({"broadcast_in_dim", "convert_element_type", "copy", "reshape", "squeeze"})
"""The primitives that return their operand unchanged, if it is a number for `fold_in` or a value that chooses a branch."""

CONSTANT = "constant"
"""The origin of a key that a function has read, and that is no argument of it."""

_LEGACY_SIZES = (2, 4)
"""How many uint32 numbers an untyped key may have."""


def inputs_of(program: ClosedJaxpr) -> list[Key | None]:
    """Return the keys among the inputs of a program; None for other inputs."""
    return [(("input", number), ()) if is_key(var) else None for number, var in enumerate(program.jaxpr.invars)]


def has_uses(jaxpr: Jaxpr) -> bool:
    """Return whether any equation of a program consumes a key."""
    return not _USES.keys().isdisjoint(primitives(jaxpr))


def is_key(atom: Any) -> bool:
    """Return whether a variable may be a key."""
    return may_be_key(atom.aval)


def may_be_key(array: Any) -> bool:
    """Return whether an array, or an abstract value, may hold keys: by its dtype, or as two or four uint32 numbers."""
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        return False
    if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return True
    return dtype == np.uint32 and array.shape[-1:] in tuple((size,) for size in _LEGACY_SIZES)


class KeyFlow:
    """Follows keys through one body; maps variables to keys."""

    def __init__(
        self, uses: UsesInProgram, around: tuple[Frame, ...], *, recomputes: bool, vmaps: int = 0, way: Hashable = ()
    ) -> None:
        self._uses, self.around, self._recomputes, self._vmaps, self._way = uses, around, recomputes, vmaps, way
        self._keys: dict[Any, Key] = {}
        self._values: dict[Any, Any] = {}
        self._number = next(uses.numbers)
        self._jaxpr: Jaxpr | None = None
        self._returned: set[Any] = set()

    def run(
        self,
        jaxpr: Jaxpr,
        inputs: Sequence[Key | None],
        values: Sequence[Any] = (),
        returned_by_program: Sequence[bool] = (),
    ) -> list[Key | None]:
        """Note the uses in a body with these keys and other values as inputs; return the keys of its results.

        `returned_by_program` says which of its results the whole program returns.
        """
        self._jaxpr = jaxpr
        if any(returned_by_program):
            self._returned = returned(jaxpr, itertools.compress(jaxpr.outvars, returned_by_program))
        self._values |= zip(jaxpr.invars, values, strict=False)
        self._keys |= {var: key for var, key in zip(jaxpr.invars, inputs, strict=True) if key is not None}
        self._keys |= {var: self._uses.new(CONSTANT) for var in jaxpr.constvars if is_key(var)}
        for equation in jaxpr.eqns:
            name = equation.primitive.name
            if name in _SAME_NUMBER:
                self._values[equation.outvars[0]] = self._value(equation.invars[0])
            elif name in CHOICES:
                kind = kind_of(equation.invars[-1].aval)
                self._values[equation.outvars[0]] = (name, *map(self._value, equation.invars), kind)
            for var, key in zip(equation.outvars, self._results(equation), strict=False):
                if key is not None:
                    self._keys[var] = key
        return [self._key(atom) for atom in jaxpr.outvars]

    def _key(self, atom: Any) -> Key | None:
        return None if isinstance(atom, Literal) else self._keys.get(atom)

    def _value(self, atom: Any) -> Any:
        """Return the identity of an operand.

        This is the number of a literal, or the variable together with a number that differs each time the body is followed.
        """
        if isinstance(atom, Literal):
            return ("number", np.asarray(atom.val).item()) if not np.ndim(atom.val) else id(atom)
        return self._values.get(atom, (self._number, id(atom)))

    def _known(self, atom: Any) -> Key | None:
        """Return the key that a variable holds, a new one if its origin is unknown; None if it cannot be a key."""
        if isinstance(atom, Literal) or not is_key(atom):
            return None
        return self._keys.setdefault(atom, self._uses.new())

    def _frames(self, equation: Any) -> tuple[Frame, ...]:
        own = frames_in_body(equation.source_info.traceback, self._jaxpr, self.around)
        return (*own, *self.around)

    def _way_to(self, equation: Any) -> Hashable:
        return self._way, calls_in_body(equation)

    def _results(self, equation: Any) -> list[Key | None]:
        name, key = equation.primitive.name, self._key(equation.invars[0]) if equation.invars else None
        if name in _USES and (name == "threefry2x32" or is_key(equation.invars[0])):
            return self._used(equation, key)
        if name in ("random_clone", "random_seed"):
            return [self._seeded(equation) if name == "random_seed" else self._uses.new("clone")]
        if name in _SAME:
            return [key or (self._uses.new() if name == "random_wrap" else None)]
        if name == "select_n" and is_key(equation.outvars[0]):
            return [self._selected(equation)]
        if (
            name == "unstack" and key is not None
        ):  # JAX 0.12 and newer split arrays of keys, or the words of a key, with it.
            return [(key[0], (*key[1], ("element", number))) for number, _ in enumerate(equation.outvars)]
        follow = {"cond": self._branches, "scan": self._loop, "while": self._loop}.get(name, self._call)
        part = self._part(equation, key)
        return follow(equation) if part is None else [part]

    def _seeded(self, equation: Any) -> Key:
        """Return the key of a seed. A library's key from its own seed differs from the user's key from an equal seed."""
        frames = self._frames(equation)
        is_librarys = bool(frames) and is_library(frames[0].file)
        return self._uses.new() if is_librarys else (("seed", self._value(equation.invars[0])), ())

    def _used(self, equation: Any, key: Key | None) -> list[Key | None]:
        name, key = equation.primitive.name, key or self._known(equation.invars[0])
        if key is not None and name == "threefry2x32":  # Its operands are the words of one key.
            key = key[0], key[1][:-1]
        if key is not None and not (self._recomputes or is_recomputed(equation)):
            is_once = name == "threefry2x32" or equation.outvars[0] in self._returned
            is_shared = not is_once and batches(equation.invars[0]) < self._vmaps_at(equation)
            use = Use(_USES[name], self._frames(equation), is_shared=is_shared, way=self._way_to(equation))
            self._uses.add(key, [use])
        return [(("split", key), ())] if name == "random_split" else []

    def _vmaps_at(self, equation: Any) -> int:
        """Return how many `vmap`s are around an equation, also around the calls that it is in."""
        return self._vmaps + vmaps_at(equation)

    def _part(self, equation: Any, key: Key | None) -> Key | None:
        """Return the key that an equation derives from another one; None for other equations."""
        name = equation.primitive.name
        if name == "random_fold_in":
            return ("fold", key or self._uses.new(), self._value(equation.invars[1])), ()
        if key is None:
            return None
        if name == "slice":
            part = equation.params["start_indices"], equation.params["limit_indices"]
            return key[0], (*key[1], part)
        if name in ("dynamic_slice", "gather"):
            return ("at", key, self._place(equation.invars[1:])), ()
        return None

    def _selected(self, equation: Any) -> Key | None:
        """Return the key that `select_n` chooses.

        A vmapped `cond` becomes a `select_n`, whose cases may be one and the same key.
        """
        chooses, *cases = equation.invars
        value, keys = self._value(chooses), [self._known(one) for one in cases]
        first = keys[0]
        is_branch = first is not None and len(set(keys)) == 1 and isinstance(value, tuple) and value[:1] == ("eq",)
        return taken_key(value, first) if first is not None and is_branch else chosen_key(value, keys)

    def _place(self, indices: Sequence[Any]) -> Any:
        """Return the identity of indices, marked as a number if all of them are numbers."""
        values = tuple(map(self._value, indices))
        if len(values) == 1:
            return values[0]
        is_number = all(isinstance(one, tuple) and one[:1] == ("number",) for one in values)
        return ("number" if is_number else "indices", values)

    def _inside(self, equation: Any, uses: UsesInProgram, *, recomputes: bool) -> KeyFlow:
        """Return the `KeyFlow` for a body that an equation runs."""
        frames, vmaps, way = self._frames(equation), self._vmaps_at(equation), self._way_to(equation)
        return KeyFlow(uses, frames, recomputes=recomputes, vmaps=vmaps, way=way)

    def _call(self, equation: Any) -> list[Key | None]:
        inner = inner_bodies(equation)
        if len(inner) != 1 or len(inner[0].invars) != len(equation.invars):
            return []
        is_again = self._recomputes or is_recomputed(equation) or bool(equation.params.get("differentiated"))
        body = self._inside(equation, self._uses, recomputes=is_again)
        values = [self._value(atom) for atom in equation.invars]
        keys = [self._known(atom) for atom in equation.invars]
        return body.run(inner[0], keys, values, [one in self._returned for one in equation.outvars])

    def _branches(self, equation: Any) -> list[Key | None]:
        """Follow the keys through the branches of a `cond`; one branch runs."""
        chooses, *operands = equation.invars
        given, values, ends = [self._known(atom) for atom in operands], [self._value(atom) for atom in operands], []
        for number, branch in enumerate(equation.params["branches"]):
            apart = UsesInProgram(numbers=self._uses.numbers)
            body = self._inside(equation, apart, recomputes=self._recomputes)
            ends.append(body.run(branch.jaxpr, given, values))
            chosen = self._value(chooses), number
            for key, found in apart.uses.items():
                self._uses.add(key, [replace(use, chosen=use.chosen | {chosen}) for use in found])
        return [chosen_key(self._value(chooses), keys) for keys in zip(*ends, strict=True)]

    def _loop(self, equation: Any) -> list[Key | None]:
        body, operands, constants, carried, length = loop_of(equation)
        given = [self._known(atom) for atom in operands]
        mark = object()
        inside: list[Key | None] = [
            key if key is None or (number < constants and not is_chosen(key)) else ((mark, number), ())
            for number, key in enumerate(given)
        ]
        apart = UsesInProgram(numbers=self._uses.numbers)
        values = [self._value(atom) for atom in operands[:constants]]
        flow = self._inside(equation, apart, recomputes=self._recomputes)
        ends = flow.run(body, inside, values)
        for number, key in enumerate(inside):
            outside = given[number]
            if key is None or outside is None:
                continue
            is_carried = constants <= number < constants + carried
            stays = number < constants or (is_carried and ends[number - constants] == key)
            for used in [one for one in apart.uses if overlap(one, key)]:
                found = apart.uses.pop(used)
                if stays:
                    found = repeated(found, length, flow.around)
                # Each iteration has its own element of a scanned input.
                element = () if stays or is_carried else (("element", mark),)
                self._uses.add((outside[0], (*outside[1], *element, *used[1])), found)
        fixed = [key for key in inside[:constants] if key is not None]
        for key, found in apart.uses.items():
            base = base_of(key)
            stays = base != key and any(overlap(base, one) for one in fixed)
            self._uses.add(key, repeated(found, length, flow.around) if stays else found)
        return [self._uses.new() if key is not None else None for key in ends[:carried]]
