"""See inside `jax.jit`, from a notebook: prints, callbacks, calls and the effects barrier, live.

`%load_ext jax_debug_widgets` brings the `%%jaxdebug` magic; `capture` is the same from Python.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.events import Call, CallSite, Event

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jax_debug_widgets.session import Run
    from jax_debug_widgets.session.inventory import Inventory

__version__ = "0.1.0"
__all__ = ["Call", "CallSite", "Event", "callbacks", "capture", "load_ipython_extension", "unload_ipython_extension"]


def capture(
    *,
    title: str = "capture",
    echo: bool = False,
    barrier: bool = True,
    timeout: float | None = 60.0,
    stuck_after: float = 10.0,
    max_events: int = 2_000_000,
    max_mb: float = 256.0,
) -> AbstractContextManager[Run]:
    """Capture what `jax.debug.print`, `.log` and `.callback` say in the body of a `with`.

    Functions called in the body are traced once more, with our hooks; outside it their own executables run untouched.
    It is of the thread that enters it. A capture inside a capture takes what fires until it ends.

    ```python
    with jax_debug_widgets.capture() as run:
        params = train_step(params, batch)
    run.events, run.series("loss"), run.plot("loss")
    ```

    Args:
      title: names the run in its panel.
      echo: also write prints to stdout, exactly as JAX would.
      barrier: wait at the end until all effects have drained.
      timeout: seconds after which that wait gives up; None waits for ever.
      stuck_after: seconds after which a host function that has not returned is named in the run's notes.
      max_events, max_mb: how much is kept, in events and MiB; the oldest goes first, and is counted.

    Returns:
      A context manager that gives the `Run`; what it saw can be read during and after the body.

    Raises:
      ValueError: a number that is not positive.
    """
    from jax_debug_widgets.session import Options, current_session

    options = Options(
        echo=echo,
        barrier=barrier,
        timeout=timeout,
        stuck_after=stuck_after,
        max_events=max_events,
        max_mb=max_mb,
    )
    return current_session().run(title, options)


def callbacks(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Inventory:
    """List what `function(*args, **kwargs)` would call back, without running it: `%jaxdebug callbacks f(x)`.

    The function is traced, lowered and compiled as a jitted one, outside any capture. Shown as a table: each call with its
    kind, what it returns, what is around it, whether it is guaranteed to run, how often it is in the program as traced
    (`staged`) and as compiled (`kept`), and which transformations it survives.

    Raises:
      Exception: what tracing or compiling the function raises; where that is about a callback, a note below it says why.
    """
    from jax_debug_widgets.session import current_session

    return current_session().inventory(function, *args, **kwargs)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext jax_debug_widgets`."""
    from jax_debug_widgets.magics import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext jax_debug_widgets`: the magics are gone, and JAX is as it was before."""
    from jax_debug_widgets.magics import unload

    unload(shell)
