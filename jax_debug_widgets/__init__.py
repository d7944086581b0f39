"""See inside `jax.jit`, from a notebook: prints, callbacks, calls and the effects barrier, live.

`%load_ext jax_debug_widgets` adds the `%%jaxdebug` magic. `capture` does the same from Python.

The file has more than 300 lines because it has the docstrings of the public functions. Each function only calls its room.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

from jax_debug_widgets.events import Call, CallSite, Event, Stopped
from jax_debug_widgets.without_jax import has_jax, use_stand_ins

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jax_debug_widgets.graphs import (
        AgainstFloat64,
        AgainstOpByOp,
        Comparison,
        Diff,
        Graph,
        Linked,
        ProgramTable,
        SavedValues,
        Traces,
    )
    from jax_debug_widgets.graphs.table import By
    from jax_debug_widgets.session import Instrumented, Run
    from jax_debug_widgets.session.engines import Engines
    from jax_debug_widgets.session.run.compare import LoadedRuns
    from jax_debug_widgets.session.run.loaded import LoadedRun
    from jax_debug_widgets.session.run.view import RunView
    from jax_debug_widgets.session.studies.cost_report import CostReport
    from jax_debug_widgets.session.studies.export import Exported
    from jax_debug_widgets.session.studies.inventory import Inventory
    from jax_debug_widgets.session.studies.replay import Replay
    from jax_debug_widgets.session.studies.verification import Verification

__version__ = "0.1.0"
__all__ = [
    "Call",
    "CallSite",
    "Event",
    "Stopped",
    "assert_same_program",
    "breakpoint",
    "callbacks",
    "capture",
    "compare",
    "cost",
    "diff",
    "find_run",
    "follow",
    "graph",
    "instrument",
    "last",
    "linked",
    "load",
    "load_ipython_extension",
    "replay",
    "table",
    "to_folder",
    "traces",
    "unload_ipython_extension",
    "verify",
]

if not has_jax():
    use_stand_ins()
elif "jax" in sys.modules:  # Programs that were compiled before the context exists are compiled again: create it early.
    import jax_debug_widgets._jax.origins.context  # noqa: F401 - the import creates the context.

P = ParamSpec("P")
R = TypeVar("R")


def _with_near_names(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function that takes options raise an error for an unknown option, which names the nearest known one."""

    @wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> R:
        from jax_debug_widgets.session.options import refuse_unknown

        refuse_unknown(options)
        return function(*args, **options)

    return checked


