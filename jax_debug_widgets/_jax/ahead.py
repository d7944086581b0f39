"""Programs that are compiled ahead of time are told apart: they may outlive the capture, and then be called outside all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from jax_debug_widgets._jax.context import captured_settings, capturing
from jax_debug_widgets._jax.replacements import Replacements, Replacing, as_method


class AheadHooks(Replacing):
    """Install and remove, counted, so that captures may nest and overlap."""

    def _put_in(self, replace: Replacements) -> None:
        replace.attribute(jax.stages.Traced, "lower", _lower, wrap=as_method)


def _lower(theirs: Callable[..., Any], traced: Any, **options: Any) -> Any:
    settings = captured_settings()
    with capturing(None if settings is None else settings.ahead_of_time):
        return theirs(traced, **options)
