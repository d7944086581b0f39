"""Which calls JAX's C++ would dispatch if there were no capture: noted, for JAX does not tell.

A jitted function that has been called with such arguments before is dispatched by C++, which raises errors of other types and
words than Python does, and traces nothing. What a thread captures is part of C++'s keys as well, so the first call in a
capture comes to Python. There it is to fail, or not, as where C++ dispatches it.

The first call decides: if it raises, C++ leaves all later ones to Python. So both its begin and its end are noted, from the
time on when this is imported, and by what JAX asks for there, not by a function around it: that would be a frame of ours in
what is traced. Calls that C++ dispatches come by nothing of this.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, ref

import jax
from jax._src import array, config, core, lib, pjit, tree_util
from jax._src.interpreters import partial_eval, pxla
from jax._src.util import weakref_lru_cache

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.replacements import Replacements
from jax_debug_widgets._jax.origins.context import capturing, is_capturing

dispatched_by_cpp: WeakSet[Any] = WeakSet()
"""Programs that C++ would dispatch from their next call on, if we need not see them."""

_with_effects: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
"""Functions: whether all their calls have effects. Python dispatches these each time: their arguments are not looked at."""


class _Here(threading.local):
    """What is known of the current thread.

    Attributes:
      calls: those like the one that is on its way to its program.
      latest: the latest call that was looked at, whether it was direct, and those like it.
      let_through: the call in which all may be traced and lowered.
    """

    calls: _Calls | None = None
    latest: tuple[int | None, bool, _Calls | None] = None, False, None
    let_through: int | None = None


_here = _Here()


class _Calls:
    """Those of a function with such arguments.

    Attributes:
      begun: how many by Python.
    """

    def __init__(self) -> None:
        self.begun = 0
        self._program: ref[Any] | None = None
        """What it was traced to, where the first has succeeded."""

    @property
    def are_fast(self) -> bool:
        """Whether C++ dispatches all but the first. When JAX's caches are cleared they let go of the program."""
        return self._program is not None and self._program() is not None

    @property
    def are_slow(self) -> bool:
        """Whether C++ leaves them to Python, as the first has failed."""
        return self.begun > 1 and not self.are_fast

    def begin(self) -> None:
        """JAX's Python is asked for one."""
        if self._program is not None and self._program() is None:
            self.begun, self._program = 0, None
        self.begun += 1

    def succeed(self, program: Any) -> None:
        """It has come to its end, and C++ could dispatch the next."""
        if self.begun == 1:
            self._program = ref(program)


_calls = weakref_lru_cache(lambda *_signature: _Calls(), maxsize=8192)
"""Calls by the function and what its arguments are, and by JAX's context; as many as C++ knows of."""


def _calls_like(call: FrameType, *, is_direct: bool) -> _Calls | None:
    """The calls that are to C++ as this one; None where it leaves them to Python anyway, or we do not know.

    One that is transformed, un-jitted, comes to Python each time, and C++ dispatches what it was transformed to.
    """
    latest, was_direct, calls = _here.latest
    if latest != id(call) or was_direct != is_direct:
        calls = _look_up(call, is_direct)
        _here.latest = id(call), is_direct, calls
    return calls


def _look_up(frame: FrameType, is_direct: bool) -> _Calls | None:
    call = frame.f_locals
    try:
        fun, jit_info, kwargs = call["fun"], call["jit_info"], call["kwargs"]
        if _with_effects.get(fun):
            return None
        static = jit_info.static_argnums, jit_info.static_argnames
        values, names = tuple(kwargs.values()), tuple(kwargs)
        signature, leaves = lib.jax_jit.parse_arguments(
            call["args"], values, names, *static, tree_util.default_registry
        )
        kinds = tuple(map(_kind, leaves))
        with capturing(None):  # JAX's context without ours is a part of the key.
            return _calls(fun, jit_info, signature, kinds, is_direct)
    except Exception:  # noqa: BLE001 - JAX will say what is wrong with these arguments.
        return None


def _kind(leaf: Any) -> tuple[Any, ...]:
    """What C++ tells arguments apart by; of arrays without their abstract value, which is slow to hash."""
    if isinstance(leaf, core.Tracer):
        return _kind_of_tracer(leaf)
    if not isinstance(leaf, jax.Array):
        return (jax.typeof(leaf),)
    return leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False), leaf.sharding, leaf.committed


def _kind_of_tracer(tracer: Any) -> tuple[Any, ...]:
    """What decides to which program a call with it is transformed: how, and what it stands for."""
    inside = (getattr(tracer, name, None) for name in ("val", "primal", "tangent"))
    how = type(tracer), getattr(tracer, "batch_dim", None), getattr(tracer._trace, "axis_data", None)
    return *how, tracer.aval, *(_kind(one) if isinstance(one, jax.Array) else type(one) for one in inside)


def _is_traced() -> bool:
    """Whether what is called now is only written down, to be a part of another program."""
    trace: Any = core.trace_ctx.trace
    while trace is not None and not isinstance(trace, partial_eval.DynamicJaxprTrace):
        trace = getattr(trace, "parent_trace", None)
    return trace is not None


def _is_call(frame: FrameType) -> bool:
    return frame.f_code.co_name == "cache_miss" and frame.f_code.co_filename == pjit.__file__


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _call_here() -> tuple[FrameType, FrameType] | None:
    """The call of a jitted function for which JAX calls us, and where it calls its program: there, unless it is transformed."""
    misses = (one for one in _frames(sys._getframe(2)) if one.f_code.co_name in ("cache_miss", "call_impl_cache_miss"))
    nearest = next(misses, None)
    if nearest is None or _is_call(nearest):
        return nearest and (nearest, nearest)
    call = next(filter(_is_call, misses), None)
    return call and (call, nearest)