@_with_near_names
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
    max_ended_mb: float = 512.0,
    watch: str | Sequence[str] | bool | None = None,
    exact: bool = False,
    ops: bool = False,
    values: bool = False,
    histograms: bool = False,
    lanes: bool = False,
    when: str | None = None,
    break_on: str | int | Sequence[str | int] = (),
    break_timeout: float | None = None,
    prompt: bool = False,
    record: str | PathLike[str] | None = None,
    record_max_mb: float | None = None,
    name: str = "",
    config: Mapping[str, Any] | None = None,
    check: str | Sequence[str] | bool | None = None,
    keep_inputs: int | None = None,
) -> AbstractContextManager[Run]:
    """Capture what compiled programs print and call back in the body of a `with`, and the values of their variables.

    A function that prints, or is watched, is compiled once more with instrumentation when the body calls it. Outside the
    body its own executable runs. Any other function runs as it was compiled before. A capture belongs to the thread that
    enters it. While a capture inside another one is open, the events go to the inner one.

    Example::

        with jax_debug_widgets.capture() as run:
            params = train_step(params, batch)
        run.events, run.series("loss"), run.plot("loss")

        with jax_debug_widgets.capture(watch="logits,h") as run:  # variables of the source, no print in it
            params = train_step(params, batch)
        run["logits"]["mean"], run["logits"].gradient.to_pandas(), run.plot("grad_norm/*")

    Args:
      title: the title of the run in its panel.
      echo: also write prints to stdout, exactly as JAX does.
      debug: False compiles the programs without any call of `jax.debug`: no print, log, callback, breakpoint or sharding
        inspection. `pure_callback` and `io_callback` stay, because the program needs their results.
      every: record each n-th firing of a site, and each n-th step of watched values. A print in a loop whose values change
        does not fire at all in the other iterations; elsewhere the host discards the other firings. The user's callbacks
        always run.
      barrier: wait at the end until all prints and callbacks have arrived.
      timeout: seconds after which that wait gives up; None waits forever.
      stuck_after: seconds after which a note names a host function that has not returned.
      max_events, max_mb: the most events and MB that the run keeps. The oldest events are dropped first, and counted.
      max_ended_mb: the most MB that all ended runs keep together. The oldest arrays are dropped first, and counted.
      watch: the variables whose values and gradients are recorded. Names and globs (`"logits,h*"`, `"self.w"`,
        `"grad/logits"`, `"logits@model.py"`, `"logits@model.py:12"`), lines (`"model.py:40-60"`), named scopes
        (`"layer*/mlp"`), primitives (`"dot_general|exp"`); True records every value that has a name in the user's files.
      exact: keep the results equal bit for bit to those of the unwatched program. The program runs as it is, and a watched
        copy of it (the twin) runs before it with the same inputs; the twin prints nothing, and its results are discarded.
        This costs the time and the memory of both; `every=N` runs the twin in each N-th call. Jitted functions that the
        body calls have twins, unless they use results of host calls or write to references; a note names these. It cannot
        be combined with `break_on`, nor with a check that is compiled into the program (`oob`, `nonfinite`, `casts`,
        `numpy`). Experimental.
      ops: record the result of every equation.
      values: record whole arrays too, not only their statistics. The device down-samples arrays above 65536 elements.
      histograms: count the magnitudes of each watched array by sign and power of two: `run["h"].histogram`.
      lanes: also record the statistics of the first 512 `vmap` lanes: `run["h"].lanes`. `watch="lanes/h"` does so for
        `h` alone.
      when: record watched values only where this expression holds. The device evaluates it over names of the program
        (`"abs(logits).max() > 10"`; a gradient is `grad.logits`). It holds if any element fulfils it
        (`"0 < h < 1 and not isnan(x)"`); `"all(h > 0)"` asks for all elements.
      break_on: where the program stops: `"nonfinite"` (each site whose value is NaN or infinite; also `"nan"` or `"inf"`), a
        site (`"train.py:41"`, its number or name), or an expression over captured values (`"loss > 10"`, `"grad.h < 0"`). The
        host evaluates the expression when one of its values fires.
      break_timeout: seconds after which a stopped program continues by itself; None waits as long as its page is open.
      prompt: ask on stdin, with JAX's own prompt, where no panel answers.
      record: write the run into this folder (`"run.jdw"`) while it goes on, so that the run remains if the process is killed;
        `load` reads it. If the folder exists, the run is written into `run-2.jdw`. `max_events` and `max_mb` do not limit
        the folder. It needs pyarrow. The environment variable `JDW_RECORD` names the folder if this is None.
      record_max_mb: the most MB of that folder. The oldest events are dropped first, and counted. None for no limit.
      name: the name of the run in a table of runs, see `load`.
      config: the settings to compare runs by, such as `{"lr": 3e-4}`.
      check: the checks of running programs to turn on, besides those that are always on: `"oob"` (indices out of bounds), a
        list of names, or True for all. `run.findings` has what they find. `nonfinite`, and so all, can change how XLA fuses
        the program, and with that the last bits of its results; `verify` tells whether it did.
      keep_inputs: keep the inputs of this number of newest calls, for `replay`; None for 2 with `break_on`, else 0. Only
        jitted calls that print, are watched or call the host count. Donated inputs (`donate_argnums`) are copied on their
        device first; a note says how many bytes. When a later run keeps inputs, those of this run are dropped.

    Returns:
      A context manager that yields the `Run`. Read the run during the body or after it.

    Raises:
      TypeError: an argument has the wrong type.
      ValueError: a number is not positive, a condition cannot be parsed, no check has that name, `watch` is empty, or
        `values`, `histograms`, `lanes` or `when` is given without anything to watch.
      Stopped: the user ended the program from the panel, at a breakpoint or by an interrupt.
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
        max_ended_mb=max_ended_mb,
        watch=watch,
        exact=exact,
        ops=ops,
        values=values,
        histograms=histograms,
        lanes=lanes,
        when=when,
        break_on=break_on,
        check=check,
        break_timeout=break_timeout,
        prompt=prompt,
        record=record,
        record_max_mb=record_max_mb,
        name=name,
        config=config or {},
        keep_inputs=keep_inputs,
    )
    return current_session().run(title, options)


def replay(
    run: Run | LoadedRun | str | PathLike[str],
    call: int = -1,
    f: Callable[..., Any] | None = None,
    *,
    watch: str | Sequence[str] | bool | None = True,
    step: bool = False,
    like: Sequence[Any] = (),
    **options: Any,
) -> Replay:
    """Repeat a call of a run with the inputs that it had: `capture(keep_inputs=2)` keeps the inputs of the last two calls.

    A recorded or saved run has the inputs in its file, so another process can repeat the call:
    `replay(load("run.jdw"), 7, f)`. The result is equal bit for bit. Prints fire again, and callbacks are called again.

    Example::

        with jdw.capture(break_on="nonfinite", watch="loss") as run:  # keeps the inputs of the last two calls
            for batch in batches:
                params, loss = train_step(params, batch)
        again = jdw.replay(run)  # every value that has a name is watched
        again.run.findings, again.result

    Args:
      run: a run of this process, a loaded run, or the path of its file.
      call: the number of the call, see `run.calls`; a negative number counts back from the last call with kept inputs.
      f: the function to call instead, such as the function after an edit. None calls the function itself, which a file does
        not have.
      watch: see `capture`.
      step: run the call equation by equation in the panel's debugger. The debugger shows every value, so nothing is watched.
        After the last step the compiled function runs once more for the `result`, because single equations give other last
        bits.
      like: for a loaded run, examples of the positional arguments. They are needed for arguments that contain a pytree of your
        own class, or something that no file can hold. The values in them do not matter.
      options: further options of `capture`.

    Returns:
      A `Replay`, with the `result` and the `run` of this call.

    Raises:
      LookupError: the inputs of this call are not kept. TypeError: `f` is missing. ValueError: a part of the inputs is not in
        the file; the message says which. Exception: the error that the function raises.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.replay import replay_of

    taken: Any = load(run) if isinstance(run, str | PathLike) else run
    return replay_of(current_session(), taken, call, f, like=like, watch=watch, step=step, options=options)


