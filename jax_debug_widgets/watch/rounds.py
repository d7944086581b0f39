"""What a round of a Python loop hands to the next one: each leaf goes where the same leaf of the round before has gone.

Of `for batch in batches: state = step(state, batch)` JAX keeps no tree. But each round runs the same lines: what an equation of
the first takes of the `state` that the program was given, the same equation of the second takes of what the first has made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from jax_debug_widgets.watch.body import Body, Call, Made, is_array
from jax_debug_widgets.watch.instances import operation_of
from jax_debug_widgets.watch.mapped import Leaves

Round = tuple[list[int], Leaves]
"""The equations of an execution of a statement, and what is handed to it."""


class HandedOn:
    """The trees that Python's loops have handed on, by their leaves."""

    def __init__(self) -> None:
        self._paths: dict[frozenset[Any], dict[Any, str]] = {}
        self._before: dict[tuple[Call, str], Round] = {}
        self._made: dict[tuple[Call, str], tuple[list[int], dict[tuple[int, int], str]]] = {}

    def __len__(self) -> int:
        return len(self._paths)

    def begin_anew(self) -> None:
        """The program is gone through once more, with what is known now."""
        self._before.clear()
        self._made.clear()

    def paths(self, leaves: Iterable[Any]) -> dict[Any, str]:
        """Where each of these variables is in the tree that they are, in its order; nothing where that is not known."""
        return self._paths.get(frozenset(leaves), {})

    def follow(
        self, body: Body, call: Call, name: str, members: list[int], leaves: Leaves, *, is_numbered: bool
    ) -> None:
        """An execution of a statement that assigns a name begins, which has stood for these leaves."""
        before = self._before.get((call, name))
        variables = [variable for _, variable in leaves]
        if is_numbered and before:
            paths = _places(body, before, members)
            if set(paths) >= set(variables):
                self._paths[frozenset(variables)] = {one: path for one, path in paths.items() if one in variables}
        told = self.paths(variables)
        if told or not is_numbered:
            self._before[call, name] = members, [(path, one) for one, path in told.items()] or leaves

    def note(self, call: Call, name: str, members: list[int], made: Iterable[tuple[str, Made]]) -> None:
        """What an execution has assigned to a name."""
        self._made[call, name] = members, {(members.index(n), position): path for path, (_, n, position) in made}

    def as_before(
        self, body: Body, call: Call, name: str, members: list[int], made: Iterable[Made]
    ) -> list[tuple[str, Made]]:
        """What an execution assigns, with the paths of what the same equations made in one before; none if not all did."""
        earlier, paths = self._made.get((call, name), ([], {}))
        by = {(members.index(one[1]), one[2]): one for one in made}
        is_alike = by.keys() <= paths.keys() and _are_alike(body, earlier, members)
        return [(path, by[place]) for place, path in paths.items() if place in by] if is_alike else []


def _are_alike(body: Body, some: list[int], others: list[int]) -> bool:
    return [operation_of(body, one) for one in some] == [operation_of(body, one) for one in others]


def _places(body: Body, before: Round, members: list[int]) -> dict[Any, str]:
    """The path of each variable that these equations take where those of a round before have taken a leaf with that."""
    earlier, leaves = before
    if not _are_alike(body, earlier, members):
        return {}
    later: dict[Any, set[Any]] = {}
    for one, other in _taken(body, earlier, members):
        later.setdefault(one, set()).add(other)
    found = [(variable, path) for path, one in leaves for variable in later.get(one, ())]
    counts = Counter(variable for variable, _ in found)
    return {variable: path for variable, path in found if counts[variable] == 1}


def _taken(body: Body, earlier: list[int], later: list[int]) -> Iterator[tuple[Any, Any]]:
    for one, other in zip(earlier, later, strict=True):
        atoms = zip(body.equations[one].invars, body.equations[other].invars, strict=False)
        yield from ((first, second) for first, second in atoms if is_array(first) and is_array(second))
