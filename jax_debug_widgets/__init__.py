"""See inside `jax.jit`, from a notebook: prints, callbacks, calls and the effects barrier, live.

`%load_ext jax_debug_widgets` brings the `%%jaxdebug` magic; `capture` is the same from Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from jax_debug_widgets.events import Call, CallSite, Event, Stopped

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jax_debug_widgets.session import Instrumented, Run
    from jax_debug_widgets.session.studies.cost_report import CostReport
    from jax_debug_widgets.session.studies.inventory import Inventory
    from jax_debug_widgets.session.studies.verification import Verification

__version__ = "0.1.0"
__all__ = [
    "Call",
    "CallSite",
    "Event",
    "Stopped",
    "breakpoint",
    "callbacks",
    "capture",
    "cost",
    "find_run",
    "instrument",
    "last",
    "load_ipython_extension",
    "unload_ipython_extension",
    "verify",
]

if "jax" in sys.modules:  # What was compiled before the context is there is compiled once more: the sooner, the less.
    import jax_debug_widgets._jax.origins.context  # noqa: F401 - importing it makes the context.

P = ParamSpec("P")
R = TypeVar("R")


def capture(
    *,
    title: str = "capture",
    echo: bool = False,
    debug: bool = True,
    every: int = 1,
    barrier: bool = True,
    timeout: float | None = 60.0,
    stuck_after: float = 10.0,
    max_events: int = 2_000_000,
    max_mb: float = 256.0,
    watch: str | Sequence[str] | bool | None = None,
    ops: bool = False,
    values: bool = False,
    histograms: bool = False,
    lanes: bool = False,
    when: str | None = None,
    break_on: str | int | Sequence[str | int] = (),
    break_timeout: float | None = None,
    prompt: bool = False,
) -> AbstractContextManager[Run]:
    """Capture what `jax.debug.print`, `.log` and `.callback` say in the body of a `with`, and values by their names.

    Functions called in the body that say something, or are watched, are compiled once more, with our hooks; outside it their
    own executables run untouched. What says nothing runs as it was compiled before.
    It is of the thread that enters it. A capture inside a capture takes what fires until it ends.

    ```python
    with jax_debug_widgets.capture() as run:
        params = train_step(params, batch)
    run.events, run.series("loss"), run.plot("loss")

    with jax_debug_widgets.capture(watch="logits,h") as run:  # no print in the program: variables of its source
        params = train_step(params, batch)
    run["logits"]["mean"], run["logits"].gradient.to_pandas(), run.plot("grad_norm/*")
    ```

    Args:
      title: names the run in its panel.
      echo: also write prints to stdout, exactly as JAX would.
      debug: False to compile what is traced in the body without what it says through `jax.debug`: no print, log, callback,
        breakpoint or sharding inspection is in the program. `pure_callback` and `io_callback` stay: it needs their results.
      every: of how many firings of a site one is recorded. A print in a loop whose values change does not fire at all in
        the other iterations; elsewhere it is the host that lets them go. The user's callbacks are called each time. Of what
        is watched, every n-th step: iteration of a compiled loop that has as many, or call.
      barrier: wait at the end until all effects have drained.
      timeout: seconds after which that wait gives up; None waits for ever.
      stuck_after: seconds after which a host function that has not returned is named in the run's notes.
      max_events, max_mb: how much is kept, in events and MiB; the oldest goes first, and is counted.
      watch: variables whose values (and gradients) are taken wherever a compiled program assigns them: names and globs
        (`"logits,h*"`, `"self.w"`, `"grad/logits"`, `"logits@model.py"`, `"logits@model.py:12"`), lines
        (`"model.py:40-60"`), named scopes (`"layer*/mlp"`), primitives (`"dot_general|exp"`); True for all that have a name
        in the user's files.
      ops: watch the result of every equation.
      values: take whole values (down-sampled on the device above 65536 elements), not their statistics alone.
      histograms: also count the magnitudes of each watched array by sign and power of two: `run["h"].histogram`.
      lanes: also the statistics of each lane of a `vmap`, of the first 512: `run["h"].lanes`. `watch="lanes/h"` takes them
        of `h` alone.
      when: an expression over names of the program that is looked at on the device (`"abs(logits).max() > 10"`, gradients as
        `grad.logits`): what is watched in that function or loop body is taken only where it holds, for any element
        (`"0 < h < 1 and not isnan(x)"`; `"all(h > 0)"` asks for all).
      break_on: events at which the program stops: `"nonfinite"` (each site where it becomes so; `"nan"` and `"inf"` alone), a
        site (`"train.py:41"`, its number or name), or an expression over captured values (`"loss > 10"`, `"grad.h < 0"`, as for
        `when`). Looked at on the host, when one fires.
      break_timeout: seconds after which a stop goes on by itself; None waits for ever, as long as its page is open.
      prompt: ask on stdin, with JAX's own prompt, where no panel answers.

    Returns:
      A context manager that gives the `Run`; what it saw can be read during and after the body.

    Raises:
      TypeError: `watch` or `break_on` is none of what it can be, or something else where a number, or True or False, is wanted.
      ValueError: a number that is not positive, a condition that is none, a `watch` that is empty, or `values`,
        `histograms`, `lanes` or `when` without anything to watch.
      Stopped: the program was ended from the panel, at a breakpoint or by an interrupt.
    """
    from jax_debug_widgets.session import Options, current_session

    options = Options.of(
        echo=echo,
        debug=debug,
        every=every,
        barrier=barrier,
        timeout=timeout,
        stuck_after=stuck_after,
        max_events=max_events,
        max_mb=max_mb,
        watch=watch,
        ops=ops,
        values=values,
        histograms=histograms,
        lanes=lanes,
        when=when,
        break_on=break_on,
        break_timeout=break_timeout,
        prompt=prompt,
    )
    return current_session().run(title, options)


def breakpoint(x: Any = None, *, when: Any = None, name: str = "", num_frames: int = 1) -> Any:  # noqa: A001
    """Stop here, inside or outside `jax.jit`, while a capture is on; outside one it compiles to nothing.

    ```python
    jdw.breakpoint()                                     # always
    jdw.breakpoint(when=~jnp.isfinite(h).all())          # looked at on the device: nothing moves while it is false
    h = jdw.breakpoint(h)                                # goes on with h, or with what is set in its place
    ```

    Under `vmap` there is one stop for the batch, with its lanes to choose from (those for which `when` holds).
    The derivative is that of the identity. On several devices each that stops sets its own value.

    Args:
      x: any pytree of arrays, given back; another of the same shapes and dtypes can be set while the program stands here.
      when: a boolean scalar.
      name: for people.
      num_frames: of how many frames, from the caller outward, the variables can be seen. Their traced arrays are moved to
        the host at each stop, and are kept by the program until then; 0 moves only `x`.

    Returns:
      `x`.

    Raises:
      TypeError: `when` is not one boolean.
    """
    from jax_debug_widgets._jax.origins.context import is_capturing, leaves_out_debugging

    if not is_capturing():
        from jax_debug_widgets._jax.running.reuse_executables import leave_out_breakpoint

        leave_out_breakpoint()
        return x
    if leaves_out_debugging():
        return x
    from jax_debug_widgets._jax.passes.stop import stop_here

    return stop_here(x, when, name, num_frames)


def callbacks(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Inventory:
    """List what `function(*args, **kwargs)` would call back, without running it: `%jaxdebug callbacks f(x)`.

    The function is traced, lowered and compiled as a jitted one, outside any capture. Shown as a table: each call with its
    kind, what it returns, what is around it, whether it is guaranteed to run, how often it is in the program as traced
    (`staged`) and as compiled (`kept`), and which transformations it survives.

    Raises:
      Exception: what tracing or compiling the function raises; where that is about a callback, a note below it says why.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.questions import inventory_of

    return inventory_of(current_session(), function, *args, **kwargs)


