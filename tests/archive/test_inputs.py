"""Test that the inputs of calls are replayed in another process with results equal to the bit."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pyarrow as pa
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from pyarrow import parquet

import jax_debug_widgets as jdw
from jax_debug_widgets.archive import RunFileError
from jax_debug_widgets.archive.schemas import SCHEMAS
from jax_debug_widgets.session import recorder
from jax_debug_widgets.session.run import input_files
from tests.archive.programs import bits
from tests.session.test_replay import train_step, trained
from tests.waiting import until

REPLAYED = """
import sys, jax, numpy as np, jax_debug_widgets as jdw
from tests.archive.programs import bits
from tests.session.test_replay import train_step
run = jdw.load(sys.argv[1])
again = jdw.replay(run, 7, train_step, watch="ratio,loss")
print([*run.inputs], bits(jax.tree.leaves(again.result)), [event.text for event in again.run.events if event.kind == "print"])
found = [finding.message for finding in again.run.findings]
assert "(ratio): 1 infinite" in found[0], found
"""


@pytest.mark.behaviour("R5")
def test_the_call_that_gave_nan_gives_it_again_in_another_process(tmp_path):
    _, *result = trained(keep_inputs=2, record=tmp_path / "run.jdw")
    command = [sys.executable, "-c", textwrap.dedent(REPLAYED), str(tmp_path / "run.jdw")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"[6, 7] {bits(jax.tree.leaves(result))} ['loss nan']\n"
    assert len(list(tmp_path.rglob("call-*"))) == 2, "those of older calls are gone"
    for file in tmp_path.rglob("inputs/*"):
        assert os.stat(file).st_mode & 0o077 == 0


class Pair(NamedTuple):
    left: Any
    right: Any


ARGUMENTS = {
    "dtypes": (
        {name: jnp.asarray([0, 1, 3], name) for name in ("bfloat16", "float8_e4m3fn", "int4", "bool", "complex64")},
    ),
    "keys": (jax.random.key(3), jax.random.split(jax.random.key(0, impl="rbg"), 4)),
    "weak types": (jnp.asarray(2.0), jnp.full(3, 1), jnp.zeros(3) * 0),
    "numpy": (np.arange(5)[::2], np.float64(0.1), np.zeros((0, 3)), np.array(7)),
    "python": (1, -0.0, float("nan"), 1 + 2j, "text", b"bytes", None, True, 2**70),
    "containers": ({"a": [1, (jnp.ones(2), None)], "b": []}, {3: {}, 2: 1}, Pair(jnp.zeros(1), [2.0])),
    "optax": (optax.adam(1e-3).init({"w": jnp.ones((2, 3))}),),
}


def alike(value: Any) -> Any:
    """Return the properties of a value that must be the same."""
    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        return str(jax.random.key_impl(value)), bits([jax.random.key_data(value)])
    if isinstance(value, jax.Array):
        return "array", value.weak_type, bits([value])
    return type(value), bits([value]) if isinstance(value, np.ndarray | np.generic) else repr(value)


def kept(tmp_path: Path, *args: Any, **kwargs: Any) -> Any:
    """Return a loaded run of a call with these arguments."""
    with jdw.capture(keep_inputs=1) as run:
        jax.jit(lambda *_args, **_kwargs: jax.debug.print("x"), static_argnames=("static",))(*args, **kwargs)
    run.save(tmp_path / "run.jdw.zip")
    return jdw.load(tmp_path / "run.jdw.zip")


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_of_all_kinds_are_the_same_to_the_bit(tmp_path, name):
    is_static = name == "python"
    args, static = ((1, -0.0), ARGUMENTS[name]) if is_static else (ARGUMENTS[name], None)
    run = kept(tmp_path, *args, static=static)
    taken = jdw.replay(run, f=lambda *args, static: (args, static), watch=None).result
    assert jax.tree.structure(taken[0]) == jax.tree.structure(args)
    assert [*map(alike, jax.tree.leaves(taken))] == [*map(alike, jax.tree.leaves((args, static)))]


@jax.tree_util.register_pytree_node_class
class Own:
    def __init__(self, w: Any) -> None:
        self.w = w

    def tree_flatten(self) -> Any:
        return (self.w,), None

    @classmethod
    def tree_unflatten(cls, _: Any, children: Any) -> Own:
        return cls(*children)


@pytest.mark.parametrize(
    ("args", "like", "why"),
    [
        (
            (Own(jnp.ones(2)),),
            (Own(0),),
            r"args\[0\] is a tests.archive.test_inputs.Own: give one of the same structure",
        ),
        (([jnp.ones(2)], Pair(1, Own(jnp.zeros(1)))), (None, Pair(0, Own(0))), r"args\[1\].right is a tests.archive"),
    ],
)
def test_a_structure_that_a_file_cannot_hold_is_taken_from_an_example(tmp_path, args, like, why):
    run = kept(tmp_path, *args)
    taken = lambda *args: args  # noqa: E731
    with pytest.raises(ValueError, match=why):
        jdw.replay(run, f=taken)
    again = jdw.replay(run, f=taken, like=like, watch=None).result
    assert jax.tree.structure(again) == jax.tree.structure(args)
    assert bits(jax.tree.leaves(again)) == bits(jax.tree.leaves(args))


def test_a_class_of_the_program_is_the_one_that_is_imported_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(Own, "__module__", "__main__")
    kept(tmp_path, Own(jnp.ones(2)))
    monkeypatch.undo()
    path, taken = tmp_path / "run.jdw.zip", lambda own: own.w
    assert bits([jdw.replay(path, f=taken, like=[Own(0)], watch=None).result]) == bits([jnp.ones(2)])
    with pytest.raises(ValueError, match=r"is a __main__\.Own, not a .*Pair: give"):
        jdw.replay(str(path), f=taken, like=(Pair(0, 0),))


def test_a_replay_from_a_file_names_inputs_that_a_file_cannot_hold(tmp_path):
    run = kept(tmp_path, jnp.ones(3), static=np.tanh)
    with pytest.raises(ValueError, match=r"kwargs\['static'\] is a numpy.ufunc, which is not in the file"):
        jdw.replay(run, f=lambda *_, **__: 0)
    with pytest.raises(TypeError, match=r"a file has no functions: give `<lambda>` itself"):
        jdw.replay(run)
    with pytest.raises(LookupError, match=r"call 4 are not kept; those of 0 are"):
        jdw.replay(run, 4, jnp.sin)


def test_inputs_that_are_overwritten_after_the_call_are_kept_as_they_were():
    batch = np.arange(3.0)
    step = jax.jit(lambda x: [jax.debug.print("{}", x.sum()), x * 2][1])
    with jdw.capture(keep_inputs=2) as run:
        for _ in range(2):
            step(batch)
            batch += 1
    assert [run.inputs[call].args[0].tolist() for call in run.inputs] == [[0, 1, 2], [1, 2, 3]]
    np.testing.assert_array_equal(jdw.replay(run, 0).result, [0, 2, 4])


def test_arrays_on_several_devices_are_gathered_and_it_is_reported(tmp_path):
    mesh = jax.make_mesh((2,), ("i",), devices=jax.devices()[:2])
    x = jax.device_put(jnp.arange(8.0), NamedSharding(mesh, P("i")))
    again = jdw.replay(kept(tmp_path, x), f=jnp.sin, watch=None)
    assert bits([again.result]) == bits([jnp.sin(jnp.arange(8.0))])
    assert any("were on 2 devices. Here they are on one" in note for note in again.run.notes)


def test_kept_inputs_do_not_prevent_donation(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "_PAUSE_S", 0.005)
    monkeypatch.setattr(recorder, "_STATE_S", 0.005)
    give = jax.jit(lambda x: x + 1, donate_argnums=0)
    shown = jax.jit(lambda x: [jax.debug.print("{}", x[0]), x * 2][1])
    with jdw.capture(keep_inputs=1, record=tmp_path / "run.jdw"):
        x = jnp.ones(1000)
        shown(x)
        until(lambda: list(tmp_path.rglob("call-*.parquet")))
        y = give(x)
        assert x.is_deleted(), "JAX can give its memory away, also after it was read"
    assert y[0] == 2 and jdw.replay(jdw.load(tmp_path / "run.jdw"), 0, shown).result[0] == 2


def test_large_inputs_are_bounded_and_the_oldest_go_first(tmp_path, monkeypatch):
    monkeypatch.setattr(input_files, "_MOST_BYTES", 5000)
    step = jax.jit(lambda x: jax.debug.print("{}", x[0]))
    with jdw.capture(keep_inputs=3, record=tmp_path / "run.jdw") as run:
        for i in range(4):
            step(jnp.full(500, 1.0 * i))
    loaded = jdw.load(tmp_path / "run.jdw")
    assert [*loaded.inputs] == [2, 3] and [*run.inputs] == [1, 2, 3]
    assert any("The inputs of call 1 are not in the file" in note for note in loaded.notes)


@pytest.fixture
def damaged(tmp_path):
    """Return a loaded run, and a function that changes the rows of its inputs."""
    with jdw.capture(keep_inputs=1, record=tmp_path / "run.jdw"):
        params = {"w": jnp.ones((4, 4)), "count": jnp.float32(0), "half": jnp.ones(3)}
        train_step(params, jax.random.key(0), jnp.ones((8, 4)), scale=2)
    (file,) = tmp_path.rglob("call-*")

    def change(**columns: Any) -> None:
        rows = parquet.read_table(file).to_pylist()
        row = rows[0] if "tree" in columns else rows[1]
        row |= {"data": columns["tree"]} if "tree" in columns else columns
        parquet.write_table(pa.Table.from_pylist(rows, SCHEMAS["inputs"]), file)

    return jdw.load(tmp_path / "run.jdw"), change, file


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"dtype": "object"}, "no dtype of JAX"),
        ({"shape": [1 << 40]}, "its shape"),
        ({"shape": [-1]}, "has no shape"),
        ({"data": b"abc"}, "has 3 bytes"),
        ({"tree": b"[]"}, "are no inputs"),
        ({"tree": b"{'"}, "cannot be read"),
        ({"tree": b'{"args": [["leaf", 99]], "kwargs": []}'}, "cannot be read"),
        ({"tree": b'{"args": [["value", "__import__(\'os\').abort()"]], "kwargs": []}'}, "malformed"),
        ({"tree": b'{"args": [["named", "os.abort", []]], "kwargs": []}'}, "import its module"),
    ],
)
def test_inputs_of_a_stranger_are_refused_in_a_sentence(damaged, columns, why):
    run, change, _ = damaged
    change(**columns)
    with pytest.raises(ValueError, match=why):
        jdw.replay(run, f=lambda *_, **__: 0)


def test_a_flipped_byte_is_never_another_input(damaged):
    run, _, file = damaged
    whole, before = file.read_bytes(), bits([leaf.data for leaf in run.inputs.of(0).leaves])
    for at in range(4, len(whole) - 4, max(len(whole) // 60, 1)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            stored = run.inputs.of(0)
        except RunFileError:
            continue
        assert bits([leaf.data for leaf in stored.leaves]) == before


def test_a_replay_notes_that_its_function_differs_from_the_recorded_one(tmp_path, monkeypatch):
    text = "import jax\n\n\n@jax.jit\ndef half(x):\n    jax.debug.print('{x}', x=x)\n    return x / 2\n"
    (tmp_path / "halves.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    import halves  # pyright: ignore[reportMissingImports]

    with jdw.capture(keep_inputs=1, record=tmp_path / "run.jdw"):
        halves.half(3.0)
    said = lambda function: jdw.replay(tmp_path / "run.jdw", 0, function, watch=None).run.notes  # noqa: E731
    assert said(halves.half) == []
    assert said(jax.jit(lambda x: x * 2)) == ["The call was of `half`; the replay calls `<lambda>` with its inputs."]
    (tmp_path / "halves.py").write_text(text.replace("x / 2", "x / 2.5"))
    mended = importlib.reload(halves)
    assert said(mended.half) == [
        "The text of `half` is another one than when the call was recorded, so its result may be, too."
    ]