def breakpoint(x: Any = None, *, when: Any = None, name: str = "", num_frames: int = 1) -> Any:  # noqa: A001
    """Stop the program here, jitted or not, while a capture is on; outside a capture this compiles to nothing.

    Example::

        jdw.breakpoint()                               # always
        jdw.breakpoint(when=~jnp.isfinite(h).all())    # the device evaluates it; nothing is moved while it is false
        h = jdw.breakpoint(h)                          # continues with h, or with the value that you set

    Under `vmap` the whole batch stops once; choose one of the lanes for which `when` holds. The derivative is the
    identity's. On several devices each device that stops sets its own value.

    Args:
      x: any pytree of arrays. It is returned. While the program is stopped, you can set another value with the same shapes
        and dtypes.
      when: a boolean scalar; None stops always.
      name: a name for people.
      num_frames: the number of frames, from the caller outward, whose variables are shown. The program keeps their traced
        arrays until here and moves them to the host at each stop; 0 moves only `x`.

    Returns:
      `x`, or the value that was set.

    Raises:
      TypeError: `when` is not a boolean scalar.
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

    The function is traced, lowered and compiled as a jitted function, outside any capture. The table has a row for each call
    of the host: its kind, the types of its results, the loops and branches around it, whether it is guaranteed to run, how
    often the traced program (`staged`) and the compiled program (`kept`) have it, and the transformations that JAX allows.

    Raises:
      Exception: the error that tracing or compiling the function raises. A note explains an error about a callback.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.questions import inventory_of

    return inventory_of(current_session(), function, *args, **kwargs)


def cost(
    function: Callable[..., Any], /, *args: Any, run: bool = False, timeout: float | None = 60.0, **kwargs: Any
) -> CostReport:
    """Measure what each print and callback adds to `function(*args, **kwargs)`: `%jaxdebug cost f(x)`.

    The function is compiled as it is, without each of its calls to the host, and without all of them. The table has a row
    and a sentence for each call: bytes moved to the host, temporary memory, kernels, broken fusions, added collectives,
    whether it keeps the program out of the persistent cache, and the time of such an event on this machine, in plain JAX and
    in a capture.

    Args:
      function: a function, jitted or not. Wrap a function that has a keyword `run` or `timeout` in a lambda.
      run: also run the program, and the program without these calls, a few times. Prints are not shown; callbacks are called.
        Wrap a jitted function with static arguments: `cost(lambda x: f(x, 3), x, run=True)`.
      timeout: seconds after which no further program without one of the calls is compiled; None compiles all.

    Raises:
      Exception: the error that tracing, compiling or running the function raises.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.questions import cost_of

    return cost_of(current_session(), function, args, kwargs, timeout=timeout, run=run)


