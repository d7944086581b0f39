"""Put taps for watched values into programs, before JAX decides about a program's effects.

`Hooks` taps the debugging calls of a program. A program without any has no effects, and JAX dispatches it by a faster
path that we cannot observe. So this pass runs earlier, just before a program is lowered: with its taps, the program has
effects. The equations of a body stay as they are; equations that read the watched values are appended.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.guard import HookError
from jax_debug_widgets._jax.compat.parameters import argument, parameters_of
from jax_debug_widgets._jax.compat.private import pxla
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.compat.uninterrupted import uninterrupted
from jax_debug_widgets._jax.origins.residual_results import own_results_now
from jax_debug_widgets._jax.passes.program import outermost
from jax_debug_widgets._jax.passes.watch_pass import WatchPass
from jax_debug_widgets._jax.passes.watcher import MakeWatcher, Watcher
from jax_debug_widgets._jax.passes.without_marks import without_marks
from jax_debug_widgets._jax.tracing import copies


class WatchHooks(Replacing):
    """Installs the hooks, counted, so that captures may nest and overlap."""

    def __init__(self, make_watcher: MakeWatcher, settings: Callable[[], Any]) -> None:
        super().__init__()
        self._make_watcher = make_watcher
        self._settings = settings
        self._here = threading.local()
        self._watched: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
        self._left_off: dict[str, HookError] = {}
        self._parameters: Sequence[str] = ()
        """The names of the parameters of JAX's function that lowers a program."""

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.WATCH):
            self._left_off.clear()
            self._parameters = parameters_of(pxla._cached_lowering_to_hlo)
            replace.attribute(pxla, "_cached_lowering_to_hlo", self._lower)
            replace.computed(jax.stages.Traced, "jaxpr", lambda theirs, traced: without_marks(theirs(traced)))
        if features.available(features.COPIES):
            copies.put_in(replace)

    def _lower(self, theirs: Any, program: Any, name: str, *args: Any, **options: Any) -> Any:
        replicas = argument("num_devices", self._parameters, (program, name, *args), options)
        tapped = None if getattr(self._here, "leaves", False) else self.tapped(program, name, replicas)
        if tapped is None:
            return theirs(program, name, *args, **options)
        with uninterrupted():
            try:
                return theirs(tapped, name, *args, **options)
            except Exception as error:  # noqa: BLE001 - if our taps fail, the user's program runs without them.
                failure = _explained(error)
        lowered = theirs(program, name, *args, **options)  # An error of the program itself is raised here.
        settings = self._settings()
        self._watched[program][settings, replicas] = None
        if watcher := self._make_watcher(name, settings):
            watcher.failed(program, name, failure)
        return lowered

    def leave_off(self, functions: Iterable[str], reason: HookError) -> None:
        """Run programs of these functions unwatched, because the notes from their traces may be wrong."""
        self._left_off.update(dict.fromkeys(functions, reason))

    @uninterrupted()
    def tapped(self, program: Any, name: str, replicas: int) -> Any | None:
        """Add the taps to a program that `replicas` devices run; None if nothing in it is watched."""
        settings = self._settings()
        began = time.perf_counter()  # The first watcher of a process loads Numba.
        watcher = None if settings is None else self._make_watcher(name, settings)
        if watcher is None:
            return None
        # JAX caches its results by the identity of a program: the watched program must be the same object each time.
        known, key = self._watched.setdefault(program, {}), (settings, replicas)
        if key not in known:
            known[key] = None
            if reason := self._left_off.get(program.jaxpr.debug_info.func_src_info):
                watcher.failed(program, name, reason)
                return None
            try:
                known[key] = self._with_taps(program, name, replicas, watcher)
            except Exception as error:  # noqa: BLE001 - see above.
                watcher.failed(program, name, error)
            else:
                watcher.prepared(name, time.perf_counter() - began)
        return known[key]

    @contextmanager
    def tapped_before(self) -> Iterator[None]:
        """Note that the programs that the current thread lowers inside the context have their taps already."""
        self._here.leaves = True
        try:
            yield
        finally:
            self._here.leaves = False

    def _with_taps(self, program: Any, name: str, replicas: int, watcher: Watcher) -> Any | None:
        place = outermost(name)
        own = None if "transpose(" in str(place.stack) else own_results_now()
        return WatchPass(watcher).program(program, place, replicas, own)


class JaxLimitError(Exception):
    """JAX cannot do what watching needs. It could not do it for a print of the user either. The message explains it."""


def _explained(error: Exception) -> Exception:
    if isinstance(error, TypeError) and "axis_index()" in str(error):
        return JaxLimitError(
            "JAX calls Python from a `shard_map` over some axes of a mesh only where one other axis is left; a "
            f"`jax.debug.print` fails there as well (TypeError: {error})"
        )
    return error
