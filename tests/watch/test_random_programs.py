"""Test for random functions that each value and gradient under a name is that of the name.

The functions are random source (`random_source.py`). The expected values come from an unjitted run: a call after each
assignment notes the value and adds a zero to it, whose gradient JAX computes.
"""

from __future__ import annotations

import itertools
from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import HealthCheck, Phase, assume, given, note, settings
from hypothesis import strategies as st
from jax import lax
from jax.sharding import PartitionSpec as Spec

import jax_debug_widgets as jdw
from tests.devices import cpu_mesh
from tests.watch.random_source import sources

LANES, LARGE = 2, 1e3
ROWS, WIDTH = 3, 4
RNG = np.random.default_rng(0)
SHAPES = {"w": (4, 4), "v": (4, 4), "u": (4, 8), "bias": (4,)}
P = {name: jnp.asarray(RNG.normal(size=shape), jnp.float32) for name, shape in SHAPES.items()}
X = jnp.asarray(RNG.normal(size=(LANES, ROWS, WIDTH)), jnp.float32)

ONE = {
    "jit": lambda loss: jax.jit(loss)(P, X[0]),
    "jit(grad)": lambda loss: jax.jit(jax.grad(loss))(P, X[0]),
    "jit(value_and_grad)": lambda loss: jax.jit(jax.value_and_grad(loss))(P, X[0]),
    "jit(grad(x))": lambda loss: jax.jit(jax.grad(loss, argnums=1))(P, X[0]),
    "grad(jit)": lambda loss: jax.grad(jax.jit(loss))(P, X[0]),
    "value_and_grad(jit)": lambda loss: jax.value_and_grad(jax.jit(loss))(P, X[0]),
    "grad": lambda loss: jax.grad(loss)(P, X[0]),
    "jit(grad(checkpoint))": lambda loss: jax.jit(jax.grad(jax.checkpoint(loss)))(P, X[0]),
}
ALL = {
    "jit(vmap)": lambda loss: jax.jit(jax.vmap(loss, (None, 0)))(P, X),
    "jit(vmap(grad))": lambda loss: jax.jit(jax.vmap(jax.grad(loss), (None, 0)))(P, X),
    "jit(grad(vmap))": lambda loss: jax.jit(jax.grad(lambda p: jax.vmap(loss, (None, 0))(p, X).sum()))(P),
    "vmap(grad(jit))": lambda loss: jax.vmap(jax.grad(jax.jit(loss)), (None, 0))(P, X),
}


def _on_devices(function, *, out):
    mesh = cpu_mesh((LANES,), ("d",))
    return jax.shard_map(function, mesh=mesh, in_specs=(Spec(), Spec("d")), out_specs=out)


def _summed(loss, p):
    return _on_devices(lambda p, x: lax.psum(loss(p, x[0]), "d"), out=Spec())(p, X)


DEVICES = {
    "jit(shard_map)": lambda loss: jax.jit(_on_devices(lambda p, x: loss(p, x[0])[None], out=Spec("d")))(P, X),
    "jit(shard_map(grad))": lambda loss: jax.jit(
        _on_devices(lambda p, x: jax.grad(loss, argnums=1)(p, x[0])[None], out=Spec("d"))
    )(P, X),
    "jit(shard_map(value_and_grad))": lambda loss: jax.jit(
        _on_devices(lambda p, x: jax.value_and_grad(loss, argnums=1)(p, x[0])[1][None], out=Spec("d"))
    )(P, X),
    "jit(grad(shard_map))": lambda loss: jax.jit(jax.grad(lambda p: _summed(loss, p)))(P),
}


class Truth:
    """Values that an unjitted run assigns: for each place, name and step those of each execution, by lane."""

    def __init__(self, source, lanes):
        self._zeros, self._steps, self._lanes, self._branches = {}, [], [], 0
        module = {"at": self._at, "scan": self._scan, "cond": self._cond, "vmap": self._vmap, "fori": self._fori}
        exec(compile(source, "<noted>", "exec"), module)  # noqa: S102 - what we have written ourselves
        with_jit = jax.jit, jax.checkpoint
        jax.jit = jax.checkpoint = lambda f: f
        try:
            self._run = lambda: sum(self._lane(lane, module["loss"], P, X[lane]) for lane in range(lanes))
            _, values = self._noting({})
            zeros = jax.tree.map(jnp.zeros_like, values)
            gradients = jax.grad(lambda zeros: self._noting(zeros)[0])(zeros)
        finally:
            jax.jit, jax.checkpoint = with_jit
        self.values, self.gradients = _joined(values), _joined(gradients)

    def _noting(self, zeros):
        self._zeros, self._noted, self._counts = zeros, {}, defaultdict(itertools.count)
        return self._run(), self._noted

    def _at(self, line, name, tree):
        return jax.tree_util.tree_map_with_path(
            lambda path, leaf: self._leaf(line, name + jax.tree_util.keystr(path), leaf), tree
        )

    def _leaf(self, line, name, value):
        lanes, steps = tuple(self._lanes), tuple(self._steps)
        key = line, name, steps, next(self._counts[line, name, steps, lanes]), lanes
        if self._zeros or not isinstance(
            value, jax.core.Tracer
        ):  # The argument of an inner derivative has no value of its own.
            self._noted[key] = value
        return value + self._zeros.get(key, 0.0)

    def _scan(self, body, carry, xs):
        ys = []
        for step, x in enumerate(xs):
            self._steps.append(step)
            carry, y = body(carry, x)
            self._steps.pop()
            ys.append(y)
        return carry, jnp.stack(ys)

    def _fori(self, first, last, body, value):
        return self._scan(lambda value, i: (body(i, value), 0.0), value, jnp.arange(first, last))[0]

    def _cond(self, predicate, yes, no, *operands):
        return (yes if predicate else no)(*operands)

    def _vmap(self, f):
        def mapped(*args):
            found = [self._lane(lane, f, *(one[lane] for one in args)) for lane in range(len(args[0]))]
            return jax.tree.map(lambda *lanes: jnp.stack(lanes), *found)

        return mapped

    def _lane(self, lane, f, *args):
        self._lanes.append(lane)
        result = f(*args)
        self._lanes.pop()
        return result


