"""Run a traced program equation by equation, and keep the results of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.inventory import programs_in
from jax_debug_widgets._jax.passes.numbers import on_host
from jax_debug_widgets._jax.studies.programs import as_typed, opened, runs_one_call
from jax_debug_widgets._jax.studies.stepping import bind
from jax_debug_widgets._jax.studies.trace import Traced
from jax_debug_widgets._jax.studies.turns import turns_of
from jax_debug_widgets.graphs.executed import Key, Turn
from jax_debug_widgets.graphs.program import CALLS

Path = tuple[tuple[int, str], ...]


def _nothing() -> None:
    pass


class Evaluated:
    """The values of a program that has run; of loops and branches as a whole.

    Attributes:
      outputs: its results; `values`: the path and number of an equation, as in `graphs.Program` -> its results. PRNG keys are
        their numbers.
    """

    def __init__(self, advance: Callable[[], object] = _nothing, keep: Callable[[Any], Any] = on_host) -> None:
        """Start without values; `advance` is called after each equation, `keep` returns what is kept of a value."""
        self._advance, self._keep = advance, keep
        self.outputs: list[Any] = []
        self.values: dict[Key, tuple[Any, ...]] = {}
        self._held: dict[Key, tuple[core.JaxprEqn, list[Any]]] = {}
        """The loops and branches, with what they were given."""

    def inside(self, key: Key) -> Iterator[Turn]:
        """Run a loop or a branch turn by turn."""
        if key not in self._held:
            return
        equation, inputs = self._held[key]
        found: list[Turn] = []

        def run(body: str, number: int | None, program: Any, operands: Sequence[Any]) -> list[Any]:
            jaxpr, consts = opened(program)
            own = Evaluated()
            results = own.run(jaxpr, consts, operands, (*key[0], (key[1], body)))
            found.append(Turn(body, number, own.outputs, own.values, own.inside))
            return results

        if equation.primitive.name == "shard_map":
            yield from _OnDevices(equation, inputs, (*key[0], (key[1], "jaxpr"))).turns()
            return
        for _ in turns_of(equation, inputs, run):
            yield found.pop()

    def steps(self, key: Key) -> Iterator[tuple[str, int | None, Evaluated]]:
        """Run a loop of a body that runs on all devices: yield the key of its body, the step, and its values."""
        equation, inputs = self._held[key]
        found: list[tuple[str, int | None, Evaluated]] = []

        def run(body: str, number: int | None, program: Any, operands: Sequence[Any]) -> list[Any]:
            own = Evaluated(keep=self._keep)
            found.append((body, number, own))
            return own.run(*opened(program), operands, (*key[0], (key[1], body)))

        for _ in turns_of(equation, inputs, run):
            yield found.pop()

    def run(
        self,
        jaxpr: core.Jaxpr,
        consts: Sequence[Any],
        operands: Sequence[Any],
        path: Path,
        *,
        is_whole: bool = False,
    ) -> list[Any]:
        """Run a program, which lies there; return its results, which are its outputs then."""
        results = self._run(jaxpr, consts, operands, path, is_whole=is_whole)
        self.outputs = [self._keep(one) for one in results if _is_array(one)]
        return results

    def _run(
        self, jaxpr: core.Jaxpr, consts: Sequence[Any], operands: Sequence[Any], path: Path, *, is_whole: bool = False
    ) -> list[Any]:
        known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *operands), strict=True))

        def read(atom: Any) -> Any:
            return as_typed(atom) if isinstance(atom, core.Literal) else known[atom]

        for number, equation in enumerate(jaxpr.eqns):
            inputs = [read(atom) for atom in equation.invars]
            bodies = list(programs_in(equation)) if equation.primitive.name in CALLS else []
            if len(bodies) == 1 and len(bodies[0][1].invars) == len(inputs):
                ((key, _),) = bodies
                inner, inner_consts = opened(equation.params[key])
                within = path if is_whole and runs_one_call(jaxpr) else (*path, (number, key))
                results = self._run(inner, inner_consts, inputs, within)
            else:
                results = bind(equation, inputs)
                self._advance()
                self.values[path, number] = tuple(self._keep(one) for one in results if _is_array(one))
                if equation.primitive.name in _WITH_TURNS and not _has_effects(equation):
                    self._held[path, number] = equation, inputs
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]


class _OnDevices:
    """Runs the body of a `shard_map` equation by equation; the values have a first axis for the devices."""

    def __init__(self, equation: core.JaxprEqn, inputs: Sequence[Any], path: Path) -> None:
        self._equation, self._inputs, self._path = equation, inputs, path

    def turns(self) -> Iterator[Turn]:
        """Return one turn. A body that JAX cannot run in this way has no turns."""
        return self._turns_of((), None, 1)

    def _inside(self, around: Sequence[tuple[Key, int | None]]) -> Callable[[Key], Iterator[Turn]]:
        """Return what runs the steps of a loop in this body, which is so many loops deep: first one, then more of them."""

        def inside(key: Key) -> Iterator[Turn]:
            done = 0
            for most in _AT_ONCE:
                found = list(self._turns_of(around, key, most))
                yield from found[done:]
                if len(found) < most:
                    return
                done = most

        return inside

    def _turns_of(self, around: Sequence[tuple[Key, int | None]], key: Key | None, most: int) -> Iterator[Turn]:
        params = self._equation.params
        jaxpr, consts = opened(params["jaxpr"])
        manual = params.get("newly_manual_axes") or params.get("manual_axes") or params["mesh"].axis_names
        axes = tuple(one for one in params["mesh"].axis_names if one in manual)
        about: list[tuple[str, int | None]] = []

        def run(*operands: Any) -> Any:
            own = Evaluated(keep=lambda value: value[None])
            own.run(jaxpr, consts, operands, self._path)
            turns = [("jaxpr", None, own)]
            for loop, number in (*around, *([(key, None)] if key is not None else [])):
                steps = turns[-1][-1].steps(loop)
                turns = (
                    list(islice(steps, most)) if number is None else [next(one for one in steps if one[1] == number)]
                )
            about[:] = [(body, number) for body, number, _ in turns]
            return [(one.outputs, one.values) for _, _, one in turns]

        specs = {"in_specs": tuple(params["in_specs"]), "out_specs": PartitionSpec(axes), "axis_names": {*axes}}
        try:
            mapped = jax.shard_map(run, mesh=params["mesh"], check_vma=params.get("check_vma", True), **specs)
            ran = mapped(*self._inputs)
        except Exception:  # noqa: BLE001 - not all operations run outside of a compiled program; the whole is compared then.
            return
        for (body, number), (outputs, values) in zip(about, ran, strict=True):
            its = {one: tuple(map(on_host, own)) for one, own in values.items()}
            within = around if key is None else (*around, (key, number))
            yield Turn(body, number, list(map(on_host, outputs)), its, self._inside(within))


_AT_ONCE = (1, 16, 256)
"""So many steps of a loop in a `shard_map` are run; the steps after these are not compared one by one."""


_WITH_TURNS = ("scan", "while", "cond", "shard_map")
"""Primitives whose bodies run turn by turn, or on all devices of a mesh.

One that calls the host would call it once more, and is left alone.
"""


def evaluate(traced: Traced, advance: Callable[[], object] = _nothing) -> Evaluated:
    """Run a program equation by equation. `advance` is called after each.

    Raises:
      Exception: what an equation raises.
    """
    operands = [jnp.asarray(one) for one in traced.operands]
    found = Evaluated(advance)
    found.run(traced.jaxpr, traced.consts, operands, (), is_whole=True)
    return found


def given_to(traced: Traced) -> list[np.ndarray]:
    """The operands of a program as NumPy arrays; PRNG keys as their numbers."""
    return [on_host(jnp.asarray(one)) for one in traced.operands]


def _has_effects(equation: core.JaxprEqn) -> bool:
    """Whether an equation has effects besides those that only say which axis of a mesh it uses."""
    return any(type(one).__name__ != "NamedAxisEffect" for one in equation.effects)


def _is_array(value: Any) -> bool:
    """Whether a value has numbers; a `Ref` has others later."""
    return isinstance(value, jax.Array | np.ndarray | np.generic)
