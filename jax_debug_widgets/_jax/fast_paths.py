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
from functools import partial
from types import FrameType
from typing import Any
from weakref import WeakSet, ref

import jax
from jax._src import config, core, lib, pjit, tree_util
from jax._src.util import weakref_lru_cache

from jax_debug_widgets._jax import features
from jax_debug_widgets._jax.context import capturing, is_capturing
from jax_debug_widgets._jax.replacements import Replacements

dispatched_by_cpp: WeakSet[Any] = WeakSet()
"""Programs that C++ would dispatch from their next call on, if we need not see them."""

_left_to_python: WeakSet[Any] = WeakSet()
"""Functions with effects, which Python dispatches each time: their arguments are not looked at."""


class _Here(threading.local):
    """What is known of the current thread.

    Attributes:
      calls: those like the one that is on its way to its program.
      latest: the latest call that was looked at, and those like it.
      let_through: the call in which all may be traced and lowered.
    """

    calls: _Calls | None = None
    latest: tuple[int | None, _Calls | None] = None, None
    let_through: int | None = None


_here = _Here()


class _Calls:
    """Those of a function with such arguments.

    Attributes:
      clearings: how often C++ was made to forget all that it knew.
    """

    clearings = 0

    def __init__(self) -> None:
        self._begun = 0
        """By Python."""
        self._program: ref[Any] | None = None
        """What it was traced to, where the first has succeeded."""
        self._known_since: int | None = None

    @property
    def are_fast(self) -> bool:
        """Whether C++ dispatches all but the first. When JAX's caches are cleared they let go of the program."""
        return self._program is not None and self._program() is not None

    @property
    def are_known_outside(self) -> bool:
        """Whether C++ does so where nothing is captured, and thus can be asked."""
        return self.are_fast and self._known_since == _Calls.clearings

    def begin(self) -> None:
        """JAX's Python is asked for one."""
        if self._program is not None and self._program() is None:
            self._begun, self._program = 0, None
        self._begun += 1

    def succeed(self, program: Any) -> None:
        """It has come to its end, and C++ could dispatch the next."""
        if self._begun == 1:
            self._program = ref(program)
            self._known_since = None if is_capturing() else _Calls.clearings


def cleared() -> None:
    """C++ was made to forget all that it knew."""
    _Calls.clearings += 1


_calls = weakref_lru_cache(lambda *_signature: _Calls(), maxsize=8192)
"""Calls by the function and what its arguments are, and by JAX's context; as many as C++ knows of."""


def _calls_like(frame: FrameType) -> _Calls | None:
    """The calls that are to C++ as this one; None where it leaves them to Python anyway, or we do not know."""
    latest, calls = _here.latest
    if latest != id(frame):
        calls = _look_up(frame)
        _here.latest = id(frame), calls
    return calls


def _look_up(frame: FrameType) -> _Calls | None:
    call = frame.f_locals
    try:
        fun, jit_info, kwargs = call["fun"], call["jit_info"], call["kwargs"]
        if fun in _left_to_python:
            return None
        static = jit_info.static_argnums, jit_info.static_argnames
        values, names = tuple(kwargs.values()), tuple(kwargs)
        signature, leaves = lib.jax_jit.parse_arguments(
            call["args"], values, names, *static, tree_util.default_registry
        )
        if any(isinstance(leaf, core.Tracer) for leaf in leaves):
            return None
        kinds = tuple(map(_kind, leaves))
        with capturing(None):  # JAX's context without ours is a part of the key.
            return _calls(fun, jit_info, signature, kinds)
    except Exception:  # noqa: BLE001 - JAX will say what is wrong with these arguments.
        return None


def _kind(leaf: Any) -> tuple[Any, ...]:
    """What C++ tells arguments apart by; of arrays without their abstract value, which is slow to hash."""
    if not isinstance(leaf, jax.Array):
        return (jax.typeof(leaf),)
    return leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False), leaf.sharding, leaf.committed


