"""Answer questions about a function, such as `jax_debug_widgets.verify(f, x)`, with the session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.silence import without_prints
from jax_debug_widgets._jax.studies.stepping import run_stepwise
from jax_debug_widgets.breakpoints import Stepper, Stopped
from jax_debug_widgets.session.studies.asked import require_function
from jax_debug_widgets.session.studies.cost import cost
from jax_debug_widgets.session.studies.inventory import Inventory, inventory
from jax_debug_widgets.session.studies.verification import Verification, verify

if TYPE_CHECKING:
    from jax_debug_widgets.session.session import Session
    from jax_debug_widgets.session.studies.cost_report import CostReport

_UNREAD = -2
"""The number of the box for firings that nobody reads."""


def _need(feature: str) -> None:
    if why := features.why_off(feature):
        raise NotImplementedError(why)


def inventory_of(session: Session, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Inventory:
    """Return the callbacks of `function(*args, **kwargs)`, which does not run, see `jax_debug_widgets.callbacks`."""
    require_function(function)
    _need(features.INVENTORY)
    with session.capture.explaining():
        return inventory(function, args, kwargs, session.capture.sites.name_file)


def cost_of(
    session: Session,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    timeout: float | None,
    run: bool,
) -> CostReport:
    """Return the cost of the calls in `function(*args, **kwargs)`, see `jax_debug_widgets.cost`."""
    require_function(function)
    _need(features.INVENTORY)
    _need(features.COST)
    with session.capture.explaining():
        return cost(function, args, kwargs, session.capture.sites.name_file, timeout=timeout, run=run)


def verification_of(session: Session, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Verification:
    """Find out whether the capture of this thread changes a function's results, see `jax_debug_widgets.verify`.

    Raises:
      LookupError: this thread captures nothing.
    """
    require_function(function)
    run, capture = session.active, session.capture
    if run is None:
        raise LookupError("there is no capture to verify: use jax_debug_widgets.verify")
    _need(features.CAPTURE)
    run.is_measured = True

    @contextmanager
    def unwatched() -> Iterator[None]:
        settings = replace(run.settings, watch=None, twin=None, box=_UNREAD)
        try:
            with capture.explaining(), capture.on(settings):
                yield
        finally:
            capture.box(_UNREAD).discard()

    @contextmanager
    def uncaptured() -> Iterator[None]:
        with without_prints(), capture.explaining():
            yield

    return verify(run, uncaptured, unwatched, function, args, kwargs)


def result_by_steps(session: Session, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run `function(*args, **kwargs)` equation by equation in the debugger of the current run. Return its result.

    Raises:
      NotImplementedError: the installed JAX lacks a name that this needs. Stopped: the user has ended the program.
      Exception: the error that the function raises.
    """
    require_function(function)
    _need(features.STEPPING)
    try:
        return run_stepwise(function, args, kwargs, Stepper(session.debugger), session.capture.lines_of)
    except Stopped:
        raise
    except KeyboardInterrupt:
        session.debugger.policy.halted = "interrupted"
        raise session.debugger.ending.stopped("while it was stepped through") from None
