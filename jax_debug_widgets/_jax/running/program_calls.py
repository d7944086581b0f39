"""Call an observer before and after each call of a program from un-jitted code, with its operands and results.

A look-up of a program is not a call: `jax.eval_shape`, `lower` and `make_jaxpr` look programs up as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.guard import quiet
from jax_debug_widgets._jax.compat.private import pjit
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.context import is_uncached

Ended = Callable[[Sequence[Any]], object]
"""Takes the results of a call."""

Called = Callable[[str, Any, Sequence[Any]], Ended | None]
"""Takes the name, the program and the operands of a call. Returns None if the observer does not need the results."""


class ProgramCalls(Replacing):
    """Installs the hooks for calls; installing is counted, so that captures may nest and overlap.

    Attributes:
      observer: called in the thread that calls a program. Python dispatches the programs with results that it needs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.observer: Called = lambda _name, _program, _operands: None
        self._here = _Here()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.CALL_PROGRAMS) and features.available(features.RETRACED):
            replace.attribute(pjit, "_pjit_call_impl_python", self._call)
            replace.attribute(pjit, "_get_fastpath_data", self._fast_path)

    def _call(self, theirs: Callable[..., Any], *args: Any, jaxpr: Any, **params: Any) -> Any:
        here = self._here
        if here.is_inside or is_uncached():
            return theirs(*args, jaxpr=jaxpr, **params)
        ended = self._observed(self.observer, str(params.get("name", "")), jaxpr, args)
        called = theirs(*args, jaxpr=jaxpr, **params)
        if ended is not None:
            self._observed(ended, called[0])
        here.is_observed = ended is not None
        return called

    def _observed(self, observer: Callable[..., Any], *args: Any) -> Any:
        """Call the observer and return its result; programs that the observer itself calls are not observed."""
        self._here.is_inside = True
        try:
            return quiet(observer, self._report_failure)(*args)
        finally:
            self._here.is_inside = False

    def _fast_path(self, theirs: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return None if self._here.is_observed and not self._here.is_inside else theirs(*args, **options)


class _Here(threading.local):
    """The state of the current thread.

    Attributes:
      is_inside: whether the observer runs.
      is_observed: whether it has asked for the results of the call that ended last.
    """

    is_inside = False
    is_observed = False
