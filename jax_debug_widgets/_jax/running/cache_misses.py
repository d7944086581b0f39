"""Let JAX explain in a capture what it explains without one: why it traces a function again (`jax_explain_cache_misses`).

A capture is part of the keys of JAX's caches. JAX would name the capture as what has changed. So JAX's own explanation is
called with the keys as they would be without a capture, and only for what plain JAX would trace.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from jax_debug_widgets._jax.compat import features, versions
from jax_debug_widgets._jax.compat.private import config, pe
from jax_debug_widgets._jax.compat.replacements import CachedFunction, Replacements, Replacing
from jax_debug_widgets._jax.origins.context import capturing, is_capturing, is_traced_for_us
from jax_debug_widgets._jax.running.retraced import is_jitted


class CacheMissHooks(Replacing):
    """Installs the hook for JAX's explanations, counted, so that captures may nest; needed after `RetracedHooks`."""

    def __init__(self) -> None:
        super().__init__()
        self._here = _Here()

    def _put_in(self, replace: Replacements) -> None:
        if versions.EXPLAINS_TRACES and features.available(features.MISSES):
            replace.attribute(pe, "trace_to_jaxpr", self._traced, wrap=CachedFunction)

    def _traced(self, theirs: Callable[..., Any], function: Any, *signature: Any, **options: Any) -> Any:
        asked = self._here.is_asked or config.explain_cache_misses.value
        if not asked or not is_capturing():
            return theirs(function, *signature, **options)
        if not is_traced_for_us():
            self._explain(function, signature, options)
        before, self._here.is_asked = self._here.is_asked, True
        try:
            with config.explain_cache_misses(False):
                return theirs(function, *signature, **options)
        finally:
            self._here.is_asked = before

    def _explain(self, function: Any, signature: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Call JAX's explanation if plain JAX would trace the function now."""
        context = config.trace_context()
        with capturing(None):
            plain = config.trace_context()
            others: list[tuple[Any, ...]] = []
            # A key has a weak reference to the function, JAX's context, and the further arguments.
            for reference, known, *arguments in pe.trace_to_jaxpr.cache_keys():
                is_same = reference() is function and arguments == [signature, options]
                if is_same and _plain(known, context, plain) == plain:
                    # JAX leaves a key where the program of a jitted function was looked up, and was not there.
                    if known != plain or not is_jitted(signature):
                        return
                else:
                    others.append((reference, _plain(known, context, plain), *arguments))
            pe.explain(others, function, *signature, **options)


def _plain(known: tuple[Any, ...], context: tuple[Any, ...], plain: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return JAX's context of a key without a capture's settings, which are where `context` and `plain` differ."""
    if len(known) != len(plain):
        return known
    return tuple(
        of_plain if here is not of_plain else one for one, here, of_plain in zip(known, context, plain, strict=True)
    )


class _Here(threading.local):
    """The state of the current thread.

    Attributes:
      is_asked: whether a trace is under way for which JAX was to explain.
    """

    is_asked = False
