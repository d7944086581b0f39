"""Test `jdw.to_folder`: a function as a package of Python files that computes the same bits."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import subprocess
import sys
from collections import OrderedDict
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from IPython.core.error import UsageError
from jax import lax
from jax.experimental import pallas as pl
from jax.sharding import PartitionSpec

import jax_debug_widgets as jdw
from tests.graphs.exports import check_export, text_in

X = jnp.arange(6.0).reshape(2, 3) * 0.3


def net(params, x):
    hidden = jnp.tanh(x @ params["w"] + params["b"])
    logits = hidden * 2.0
    return {"logits": logits, "hidden": hidden}


P = {"w": jnp.ones((3, 4)) * 0.1, "b": jnp.arange(4.0)[None]}


@jax.custom_jvp
def safe_log(x):
    return jnp.log(jnp.maximum(x, 1e-6))


@safe_log.defjvp
def _(primals, tangents):
    return safe_log(primals[0]), tangents[0] / jnp.maximum(primals[0], 1e-6)


@jax.custom_jvp
def relu(x):  # It has the name of JAX's function, and another rule.
    return jnp.maximum(x, 0.0)


relu.defjvp(lambda p, t: (relu(*p), t[0] * 3))


@jax.custom_jvp
def power(x, n):  # Its rule calls it with other numbers each time.
    return x**n


power.defjvp(lambda p, t: (power(*p), t[0] * p[1] * power(p[0], p[1] - 1)))


@jax.custom_vjp
def clip_grad(x):
    return x * 1.0


clip_grad.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.1, 0.1),))


def scanned(w, xs):
    def step(carry, x):
        carry = jnp.sin(w @ carry + x)
        return carry, carry[0]

    return lax.scan(step, jnp.zeros(3), xs, reverse=True, unroll=2)


def mixed(w, x):
    """The gradient of a cast has the sharding of the cast, which is over no devices."""
    hidden = jnp.dot(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16), preferred_element_type=jnp.float32)
    return jnp.mean(jax.nn.relu(hidden).astype(jnp.float16).astype(jnp.float32))


def newton(a):
    return lax.while_loop(lambda s: s[1] * s[1] > a + 1e-3, lambda s: (s[0] + 1, 0.5 * (s[1] + a / s[1])), (0, a + 1.0))


def switched(i, x):
    y = lax.switch(i, [jnp.sin, jnp.cos, lambda v: v * 2.0], x)
    return lax.cond(jnp.sum(y) > 0, lambda v: v + 1, lambda v: v - 1, y)


def layer(x, w):
    return jnp.sin(jnp.sin(x @ w))


def recomputed(w, x):
    return jnp.sum(jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_saveable)(x, w))


def named_as_parameters(xs, carry, state):
    """The names that the loops read and unpack are those of the parameters of an exported loop."""

    def fit(i, both):
        weight, loss = both
        loss = jax.lax.scan(lambda total, x: (total + x @ weight, None), loss, xs)[0]
        return weight + carry * i, loss

    weight, loss = lax.fori_loop(0, 3, fit, (jnp.ones(3), 0.0))

    def walk(pair, rows):
        xs, total = pair
        carry, row = rows
        return (xs + carry, total + row @ xs), None

    (_, total), _ = lax.scan(walk, (weight, loss), (xs, xs * 2.0))
    return lax.while_loop(lambda pair: pair[0] < state, lambda pair: (pair[0] + 1.0, pair[1] * state), (0.0, total))


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    """A class that is a pytree."""

    scale: jax.Array
    about: dict


def with_state(state, mode, n, factor=2.0, *, shift=0.0):
    y = state.scale * factor + shift if mode == "train" else state.scale
    return State(y, {"count": state.about["count"] + 1}), (None, y.reshape(n, -1), [])


@jax.jit
def block(x):
    return jax.nn.gelu(x) + jax.nn.softmax(x)


def many(x, i):
    counted = jax.ops.segment_sum(x, i, 3)
    most = lax.top_k(x[0], 2)
    return (
        block(block(x)),
        x.at[i].add(1.0),
        jnp.fft.fft(x[0]),
        jnp.sort(x)[::-1],
        counted,
        most,
        jnp.var(x, 0),
        x[i, 1:],
    )


def on_a_mesh(x, w):
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))

    def per_device(x, w):
        h = jnp.tanh(x @ w)
        return lax.psum(jnp.sum(h) + lax.axis_index("i").astype(jnp.float32), "i"), h

    specs = {"in_specs": (PartitionSpec("i"), PartitionSpec()), "out_specs": (PartitionSpec(), PartitionSpec("i"))}
    return jax.shard_map(per_device, mesh=mesh, **specs)(x, w)


PROGRAMS = {
    "jit": (jax.jit(net), (P, X), {}),
    "custom_jvp": (jax.grad(lambda x: jnp.sum(safe_log(x) + relu(x))), (jnp.array([0.0, 0.5, 2.0]),), {}),
    "custom_jvp_number": (jax.grad(lambda x: jnp.sum(power(x, jnp.float32(3)))), (jnp.arange(3.0),), {}),
    "custom_jvp_twice": (jax.grad(lambda x: jnp.sum(power(x, x))), (jnp.arange(1.0, 4.0),), {}),
    "custom_jvp_scalar": (jax.grad(safe_log), (jnp.float32(0.5),), {}),
    "custom_jvp_empty": (jax.grad(lambda x: jnp.sum(relu(x))), (jnp.zeros((0, 3)),), {}),
    "rules": (lambda x: jnp.sum(safe_log(x) + relu(x) + clip_grad(x) ** 2), (jnp.array([3.0, -4.0, 0.01]),), {}),
    "scan_grad": (jax.grad(lambda w, xs: jnp.sum(scanned(w, xs)[1])), (jnp.eye(3), X), {}),
    "mixed_grad": (jax.jit(jax.value_and_grad(mixed)), (jnp.eye(3), X), {}),
    "named_as_parameters": (named_as_parameters, (X, jnp.float32(0.5), jnp.float32(3.0)), {}),
    "while": (newton, (jnp.float32(9.0),), {}),
    "switch": (switched, (7, jnp.arange(3.0)), {}),
    "remat": (recomputed, (jnp.eye(3) * 0.3, jnp.ones((2, 3))), {}),
    "state": (with_state, (State(jnp.arange(3.0), {"count": 3}), "train", 3, 1.5), {"shift": 0.5}),
    "many": (many, (X, jnp.array([0, 1])), {}),
    "shard_map": (on_a_mesh, (X, jnp.eye(3)), {}),
}
SAME_TEXT = ("jit", "state")


def without_comments(text):
    return [line for line in text.splitlines() if not line.lstrip().startswith("#")]


@pytest.mark.behaviour("G4")
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_export_is_equal_to_the_bit_and_deterministic(name, tmp_path):
    function, args, kwargs = PROGRAMS[name]
    exported = jdw.to_folder(function, *args, path=tmp_path / "once", **kwargs)
    assert exported.is_same, exported.difference
    check_export(exported, function, args, kwargs, tmp_path)
    if name in SAME_TEXT:
        assert without_comments(text_in(tmp_path / "once")) == without_comments(text_in(tmp_path / "again"))


@pytest.mark.behaviour("G4")
def test_the_rules_of_derivatives_are_exported(tmp_path):
    function, args, _ = PROGRAMS["rules"]
    exported = jdw.to_folder(function, *args, path=tmp_path / "rules")
    np.testing.assert_array_equal(jax.grad(exported.function)(*args), jax.grad(function)(*args))
    text = text_in(tmp_path / "rules")
    assert "jax.nn.relu" not in text, "the user's has another rule"
    assert "@safe_log.defjvp" in text and "clip_grad.defvjp(clip_grad_fwd, clip_grad_bwd)" in text


@pytest.mark.behaviour("G4")
def test_branches_are_functions_of_python(tmp_path):
    jdw.to_folder(switched, 7, jnp.arange(3.0), path=tmp_path / "branch")
    text = text_in(tmp_path / "branch")
    assert "lax.switch(" in text and "lax.clamp" not in text, "it is clamped once"
    assert re.search(r"lax.cond\(gt, if_true, if_false, ", text)


@pytest.mark.behaviour("G4")
def test_a_function_that_cannot_be_exported_is_refused_with_a_list(tmp_path):
    def add(x_ref, y_ref):
        y_ref[...] = x_ref[...] + 1.0

    def f(x):
        y = pl.pallas_call(add, out_shape=x, interpret=True)(x)
        return y * 2.0

    with pytest.raises(NotImplementedError, match="nothing is written") as caught:
        jdw.to_folder(f, X, path=tmp_path / "refused")
    assert [
        one for one in caught.value.reasons if "test_export.py:" in one and "export what is computed before it" in one
    ]
    assert not (tmp_path / "refused").exists()


@pytest.mark.behaviour("G4")
def test_an_export_does_not_overwrite_foreign_folders(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="this did not write it"):
        jdw.to_folder(net, P, X, path=tmp_path / "mine")
    with pytest.raises(ValueError, match="called like a variable"):
        jdw.to_folder(net, P, X, path=tmp_path / "my-net")
    jdw.to_folder(net, P, X, path=tmp_path / "ours")
    jdw.to_folder(net, P, X, path=tmp_path / "ours")
    module = tmp_path / "ours" / "module.py"
    module.write_text(module.read_text().replace("* 2.0", "* 3.0"))
    with pytest.raises(ValueError, match="was edited"):
        jdw.to_folder(net, P, X, path=tmp_path / "ours")
    assert "* 3.0" in module.read_text()
    jdw.to_folder(net, P, X, path=tmp_path / "ours", overwrite=True)
    assert "* 2.0" in module.read_text()


@pytest.mark.behaviour("G4")
def test_the_printed_import_of_an_export_works_and_another_function_is_refused_its_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    exported = jdw.to_folder(lambda x: x + 1, jnp.ones(2), path=tmp_path / "pasted_plus", name="plus")
    there, names = set(sys.modules), {}
    exec("\n".join(repr(exported).splitlines()[1:]), names)  # noqa: S102 - our own text.
    for name in set(sys.modules) - there:
        del sys.modules[name]
    assert names["plus"](2.0) == 3.0
    with pytest.raises(ValueError, match=r"has another function .* import plus as plus.*or --overwrite"):
        jdw.to_folder(lambda x: x + 2, jnp.ones(2), path=tmp_path / "pasted_plus", name="two")
    jdw.to_folder(lambda x: x + 2, jnp.ones(2), path=tmp_path / "pasted_plus", name="two", overwrite=True)


@pytest.mark.behaviour("G4")
def test_an_edited_package_runs_as_it_was_edited(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    exported = jdw.to_folder(net, P, X, path=tmp_path / "net")
    module = tmp_path / "net" / "module.py"
    module.write_text(module.read_text().replace("hidden * 2.0", "hidden * 4.0"))
    np.testing.assert_array_equal(exported.function(P, X)["logits"], 2 * net(P, X)["logits"])
    changed = jdw.diff(net, exported.function, P, X).of_kind("changed")
    assert [one.after.names for one in changed] == [("logits",)]
    with pytest.raises(AssertionError, match="not equal to the bit"):
        exported.check()


def test_an_original_that_jax_runs_as_it_was_traced_before_is_reported(tmp_path):
    scale = [2.0]
    f = jax.jit(lambda x: x * scale[0])
    f(1.0)
    scale[0] = 3.0
    with pytest.raises(AssertionError, match="of the original, traced anew, it is"):
        jdw.to_folder(f, 1.0, path=tmp_path / "scaled", name="scaled").check()


@pytest.mark.behaviour("G4")
def test_the_package_has_a_test_of_its_own_that_needs_jax_only(tmp_path):
    function, args, kwargs = PROGRAMS["state"]
    jdw.to_folder(function, *args, path=tmp_path / "own", **kwargs).check()
    said = subprocess.run(
        [sys.executable, "own/test_program.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert said.stdout == "3 results, equal to the bit\n"
    (tmp_path / "own" / "expected.npz").unlink()
    command = [sys.executable, "own/test_program.py"]
    untold = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert untold.returncode == 1 and "nothing to compare with: check()" in untold.stderr and not untold.stdout
    assert "jax_debug_widgets" not in "".join(
        (tmp_path / "own" / one).read_text() for one in ("_runtime.py", "test_program.py")
    )
    assert "from own import with_state" in (tmp_path / "own" / "README.md").read_text()


def with_equinox():
    import equinox as eqx
    import optax

    model = eqx.nn.MLP(3, 2, 4, 1, key=jax.random.key(0))
    adam = optax.adam(1e-3)

    @eqx.filter_jit
    def step(model, state, x, y):
        value, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(x) - y) ** 2))(model)
        updates, state = adam.update(grads, state, eqx.filter(model, eqx.is_inexact_array))
        return eqx.apply_updates(model, updates), state, value

    return step, (model, adam.init(eqx.filter(model, eqx.is_inexact_array)), X, jnp.zeros((2, 2)))


def with_flax():
    import flax.linen as nn
    import optax
    from flax.training.train_state import TrainState

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x, train):  # noqa: ANN204
            x = nn.relu(nn.Conv(2, (3, 3))(x))
            x = nn.Dropout(0.5, deterministic=not train)(x.reshape(x.shape[0], -1))
            return nn.Dense(3)(nn.LayerNorm()(x))

    batch = {"image": jnp.ones((2, 4, 4, 1)), "label": jnp.array([1, 2])}
    params = Net().init(jax.random.key(0), batch["image"], train=False)["params"]
    state = TrainState.create(apply_fn=Net().apply, params=params, tx=optax.adamw(1e-3))

    @jax.jit
    def step(state, batch, key):
        def loss_of(params):
            logits = state.apply_fn({"params": params}, batch["image"], True, rngs={"dropout": key})
            return optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"]).mean()

        loss, grads = jax.value_and_grad(loss_of)(state.params)
        return state.apply_gradients(grads=grads), {"loss": loss}

    return step, (state, batch, jax.random.key(1))


@pytest.mark.behaviour("G4")
@pytest.mark.parametrize(("library", "made"), [("equinox", with_equinox), ("flax", with_flax)])
def test_training_steps_of_libraries_take_and_give_their_own_classes(library, made, tmp_path):
    pytest.importorskip(library)
    pytest.importorskip("optax")
    with jax.numpy_dtype_promotion("standard"):  # optax relies on it
        function, args = made()
        exported = jdw.to_folder(function, *args, path=tmp_path / "step")
        exported.check()
        found = exported.function(*args)
        expected = function(*args)
    assert exported.is_same, exported.difference
    assert jax.tree.structure(found) == jax.tree.structure(expected)


@pytest.mark.behaviour("G4")
def test_the_magic_takes_a_call_and_a_folder(ours, tmp_path):
    ours.ip.push({"net": net, "P": P, "X": X})
    exported = ours.ip.run_line_magic("jaxdebug", f"export net(P, X) {tmp_path / 'net'} --name model")
    assert exported.is_same and "def model(params, x):" in text_in(tmp_path / "net")
    for options in ("--name other --overwrite", "--overwrite --name other"):
        again = ours.ip.run_line_magic("jaxdebug", f"export net(P, X) {tmp_path / 'net'} {options}")
        assert again.name == "other"
    spec = importlib.util.find_spec("jax_debug_widgets")
    assert spec is not None and not [name for name in sys.modules if name.startswith("_jaxdebug_exported")]
    for line, told in (("net(P, X)", "a call and a folder"), (f"net {tmp_path / 'other'}", "takes a call")):
        with pytest.raises(UsageError, match=told):
            ours.ip.run_line_magic("jaxdebug", f"export {line}")


@pytest.mark.behaviour("G4")
def test_an_equation_that_no_result_needs_is_no_difference(tmp_path):
    exported = jdw.to_folder(jax.grad(lambda x: clip_grad(x).sum()), jnp.ones(3), path=tmp_path / "clipped")
    assert exported.is_same and exported.check().is_same and exported.difference.is_same
    assert repr(exported.check()).endswith(": 1 result, equal to the bit; the same program")


@pytest.mark.behaviour("G4")
def test_options_of_jit_are_noted_in_an_export(tmp_path):
    here = jax.sharding.SingleDeviceSharding(jax.devices()[0])

    @partial(jax.jit, in_shardings=here, donate_argnums=0)
    def inner(x):
        return x * 2

    for name, f in (("outer", lambda x: inner(x) + 1), ("alone", inner)):
        exported = jdw.to_folder(f, jnp.ones(3), path=tmp_path / name)
        told = " ".join(exported.notes)
        assert "jax.jit(inner) was given in_shardings" in told and "donate_argnums" in told
        assert "donate_argnums" in (exported.path / "README.md").read_text()
    assert jdw.to_folder(jax.jit(jnp.sin), jnp.ones(3), path=tmp_path / "plain").notes == []


@pytest.mark.parametrize("transform", [jax.grad, jax.value_and_grad, lambda f: jax.jit(jax.grad(f))])
def test_the_gradient_of_branches_is_written_without_what_no_result_needs(tmp_path, transform):
    def f(c):
        return lax.cond(c > 0, lambda c: c * c, jnp.sin, c)

    exported = jdw.to_folder(transform(f), 1.0, path=tmp_path / "net")
    assert exported.is_same, exported.difference
    exported.check()  # The package computes the same bits.


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_gradient_of_branches_that_give_what_is_never_set_is_written(tmp_path, sign):
    def f(x):
        return jnp.sum(lax.cond(x.sum() > 0, lambda x: x * jnp.sin(x), jnp.exp, x))

    exported = jdw.to_folder(jax.grad(f), sign * jnp.ones(3), path=tmp_path / "net")
    assert exported.is_same, exported.difference
    exported.check()  # The package computes the same bits.


def test_the_gradient_of_a_checkpoint_says_that_its_barrier_is_why_it_has_other_equations(tmp_path):
    f = jax.grad(lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.exp(x)))(x).sum())
    exported = jdw.to_folder(f, jnp.ones(3), path=tmp_path / "net")
    first, second, *_ = str(exported).splitlines()
    assert "traced again it has other equations, as said below" in first and "lax.optimization_barrier" in second
    exported.check()  # The package computes the same bits.


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Outcome:
    """A pytree class that no argument has."""

    mean: jax.Array
    about: dict
    mode: str = dataclasses.field(default="plain", metadata={"static": True})


def test_results_of_classes_that_no_argument_has_are_made_again(tmp_path):
    def f(x, scale):
        return Outcome(x.mean(), {"x": x}, "new"), OrderedDict(z=x, a=scale()), scale

    args = X, jax.tree_util.Partial(lambda one: one * 2.0, X)
    written = jdw.to_folder(f, *args, path=tmp_path / "written")
    written.check()
    found, expected = written.function(*args), f(*args)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    assert (found[0].mode, list(found[1])) == ("new", ["z", "a"])
    assert not written.notes
