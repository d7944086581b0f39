"""Add taps for watched values to a program: the equations that read the values are appended to each body."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core, debugging
from jax_debug_widgets._jax.origins.filtered_jit_args import given
from jax_debug_widgets._jax.origins.frames import levels_of
from jax_debug_widgets._jax.origins.inlining import traceback_of
from jax_debug_widgets._jax.origins.kernel_prints import has_debugging
from jax_debug_widgets._jax.origins.libraries import is_of_jax
from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.passes import sampling
from jax_debug_widgets._jax.passes.body_context import BodyContext, around_program
from jax_debug_widgets._jax.passes.conditions import can_have_one_predicate, with_one_predicate
from jax_debug_widgets._jax.passes.infinities import intended_infinities
from jax_debug_widgets._jax.passes.operands import can_close, close_over, new_number, used_in, with_counter
from jax_debug_widgets._jax.passes.uses import VariableUses
from jax_debug_widgets._jax.passes.watch_tap import Sampled, tap_equations
from jax_debug_widgets._jax.passes.watcher import Watcher

RUN_ONCE = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    **dict.fromkeys(versions.CALLS, "call_jaxpr"),
    "checkpoint": "jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}
"""Primitive -> the parameter that holds the program it runs once."""

_ENTERED = {
    **RUN_ONCE,
    "custom_vmap_call": "call",
    "shard_map": "jaxpr",
    "scan": "jaxpr",
    "while": "body_jaxpr",
    "cond": "branches",
}
"""Primitive -> the parameter that holds the program it runs. The programs of other primitives (kernels, reducers) stay
unchanged.
"""


class WatchPass:
    """The pass over one program.

    With `every` above 1 the outermost loops that are long enough get two bodies, a plain and a watched one. A program
    without such a loop gets two versions, and one switch for each call. Only in `shard_map`, and on a GPU, the switch is
    beside the values: it keeps all of them in memory and breaks their fusions, even if it is never taken.
    """

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._every = watcher.every()
        self._samples_loops = self._is_jaxs_own = self._samples_beside = False

    def program(
        self,
        program: ClosedJaxpr,
        place: Place,
        replicas: int,
        own: int | None,
    ) -> ClosedJaxpr | None:
        """Add the taps to a whole program; None if nothing in it is watched.

        Args:
          program: the program, as traced.
          place: the place of its body.
          replicas: how many devices run it.
          own: see `around_program`.
        """
        self._is_jaxs_own = is_jaxs(program.jaxpr)
        self._samples_beside = replicas == 1 and self._watcher.samples_beside()
        has_loop = self._every > 1 and sampling.has_long_loop(program.jaxpr, self._every)
        by_call = self._every > 1 and not has_loop
        # A condition needs its own switch beside the values. That switch knows the iteration, so it samples as well.
        self._samples_loops = has_loop and not self._watcher.conditional()
        around = around_program(program.jaxpr, place, replicas, is_jitted=not self._is_jaxs_own, own=own)
        intended = intended_infinities(program.jaxpr)
        every = self._every if by_call else 1
        around = replace(around, given=given(program), call_of=every, intended=intended)
        jaxpr = self.body(program.jaxpr, place, around)
        if jaxpr is program.jaxpr:
            return None
        watched = program.replace(jaxpr=jaxpr)
        takes = self._watcher.calls() if by_call else None
        return watched if takes is None else sampling.by_call(program, watched, takes)

    def body(self, jaxpr: core.Jaxpr, place: Place, around: BodyContext) -> core.Jaxpr:
        """Add the taps to a body; return the same object if nothing in it is watched."""
        if around.switched and len(place.counters) < len(place.loops):  # The iteration is unknown.
            around = replace(around, every=1, switched=False)
        uses = VariableUses(jaxpr, place, around)
        equations = []
        here = place
        for number, equation in enumerate(jaxpr.eqns):
            equations += self._entered(number, equation, here, uses)
            here = here.after(equation)
        sampled = self._sampled_by_switch(place, around)
        if place.is_numbered and not (sampled or self._watcher.conditional()):
            place = replace(place, counters=())
        is_jaxs_own = self._is_jaxs_own and is_jaxs(jaxpr) and not calls_users(jaxpr)
        taken = None if is_jaxs_own else self._watcher.body(jaxpr, place, around)
        if taken is not None:
            equations += tap_equations(taken, jaxpr, place, sampled)
        elif len(equations) == len(jaxpr.eqns) and all(map(operator.is_, equations, jaxpr.eqns)):
            return jaxpr
        return jaxpr.replace(eqns=equations, effects=jaxpr.effects | {debugging.debug_effect})

    def _entered(self, number: int, equation: Any, place: Place, uses: VariableUses) -> list[Any]:
        key = _ENTERED.get(equation.primitive.name)
        if key is None or key not in equation.params:
            return [equation]
        counter = [new_number()] if equation.primitive.name in ("scan", "while") else []
        known = place.counters if can_close(equation, in_mesh=True) else ()
        here = replace(place, counters=(*known, *counter))
        rewritten = self._rewritten(number, equation, here, uses, key)
        if rewritten is equation:
            return [equation]
        own, outer = used_in(rewritten, counter), used_in(rewritten, known)
        rewritten, plain = (_given_iterations(one, own, outer) for one in (rewritten, equation))
        if self._is_sampled(equation) and not self._is_beside(place):
            return sampling.by_iteration(plain, rewritten.params[key], self._every)
        return [rewritten]

    def _rewritten(self, number: int, equation: Any, place: Place, uses: VariableUses, key: str) -> Any:
        """Add taps, which may read `place.counters`, to an equation's programs; the same object if none are added."""
        old = equation.params[key]
        if key == "branches":
            new = tuple(
                self._inner(one, f"branch_{index}_fun", number, equation, place, uses) for index, one in enumerate(old)
            )
            unchanged = all(one is other for one, other in zip(old, new, strict=True))
        else:
            new = self._inner(old, key, number, equation, place, uses)
            unchanged = new is old
        asked = self._asked(number, equation, place, uses) if equation.primitive.name == "while" else None
        if unchanged and asked is None:
            return equation
        if key == "branches":  # All branches must have the same effects.
            new = tuple(
                one.replace(jaxpr=one.jaxpr.replace(effects=one.jaxpr.effects | {debugging.debug_effect}))
                for one in new
            )
        effects = equation.effects | {debugging.debug_effect}
        changed = equation.replace(params={**equation.params, key: new}, effects=effects)
        return changed if asked is None else _asking(changed, asked)

    def _asked(self, number: int, equation: Any, place: Place, uses: VariableUses) -> Any | None:
        """Return the condition of a `while` with its taps; None if nothing in it is watched."""
        condition = equation.params["cond_jaxpr"]
        place = replace(place, counters=place.counters[:-1])  # The counter of its own loop is valid only in the body.
        is_plain = not condition.out_avals[0].shape
        can_watch = is_plain or (can_have_one_predicate(equation) and not has_debugging(condition.jaxpr))
        if self._is_sampled(equation) or not can_watch:
            inside = place.inside(equation, "cond_jaxpr", condition.jaxpr)
            self._watcher.unasked(condition.jaxpr, inside, uses.around(number, equation, "cond_jaxpr"))
            return None
        tapped = self._inner(condition, "cond_jaxpr", number, equation, place, uses)
        return None if tapped is condition else tapped

    def _inner(self, inner: Any, key: str, number: int, equation: Any, place: Place, uses: VariableUses) -> Any:
        jaxpr = inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner
        samples = self._is_sampled(equation)
        around = uses.around(number, equation, key)
        if samples:
            loop, switched = len(place.loops), self._is_beside(place)
            around = replace(around, every=self._every, sampled_loop=loop, switched=switched)
        self._samples_loops, before = self._samples_loops and not samples, self._samples_loops
        tapped = self.body(jaxpr, place.inside(equation, key, jaxpr), around)
        self._samples_loops = before
        if tapped is jaxpr:
            return inner
        return inner.replace(jaxpr=tapped) if isinstance(inner, ClosedJaxpr) else tapped

    def _is_sampled(self, equation: Any) -> bool:
        return self._samples_loops and sampling.is_long(equation, self._every)

    def _is_beside(self, place: Place) -> bool:
        """Return whether the switch of a sampled loop is beside the values."""
        return place.mesh is not None or self._samples_beside

    def _sampled_by_switch(self, place: Place, around: BodyContext) -> Sampled | None:
        """Return the loop whose iterations a switch selects; under a condition, the outermost one.

        Return None if there is no switch.
        """
        if self._watcher.conditional():
            return Sampled(self._every, 0) if self._every > 1 and place.loops else None
        return Sampled(self._every, around.sampled_loop) if around.switched else None


