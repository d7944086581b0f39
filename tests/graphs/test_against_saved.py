"""Test `jdw.compare` with the values of an earlier run, and with those of a CPU."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from IPython.core.error import UsageError
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.session.studies import comparing


def before(x, key):
    h = jnp.tanh(x * 2.0).astype(jnp.bfloat16)
    y, _ = lax.scan(lambda c, a: (c + a, a), jnp.zeros(()), x)
    return {"h": h, "y": y + jax.random.uniform(key)}


def after(x, key):
    h = jnp.tanh(x * -2.0).astype(jnp.bfloat16)
    y, _ = lax.scan(lambda c, a: (c + a, a), jnp.zeros(()), x)
    return {"h": h, "y": y + jax.random.uniform(key)}


ARGUMENTS = (jnp.linspace(0.1, 1.0, 5), jax.random.key(0))


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["plain", "jit"])
def test_values_of_an_earlier_run_are_compared_with_those_of_now(tmp_path, transform):
    file = tmp_path / "before.npz"
    saved = jdw.compare(transform(before), *ARGUMENTS, save=file)
    assert f"--against saved:{file}" in str(saved) and saved.outputs == 2
    same = jdw.compare(transform(before), *ARGUMENTS, against=f"saved:{file}")
    assert same.equal and same.only == (0, 0) and same.pairs
    other = jdw.compare(transform(after), *ARGUMENTS, against=f"saved:{file}")
    assert not other.close and [figure.verdict for _, figure in other.outputs] == ["differs", "equal"]
    assert other.first.after.primitive == "mul"
    assert other.first.before.source.line == before.__code__.co_firstlineno + 1
    assert other.first.after.source.line == after.__code__.co_firstlineno + 1
    assert "before in before.npz" in str(other)


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "uint4", "complex64", "bool", "float16"])
def test_values_of_each_dtype_are_saved(tmp_path, dtype):
    def f(x):
        return x.astype(dtype), x

    jdw.compare(f, jnp.arange(4.0), save=tmp_path / "values.npz")
    found = jdw.compare(f, jnp.arange(4.0), against=f"saved:{tmp_path / 'values.npz'}")
    assert found.equal and found.pairs, found
    other = jdw.compare(lambda x: f(1 - x), jnp.arange(4.0), against=f"saved:{tmp_path / 'values.npz'}")
    assert not other.close


def test_an_existing_file_of_values_is_not_overwritten(ours, tmp_path):
    file = tmp_path / "before.npz"
    jdw.compare(before, *ARGUMENTS, save=file)
    told = file.read_bytes()
    with pytest.raises(FileExistsError, match=r"before.npz is there already: .* remove it"):
        jdw.compare(after, *ARGUMENTS, save=file)
    ours.ip.push({"f": before, "X": jnp.ones(3)})
    with pytest.raises(UsageError, match="is there already"):
        ours.ip.run_line_magic("jaxdebug", f"compare f -- X, jax.random.key(0) --save {file}")
    assert file.read_bytes() == told


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize(
    ("x", "key", "told"),
    [
        (ARGUMENTS[0] + 1e-7, ARGUMENTS[1], "x | close: max |a - b| "),
        (jnp.ones(4), ARGUMENTS[1], "x | DIFFERS: float32[5] against float32[4]"),
        (ARGUMENTS[0], jax.random.key(1), "key | DIFFERS: another key"),
    ],
    ids=["value", "shape", "key"],
)
def test_an_argument_that_is_another_one_is_reported_first(tmp_path, x, key, told):
    file = tmp_path / "before.npz"
    jdw.compare(before, *ARGUMENTS, save=file)
    found = jdw.compare(before, x, key, against=f"saved:{file}")
    ((name, how),) = found.arguments
    assert f"{name} | {how}".startswith(told)
    title, *lines = str(found).splitlines()
    assert title.endswith("for other arguments") and "argument" in lines[0] + lines[1]
    assert not jdw.compare(before, *ARGUMENTS, against=f"saved:{file}").arguments


def test_a_file_that_is_another_one_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(ValueError, match="no values that compare has saved"):
        jdw.compare(before, *ARGUMENTS, against=f"saved:{tmp_path / 'other.npz'}")
    with pytest.raises(ValueError, match=r"there is no file .*none.npz: %jaxdebug compare f -- x --save .*none.npz"):
        jdw.compare(before, *ARGUMENTS, against=f"saved:{tmp_path / 'none.npz'}")


@pytest.mark.behaviour("G1")
def test_the_magic_saves_and_compares(ours, tmp_path):
    ours.run("def f(x):\n    return jnp.sin(x) * 2.0")
    file = tmp_path / "f.npz"
    assert (
        "1 output and the values of 2 equations" in ours.run(f"%jaxdebug compare f -- jnp.ones(3) --save {file}").value
    )
    ours.run("def f(x):\n    return jnp.sin(x) * -2.0")
    shown = ours.run(f"%jaxdebug compare f -- jnp.ones(3) --against saved:{file}").value
    assert "f in f.npz and f: DIFFERENT" in shown and "= mul" in shown


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--against cpu", "JAX has only a CPU here"),
        ("--against float16", "none of float64, op-by-op, cpu, saved:FILE"),
        ("--against saved:nowhere.npz", "there is no file nowhere.npz"),
    ],
)
def test_an_invalid_reference_is_refused_with_a_reason(ours, options, told):
    ours.ip.push({"f": before, "X": jnp.ones(3)})
    with pytest.raises(UsageError, match=told):
        ours.ip.run_line_magic("jaxdebug", f"compare f -- X, jax.random.key(0) {options}")


def test_two_devices_are_compared_value_by_value(monkeypatch):
    monkeypatch.setattr(comparing, "_accelerator", lambda: jax.devices()[0])
    found = jdw.compare(before, *ARGUMENTS, against="cpu")
    assert found.equal and found.only == (0, 0) and found.pairs
    assert found.names == ("before on cpu", "before on cpu")


def test_the_pairs_of_a_comparison_are_a_frame():
    pytest.importorskip("pandas")
    frame = jdw.compare(before, after, *ARGUMENTS).to_pandas()
    assert {"equal", "differs"} <= set(frame["verdict"])
    assert frame.loc[frame["verdict"] != "equal", "source_before"].iloc[0].startswith("test_against_saved.py")


def test_one_function_alone_needs_something_to_be_compared_with():
    with pytest.raises(TypeError, match="two functions"):
        jdw.compare(before, *ARGUMENTS)


def test_a_path_is_a_file_to_compare_with_and_another_file_is_told_to_be_none(tmp_path):
    file = tmp_path / "values.npz"
    jdw.compare(jnp.sin, jnp.ones(3), save=file)
    assert jdw.compare(jnp.sin, jnp.ones(3), against=file).equal
    for junk in (b"junk", b"", file.read_bytes()[:100]):
        file.write_bytes(junk)
        with pytest.raises(ValueError, match=r"values\.npz is no file that compare has saved, or is cut off"):
            jdw.compare(jnp.sin, jnp.ones(3), against=file)
