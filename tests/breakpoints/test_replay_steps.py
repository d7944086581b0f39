"""A recorded call runs again in the debugger: values by name at each stop, and a result that is equal to the bit."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.session.studies import replay
from tests.archive.programs import bits
from tests.breakpoints.conftest import Script
from tests.waiting import until


def loss_fn(params, xs):
    def cell(h, x):
        z = jnp.tanh(h @ params["w"] + x)
        return z, (z**2).mean()

    last, losses = lax.scan(cell, jnp.zeros(xs.shape[1]), xs)
    spread = last.std()
    loss = losses.mean() + jnp.log(spread)
    return loss  # noqa: RET504 - it has a name.


def update(params, xs):
    shift = xs.mean()
    loss, grads = jax.value_and_grad(loss_fn)(params, xs - shift)
    norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(grads)))
    new = jax.tree.map(lambda p, g: p - 0.1 * g / norm, params, grads)
    jax.debug.print("loss {loss}", loss=loss)
    return new, loss


given_away = partial(jax.jit, donate_argnums=0)(update)


@jax.jit
def with_an_inner_one(params, xs):
    doubled = jax.tree.map(lambda p: p * 2, params)
    new, loss = given_away(doubled, xs)
    total = loss + sum(p.sum() for p in jax.tree.leaves(doubled))
    return new, total


PROGRAMS = {"scan and grad": jax.jit(update), "donated": given_away, "donated inside": with_an_inner_one}


def recorded(function: Any, path: Any) -> list[Any]:
    """Record four calls; return the outputs of each."""
    rng = np.random.default_rng(3)
    params, outputs = {"w": jnp.asarray(rng.normal(size=(37, 37)), jnp.float32)}, []
    with jdw.capture(record=path, keep_inputs=2):
        for _ in range(4):
            params, loss = function(params, jnp.asarray(rng.normal(size=(11, 37)), jnp.float32))
            outputs.append(jax.tree.map(np.array, (params, loss)))
    return outputs


@pytest.mark.behaviour("R5")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_recorded_call_is_stepped_through_and_gives_its_own_outputs(page, tmp_path, monkeypatch, name):
    (params, _), *_, outputs = recorded(PROGRAMS[name], tmp_path / "run.jdw")[-2:]
    monkeypatch.setattr(replay, "running_kernel", object)  # As in a notebook, where the panel is shown.
    seen: list[dict[str, Any]] = []

    def user(page: Any) -> None:
        until(lambda: page.session.active is not None)
        page.run = page.session.active
        stop = page.stop()
        for _ in range(3 if name == "donated inside" else 12):
            seen.append(values_at(page, stop))
            page.ask("resume", stop=stop["id"], how="into" if stop["name"] == "scan" else "step")
            stop = page.stop()
        seen.append(values_at(page, stop))
        page.go_on(stop)

    with Script(page, user):
        again = jdw.replay(tmp_path / "run.jdw", 3, PROGRAMS[name], watch=True, step=True)
    assert bits(jax.tree.leaves(again.result)) == bits(jax.tree.leaves(outputs)), "not those of single operations"
    assert [event.kind for event in again.run.events] == ["print"] and not again.run.notes
    own = {name: value for values in seen for name, value in values.items()}
    if name == "donated inside":
        assert own.keys() >= {"params['w']", "xs", "doubled['w']", "loss"}
        assert own["doubled['w']"] == pytest.approx(2 * params["w"].sum(), rel=1e-4), "shown after it was given away"
    else:
        assert own.keys() >= {"params['w']", "xs", "shift", "h", "x", "z"}
        assert all("params['w']" in values for values in seen[:5]) and all("h" in values for values in seen[6:])
        assert own["params['w']"] == pytest.approx(params["w"].sum(), rel=1e-4) and own["h"] == 0


def values_at(page: Any, stop: dict[str, Any]) -> dict[str, float]:
    """Look at each value that the stop shows in its frames, by its name in the console; the innermost frame counts."""
    names = [one["name"] for one in stop["frames"][0]["locals"]]
    return {name: float(page.say(stop, f"float({name}.sum())")) for name in names}