def cost(
    function: Callable[..., Any], /, *args: Any, run: bool = False, timeout: float | None = 60.0, **kwargs: Any
) -> CostReport:
    """Tell what each print and callback in `function(*args, **kwargs)` costs it: `%jaxdebug cost f(x)`.

    The function is traced as a jitted one, and compiled as it is, without each of its calls to the host, and without all
    of them. Shown as a table with a sentence for each call: bytes moved to the host, temporaries, kernels, fusions broken,
    collectives added, whether it keeps the program from the persistent cache, and the time that such events take on this
    machine, as JAX does them and captured.

    Args:
      function: also a lambda, for a function with a keyword `run` or `timeout` of its own.
      run: also run the program a few times, and the one without these calls. What it prints is not shown; its callbacks are
        called. A jitted function with static arguments must be wrapped: `cost(lambda x: f(x, 3), x, run=True)`.
      timeout: seconds after which no more programs without a single call are compiled; None for all.

    Raises:
      Exception: what tracing, compiling or running the function raises.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.questions import cost_of

    return cost_of(current_session(), function, args, kwargs, timeout=timeout, run=run)


def instrument(function: Callable[P, R], /, **options: Any) -> Instrumented[P, R]:
    """Wrap a function so that each of its calls is captured into a run of its own.

    ```python
    step = jax_debug_widgets.instrument(model.train_step, watch="grad/*", every=10)
    params = step(params, batch)
    step.run["grad/h"]["l2"]
    ```

    Args:
      function: jitted, or calling functions that are; also one of a library. It is not changed.
      **options: those of `capture`: what to watch, and how. `title` is the name of the function unless given. With `every`
        each so-manieth iteration of a loop is watched, and of a function without one each so-manieth call.

    Returns:
      A function with the same arguments and results; its `run` is the run of the last call.

    Raises:
      TypeError: it is no function, or a generator; or what `capture` raises. ValueError: what that raises.
    """
    from jax_debug_widgets.session import Instrumented, Options, current_session

    title = options.pop("title", getattr(function, "__name__", "instrument"))
    return Instrumented(function, current_session(), title, Options.of(**options))


def verify(
    function: Callable[..., Any], /, *args: Any, options: Mapping[str, Any] | None = None, **kwargs: Any
) -> Verification:
    """Tell whether watching changes what `function(*args, **kwargs)` gives: `%jaxdebug verify --watch-all f(x)`.

    The function is called seven times: once outside any capture, which the results are compared with, three times captured
    and three times watched as well, of which the times are. Each has copies of the arguments, so those that are donated
    stay. Its effects happen each time; what it prints is in the run, and not written. What was found is also in its notes.

    ```python
    found = jax_debug_widgets.verify(train_step, params, batch, options={"watch": "h,logits"})
    found.equal, found.differences, found.slowdown, found.run["h"]
    ```

    Args:
      function: jitted, or calling functions that are.
      options: those of `capture`; every value that has a name is watched unless it says otherwise.

    Raises:
      Exception: what the function, or `capture`, raises.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.questions import verification_of

    chosen = {"title": f"verify {getattr(function, '__name__', 'f')}", "watch": True, **(options or {})}
    with capture(**chosen):
        return verification_of(current_session(), function, *args, **kwargs)


def find_run(key: str) -> Run:
    """The run with this `run.key`: what the panel's *Copy as Python* writes.

    Raises:
      LookupError: it was another kernel's, or is no longer kept.
    """
    from jax_debug_widgets.session import current_session

    run = current_session().find_run(key)
    if run is None:
        msg = f"this kernel has no run {key}: it was another kernel's, or is no longer kept"
        raise LookupError(msg)
    return run


def last() -> Run:
    """The run of the last `%%jaxdebug` cell or `capture`; the one that is going on, if one is.

    Raises:
      LookupError: nothing has been captured yet.
    """
    from jax_debug_widgets.session import current_session

    run = current_session().current
    if run is None:
        msg = "nothing has been captured yet: put %%jaxdebug on the first line of a cell, or use capture()"
        raise LookupError(msg)
    return run


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "__name__", "__version__"]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext jax_debug_widgets`."""
    from jax_debug_widgets.magics import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext jax_debug_widgets`: the magics are gone, and JAX is as it was before."""
    from jax_debug_widgets.magics import unload

    unload(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Where the built extension is, for `jupyter labextension develop`; a wheel brings it to its place by itself."""
    return [{"src": "labextension", "dest": "jax-debug-widgets"}]
