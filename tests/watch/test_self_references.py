"""Test that trees which contain themselves, and which JAX cannot flatten, are watched without errors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat.trees import leaves_with_paths

X = jnp.arange(3.0)


@jax.tree_util.register_pytree_with_keys_class
class Node:
    """A value, and other nodes."""

    def __init__(self, v, other=None):
        self.v, self.other = v, other

    def tree_flatten_with_keys(self):
        key = jax.tree_util.GetAttrKey
        return ((key("v"), self.v), (key("other"), self.other)), None

    @classmethod
    def tree_unflatten(cls, _, children) -> Node:
        return cls(*children)


def deep(n: int) -> int:
    return n and 1 + deep(n - 1)


@pytest.fixture(autouse=True)
def recursion_is_left():
    """Assert that later code may recurse as deeply as before: JAX uses the limit up for an infinite tree."""
    before = deep(300)
    yield
    assert deep(300) == before


def of_itself(x):
    tree = Node(x * 2)
    tree.other = tree
    h = tree.v + 1
    return h * 3


def with_parents(x):
    root, child = Node(x * 2), Node(x * 3)
    root.other, child.other = child, root
    both = {"root": root, "list": [child]}
    both["all"] = both
    h = both["root"].v + both["list"][0].v
    return h * 3


def chain(x):
    tree = None
    for i in range(150):
        tree = Node(x if i == 149 else None, tree)
    h = tree.v + 1
    return h


def generated(x):
    class Fresh:
        """An object with a new part at each access."""

    jax.tree_util.register_pytree_node(Fresh, lambda _: ((x, Fresh()), None), lambda *_: Fresh())
    fresh = Fresh()
    h = x + 1
    return h, fresh is None


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("program", [of_itself, with_parents, chain, generated])
@pytest.mark.parametrize("wrap", [jax.jit, lambda f: jax.jit(jax.vmap(f))], ids=["jit", "vmap"])
@pytest.mark.each
def test_values_computed_from_an_infinite_tree_are_watched(program, wrap, watched, agrees):
    run = watched(wrap(program), X)
    tree = jax.tree.leaves(run.result)[0]
    h = {of_itself: X * 2 + 1, with_parents: X * 5, chain: X + 1, generated: X + 1}[program]
    agrees(run["h"], h)
    assert (tree == jax.tree.leaves(wrap(program)(X))[0]).all()
    assert not any("unwatched" in note for note in run.notes)


def test_a_module_that_knows_its_parent_is_watched(watched, agrees):
    class Child(nnx.Module):
        def __init__(self, parent):
            self.parent, self.w = nnx.data(parent), nnx.Param(jnp.full(3, 2.0))

    class Parent(nnx.Module):
        def __init__(self):
            self.child = Child(self)

    @nnx.jit
    def f(model, x):
        h = model.child.w[...] * x
        return model.child.parent.child.w[...] + h

    run = watched(f, Parent(), X)
    agrees(run["h"], X * 2)


def test_a_repeated_leaf_has_both_paths_and_in_an_infinite_tree_the_shortest():
    one = Node(1.0)
    tree = {"b": [[one]], "a": one}
    assert [path for path, _ in leaves_with_paths(tree)] == [path for path, _ in jax.tree.leaves_with_path(tree)]
    one.other = tree
    assert [jax.tree_util.keystr(path) for path, _ in leaves_with_paths(tree)] == ["['a'].v"]


def test_a_breakpoint_beside_a_tree_that_contains_itself_stops(watched):
    @jax.jit
    def f(x):
        tree = Node(1.0)
        tree.other = tree
        return jdw.breakpoint(x * 2)

    run = watched(f, X)
    assert (run.result == X * 2).all()
