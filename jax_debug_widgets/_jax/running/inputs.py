"""Keep the arguments of calls of jitted functions, so that a call can be repeated.

Donated arguments (`donate_argnums`) are copied on their device before the program runs. Python dispatches all these
programs, because JAX's C++ would not call us.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.arrays import unchanging
from jax_debug_widgets._jax.compat.private import core, pjit
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.context import captured_settings


@dataclass(frozen=True)
class Inputs:
    """A call of a jitted function.

    Attributes:
      function: the jitted function, with its static arguments, and without donation.
      args, kwargs: the arguments of the call.
      copied: the bytes of the arrays that were copied because the call donates them.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    copied: int

    @property
    def nbytes(self) -> int:
        """Return the bytes of all arrays among the arguments."""
        return _nbytes((self.args, self.kwargs))


class InputHooks(Replacing):
    """Notes the calls in captures that keep inputs; installing is counted."""

    def __init__(self) -> None:
        super().__init__()
        self._here = _Here()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.INPUTS):
            replace.attribute(pjit, "_infer_params", self._infer, retries=True)
            replace.attribute(pjit, "_pjit_call_impl_python", self._call)
            replace.attribute(pjit, "_get_fastpath_data", self._fast_path, retries=True)

    def take(self) -> Inputs | None:
        """Return the inputs of the program that this thread dispatches; None if there are none, or they are taken."""
        running, self._here.running = self._here.running, None
        return running

    def _infer(self, theirs: Callable[..., Any], fun: Any, ji: Any, args: Any, kwargs: Any) -> Any:
        inferred, here = theirs(fun, ji, args, kwargs), self._here
        if _keeps() and not here.is_copying:
            here.called = None
            if core.trace_state_clean():
                here.is_copying = True
                try:
                    here.called = inferred[0].params["jaxpr"], _inputs(fun, ji, args, kwargs)
                finally:
                    here.is_copying = False
        return inferred

    def _call(self, theirs: Callable[..., Any], *args: Any, jaxpr: Any, **params: Any) -> Any:
        here = self._here
        before, here.running = here.running, None
        if (
            here.called is not None and here.called[0] is jaxpr
        ):  # Otherwise it is a watched twin, which runs before, see `twins`.
            here.running, here.called = here.called[1], None
        try:  # Compiling the program may call and trace other jitted functions.
            return theirs(*args, jaxpr=jaxpr, **params)
        finally:
            here.running = before

    def _fast_path(self, theirs: Callable[..., Any], *args: Any) -> Any:
        return None if _keeps() else theirs(*args)


class _Here(threading.local):
    """The state of the current thread.

    Attributes:
      called: the program that was looked up last, with the inputs of the call.
      running: the inputs of the program that is being compiled and dispatched.
      is_copying: whether inputs are being copied, which also calls jitted functions.
    """

    called: tuple[Any, Inputs] | None = None
    running: Inputs | None = None
    is_copying = False


def copied(tree: Any) -> Any:
    """Copy all arrays of a tree, for a function that may donate them."""
    return jax.tree.map(lambda leaf: jnp.copy(leaf) if isinstance(leaf, jax.Array) else leaf, tree)


def _keeps() -> bool:
    return bool(getattr(captured_settings(), "keeps_inputs", False))


def _inputs(fun: Any, ji: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
    given = {number % len(args) for number in ji.donate_argnums if args and number < len(args)}
    static = {number % len(args) for number in ji.static_argnums if args}
    given_away = [args[number] for number in given] + [kwargs[name] for name in ji.donate_argnames if name in kwargs]
    return Inputs(
        jax.jit(fun, static_argnums=ji.static_argnums, static_argnames=ji.static_argnames, keep_unused=ji.keep_unused),
        tuple(arg if n in static else _kept(arg, n in given) for n, arg in enumerate(args)),
        {n: arg if n in ji.static_argnames else _kept(arg, n in ji.donate_argnames) for n, arg in kwargs.items()},
        _nbytes(given_away),
    )


def _kept(tree: Any, is_given: bool) -> Any:
    """Copy the leaves of an argument that may change: donated arrays, and NumPy arrays that the user may write to."""

    def kept(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray):
            return unchanging(leaf)
        return jnp.copy(leaf) if is_given and isinstance(leaf, jax.Array) else leaf

    return jax.tree.map(kept, tree)


def _nbytes(tree: Any) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array))
