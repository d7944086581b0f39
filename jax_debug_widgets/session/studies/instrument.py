"""Wrap a function so that each of its calls is a run."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from jax_debug_widgets.session.options import Options
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.session.session import Session

P = ParamSpec("P")
R = TypeVar("R")


class Instrumented(Generic[P, R]):
    """A function that captures each of its calls, see `jax_debug_widgets.instrument`."""

    def __init__(self, function: Callable[P, R], session: Session, title: str, options: Options) -> None:
        if not callable(function):
            raise TypeError(f"instrument a function, or what can be called like one: {function!r} cannot be")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            # A generator returns control between its values, so code of its caller would be captured too.
            name = getattr(function, "__name__", function)
            raise TypeError(
                f"{name} is a generator, whose call runs nothing yet: instrument the functions that it calls"
            )
        functools.update_wrapper(self, function)
        self._function = function
        self._session, self._title, self._options = session, title, options
        self._run: Run | None = None

    @property
    def run(self) -> Run:
        """The run of the last call, or of the call that goes on.

        Raises:
          LookupError: the function has not been called yet.
        """
        if self._run is None:
            raise LookupError(f"{self!r} has not been called yet")
        return self._run

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function in a capture. For an `async` function, the capture is around the `await`."""
        if inspect.iscoroutinefunction(self._function):
            return self._awaited(self._function(*args, **kwargs))  # type: ignore[return-value]
        with self._captured() as self._run:
            return self._function(*args, **kwargs)

    def _captured(self) -> AbstractContextManager[Run]:
        return self._session.run(self._title, self._options, goes_on=self._run is not None)

    async def _awaited(self, result: Awaitable[Any]) -> Any:
        with self._captured() as self._run:
            return await result

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """Bind the function to an object as a method."""
        return self if owner is None else functools.partial(self, owner)

    def __repr__(self) -> str:
        return f"<instrumented {getattr(self._function, '__qualname__', self._function)}>"
