"""Describe the place of an equation in its program: the scopes, loops, branches and mesh axes around it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.compat.private import mesh as mesh_lib
from jax_debug_widgets._jax.origins.apart import keeps_apart
from jax_debug_widgets._jax.origins.equation import Loop
from jax_debug_widgets._jax.origins.frames import Frame, frames_inside, joined
from jax_debug_widgets._jax.origins.inlining import traceback_of
from jax_debug_widgets._jax.origins.kernel_prints import grid_loops
from jax_debug_widgets._jax.origins.linearized import is_linearized

VERSION = "<watched_or_plain>"
"""The name of our own branches, which are not in the source, in a program that is only sometimes watched."""


@dataclass(frozen=True)
class Place:
    """The surroundings of the equations of one jaxpr.

    Attributes:
      stack: JAX's name stack around the jaxpr.
      loops: the loops around it, outermost first.
      conditional: whether it may be skipped, because it is in a branch of a `cond`.
      in_condition: whether it is the condition of a `while`.
      mesh: the mesh of the `shard_map` around it, each device runs the jaxpr; None if there is none.
      axes: the mapped axes of that mesh, in its order; the compiler handles the others.
      callers: the user's frames around the jaxpr, innermost first: JAX cuts the traceback of an equation at its jaxpr.
      steady: variables that do not change from one iteration of the innermost loop to the next.
      pinned: whether it runs in some iterations of the innermost loop only, so that nothing in it can leave the loop.
      apart: variables with parts that XLA cannot prove equal, see `apart.py`; empty if this is not needed.
      counters: variables that hold the iteration of each of `loops`; fewer if some have none.
      version: in a program that is only sometimes watched, the branch that runs it, `branch_1_fun`; else empty.
      in_python: whether the loops are Python's, around a callback that runs un-jitted.
    """

    stack: Any
    loops: tuple[Loop, ...] = ()
    conditional: bool = False
    in_condition: bool = False
    mesh: Any = None
    axes: tuple[str, ...] = ()
    callers: tuple[Frame, ...] = ()
    steady: frozenset[Any] = frozenset()
    pinned: bool = False
    apart: frozenset[Any] = frozenset()
    counters: tuple[Any, ...] = ()
    version: str = ""
    in_python: bool = False

    def is_steady(self, atom: Any) -> bool:
        """Return whether a variable or literal of the jaxpr is the same in all iterations of the innermost loop."""
        return not self.loops or isinstance(atom, core.Literal) or atom in self.steady

    def is_apart(self, atom: Any) -> bool:
        """Return whether XLA cannot prove any two parts of a variable of the jaxpr equal."""
        return not isinstance(atom, core.Literal) and atom in self.apart

    @property
    def is_numbered(self) -> bool:
        """Whether the number of a firing in its call gives the iteration of each loop.

        It does if each loop has a known length, and no branch may be skipped.
        """
        is_known = all(loop.length is not None for loop in self.loops[1:])
        return is_known and not self.conditional

    @property
    def groups(self) -> int:
        """The number of groups of devices that fire once each; 0 if all devices fire.

        There are groups if some axes are left to the compiler. JAX gathers the values of a group, and calls the host on
        one of its devices. JAX does not report on which one.
        """
        if self.mesh is None or len(self.axes) == len(self.mesh.axis_names):
            return 0
        return math.prod(self.mesh.shape[name] for name in self.axes)

    def after(self, equation: core.JaxprEqn) -> Place:
        """Return the place after `equation`, with its results in `steady` or `apart` if its operands make them so."""
        is_apart = bool(self.apart) and keeps_apart(equation, self.apart)
        changes = equation.effects or equation.primitive.name == "program_id"
        is_steady = self.loops and not changes and all(map(self.is_steady, equation.invars))
        if not (is_apart or is_steady):
            return self
        steady = self.steady.union(equation.outvars if is_steady else ())
        return replace(self, steady=steady, apart=self.apart.union(equation.outvars if is_apart else ()))

    def inside(self, equation: core.JaxprEqn, key: str, jaxpr: core.Jaxpr) -> Place:
        """Return the place of the program `jaxpr` inside `equation`.

        `key` is the parameter that holds the program; `branch_1_fun` stands for an element of a tuple.
        """
        stack = self.stack + equation.source_info.name_stack
        is_version = jaxpr.debug_info.func_name == VERSION
        for scope in () if is_version else _scopes(equation, key, str(stack)):
            stack = stack.extend(scope)
        callers = joined(frames_inside(traceback_of(equation.source_info)), self.callers)
        version = key if is_version else self.version
        place = replace(self, stack=stack, callers=callers, version=version)
        match equation.primitive.name:
            case "scan":
                return place._in_scan(equation, jaxpr)
            case "while":
                return place._in_while(equation.params, key, jaxpr)
            case "pallas_call":
                loops = (*self.loops, *grid_loops(equation.params))
                return replace(place, loops=loops, pinned=False, steady=frozenset(jaxpr.constvars))
            case "cond":
                pinned = self.pinned or not self.is_steady(equation.invars[0])
                return replace(place, conditional=True, pinned=pinned)._handed_on(equation.invars[1:], jaxpr)
            case "shard_map":
                return place._in_shard_map(equation.params)._handed_on(equation.invars, jaxpr)
        return place._handed_on(equation.invars, jaxpr)

    def _in_scan(self, equation: core.JaxprEqn, jaxpr: core.Jaxpr) -> Place:
        params = equation.params
        read, carried = versions.scan_counts(params)
        sliced = equation.invars[read + carried :]
        is_apart = any(map(self.is_apart, sliced))
        loop = Loop(params["length"], params["reverse"], unrolled=params["unroll"] > 1, apart=is_apart)
        steady = frozenset((*jaxpr.constvars, *jaxpr.invars[:read]))
        # If the parts of an array are apart, so are those of its slices.
        pairs = zip(sliced, jaxpr.invars[len(jaxpr.invars) - len(sliced) :], strict=True)
        apart = frozenset(inner for outer, inner in pairs if self.is_apart(outer))
        return replace(self, loops=(*self.loops, loop), steady=steady, pinned=False, apart=apart)

    def _in_while(self, params: Mapping[str, Any], key: str, jaxpr: core.Jaxpr) -> Place:
        in_condition = key == "cond_jaxpr"
        consts = params["cond_nconsts" if in_condition else "body_nconsts"]
        by_lane = bool(params["cond_jaxpr"].out_avals[0].shape)
        return replace(
            self,
            loops=(*self.loops, Loop(None, ends_by_lane=by_lane)),
            pinned=False,
            in_condition=in_condition,
            steady=frozenset((*jaxpr.constvars, *jaxpr.invars[:consts])),
        )

    def _in_shard_map(self, params: Mapping[str, Any]) -> Place:
        mapped = {*self.axes, *params.get("manual_axes", params.get("newly_manual_axes", ()))}
        mesh = params["mesh"] if self.mesh is None else self.mesh  # The inner mesh is the same, but abstract.
        return replace(self, mesh=mesh, axes=tuple(name for name in mesh.axis_names if name in mapped))

    def _handed_on(self, operands: Sequence[Any], jaxpr: core.Jaxpr) -> Place:
        """Map `steady` and `apart` from operands of an equation to the inputs of its program, if there are as many."""
        if len(operands) != len(jaxpr.invars):
            return replace(self, steady=frozenset())
        pairs = list(zip(operands, jaxpr.invars, strict=True))
        inside = (inner for outer, inner in pairs if self.is_steady(outer))
        apart = (inner for outer, inner in pairs if self.is_apart(outer))
        return replace(self, steady=frozenset((*jaxpr.constvars, *inside)), apart=frozenset(apart))


def device_names(mesh: Any, axes: Sequence[str]) -> Any:
    """Return the name of the device at each coordinate of these axes of a mesh, as nested lists.

    Return None if not all are known.
    """
    devices = getattr(with_devices(mesh), "devices", None)
    if devices is None or len(axes) != devices.ndim:
        return None
    return np.vectorize(lambda device: f"{device.platform}:{device.id}", otypes=[object])(devices).tolist()


def with_devices(mesh: Any) -> Any:
    """Return a mesh with its devices; None if they are not known. An abstract mesh is that of `jax.set_mesh`."""
    if not isinstance(mesh, jax.sharding.AbstractMesh):
        return mesh
    current = getattr(mesh_lib, "get_concrete_mesh", lambda: None)()
    return current if getattr(current, "abstract_mesh", None) == mesh else None


def _scopes(equation: core.JaxprEqn, key: str, around: str) -> Iterator[str]:
    """Yield the scopes that JAX's name stack would have for a program inside an equation.

    `around` is the name stack around the equation.
    """
    primitive, params = equation.primitive.name, equation.params
    if primitive in ("jit", "pjit", *versions.CALLS):
        if params.get("name"):
            yield f"jit({params['name']})"
    elif primitive == "while":
        yield "while"
        yield "cond" if key == "cond_jaxpr" else "body"
    elif primitive == "scan":
        yield "scan"
    elif primitive == "cond":
        yield "cond"
        yield key
    elif primitive in ("checkpoint", "remat", "remat2"):
        # A linearized program recomputes. In a backward pass the name stacks of its equations say so.
        if "transpose(" not in around:
            yield (
                "rematted_computation"
                if params.get("differentiated") and is_linearized(params["jaxpr"])
                else "checkpoint"
            )
        elif not params.get("differentiated"):
            yield "checkpoint"
    else:
        yield primitive
