"""Test that nested replacements of functions of JAX can be removed in any order."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from jax_debug_widgets._jax.compat.replacements import Replacements


class Base:
    def read(self):
        return "theirs"


def on_a_module():
    owner = SimpleNamespace(read=lambda: "theirs")
    return owner, lambda one, ours: one.attribute(owner, "read", ours), lambda: owner.read()  # noqa: PLW0108 - read anew.


def on_a_class_that_inherits_it():
    class Kind(Base):
        pass

    return Kind, lambda one, ours: one.attribute(Kind, "read", ours), lambda: Kind().read()


def on_a_static_method():
    class Kind:
        @staticmethod
        def read() -> str:
            return "theirs"

    return Kind, lambda one, ours: one.attribute(Kind, "read", ours, wrap=staticmethod), lambda: Kind().read()


def on_a_property():
    class Kind:
        @property
        def read(self):
            return "theirs"

    return Kind, lambda one, ours: one.computed(Kind, "read", ours), lambda: Kind().read


def in_a_table():
    table = {1: lambda: "theirs"}
    return SimpleNamespace(table=table), lambda one, ours: one.item(table, 1, ours), lambda: table[1]()  # noqa: PLW0108


def contents(owner):
    return {
        name: dict(value) if isinstance(value, dict) else value
        for name, value in vars(owner).items()
        if not name.startswith("__")
    }


@pytest.mark.parametrize(
    "make", [on_a_module, on_a_class_that_inherits_it, on_a_static_method, on_a_property, in_a_table]
)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_replacements_are_undone_in_any_order_and_the_original_comes_back(make, order):
    owner, put_in, read = make()
    before = contents(owner)
    ours = [Replacements() for _ in range(3)]
    for number, one in enumerate(ours):
        put_in(one, lambda theirs, *args, number=number: f"{number} {theirs(*args)}")
    there = {0, 1, 2}
    for number in order:
        assert read() == " ".join([*map(str, sorted(there, reverse=True)), "theirs"])
        ours[number].undo()
        there.remove(number)
    assert read() == "theirs"
    assert contents(owner) == before
