"""Run a program in processes with a changed JAX: some names that we need are missing, or have other parameters.

This is a script. It reads one line for each process from stdin: the change, and the names to change. For example `gone
core.pvary mlir.set_sharding`; `extra` adds a first parameter, `renamed` renames all parameters. It writes the result of
each program as a line of JSON. JAX is imported once; each process is forked afterwards, before JAX has any thread.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import sys
import traceback
from collections.abc import Hashable
from functools import partial
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from jax.experimental import io_callback
from traitlets.config import Config

from jax_debug_widgets._jax.compat.parameters import parameters_of


class StandIn(ModuleType):
    """A module of JAX in which our package does not find some names; JAX, which imports some names late, finds them."""

    def __init__(self, module: ModuleType, gone: set[str]) -> None:
        super().__init__(module.__name__)
        vars(self).update({name: value for name, value in vars(module).items() if name not in gone}, _module=module)

    def __getattr__(self, name: str) -> Any:
        if str(sys._getframe(1).f_globals["__name__"]).startswith("jax_debug_widgets"):
            raise AttributeError(name)
        return getattr(vars(self)["_module"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["_module"], name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        delattr(vars(self)["_module"], name)
        super().__delattr__(name)


def take_away(names: list[str]) -> None:
    """Remove these names from their modules.

    For a name inside another one, the table of features reports that it is missing.
    """
    from jax_debug_widgets._jax.compat import features, private

    gone: dict[str, set[str]] = {}
    for module, _, path in (name.partition(".") for name in names):
        if "." not in path:
            gone.setdefault(private.path_of(getattr(private, module)), set()).add(path)
    for path, hidden in gone.items():
        package, _, name = path.rpartition(".")
        own = private.module(path)
        if path in sys.modules:
            sys.modules[path] = StandIn(own, hidden)
        else:  # A module of jaxlib, which is an attribute of `jax._src.lib`.
            setattr(importlib.import_module(package), name, StandIn(own, hidden))
    theirs = features._exists
    features._exists = lambda owner, path, **rest: (
        f"{next(name for name, one in vars(private).items() if one is owner)}.{path}" not in names
        and theirs(owner, path, **rest)
    )


ARGS = np.asarray([0.5, -0.5], np.float32), np.asarray([1.0, 2.0, 3.0], np.float32)


class Otherwise:
    """A function of JAX with other parameters; callers with the old parameters still work. See `call_otherwise`."""

    def __init__(self, theirs: Any, how: str) -> None:
        self.theirs, self.how = theirs, how
        self.__name__ = getattr(theirs, "__name__", "otherwise")
        own = parameters_of(theirs)
        names = ("extra", *own) if how == "extra" else tuple(f"{name}_" for name in own)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])

    def __call__(self, *args: Any, **options: Any) -> Any:
        if args and args[0] is EXTRA:
            args = args[1:]
        return self.theirs(*args, **{name.removesuffix("_"): value for name, value in options.items()})

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # Hides the parameters of the wrapped function.
            raise AttributeError(name)
        return getattr(self.theirs, name)

    def __get__(self, owner: Any, _kind: Any = None) -> Any:
        return self if owner is None else partial(self._of, owner)

    def _of(self, owner: Any, *args: Any, **options: Any) -> Any:
        extra, args = ((EXTRA,), args[1:]) if args and args[0] is EXTRA else ((), args)
        return self(*extra, owner, *args, **options)


EXTRA = object()


def call_otherwise(how: str, names: list[str]) -> None:
    """Give functions of JAX other parameters, and make JAX call our replacements of them with these."""
    from jax_debug_widgets._jax.compat import private
    from jax_debug_widgets._jax.compat.replacements import Replacements

    shifted: set[tuple[Any, str]] = set()
    for module, _, path in (name.partition(".") for name in names):
        first, *inside = path.split(".")
        owner, name = private.place_of(getattr(private, module), first)
        for part in inside:
            owner, name = getattr(owner, name), part
        theirs = vars(owner)[name]
        is_bound = isinstance(theirs, classmethod | staticmethod)
        setattr(owner, name, staticmethod(Otherwise(getattr(owner, name), how)) if is_bound else Otherwise(theirs, how))
        shifted.add((owner, name))
    plainly = Replacements.attribute

    def attribute(self: Any, owner: Any, name: str, ours: Any, **options: Any) -> None:
        owner, name = private.place_of(owner, name)
        plainly(self, owner, name, ours, **options)
        if not isinstance(owner, Hashable) or (owner, name) not in shifted:
            return
        hook, is_method = vars(owner)[name], isinstance(owner, type)

        def call(*args: Any, **given: Any) -> Any:
            if how == "renamed":
                return hook(*args, **{f"{name.removesuffix('_')}_": value for name, value in given.items()})
            if any(one is EXTRA for one in args[:2]):  # A replacement of ours calls the replacement below it.
                return hook(*args, **given)
            return hook(args[0], EXTRA, *args[1:], **given) if is_method else hook(EXTRA, *args, **given)

        setattr(owner, name, call)

    Replacements.attribute = attribute


def body(carry, x):
    h = jnp.tanh(carry * x)
    jax.debug.print("h {}", h)
    return h, h


def loss(w, xs):
    y = jnp.sin(w * xs[0])
    double = jax.pure_callback(
        lambda a: np.asarray(a * 2), jax.typeof(y), jax.lax.stop_gradient(y), vmap_method="sequential"
    )
    y = jax.lax.cond(y > 0, lambda: (jax.debug.print("positive {}", y), y)[1], lambda: y * 2)
    _, hs = jax.lax.scan(body, y, xs)
    return jnp.sum(hs) + double


def square(x):
    jax.debug.print("x {}", x, ordered=True)
    return x**2


def written(x):
    io_callback(lambda _: None, None, x)
    return square(x)


def all_of_it(jdw: Any) -> list[Any]:
    """Return the results of jitted, batched, differentiated and un-jitted programs."""
    values = jax.jit(jax.vmap(jax.value_and_grad(loss), (0, None)))(*ARGS)
    with jax.disable_jit():
        carried = jax.lax.fori_loop(0, 2, lambda i, x: (jax.debug.print("i {}", i), x + 1)[1], 0)
    found = jax.tree.leaves((values, jdw.breakpoint(jax.grad(square)(3.0)), jax.jit(written)(2.0), carried))
    return jax.block_until_ready(found)


def run() -> dict[str, Any]:
    """Load the extension, and run programs without a capture and in one that watches."""
    import jax_debug_widgets as jdw
    from jax_debug_widgets._jax.compat import features

    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_line_magic("load_ext", "jax_debug_widgets")
    plain = all_of_it(jdw)
    with jdw.capture(watch=["h", "y"]) as captured:
        values = all_of_it(jdw)
        jax.effects_barrier()
    try:
        listed = len(jdw.callbacks(loss, 0.5, ARGS[1]))
    except NotImplementedError as error:
        listed = str(error)
    shell.run_line_magic("unload_ext", "jax_debug_widgets")
    watched = {event.site.watch.name for event in captured.events if event.site.watch is not None}
    return {
        "is_same": all(map(np.array_equal, plain, values)),
        "said": sorted(event.text for event in captured.events if event.site.watch is None),
        "watched": sorted(watched),
        "listed": listed,
        "notes": captured.notes,
        "off": list(features.missing()),
    }


def in_a_process(how: str, names: list[str]) -> dict[str, Any]:
    """Call `run` in a process with such a JAX; return its result, or its exception."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            take_away(names) if how == "gone" else call_otherwise(how, names)
            told = run()
        except BaseException:  # noqa: BLE001 - sent to the parent process.
            told = {"raised": traceback.format_exc()}
        with os.fdopen(writing, "w") as pipe:
            json.dump(told, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return json.loads(told) if told else {"raised": "the process has ended"}


if __name__ == "__main__":
    for slow in ("anywidget", "numba", "scipy"):  # Imported once here, instead of in each process.
        if importlib.util.find_spec(slow):
            importlib.import_module(slow)
    for line in sys.stdin:
        what, *own = line.split()
        print(json.dumps(in_a_process(what, own)), flush=True)