def _joined(values):
    """Return for each place, name and step what each execution may be: for equal lanes also one of them."""
    found = defaultdict(list)
    for (line, name, steps, count, lanes), value in values.items():
        found[line, name, steps, count, len(lanes)].append((lanes, np.asarray(value, np.float64)))
    joined = defaultdict(list)
    for (line, name, steps, _, _), by_lane in found.items():
        lanes, arrays = zip(*by_lane, strict=True)
        sizes = np.max(lanes, 0) + 1
        alike = [np.stack(arrays).reshape(*sizes, *arrays[0].shape)]
        for axis in range(len(sizes)):
            alike += [one.take([0], axis) for one in alike if (one == one.take([0], axis)).all()]
        joined[line, name, steps].append(alike)
    return joined


def is_of(event, array):
    """Return whether the statistics of an event are those of an array."""
    told = {name: float(value) for name, value in event.kwargs.items()}
    scale = np.abs(array).max(initial=1e-3)

    def close(number, wanted):
        return abs(number - wanted) <= 2e-3 * scale

    if array.size == 1 or set(told) == {"value"}:
        return array.size == 1 and set(told) == {"value"} and close(told["value"], array.item())
    return (
        close(told["min"], array.min())
        and close(told["max"], array.max())
        and close(told["mean"], array.mean())
        and close(told["l2"] / np.sqrt(array.size), np.linalg.norm(array) / np.sqrt(array.size))
    )


def differences(source, noted, transform, file):
    """Return the shown values that are wrong."""
    truth = Truth(noted, 1 if transform in ONE else LANES)
    # The sine of such large numbers has no reproducible digit.
    assume(max(np.abs(one).max() for arrays in truth.values.values() for alike in arrays for one in alike) < LARGE)
    file.write_text(source)
    module = {"scan": lax.scan, "cond": lax.cond, "vmap": jax.vmap, "fori": lax.fori_loop}
    exec(compile(source, str(file), "exec"), module)  # noqa: S102
    with jdw.capture(watch=True) as run:
        jax.block_until_ready({**ONE, **ALL, **DEVICES}[transform](module["loss"]))
    jax.effects_barrier()
    wrong = []
    sites = {name: site for name, site in run.values.sites().items() if site.file == str(file)}
    ids = {site.id for site in sites.values()}
    # A value may also have the gradient of an inner derivative.
    given = {
        number for number, line in enumerate(source.splitlines(), 1) if "grad(product" in line or "= pull_back(" in line
    }
    asked_for = [one for key, alike in truth.values.items() if key[0] in given for arrays in alike for one in arrays]
    for event in run.events:
        site = event.site
        if site.id not in ids:
            continue
        role, name = site.watch.role, site.watch.name
        of_role = truth.values if role == "value" else truth.gradients
        known = [key for key in of_role if key[:2] == (site.line, name)]
        at_step = [key for key in known if event.step is None or key[2] == event.step]
        arrays = [one for key in at_step for arrays in of_role[key] for one in arrays]
        shapes = {one.shape for one in arrays}
        arrays += [one for one in asked_for if role == "gradient" and one.shape in shapes]
        if transform in DEVICES and event.device:
            arrays = [one.take([int(event.device.partition(":")[2]) % len(one)], 0) for one in arrays]
        right = any(is_of(event, one) for one in arrays)
        if known and not right:
            told = {name: float(number) for name, number in event.kwargs.items()}
            wrong.append(f"{transform}: {site.label}, line {site.line}, step {event.step} is not {told}")
    return wrong


@settings(
    max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
@given(source=sources(), transform=st.sampled_from([*ONE, *ALL, *DEVICES]))
def test_names_in_random_programs_have_the_right_values_and_gradients(source, transform, tmp_path):
    wrong = differences(*source, transform, tmp_path / "program.py")
    note(source[0])
    assert not wrong, "\n".join(wrong)