def _is_call(frame: FrameType) -> bool:
    return frame.f_code.co_name == "cache_miss" and frame.f_code.co_filename == pjit.__file__


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _call_here() -> FrameType | None:
    """The call of a jitted function for which JAX calls us; None where it is one of a transformed one."""
    misses = (one for one in _frames(sys._getframe(2)) if one.f_code.co_name in ("cache_miss", "call_impl_cache_miss"))
    nearest = next(misses, None)
    return nearest if nearest is not None and _is_call(nearest) else None


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
    _here.latest = None, None  # It may be where the latest was.
    calls = _calls_like(call) if core.trace_state_clean() else None
    if calls is not None:
        calls.begin()
    if calls is not None and calls.are_fast and is_capturing():
        _here.let_through = id(call)
    elif _here.let_through == id(call):  # Of a call that is over.
        _here.let_through = None


def _give(theirs: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What C++ needs to dispatch a function from its next call on; None if it has effects."""
    data = theirs(*args, **options)
    if (data is None and is_capturing()) or not core.trace_state_clean():  # Then it has none because of us, maybe.
        return data
    frame = _call_here()
    if frame is not None and (calls := _calls_like(frame)) and (program := frame.f_locals.get("jaxpr")):
        if data is None and program.effects:
            _left_to_python.add(frame.f_locals["fun"])
        elif data is not None and not program.effects:
            calls.succeed(program)
    return data


def call_as_cpp(theirs: Callable[..., Any], *args: Any, jaxpr: Any, **params: Any) -> Any:
    """Call a program in a capture, with the errors that C++ raises if it would dispatch it."""
    call = partial(theirs, *args, jaxpr=jaxpr, **params)
    frame = _call_here() if is_capturing() else None
    calls = None if frame is None else _calls_like(frame)
    _here.calls = calls
    try:
        if frame is None or calls is None:
            return call()
        if not calls.are_fast:
            if jaxpr.effects:
                _left_to_python.add(frame.f_locals["fun"])
            return call()
        return _failing_as_by_cpp(call, frame, calls, args)
    finally:
        _here.calls = None


def _failing_as_by_cpp(call: Callable[[], Any], frame: FrameType, calls: _Calls, args: Sequence[Any]) -> Any:
    """Call it, by Python; what it raises is of the type, and has the words, of C++."""
    try:
        return call()
    except jax.errors.JaxRuntimeError as error:
        if _here.calls is None:  # Who has asked has seen to it.
            raise
        raise as_by_cpp(error) from None
    except RuntimeError:
        if not (calls.are_known_outside and any(isinstance(arg, jax.Array) and arg.is_deleted() for arg in args)):
            raise
        _fail_by_cpp(frame)
        raise


def is_as_by_cpp(program: Any) -> bool:
    """Whether the call that this thread is in, of this program, is one that C++ would dispatch. To be asked once."""
    calls, _here.calls = _here.calls, None
    return program in dispatched_by_cpp if calls is None else calls.are_fast


def as_by_cpp(error: BaseException) -> ValueError:
    """What C++ raises where Python raises a `JaxRuntimeError`."""
    return ValueError(*error.args)


def _fail_by_cpp(frame: FrameType) -> None:
    """Raise what C++ does of a call with an argument that is gone: it runs nothing then, but must know of the function."""
    call = frame.f_locals
    try:
        with capturing(None):
            pjit._cpp_pjit(call["fun"], call["jit_info"])(*call["args"], **call["kwargs"])
    except Exception as error:  # noqa: BLE001 - whatever it is, it is that.
        raise error.with_traceback(None) from None


if features.available(features.FAST_PATHS):
    Replacements().attribute(pjit, "_get_fastpath_data", _give)
    config.no_tracing = _NoTracing(config.no_tracing)  # pyright: ignore[reportAttributeAccessIssue]
