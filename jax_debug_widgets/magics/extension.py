"""Load the extension into an IPython shell, and unload it."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.compat import hidden_frames
from jax_debug_widgets.magics import program_outputs
from jax_debug_widgets.magics.calls import CallRewriter
from jax_debug_widgets.magics.capture_cell import CellCapture
from jax_debug_widgets.magics.cell import ENTER, transform_lines
from jax_debug_widgets.magics.help import HELP
from jax_debug_widgets.magics.magics import JaxDebugMagics
from jax_debug_widgets.magics.options import option_parser
from jax_debug_widgets.magics.uncaptured import UncapturedCells
from jax_debug_widgets.session import current_session
from jax_debug_widgets.taps.sites import short_name

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_LOADED = "_jax_debug_widgets"
"""The attribute of the shell that holds what `unload` has to undo."""


class _Loaded:
    """Holds the parts of the extension in a shell, and puts them in and takes them out."""

    def __init__(self, shell: InteractiveShell) -> None:
        session = current_session()
        self.shell = shell
        self.cells = CellCapture(shell, session)
        self.uncaptured = UncapturedCells(shell, session, self.cells)
        self.rewriter = CallRewriter(self.cells.calls, lambda: self.cells.lasting is not None)
        self.hidden: dict[str, Any] = {ENTER: self.cells.enter, **self.cells.calls.namespace()}
        session.capture.sites.name_file = self._name_file

    def put_in(self) -> None:
        magics = JaxDebugMagics(self.shell, current_session(), self.cells)
        magics.jaxdebug.__func__.__doc__ = f"See inside jax.jit.\n\n{HELP}{option_parser().format_help()}"
        self.shell.register_magics(magics)
        self.shell.input_transformers_cleanup.append(transform_lines)
        self.shell.ast_transformers.append(self.rewriter)
        self.shell.events.register("pre_execute", self.cells.before_execution)
        self.shell.events.register("post_execute", self.cells.after_execution)
        self.shell.events.register("post_run_cell", self.cells.after_cell)
        self.uncaptured.put_in()
        program_outputs.put_in(self.shell, current_session())
        # As for `get_ipython`: they exist while cells run, they are not among the user's names, and `%reset` keeps them.
        with self.shell.builtin_trap as trap:
            trap.auto_builtins |= self.hidden
            for name, function in self.hidden.items():
                # After `%reload_ext` the old ones are still there. IPython must not restore them as the user's builtins.
                builtins.__dict__.pop(name, None)
                trap.add_builtin(name, function)

    def take_out(self) -> None:
        self.cells.end_all()
        self.shell.input_transformers_cleanup.remove(transform_lines)
        self.shell.ast_transformers.remove(self.rewriter)
        self.shell.events.unregister("pre_execute", self.cells.before_execution)
        self.shell.events.unregister("post_execute", self.cells.after_execution)
        self.shell.events.unregister("post_run_cell", self.cells.after_cell)
        self.uncaptured.take_out()
        program_outputs.take_out(self.shell)
        current_session().capture.sites.name_file = short_name
        hidden_frames.show()
        # The running cell keeps its builtins until it ends, because the rest of the cell may still call them.
        for name in self.hidden:
            del self.shell.builtin_trap.auto_builtins[name]
        for kind in ("line", "cell"):
            self.shell.magics_manager.magics[kind].pop("jaxdebug", None)
        self.shell.magics_manager.registry.pop(JaxDebugMagics.__name__, None)

    def _name_file(self, file: str) -> str:
        """Return `In [7]` for a cell, else the last part of the path."""
        named = self.shell.compile.format_code_name(file)
        if named is None:
            return short_name(file)
        return named[1].replace("In[", "In [")


def load(shell: InteractiveShell) -> None:
    """Put the magics into a shell. JAX stays unchanged until they are used, except for its breakpoints in a kernel."""
    if not hasattr(shell, _LOADED):
        loaded = _Loaded(shell)
        loaded.put_in()
        setattr(shell, _LOADED, loaded)


def unload(shell: InteractiveShell) -> None:
    """Undo `load`. A capture that is on ends."""
    loaded = getattr(shell, _LOADED, None)
    if loaded is not None:
        loaded.take_out()
        delattr(shell, _LOADED)