class _NoTracing:
    """JAX's `no_tracing`, for which each call asks first that comes to Python. What C++ would dispatch may be traced."""

    def __init__(self, state: Any) -> None:
        self._state = state

    @property
    def value(self) -> bool:
        """Whether it holds for who asks."""
        asking = sys._getframe(1)
        if _is_call(asking):
            _begin(asking)
        return self._state.value and not any(id(frame) == _here.let_through for frame in _frames(asking))

    def __call__(self, *args: Any) -> Any:
        return self._state(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)


def _begin(call: FrameType) -> None:
    """Note that a call has come to Python."""
    _here.latest = None, False, None  # It may be where the latest was.
    is_direct = core.trace_state_clean()
    calls = None if _is_traced() else _calls_like(call, is_direct=is_direct)
    if calls is not None:
        calls.begin()
    if calls is not None and is_direct and calls.are_fast and is_capturing():
        _here.let_through = id(call)
    elif _here.let_through == id(call):  # Of a call that is over.
        _here.let_through = None


def _give(theirs: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What C++ needs to dispatch a function from its next call on; None if it has effects, or its first call has failed."""
    data = theirs(*args, **options)
    if data is None and (is_capturing() or not core.trace_state_clean()):  # Maybe because of us, or nothing has run.
        return None
    found = _call_here()
    program = found and found[1].f_locals.get("jaxpr")
    if found is None or program is None or (data is None) != bool(program.effects):
        return data
    calls = _calls_of(*found, program)
    if calls is None or program.effects:
        return data
    calls.succeed(program)
    return None if calls.are_slow and is_capturing() else data


def _calls_of(call: FrameType, where: FrameType, program: Any) -> _Calls | None:
    """The calls like one that has come to its program; None if all of its function have effects."""
    fun, has_effects, is_direct = call.f_locals["fun"], bool(program.effects), call is where
    had_effects = _with_effects.setdefault(fun, has_effects)
    if not had_effects or has_effects:
        return _calls_like(call, is_direct=is_direct)
    _with_effects[fun] = False
    calls = _look_up(call, is_direct)
    if calls is not None:  # When it began its arguments were not looked at.
        calls.begin()
    _here.latest = id(call), is_direct, calls
    return calls


def call_as_cpp(theirs: Callable[..., Any], *args: Any, jaxpr: Any, **params: Any) -> Any:
    """Call a program in a capture, with the errors that C++ raises if it would dispatch it."""
    found = _call_here() if is_capturing() else None
    before, _here.calls = _here.calls, None if found is None else _calls_of(*found, jaxpr)
    try:
        return theirs(*args, jaxpr=jaxpr, **params)
    finally:
        _here.calls = before


def is_as_by_cpp(program: Any) -> bool:
    """Whether the call that this thread is in, of this program, is one that C++ would dispatch. To be asked once."""
    calls, _here.calls = _here.calls, None
    return calls.are_fast if calls is not None and calls.begun else program in dispatched_by_cpp


def run_as_cpp(run: Callable[[], Any], program: Any, args: Sequence[Any]) -> Any:
    """Run an `ExecuteReplicated` with these arguments; what it raises is of the type, and has the words, of C++."""
    try:
        return run()
    except jax.errors.JaxRuntimeError as error:
        raise ValueError(*error.args) from None
    except RuntimeError:
        kept = [arg for index, arg in enumerate(args) if index in program.kept_var_idx]
        gone = [
            numbers for numbers in map(_numbers, kept) if isinstance(numbers, array.ArrayImpl) and numbers.is_deleted()
        ]
        # On several devices it takes the process down, in C++'s hands too.
        if not (gone and all(map(_is_given_away, gone)) and len(program._local_devices) == 1):
            raise
        raise _refusal(program, kept) from None


def _refusal(program: Any, args: Sequence[Any]) -> ValueError:
    """What C++ raises, for XLA says it, of an argument that was given away. Python looks first."""
    handler, reuse = program.in_handler, pxla.xc.ArrayCopySemantics.REUSE_INPUT
    places = zip(args, handler.in_shardings, handler.in_layouts, strict=True)
    try:
        program.xla_executable.execute_sharded(
            [
                _numbers(arg) if _is_given_away(arg) else pxla.shard_args([sharding], [layout], [reuse], [arg])[0]
                for arg, sharding, layout in places
            ]
        )
    except jax.errors.JaxRuntimeError as error:
        return ValueError(*error.args)
    raise AssertionError("XLA has run a program without its argument")


def _is_given_away(arg: Any) -> bool:
    """Whether it is gone, and was not deleted: C++ itself sees that, and leaves it to Python."""
    numbers = _numbers(arg)
    try:
        return isinstance(numbers, array.ArrayImpl) and numbers.is_deleted() and numbers.on_device_size_in_bytes() >= 0
    except jax.errors.JaxRuntimeError:
        return False


def _numbers(arg: Any) -> Any:
    """The array that a typed key is made of; any other argument itself."""
    return getattr(arg, "_base_array", arg)


if features.available(features.FAST_PATHS):
    Replacements().attribute(pjit, "_get_fastpath_data", _give)
    config.no_tracing = _NoTracing(config.no_tracing)  # pyright: ignore[reportAttributeAccessIssue]
