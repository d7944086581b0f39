"""Put our rules in the place of JAX's for debugging primitives, while a capture is on, and take them away again.

JAX's user context (`jax.make_user_context`) is part of the key of its caches: a function called inside a capture is
traced and lowered once with our rules, and outside it its own executable runs untouched. The rules themselves are
process-wide, so each asks the context first: a thread that is not capturing gets JAX's own behaviour.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jax._src import core, debugging, shard_map, source_info_util
from jax._src.interpreters import mlir
from jax._src.lib import xla_client

from jax_debug_widgets._jax.equation import Equation, Lanes, Recorder, Recorders, Tapper, frame_of, type_of
from jax_debug_widgets._jax.program import DESCRIBE, with_recorders
from jax_debug_widgets._jax.replacements import Replacements
from jax_debug_widgets._jax.tap import bind_batched, debug_tap_p

_settings = jax.make_user_context(None)
"""What the current thread captures, None for nothing. Equal settings share executables."""

_ENTRY_POINTS = ("_debug_print", "_debug_callback", "debug_print", "debug_callback")
"""The functions inside `jax.debug.print` and `jax.debug.callback` that bind the primitive on the user's behalf."""


def capturing(settings: Hashable) -> AbstractContextManager[Any]:
    """A context in which the current thread's programs are compiled with taps.

    Args:
      settings: not None; part of the key of JAX's caches, so equal values run the same executables.
    """
    return _settings(settings)


def is_capturing() -> bool:
    """Whether the current thread is inside `capturing`."""
    return _settings.value is not None


class Hooks:
    """Our rules in JAX's tables: `install` and `remove`, counted, so that captures may nest and overlap."""

    def __init__(self, tapper: Tapper) -> None:
        self._tapper = tapper
        self._replaced = Replacements()

    def install(self) -> None:
        """Put our rules in place, unless they are."""
        self._replaced.take(self._put_in)

    def remove(self) -> None:
        """Give JAX its own rules back when the last user has gone."""
        self._replaced.give_back()

    def _put_in(self) -> None:
        self._replaced.attribute(mlir, "lower_jaxpr_to_module", self._lower)
        self._replaced.attribute(debug_tap_p, "impl", self._run_tap)
        for primitive in DESCRIBE:
            self._replaced.attribute(primitive, "impl", partial(self._run, primitive))
            self._replaced.attribute(primitive, "bind", self._bind)
            self._replaced.batcher(primitive, partial(self._batch, primitive))
            self._replaced.item(shard_map.eager_rules, primitive, partial(self._run_on_mesh, primitive))

    def _lower(self, theirs: Any, module_name: str, jaxpr: Any, **options: Any) -> Any:
        if not is_capturing():
            return theirs(module_name, jaxpr, **options)
        recorders: list[Any] = []

        def make_recorder(equation: Equation) -> Recorder:
            recorders.append(self._tapper(equation, _settings.value))
            return recorders[-1]

        lowered = theirs(module_name, with_recorders(jaxpr, module_name, make_recorder), **options)
        # What is kept alive goes along with the executable: that is how an execution is known to contain these.
        return lowered._replace(keepalive=[*(lowered.keepalive or ()), Recorders(recorders)])

    def _bind(self, theirs: Any, *operands: Any, **params: Any) -> Any:
        caller = sys._getframe(1).f_code
        called_by_user = caller.co_filename == debugging.__file__ and caller.co_name in _ENTRY_POINTS
        if not is_capturing() or not called_by_user:
            return theirs(*operands, **params)
        # In the backward rule of a `custom_vjp` JAX says that equations come from where the function was called.
        # The user's own call is on the stack right now: that is the place to show.
        context = source_info_util._source_info_context
        outer = context.context
        context.context = outer.replace(traceback=xla_client.Traceback.get_traceback())
        try:
            return theirs(*operands, **params)
        finally:
            context.context = outer

    def _batch(self, primitive: Any, theirs: Any, operands: Any, dims: Any, **params: Any) -> Any:
        if not is_capturing() or all(dim is None for dim in dims):
            return theirs(operands, dims, **params)
        return bind_batched(primitive, params, operands, dims, Lanes((), ((),) * len(operands)))

    def _run(self, primitive: Any, theirs: Any, *operands: Any, **params: Any) -> Any:
        # Callbacks of programs that JAX lowered without us (compiled ahead of time, say) come from its own file.
        is_eager = sys._getframe(1).f_code.co_filename != debugging.__file__
        if not is_capturing() or not is_eager:
            return theirs(*operands, **params)
        return self._run_eagerly(primitive, operands, params, Lanes((), ((),) * len(operands)))

    def _run_on_mesh(self, primitive: Any, theirs: Any, mesh: Any, *operands: Any, **params: Any) -> Any:
        """The rule of an un-jitted `shard_map`: once a device, with its block of each operand."""
        if not is_capturing():
            return theirs(mesh, *operands, **params)
        with core.eval_context():
            for blocks in zip(*map(list, operands), strict=True):
                self._run_eagerly(primitive, blocks, params, Lanes((), ((),) * len(blocks)))
        return []

    def _run_tap(self, theirs: Any, *operands: Any, **params: Any) -> Any:
        if not is_capturing():
            return theirs(*operands, **params)
        return self._run_eagerly(params["inner"], operands, dict(params["params"]), params["lanes"])

    def _run_eagerly(self, primitive: Any, operands: Sequence[Any], params: Any, lanes: Lanes) -> Any:
        current = source_info_util.current()
        # As JAX's own rule does: Python scalars become arrays of JAX's dtype, and all are on the host afterwards.
        on_host = jax.device_put(operands, jax.local_devices(backend="cpu")[0])
        types = tuple(map(type_of, on_host))
        arrays = [
            np.asarray(x if kind.key is None else jax.random.key_data(x))
            for x, kind in zip(on_host, types, strict=True)
        ]
        equation = DESCRIBE[primitive](params, frame_of(current.traceback), str(current.name_stack), arrays, lanes)
        # JAX's own way to the user's function: what it raises goes up through these frames, and none are missing.
        own_way = {debugging.debug_print_p: debugging.debug_print_impl}.get(primitive, debugging.debug_callback_impl)
        equation = replace(equation, run=partial(own_way, **params)).with_types(types)
        self._tapper(equation, _settings.value)(*arrays)
        return []
