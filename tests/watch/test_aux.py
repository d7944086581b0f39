"""Test that the auxiliary output of a loss, `(loss, aux), grads`, has its own paths, whatever JAX leaves out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from jax_debug_widgets._jax.compat import versions

P = {"w": jnp.array([[0.3, 0.1], [-0.2, 0.4]])}
X = jnp.array([[0.5, -0.3]])


def parts_of(p, x):
    r = jnp.tanh(x @ p["w"])
    return {"rec": jnp.mean((r - x) ** 2), "kl": jnp.mean(r**2), "ent": jnp.sum(jnp.abs(r)), "r": r}


def total(parts):
    return parts["rec"] + 0.5 * parts["kl"] - 0.01 * parts["ent"]


def with_dict(p, x):
    r = jnp.tanh(x @ p["w"])
    rec, kl, ent = jnp.mean((r - x) ** 2), jnp.mean(r**2), jnp.sum(jnp.abs(r))
    return rec + 0.5 * kl - 0.01 * ent, {"rec": rec, "kl": kl, "ent": ent}


def with_tuple(p, x):
    value, parts = with_dict(p, x)
    return value, (parts["rec"], parts["kl"], parts["ent"])


def with_array(p, x):
    r = jnp.tanh(x @ p["w"])
    rec, kl, ent = jnp.mean((r - x) ** 2), jnp.mean(r**2), jnp.sum(jnp.abs(r))
    value = rec + 0.5 * kl - 0.01 * ent
    return value, {"r": r, "kl": kl}


def nested(f, use):
    def step(p, x):
        (loss, aux), grads = jax.value_and_grad(f, has_aux=True)(p, x)
        return grads, use(loss, aux)

    return step


def together(f, use):
    def step(p, x):
        out, grads = jax.value_and_grad(f, has_aux=True)(p, x)
        return grads, use(*out)

    return step


def only_grads(f, use):
    def step(p, x):
        grads, aux = jax.grad(f, has_aux=True)(p, x)
        return grads, use(None, aux)

    return step


def pulled(f, use):
    def step(p, x):
        loss, pull, aux = jax.vjp(lambda p: f(p, x), p, has_aux=True)
        (grads,) = pull(jnp.ones_like(loss))
        return grads, use(loss, aux)

    return step


ASKED = {nested: ("loss", "aux"), together: ("out[0]", "out[1]"), only_grads: ("", "aux"), pulled: ("loss", "aux")}

USES = {
    "a dict of it": lambda _, aux: {f"train/{k}": v * 1.0 for k, v in aux.items()},
    "dict": lambda _, aux: dict(aux, more=1.0),
    "another name": lambda _, aux: {"x": aux["kl"]},
    "tree.map": lambda _, aux: jax.tree.map(jnp.mean, aux),
    "the loss": lambda loss, _: loss,
    "as it is": lambda _, aux: [aux],
    "both": lambda loss, aux: (loss, aux),
    "two items": lambda _, aux: (aux[2], aux[0]),
    "a list": lambda _, aux: jnp.stack(list(jax.tree.leaves(aux))),
}


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("f", [with_dict, with_tuple, with_array])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.each
def test_the_auxiliary_output_of_a_loss_has_its_own_names_and_values(asked, f, use, watched, agrees):
    is_tuple, is_of_items = f is with_tuple, use == "two items"
    if (is_tuple and use in ("a dict of it", "dict", "another name")) or (not is_tuple and is_of_items):
        pytest.skip("of another kind")
    if (f is with_array and use == "a list") or (asked is only_grads and use in ("the loss", "both")):
        pytest.skip("there is no such thing")
    if is_tuple and use == "the loss" and versions.TRACEBACKS_LEAVE_THEIR_PROGRAM:
        pytest.skip("on jax 0.8 a single equation may be a part of what is called")
    loss_name, aux_name = ASKED[asked]
    run = watched(
        jax.jit(asked(f, USES[use])), P, X, watch=[aux_name.partition("[")[0], loss_name.partition("[")[0] or "aux"]
    )
    parts = parts_of(P, X)
    order = ("rec", "kl", "ent")
    wanted = {f"{aux_name}[{n}]" if is_tuple else f"{aux_name}['{name}']": parts[name] for n, name in enumerate(order)}
    wanted |= {loss_name: total(parts), f"{aux_name}['r']": parts["r"]}
    for label, value in run.values.items():
        if value.site.watch.role == "value":
            assert label in wanted
            agrees(value, wanted[label])
    if use in ("the loss", "both"):
        assert loss_name in run.values
    if use != "the loss":
        assert any(label.startswith(aux_name) for label in run.values)
