"""Step through a program (`%jaxdebug step f(x)`): stand at its equations while they run one by one."""

from __future__ import annotations

import linecache
from typing import Any

from jax_debug_widgets._jax.origins.stack import StackFrame
from jax_debug_widgets._jax.studies.stepping import Standing
from jax_debug_widgets.breakpoints.debugger import Debugger
from jax_debug_widgets.breakpoints.firing_frames import globals_of
from jax_debug_widgets.breakpoints.stop import Ended, StopLocation
from jax_debug_widgets.watch import Scope, Scopes


class Stepper:
    """Decides before each equation whether to stand there, by how the user went on the last time."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self._how: Ended = "step"
        self._depth = 0
        self._line = 0
        self._count = 0
        self._scopes: dict[tuple[Any, Any], Scopes] = {}
        """Body and the equation that runs it -> its scopes. The body of a loop is the same in all its steps."""

    def __call__(self, standing: Standing) -> bool:
        """See `_jax.studies.stepping.Ask`."""
        self._count += 1
        if self._stops_at(standing):
            self._how, line = self._debugger.step(self._scene(standing))
            self._depth, self._line = len(standing.path), line or 0
        # JAX runs a body that the user does not step into as a whole. On the way to a line, each body must be entered.
        return self._how == "into" or (self._how == "line" and standing.has_body)

    def _stops_at(self, standing: Standing) -> bool:
        depth = len(standing.path)
        match self._how:
            case "into":
                return True
            case "step":
                return depth <= self._depth or self._count == 1
            case "out":
                return depth < self._depth
            case "line":
                return standing.frame.line == self._line and not standing.by_jax
        return False

    def _scene(self, standing: Standing) -> StopLocation:
        around = ", ".join(standing.path)
        scopes = [scope for one in (standing, *standing.outer) for scope in self._scopes_at(one)]
        frames = [_frame(scope) for scope in scopes or [_without_names(standing)]]
        steps = [int(part.rpartition(" ")[2]) for part in standing.path if ", step " in part]
        return StopLocation(
            kind="step",
            site=-1,
            name=standing.primitive,
            reason=f"{standing.equation}  ({'made by JAX, ' if standing.by_jax else ''}in {around})",
            phase="forward",
            step=tuple(steps),
            device="",
            hits=self._count,
            sizes=(),
            stopped=None,
            frames=lambda _lane: frames,
        )

    def _scopes_at(self, standing: Standing) -> list[Scope]:
        body, number = standing.body, standing.number
        key = body.jaxpr, body.entered and body.entered[0].jaxpr.eqns[body.entered[1]]
        try:
            if key not in self._scopes:
                self._scopes[key] = Scopes(body.jaxpr, *body.where)
            return self._scopes[key].at(number, standing.values)
        except Exception:  # noqa: BLE001 - whatever goes wrong with the names, the program can be stepped through.
            return [_without_names(standing)]


def _without_names(standing: Standing) -> Scope:
    frame = standing.frame
    return Scope(frame.file, frame.line, frame.function, {})


def _frame(scope: Scope) -> StackFrame:
    return StackFrame(
        file=scope.file,
        line=scope.line,
        function=scope.function,
        first_line=1,
        source=tuple(line.rstrip("\n") for line in linecache.getlines(scope.file)),
        variables=scope.variables,
        globals=globals_of(scope.file),
        unset="it has not been computed yet, or it belongs to the caller (u goes there)",
    )
