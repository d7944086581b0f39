"""See what jitted functions are called with, so that a call can be made once more.

Arguments that a program is given for good (`donate_argnums`) are copied on their device before it runs. C++ dispatches none
of these programs: it would not ask us.
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
      function: what was jitted, with its static arguments, and giving nothing away.
      args, kwargs: what it was called with.
      copied: bytes of these that had to be copied, because the call gives them away.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    copied: int

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays among them."""
        return _nbytes((self.args, self.kwargs))


class InputHooks(Replacing):
    """Notes the calls of captures that keep inputs. Installed and removed, counted."""

    def __init__(self) -> None:
        super().__init__()
        self._here = threading.local()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.INPUTS):
            replace.attribute(pjit, "_infer_params", self._infer, retries=True)
            replace.attribute(pjit, "_get_fastpath_data", self._fast_path, retries=True)

    def take(self) -> Inputs | None:
        """What this thread has called last, and was not asked for."""
        called, self._here.called = getattr(self._here, "called", None), None
        return called

    def _infer(self, theirs: Callable[..., Any], fun: Any, ji: Any, args: Any, kwargs: Any) -> Any:
        inferred = theirs(fun, ji, args, kwargs)
        is_own = getattr(self._here, "is_copying", False)
        if _keeps() and not is_own and core.trace_state_clean():
            self._here.is_copying = True
            try:
                self._here.called = _inputs(fun, ji, args, kwargs)
            finally:
                self._here.is_copying = False
        return inferred

    def _fast_path(self, theirs: Callable[..., Any], *args: Any) -> Any:
        return None if _keeps() else theirs(*args)


def _keeps() -> bool:
    return bool(getattr(captured_settings(), "keeps_inputs", False))


def _inputs(fun: Any, ji: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
    given = {number % len(args) for number in ji.donate_argnums if args and number < len(args)}
    static = {number % len(args) for number in ji.static_argnums if args}
    copied = [args[number] for number in given] + [kwargs[name] for name in ji.donate_argnames if name in kwargs]
    return Inputs(
        jax.jit(fun, static_argnums=ji.static_argnums, static_argnames=ji.static_argnames, keep_unused=ji.keep_unused),
        tuple(arg if n in static else _kept(arg, n in given) for n, arg in enumerate(args)),
        {n: arg if n in ji.static_argnames else _kept(arg, n in ji.donate_argnames) for n, arg in kwargs.items()},
        _nbytes(copied),
    )


def _kept(tree: Any, is_given: bool) -> Any:
    """An argument as it is now: what the call gives away is copied, and what its user may write to later."""

    def kept(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray):
            return unchanging(leaf)
        return jnp.copy(leaf) if is_given and isinstance(leaf, jax.Array) else leaf

    return jax.tree.map(kept, tree)


def _nbytes(tree: Any) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array))
