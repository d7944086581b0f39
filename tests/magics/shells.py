"""Make real IPython shells that show every effect of a cell.

Tests compare cells with and without the magic.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from traitlets.config import Config

from jax_debug_widgets.session import current_session, snapshot_of
from jax_debug_widgets.widgets import summary

f = jax.jit(lambda x: (jax.debug.print("x {}", x), x * 2)[1])
g = jax.jit(lambda x: x + 1)
NAMES = {"jax": jax, "jnp": jnp, "f": f, "g": g}
"""The namespace of cells: `f` prints, `g` does not. They are compiled once for all shells."""


@dataclass
class Outcome:
    """The effects of one cell that a person or the next cell can see, without names that hash the cell's text."""

    stdout: str
    stderr: str
    warned: list[str]
    displayed: list[Any]
    value: str
    error: str
    summaries: int = field(compare=False)
    result: ExecutionResult = field(compare=False, repr=False)


class Shell:
    """An IPython shell without a terminal."""

    def __init__(self, *, extension: bool, **settings: Any) -> None:
        config = Config()
        config.HistoryManager.hist_file = ":memory:"
        config.InteractiveShell.colors = "nocolor"
        for name, value in settings.items():
            config.InteractiveShell[name] = value
        InteractiveShell.clear_instance()
        self.ip: InteractiveShell = InteractiveShell.instance(
            config=config, display_pub_class=CapturingDisplayPublisher
        )
        atexit.unregister(self.ip.atexit_operations)
        self.ip.push(NAMES)
        if extension:
            self.run("%load_ext jax_debug_widgets", store_history=False)

    def close(self) -> None:
        self.ip.extension_manager.unload_extension("jax_debug_widgets")
        self.ip.history_manager.end_session()
        if self.ip.history_manager.save_thread is not None:
            self.ip.history_manager.save_thread.stop()
        self.ip.history_manager.db.close()
        InteractiveShell.clear_instance()

    def use(self) -> None:
        """Make it the shell that `get_ipython()` and `display` use."""
        InteractiveShell.clear_instance()
        for kind in InteractiveShell._walk_mro():
            kind._instance = self.ip

    def start_anew(self) -> None:
        """Begin with an empty namespace and history; cells are counted from one."""
        self.use()
        self.ip.reset(new_session=True)
        self.ip.history_manager.reset()
        self.ip.history_manager.input_hist_raw[:] = [""]
        self.ip.history_manager.input_hist_parsed[:] = [""]
        self.ip.push(NAMES)

    def run(self, cell: str, **options: Any) -> Outcome:
        self.ip.display_pub.outputs = []
        before = current_session().current
        out, err = io.StringIO(), io.StringIO()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                result = self.ip.run_cell(cell, **{"store_history": True, **options})
        printed, summaries = out.getvalue(), 0
        if (run := current_session().current) is not None and run is not before:
            text = summary(snapshot_of(run), lines=0) + "\n"
            summaries, printed = printed.count(text), printed.replace(text, "")
        return Outcome(
            stdout=without_hashes(printed),
            stderr=without_hashes(err.getvalue()),
            warned=[without_hashes(f"{one.category.__name__}: {one.message} ({one.lineno})") for one in warned],
            displayed=[output["data"] for output in self.ip.display_pub.outputs],
            value=without_hashes(repr(result.result)),
            error=without_hashes(repr(result.error_before_exec or result.error_in_exec)),
            summaries=summaries,
            result=result,
        )

    def state(self) -> dict[str, Any]:
        """Return the state that the next cell finds."""
        space = self.ip.user_ns
        names = {name for name in space if not re.fullmatch(r"_i+|_ih|_i\d+", name)}  # The raw history has these.
        return {
            "execution_count": self.ip.execution_count,
            "raw history": [typed.rstrip() for typed in self.ip.history_manager.input_hist_raw],
            "Out": {number: without_hashes(repr(value)) for number, value in space["Out"].items()},
            "last": [without_hashes(repr(space.get(name))) for name in ("_", "__", "___")],
            "names": names,
            "hidden": names & set(self.ip.user_ns_hidden),
            "values": {name: without_hashes(repr(space[name])) for name in names - _CHECKED_ABOVE},
        }


_CHECKED_ABOVE = frozenset({"__warningregistry__", "In", "Out", "_oh", "_dh", "_", "__", "___", "__builtins__"})


def without_hashes(text: str) -> str:
    """Replace names such as `<ipython-input-3-d110e924c82e>` and addresses, which differ between equal cells."""
    return re.sub(r"(ipython-input-\d+)-[0-9a-f]{12}", r"\1", re.sub(r"0x[0-9a-f]{6,}", "0x", text))


@contextlib.contextmanager
def shell(*, extension: bool = True, **settings: Any) -> Iterator[Shell]:
    """Return a new shell, which is removed afterwards."""
    one = Shell(extension=extension, **settings)
    try:
        yield one
    finally:
        one.close()