@overload
def compare(
    function: Callable[..., Any], /, *args: Any, against: Literal["float64"], rtol: float | None = None, **kwargs: Any
) -> AgainstFloat64: ...


@overload
def compare(
    function: Callable[..., Any], /, *args: Any, against: Literal["op-by-op"], rtol: float | None = None, **kwargs: Any
) -> AgainstOpByOp: ...


@overload
def compare(
    function: Callable[..., Any], /, *args: Any, save: str | PathLike[str], rtol: float | None = None, **kwargs: Any
) -> SavedValues: ...


@overload
def compare(
    function: Callable[..., Any], /, *args: Any, against: None = None, rtol: float | None = None, **kwargs: Any
) -> Comparison: ...


@overload
def compare(
    function: Callable[..., Any], /, *args: Any, against: str | PathLike[str], rtol: float | None = None, **kwargs: Any
) -> AgainstFloat64 | AgainstOpByOp | Comparison: ...


def compare(
    function: Callable[..., Any],
    /,
    *args: Any,
    against: str | PathLike[str] | None = None,
    save: str | PathLike[str] | None = None,
    rtol: float | None = None,
    **kwargs: Any,
) -> AgainstFloat64 | AgainstOpByOp | Comparison | SavedValues:
    """Run two functions equation by equation, and compare their outputs and values: `%jaxdebug compare f g -- x`.

    Both run un-jitted, so that differences come from the functions and not from XLA; their callbacks are called. The result
    names the first divergence with both lines: the first equation with another value, among those that lead to an output that
    differs.

    With `against`, one function is compared with itself: `%jaxdebug compare f -- x --against float64`.

    * `"float64"`: each equation also runs in float64. The result says which line loses digits: the error of each line, and its
      ratio to the error of the operands.
    * `"op-by-op"`: the jitted program, and the same program run op by op. The result says which line XLA computes otherwise:
      which operation it rewrites, or which value must be computed apart to give the same numbers; and which XLA pass decides.
      The program is compiled some twenty times for that, for a minute at most.
    * `"saved:FILE"`, or a path: the values of an earlier run, which `save=FILE` has written.
    * `"cpu"`: the accelerator and the CPU.

    Example::

        found = jax_debug_widgets.compare(loss, new_loss, params, batch)
        found.close, found.outputs, found.first
        found = jax_debug_widgets.compare(loss, params, batch, against="float64")
        found.headline, found.worst, found.by_line
        jax_debug_widgets.compare(loss, params, batch, save="before.npz")  # before an upgrade, or a change
        jax_debug_widgets.compare(loss, params, batch, against="saved:before.npz")

    Args:
      function: a function, jitted or not.
      *args: the other function, and the arguments of both; with `against`, only the arguments.
      against: what to compare one function with. Wrap a function that has a keyword of this name in a lambda.
      save: write the values of `function` to this file instead of comparing them.
      rtol: the relative tolerance; None: 16 times the precision of the dtype. Whole numbers are compared exactly.

    Raises:
      TypeError: there is no second function, and no `against`.
      ValueError: `against` is unknown, the file does not exist, or there is no accelerator.
      FileExistsError: the file to save to exists.
      Exception: the error that tracing or running one of the functions raises.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.comparing import comparison_of

    return comparison_of(current_session(), function, args, kwargs, rtol=rtol, against=against, save=save)


def diff(
    before: Callable[..., Any],
    after: Callable[..., Any],
    /,
    *args: Any,
    other_args: Sequence[Any] | None = None,
    xla: bool = False,
    **kwargs: Any,
) -> Diff:
    """Compare the programs of two functions, equation by equation, without running them: `%jaxdebug diff f g -- x`.

    Each equation is the same, changed, added, removed, or in another order. Bodies of loops and branches are compared too.
    Calls of jitted functions are inlined. The same computation in another order gives the same results, but JAX's caches see
    another program.

    Example::

        found = jax_debug_widgets.diff(loss, new_loss, params, batch)
        found.is_same, found.headline, found.of_kind("changed")

    Args:
      before, after: functions, jitted or not.
      other_args: the arguments of `after`; None for the same as those of `before`.
      xla: compile both, and tell whether XLA makes the same executable of them (`is_same_executable`).

    Raises:
      Exception: the error that tracing one of the functions raises.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.programs import diff_of

    return diff_of(current_session(), before, after, args, kwargs, other_args=other_args, xla=xla)


