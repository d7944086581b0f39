"""Run a traced program equation by equation, and keep the results of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
            yield from _on_devices(equation, inputs, (*key[0], (key[1], "jaxpr")))
            return
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
                if equation.primitive.name in _WITH_TURNS and not equation.effects:
                    self._held[path, number] = equation, inputs
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]


def _on_devices(equation: core.JaxprEqn, inputs: Sequence[Any], path: Path) -> Iterator[Turn]:
    """Run the body of a `shard_map` equation by equation: one turn, whose values have a first axis for the devices.

    A body that JAX cannot run in this way has no turns.
    """
    params = equation.params
    jaxpr, consts = opened(params["jaxpr"])
    manual = params.get("newly_manual_axes") or params.get("manual_axes") or params["mesh"].axis_names
    axes = tuple(one for one in params["mesh"].axis_names if one in manual)

    def run(*operands: Any) -> Any:
        own = Evaluated(keep=lambda value: value[None])
        own.run(jaxpr, consts, operands, path)
        return own.outputs, own.values

    specs = {"in_specs": tuple(params["in_specs"]), "out_specs": PartitionSpec(axes), "axis_names": {*axes}}
    try:
        mapped = jax.shard_map(run, mesh=params["mesh"], check_vma=params.get("check_vma", True), **specs)
        outputs, values = mapped(*inputs)
    except Exception:  # noqa: BLE001 - not all operations run outside of a compiled program; the whole is compared then.
        return
    its = {key: tuple(map(on_host, own)) for key, own in values.items()}
    yield Turn("jaxpr", None, list(map(on_host, outputs)), its)


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


def _is_array(value: Any) -> bool:
    """Whether a value has numbers; a `Ref` has others later."""
    return isinstance(value, jax.Array | np.ndarray | np.generic)