def _given_iterations(equation: Any, own: Sequence[Any], outer: Sequence[Any]) -> Any:
    """Pass the iterations of an equation's own loop and of the loops around it to the programs that it runs."""
    for counter in own:
        equation = with_counter(equation, counter)
    return close_over(equation, outer)


def is_jaxs(jaxpr: core.Jaxpr) -> bool:
    """Whether a body was traced from one of JAX's own functions.

    An un-jitted operation is such a program. Every line that uses it shares it, so it has no place in the source. The
    functions that `jax.jvp`, `lax.map`, `jax.pmap` and similar run are the user's, though JAX defines their caller.
    """
    file = jaxpr.debug_info.func_filename or ""
    return is_of_jax(file) and not file.endswith(("api.py", "loops.py", *versions.PMAP_FILES))


def calls_users(jaxpr: core.Jaxpr) -> bool:
    """Whether a body of a JAX function has equations of a user function that it calls, as a jitted `odeint` has.

    It is False for un-jitted operations: they have such equations if differentiated, but their cotangents are unknown.
    """
    is_operation = (jaxpr.debug_info.func_filename or "").endswith("dispatch.py")
    if is_operation or versions.TRACEBACKS_LEAVE_THEIR_PROGRAM:
        return False
    return any(levels_of(traceback) for traceback in {traceback_of(one.source_info) for one in jaxpr.eqns})


def _asking(equation: Any, condition: Any) -> Any:
    """Return a `while` with this condition. Where JAX evaluates it again for each lane, that evaluation stays unchanged."""
    plain = equation.params["cond_jaxpr"]
    asked = equation.replace(params={**equation.params, "cond_jaxpr": condition})
    return with_one_predicate(asked, plain.jaxpr) if plain.out_avals[0].shape else asked
