"""Handle programs that are compiled ahead of time in a capture and called elsewhere.

They may be called in another capture, in another thread, or outside of captures. In JAX, such a program is one
executable for all callers. Ours has the taps of one capture. For each other capture, and outside of captures, it is
compiled again when it is first called there, as jitted functions are. Exported and serialized programs, and their
texts, have no taps: they are JAX's own program, which is made when it is requested.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property, partial
from typing import Any

import jax

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.compat.stages import with_program
from jax_debug_widgets._jax.origins.context import captured_settings, capturing
from jax_debug_widgets._jax.passes.callbacks import inspections
from jax_debug_widgets._jax.passes.program import without
from jax_debug_widgets._jax.running.dispatch import recorders_in, recorders_of


class AheadHooks(Replacing):
    """Installs hooks for `jax.stages.Traced.lower`; installing is counted, so that captures may nest and overlap."""

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.AHEAD):
            replace.attribute(jax.stages.Traced, "lower", _lower)


def _lower(theirs: Callable[..., Any], traced: Any, **options: Any) -> Any:
    settings = captured_settings()
    if settings is None:
        return theirs(traced, **options)
    if getattr(options.get("_private_parameters"), "for_export", False):
        with capturing(None):
            return theirs(traced, **options)
    lowered = theirs(traced, **options)
    device = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    again = partial(_lower_again, device, theirs, traced, **options)
    lowered.compile = partial(_compile, copy(lowered).compile, again, settings)
    if recorders_in(lowered._lowering.compile_args.get("keepalive")) is not None:
        lowered._lowering = _WithoutTaps(lambda: again()._lowering)
    return lowered


def _lower_again(device: Any, theirs: Callable[..., Any], traced: Any, **options: Any) -> Any:
    """Lower a traced program again, for the earlier default device `device`, and without `inspect_array_sharding`."""
    program = without(traced.jaxpr.jaxpr, inspections())
    if program is not traced.jaxpr.jaxpr:
        traced = with_program(traced, traced.jaxpr.replace(jaxpr=program))
    with jax.default_device(device):
        return theirs(traced, **options)


def _compile(
    theirs: Callable[..., Any], lower_again: Callable[[], Any], settings: Any, *args: Any, **options: Any
) -> Any:
    compiled = theirs(*args, **options)
    if recorders_of(compiled._executable.unsafe_call) is not None:  # A program without recorders stays JAX's own.
        call = _CallByCapture({settings: copy(compiled)}, partial(_lower_and_compile, lower_again, *args, **options))
        compiled._call = call
        compiled._executable = _WithoutTaps(lambda: call.here()._executable)
    return compiled


def _lower_and_compile(lower: Callable[[], Any], *args: Any, **options: Any) -> Any:
    return lower().compile(*args, **options)


class _CallByCapture:
    """Replaces the call of a `jax.stages.Compiled`: calls the executable for the current thread's capture."""

    def __init__(self, executables: dict[Any, Any], compile_again: Callable[[], Any]) -> None:
        self._executables, self._compile_again = executables, compile_again

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.here()(*args, **kwargs)

    def here(self) -> Any:
        """Return the program for the current capture, or for no capture; compile it first if needed."""
        settings = captured_settings()
        if settings not in self._executables:
            self._executables[settings] = self._compile_again()
        return self._executables[settings]


class _WithoutTaps:
    """Replaces an object that JAX makes outside of captures; the object is made when an attribute is first read."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Any:
        with capturing(None):
            return self._make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)