def assert_same_program(before: Callable[..., Any], after: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
    """Raise unless two functions compute the same, in any order: for tests of a refactoring. Nothing runs.

    Raises:
      AssertionError: the programs differ; the message is the text of `diff`.
      Exception: the error that tracing one of the functions raises.
    """
    found = diff(before, after, *args, **kwargs)
    if not found.is_same:
        raise AssertionError(str(found))


def instrument(function: Callable[P, R], /, **options: Any) -> Instrumented[P, R]:
    """Wrap a function so that each of its calls is captured into a run of its own.

    Example::

        step = jax_debug_widgets.instrument(model.train_step, watch="grad/*", every=10)
        params = step(params, batch)
        step.run["grad/h"]["l2"]

    Args:
      function: a jitted function, or one that calls jitted functions; also a function of a library. It is not changed.
      **options: the options of `capture`. `title` is the name of the function by default. `every=n` records each n-th
        iteration of a loop, and each n-th call of a function without a loop.

    Returns:
      A function with the same arguments and results; its `run` is the run of the last call.

    Raises:
      TypeError: it is not a function, or it is a generator; or the error that `capture` raises.
      ValueError: the error that `capture` raises.
    """
    from jax_debug_widgets.session import Instrumented, Options, current_session

    title = options.pop("title", getattr(function, "__name__", "instrument"))
    return Instrumented(function, current_session(), title, Options.of(**options))


def linked(
    function: Callable[..., Any], /, *args: Any, compiled: bool = True, exact: bool = True, **kwargs: Any
) -> Linked:
    """Show the source, jaxpr, StableHLO and optimised HLO of `function(*args, **kwargs)` beside each other, without running it.

    In a notebook, pointing at a row highlights the corresponding rows of all columns; a click keeps them highlighted. A fusion
    is a box with its lines and the bytes that it reads and writes. An equation that XLA has folded away is struck through.
    `%jaxdebug hlo f(x)` is the same.

    Links are exact: each equation gets a name that the compiler copies to the instructions made from it. The program is
    compiled with and without these names, and the two executables are compared. A program that takes XLA seconds is compiled
    only with names; then the two programs are compared as XLA receives them.

    Example::

        found = jdw.linked(train_step, params, batch)
        found.exact, found.fusions, found.unlinked

    Args:
      function: a function, jitted or not. Wrap a function that has a keyword `compiled` or `exact` in a lambda.
      compiled: whether to compile the program; False shows only source and jaxpr: `%jaxdebug jaxpr f(x)`.
      exact: False reads the executable that a call of a jitted function runs, so that a function that has run is not compiled
        again: `%jaxdebug hlo --by-line f(x)`. Each instruction is then linked with all equations of its line. It has no effect
        for a function that is not jitted, nor if XLA's text has no lines of callers, as with jax 0.8.

    Raises:
      Exception: the error that tracing, lowering or compiling the function raises.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.linked import linked_of

    return linked_of(current_session(), function, args, kwargs, compiled=compiled, exact=exact)


def graph(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Graph:
    """Show the program of `function(*args, **kwargs)` as nested boxes, without running it: `%jaxdebug graph f(x)`.

    The outer boxes are functions. They contain boxes for lines, loops and name scopes, and those contain equations. Code that
    is written once and traced several times is one box. The backward pass of a line is beside it. No level has more than 60
    boxes.

    In a notebook you can open and close boxes, search, choose colours, and mark the paths from one value to others. In a
    terminal and in a saved notebook, the boxes that are open at first are shown.

    Example::

        found = jdw.graph(train_step, params, batch)
        found.find("float64"), found.to_outputs(12).description

    Args:
      function: a function, jitted or not.

    Raises:
      Exception: the error that tracing the function raises.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.graph import graph_of

    return graph_of(current_session(), function, args, kwargs)


def table(
    function: Callable[..., Any], /, *args: Any, by: By | None = None, xla: bool | None = None, **kwargs: Any
) -> ProgramTable:
    """List the equations of `function(*args, **kwargs)`, without running it: `%jaxdebug table f(x)`.

    A row has the equation's primitive, the names of its results in the source, its inputs, shape and dtype, how often it runs,
    floating-point operations and bytes, the line, and whether it belongs to the forward pass, to the backward pass or is
    recomputed. The equations of a loop are counted once for each iteration. Python's whole numbers among the arguments are not
    traced, because they may be sizes.

    Example::

        found = jax_debug_widgets.table(train_step, params, batch, by="line")
        found.flops, found.grouped("primitive"), found.grouped("equation").to_pandas()

    Args:
      function: a function, jitted or not. Wrap a function that has a keyword `by` or `xla` in a lambda.
      by: what a row stands for: `"equation"`, `"line"`, `"primitive"` or `"scope"`; None for `"equation"`, or for `"line"` in a
        program of more than 200 equations.
      xla: also show XLA's own count of operations; None leaves it out for programs of more than 1000 equations, which take
        long to lower.

    Raises:
      Exception: the error that tracing the function raises.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.programs import table_of

    return table_of(current_session(), function, args, kwargs, by=by, xla=xla)


def to_folder(
    function: Callable[..., Any],
    /,
    *args: Any,
    path: str | PathLike[str],
    name: str | None = None,
    overwrite: bool = False,
    **kwargs: Any,
) -> Exported:
    """Write `function(*args, **kwargs)` as a Python package to read, edit and run: `%jaxdebug export f(x) DIR`.

    The package needs JAX, NumPy, and the libraries that define the classes of its pytrees. Its function takes and returns the
    same pytrees. Names and comments come from your source; loops, branches, derivative rules and `jax.checkpoint` are written
    as such. Each line is traced again before it is written, to prove that it is the same operation.

    Jitted, the function gives the same bits as the jitted original. The export does not run the program, but side effects of
    tracing happen.

    Example::

        exported = jdw.to_folder(train_step, params, batch, path="step")
        exported.check()  # runs both, and compares the bits
        from step import train_step

    Args:
      function: a function, jitted or not. Wrap a function that has a keyword `path`, `name` or `overwrite` in a lambda.
      path: the folder. Files that an export has not written are not overwritten.
      name: the name of the function in the package; None for the name that it has.
      overwrite: also replace a package that was edited since.

    Raises:
      NotImplementedError: the program cannot be written; the message lists the reasons. Nothing is written then.
      ValueError: the folder must not be written.
      Exception: the error that tracing the function raises.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.export import export

    return export(current_session(), function, args, kwargs, path, name=name, overwrite=overwrite)


def traces(function: Callable[..., Any], /, *args: Any, seeds: int | None = None, **kwargs: Any) -> Traces:
    """Trace `function(*args, **kwargs)` twice, and tell whether both are the same program: `%jaxdebug traces f(x)`.

    The function does not run, but side effects of tracing happen twice. If the two programs differ, the result has the first
    equation that differs. It also has the lines that may make a difference in another process: a set has the same order in
    both traces of one process, and perhaps another order in the next process.

    Args:
      function: a function, jitted or not.
      seeds: also trace it in this number of fresh interpreters, each with another hash seed (`PYTHONHASHSEED` 0, 1, …). They
        get the source of the function, and the plain values and the types of arrays that it uses; nothing is pickled.

    Raises:
      ValueError: a value that the function uses cannot be sent to another process.
      Exception: the error that tracing the function raises.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.programs import traces_of

    return traces_of(current_session(), function, args, kwargs, seeds=seeds)


def verify(
    function: Callable[..., Any], /, *args: Any, options: Mapping[str, Any] | None = None, **kwargs: Any
) -> Verification:
    """Tell whether watching changes the results of `function(*args, **kwargs)`: `%jaxdebug verify --watch-all f(x)`.

    The function is called seven times: once outside any capture as the reference, three times captured and three times
    watched; these six are timed. Each call gets copies of the arguments, so that donation does not delete yours. Its effects
    happen each time; its prints are in the run and are not written. The run's notes have the findings too.

    Example::

        found = jax_debug_widgets.verify(train_step, params, batch, options={"watch": "h,logits"})
        found.equal, found.differences, found.slowdown, found.run["h"]

    Args:
      function: a jitted function, or one that calls jitted functions.
      options: options of `capture`. By default every value that has a name is watched.

    Raises:
      Exception: the error that the function, or `capture`, raises.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.studies.questions import verification_of

    chosen = {"title": f"verify {getattr(function, '__name__', 'f')}", "watch": True, **(options or {})}
    with capture(**chosen):
        return verification_of(current_session(), function, *args, **kwargs)


def find_run(key: str) -> RunView:
    """Find the run with this `run.key`, as the panel's *Copy as Python* writes it.

    Raises:
      LookupError: the run belonged to another kernel, or is no longer kept.
    """
    from jax_debug_widgets.session import current_session

    run = current_session().find_run(key)
    if run is None:
        msg = f"this kernel has no run {key}: it was another kernel's, or is no longer kept"
        raise LookupError(msg)
    return run


@overload
def load(path: PathLike[str], *, max_events: int = ..., max_mb: float = ..., follow: bool = ...) -> LoadedRun: ...
@overload
def load(path: str, *, max_events: int = ..., max_mb: float = ..., follow: bool = ...) -> Any: ...
@overload
def load(path: Sequence[str | PathLike[str]], *, max_events: int = ..., max_mb: float = ...) -> LoadedRuns: ...
def load(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    max_events: int = 5_000_000,
    max_mb: float = 2048.0,
    follow: bool = False,
) -> Any:
    """Load a run that `run.save`, `--record` or `capture(record=...)` has written, on this machine or another one.

    It has the same values, series, findings and panel as when it was written. Loading uses neither JAX nor a device. Nothing
    in the file is executed.

    Example::

        run = jdw.load("run.jdw")
        run["h"]["mean"], run.plot("loss"), run.panel

        runs = jdw.load("sweep/*.jdw")  # a table: name, config, steps, ms a step, last loss, findings
        runs, runs.plot("loss"), runs.to_pandas(), runs["lr3"]

        jdw.load("run.jdw", follow=True).panel  # a job that goes on elsewhere, over a file system that both see

    Args:
      path: the folder or zip file of a run; for several runs, a pattern, a folder that contains runs, or a list of paths.
      max_events, max_mb: the most events and MB of a run that are loaded, the newest ones. `plot` draws the rest as mean and
        range.
      follow: go on reading while another process writes the run, until the run is over; its panel is live.

    Returns:
      A `LoadedRun`; for several runs, a `LoadedRuns`.

    Raises:
      ImportError: pyarrow is not installed (`pip install "jax-debug-widgets[record]"`).
      ValueError: there is no run, it contradicts itself, or a newer version of this package has written it.
      TypeError: `path` is none of these.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.loading import load as load_run

    return load_run(current_session(), path, max_events=max_events, max_mb=max_mb, follow=follow)


def last() -> Run:
    """Return the run that is going on, or else the run of the last `%%jaxdebug` cell or `capture`.

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


def follow(client: Any, folder: str | PathLike[str] | None = None) -> Engines:
    """Follow the engines of an ipyparallel client: what they capture from now on is one run, with one panel.

    Example::

        engines = jdw.follow(rc)

        %%px --noblock
        %%jaxdebug
        train()

        engines  # in the next cell: the panel of all engines, while they run
        engines.run.wait()

    Args:
      client: an `ipyparallel.Client`.
      folder: the folder that the engines record into. They and this process must see it. None for a temporary folder of this
        machine.
    """
    from jax_debug_widgets.session import current_session
    from jax_debug_widgets.session.engines import Engines

    return Engines(current_session(), client, folder)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext jax_debug_widgets`."""
    from jax_debug_widgets.magics import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext jax_debug_widgets`: remove the magics and restore JAX."""
    from jax_debug_widgets.magics import unload

    unload(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Return the place of the built extension for `jupyter labextension develop`; a wheel installs the extension by itself."""
    return [{"src": "labextension", "dest": "jax-debug-widgets"}]
