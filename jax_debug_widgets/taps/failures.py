"""Note which part of a capture is off after one of our replacements of JAX's functions has failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.compat.guard import HookError
from jax_debug_widgets._jax.compat.names import function_of
from jax_debug_widgets._jax.tracing.tracing import functions_traced
from jax_debug_widgets.events.errors import error_line

if TYPE_CHECKING:
    from jax_debug_widgets._jax.compat.replacements import Replacing
    from jax_debug_widgets._jax.passes.watching import WatchHooks

_REPORT = "This is a fault of ours, or a JAX that we do not know: please report it."


class Failures:
    """Writes a note about each failed hook. If the hook failed while a function was traced, that function is not watched.

    Attributes:
      functions: the names of functions with programs that may have no taps.
    """

    def __init__(self, watch_hooks: WatchHooks, note: Callable[[str], object]) -> None:
        self._watch_hooks, self._note = watch_hooks, note
        self.functions: set[str] = set()

    def subscribe(self, hooks: Iterable[Replacing], watching: Iterable[Replacing]) -> None:
        """Subscribe to the failures of these hooks; the hooks in `watching` serve only watched values."""
        for one in hooks:
            one.failed = self._is_incomplete
        for one in watching:
            one.failed = self._is_unwatched

    def _is_incomplete(self, hook: str, error: Exception, args: Sequence[Any]) -> None:
        # JAX's functions that lower a program take the program's name as an argument.
        names = [one for one in args if isinstance(one, str)]
        function = function_of(names[-1]) if names else ""
        self.functions |= {function} if function else set()
        what = f"What `{function}` says" if function else "What programs say"
        self._note(f"{what} may be incomplete: {hook} has failed ({error_line(error)}). {_REPORT}")

    def _is_unwatched(self, hook: str, error: Exception, args: Sequence[Any]) -> None:
        functions = functions_traced(args[0] if args else None)
        if not functions:
            self._is_incomplete(hook, error, args)
        self._watch_hooks.leave_off(functions, HookError(f"{hook} has failed ({error_line(error)}). {_REPORT}"))
