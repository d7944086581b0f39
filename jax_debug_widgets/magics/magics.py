"""Define the `%jaxdebug` and `%%jaxdebug` magics."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    line_cell_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
    output_can_be_silenced,
)

from jax_debug_widgets.magics.calls import CallRewriter
from jax_debug_widgets.magics.check_options import parse_check
from jax_debug_widgets.magics.expressions import call_of, given_to
from jax_debug_widgets.magics.help import HELP
from jax_debug_widgets.magics.options import COMMANDS, nearest_command, option_parser, parse
from jax_debug_widgets.magics.plot_options import parse_plot, parse_show
from jax_debug_widgets.magics.programs import PROGRAM_COMMANDS
from jax_debug_widgets.magics.replays import replayed
from jax_debug_widgets.magics.site_commands import mute, print_sites, sample
from jax_debug_widgets.magics.sites import words_of
from jax_debug_widgets.session import snapshot_of
from jax_debug_widgets.session.loading import load_to_show
from jax_debug_widgets.session.studies.checked import checked_text
from jax_debug_widgets.session.studies.questions import result_by_steps, verification_of
from jax_debug_widgets.session.studies.replay import replayed_by_steps
from jax_debug_widgets.watch import Watch
from jax_debug_widgets.widgets import summary

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jax_debug_widgets.magics.capture_cell import CellCapture
    from jax_debug_widgets.session import Options, Run, Session
    from jax_debug_widgets.session.run.compare import LoadedRuns
    from jax_debug_widgets.session.run.loaded import LoadedRun


@magics_class
class JaxDebugMagics(Magics):
    """Parses a line, and calls the session. Each command has a method with its name."""

    shell: InteractiveShell  # pyright: ignore[reportIncompatibleVariableOverride] - never None once made

    def __init__(self, shell: InteractiveShell, session: Session, cells: CellCapture) -> None:
        super().__init__(shell)
        self._session = session
        self._cells = cells

    @no_var_expand
    @needs_local_scope
    @output_can_be_silenced
    @line_cell_magic
    def jaxdebug(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """See inside `jax.jit`: capture what compiled programs print and call back."""
        if cell is not None:
            # Reached when the cell was not transformed: `get_ipython().run_cell_magic("jaxdebug", ...)`.
            self.shell.run_cell(f"%%jaxdebug {line}\n{cell}", store_history=False)
            return None
        word, _, rest = line.strip().partition(" ")
        if not word:
            raise UsageError("jaxdebug: say what to capture, e.g. `%jaxdebug f(x)`, or one of " + ", ".join(COMMANDS))
        if word in ("--help", "-h"):
            word = "help"
        if word in PROGRAM_COMMANDS:
            self._cells.show_errors_without_our_frames()
            return PROGRAM_COMMANDS[word](self._session, rest, self.shell.user_ns, self._name_code)
        if word == "check":
            self._check(rest, local_ns or {})
            return None
        if word in COMMANDS:
            return getattr(self, f"_{word}")(rest)
        options, code = parse(line, echo_by_default=not self._cells.has_panels(), expand=self.shell.var_expand)
        self._refuse_misspelled(code)
        return self._evaluate(code, options, local_ns or {})

    def _evaluate(
        self, code: str, options: Options, local_ns: dict[str, Any], text_of: Callable[[Run], str] | None = None
    ) -> Any:
        """Run an expression or statements in the user's namespace, in a capture."""
        file = self._name_code(code)
        try:
            tree = ast.parse(code, file)
        except SyntaxError as wrong:
            near = nearest_command(code.split(maxsplit=1)[0])
            hint = f"did you mean the command {near!r}?" if near else "`%jaxdebug help` lists the commands"
            raise UsageError(f"jaxdebug: cannot read {code!r}: {wrong.msg}; {hint}") from None
        tree = CallRewriter(self._cells.calls, lambda: False).rewrite(tree)
        recording = self._cells.begin(code, options)
        error: BaseException | None = None
        try:
            namespace = self.shell.user_ns
            first, *more = tree.body
            if isinstance(first, ast.Expr) and not more:
                expression = ast.Expression(first.value)
                return eval(compile(expression, file, "eval"), namespace, local_ns or namespace)
            exec(compile(tree, file, "exec"), namespace, local_ns or namespace)
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._cells.end(recording, error, text_of)

    def _name_code(self, code: str) -> str:
        return self.shell.compile.cache(code, self.shell.execution_count)

    def _refuse_misspelled(self, code: str) -> None:
        if not code:
            raise UsageError("jaxdebug: options, but nothing to capture; for a whole cell write %%jaxdebug")
        if code.isidentifier() and code not in self.shell.user_ns and (near := nearest_command(code)):
            raise UsageError(f"jaxdebug: unknown command {code!r}; did you mean {near!r}?")

    def _on(self, rest: str) -> None:
        if self._cells.lasting is not None:
            raise UsageError("jaxdebug: capturing is on already; `%jaxdebug off` ends it")
        options, more = parse(rest, echo_by_default=not self._cells.has_panels())
        self._refuse_rest("on", more)
        self._cells.switch_on(options)

    def _off(self, rest: str) -> None:
        self._refuse_rest("off", rest)
        if self._cells.lasting is None:
            raise UsageError("jaxdebug: capturing is not on")
        self._cells.switch_off()

    def _status(self, rest: str) -> None:
        self._refuse_rest("status", rest)
        run = self._session.current
        print(
            "jaxdebug: nothing has been captured yet"
            if run is None
            else summary(snapshot_of(run, lines=False), lines=0)
        )
        if sentence := self._session.memory_text():
            print(f"jaxdebug: {sentence}")

    def _barrier(self, rest: str) -> None:
        options, more = parse(rest, echo_by_default=False)
        self._refuse_rest("barrier", more)
        if self._session.barrier(options.timeout):
            print("jaxdebug: all effects arrived")
        else:
            print(
                f"jaxdebug: effects still pending after {options.timeout:g} s; `%jaxdebug barrier --timeout S` waits longer"
            )

    def _panel(self, rest: str) -> Any:
        self._refuse_rest("panel", rest)
        return self._last_run()

    def _step(self, rest: str) -> Any:
        options, code = parse(rest, echo_by_default=not self._cells.has_panels())
        return self._given_to_captured(partial(result_by_steps, self._session), "step", code, options)

    def _verify(self, rest: str) -> Any:
        options, code = parse(rest, echo_by_default=False)
        options = replace(options, watch=options.watch or Watch.of(True, every=options.every))
        found = self._given_to_captured(partial(verification_of, self._session), "verify", code, options)
        if self._cells.has_panels():  # In a terminal the summary of the run has reported it.
            print(f"jaxdebug: {found}")
        return found.result

    def _replay(self, rest: str) -> Any:
        again = replayed(
            self._session, self.shell.var_expand(rest), self.shell.user_ns, echo_by_default=not self._cells.has_panels()
        )
        call = partial(replayed_by_steps, self._session, again.function) if again.steps else again.function
        return self._captured(again.title, again.options, lambda: call(*again.args, **again.kwargs), again.note)

    def _given_to_captured(self, ask: Callable[..., Any], command: str, code: str, options: Options) -> Any:
        """Return `ask(f, x)` for the written call `f(x)`, in a capture. Code that is not a call is refused before it begins."""
        call_of(command, code)
        answer = partial(given_to, ask, command, code, self.shell.user_ns, self._name_code)
        return self._captured(f"{command} {code}", options, answer, is_question=True)

    def _captured(
        self, title: str, options: Options, answer: Callable[[], Any], note: str = "", *, is_question: bool = False
    ) -> Any:
        recording = self._cells.begin(title, options)
        recording.run.is_question = is_question
        error: BaseException | None = None
        try:
            if note:
                recording.run.note(note)
            return answer()
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._cells.end(recording, error)

    def _plot(self, rest: str) -> None:
        run, (names, kind) = self._last_run(), parse_plot(rest)
        self._refused(lambda: run.plot(*names, kind=kind))

    def _show(self, rest: str) -> None:
        run, (name, step, lane) = self._last_run(), parse_show(rest)
        self._refused(lambda: run.show(name, step=step, lane=lane))

    def _save(self, rest: str) -> None:
        run, file = self._last_run(), self._file("save", rest)
        try:
            path = run.save(file)
        except (ImportError, OSError, ValueError) as error:
            raise UsageError(f"jaxdebug: {error}") from None
        print(f"jaxdebug: saved to {path}; `jdw.load({str(path)!r})` or `%jaxdebug load {path}` reads it")

    def _load(self, rest: str) -> LoadedRun | LoadedRuns:
        file = self._file("load", rest)
        try:
            return load_to_show(self._session, file)
        except (ImportError, OSError, ValueError) as error:
            raise UsageError(f"jaxdebug: {error}") from None

    def _file(self, command: str, rest: str) -> str:
        words = words_of(self.shell.var_expand(rest))
        if len(words) != 1:
            raise UsageError(f"jaxdebug: say which file: `%jaxdebug {command} run.jdw`; one with blanks in quotes")
        return words[0]

    def _last_run(self) -> Run:
        run = self._session.current
        if run is None:
            raise UsageError("jaxdebug: nothing has been captured yet")
        return run

    @staticmethod
    def _refused(draw: Callable[[], object]) -> None:
        """Draw; if that is not possible, raise a `UsageError` of one line."""
        try:
            draw()
        except (LookupError, ValueError) as error:
            raise UsageError(f"jaxdebug: {error.args[0]}") from None

    def _findings(self, rest: str) -> None:
        self._refuse_rest("findings", rest)
        captured = [run for run in self._session.runs() if not run.is_loaded and not run.is_question]
        run = captured[-1] if captured else self._session.current
        print("jaxdebug: nothing has been captured yet" if run is None else run.findings)

    def _check(self, rest: str, local_ns: dict[str, Any]) -> None:
        options, code = parse_check(rest, echo_by_default=not self._cells.has_panels(), expand=self.shell.var_expand)
        self._evaluate(code, options, local_ns, lambda run: checked_text(run, self._session.switches.muted_checks()))

    def _sites(self, rest: str) -> None:
        self._refuse_rest("sites", rest)
        print_sites(self._session.switches)

    def _mute(self, rest: str) -> None:
        mute(self._session.switches, rest, muted=True)

    def _unmute(self, rest: str) -> None:
        mute(self._session.switches, rest, muted=False)

    def _every(self, rest: str) -> None:
        sample(self._session.switches, rest)

    def _help(self, rest: str) -> None:
        self._refuse_rest("help", rest)
        print(HELP + option_parser().format_help())

    @staticmethod
    def _refuse_rest(command: str, rest: str) -> None:
        if rest.strip():
            raise UsageError(f"jaxdebug: `{command}` takes no {rest.strip()!r}")
