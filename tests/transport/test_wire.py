"""Test the wire format: the golden messages that `js/src/transport/wire.ts` reads too, and refused messages."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from jax_debug_widgets.transport import wire
from jax_debug_widgets.transport.columns import ALIGNMENT, DTYPES, pack, pack_texts, unpack, unpack_texts

CASES = Path(__file__).parents[1] / "wire_cases"
NAMES = sorted(path.name.removesuffix(".expected.json") for path in CASES.glob("*.expected.json"))
WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def case(name: str):
    content = json.loads((CASES / f"{name}.json").read_text("utf-8"))
    expected = json.loads((CASES / f"{name}.expected.json").read_text("utf-8"))
    return content, (CASES / f"{name}.bin").read_bytes(), expected


def test_the_golden_cases_exist():
    assert {"small", "dtypes", "unicode", "lanes", "nonfinite", "dropped", "rows", "error"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_message_decodes_to_what_is_expected(name):
    content, buffer, expected = case(name)
    columns = unpack(content["columns"], buffer) if "columns" in content else {}
    assert list(columns) == list(expected["columns"])
    for column, values in expected["columns"].items():
        wanted = np.array([WORDS.get(value, value) for value in values], columns[column].dtype)
        np.testing.assert_array_equal(columns[column], wanted)
        if columns[column].dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(columns[column]), np.signbit(wanted))
    texts = unpack_texts(columns) if columns else {}
    assert texts == {int(row): text for row, text in expected["texts"].items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_message_is_laid_out_as_the_format_says(name):
    content, buffer, _ = case(name)
    assert content["version"] == wire.VERSION
    for spec in content.get("columns", ()):
        assert spec["offset"] % ALIGNMENT == 0
        assert spec["offset"] + spec["length"] * np.dtype(spec["dtype"]).itemsize <= len(buffer)


@pytest.mark.parametrize("name", ["array", "image"])
def test_a_golden_array_decodes_to_its_numbers(name):
    content = json.loads((CASES / f"{name}.json").read_text("utf-8"))
    expected = json.loads((CASES / f"{name}.decoded.json").read_text("utf-8"))["columns"]
    columns = unpack(content["data"], (CASES / f"{name}.bin").read_bytes())
    for column in ("data", "histogram"):
        wanted = np.array([WORDS.get(value, value) for value in expected[column]], columns[column].dtype)
        np.testing.assert_array_equal(columns[column], wanted)
    assert len(columns["data"]) == content["rows"] * content["columns"] * content.get("channels", 1)


def test_the_golden_messages_are_those_that_make_cases_makes(tmp_path):
    script = (CASES / "make_cases.py").read_text("utf-8").replace("HERE.parents[1]", f"Path({str(CASES.parents[1])!r})")
    (tmp_path / "make_cases.py").write_text(script, "utf-8")
    subprocess.run([sys.executable, tmp_path / "make_cases.py"], check=True, timeout=120)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file() and path.suffix != ".py"}
    assert made == {path.name: path.read_bytes() for path in CASES.iterdir() if path.suffix in (".json", ".bin")}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [0, 1, 7, 8])
def test_unpacking_returns_the_packed_columns(dtype, length):
    columns = {"a": np.arange(3, dtype="uint8"), "b": np.arange(length).astype(dtype), "c": np.array([1.5], "float64")}
    specs, buffer = pack(columns)
    found = unpack(specs, buffer)
    assert list(found) == ["a", "b", "c"]
    for name, column in columns.items():
        assert found[name].dtype == column.dtype
        np.testing.assert_array_equal(found[name], column)


def test_non_contiguous_and_big_endian_arrays_are_packed_by_value():
    specs, buffer = pack({"a": np.arange(6, dtype="int32")[::2], "b": np.array([1, 2], ">f8")})
    found = unpack(specs, buffer)
    assert found["a"].tolist() == [0, 2, 4]
    assert found["b"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "column",
    [
        np.zeros((2, 2)),
        np.float64(3),
        np.zeros(2, "int64"),
        np.zeros(2, "float16"),
        np.zeros(2, bool),
        np.zeros(1, "S3"),
    ],
    ids=["two dimensions", "none", "int64", "float16", "bool", "bytes"],
)
def test_a_column_that_the_browser_cannot_hold_is_refused_by_name(column):
    with pytest.raises(ValueError, match="column 'loss'"):
        pack({"loss": column})


GOOD = {"name": "x", "dtype": "float64", "offset": 8, "length": 2}


@pytest.mark.parametrize(
    "wrong",
    [
        {"dtype": "int64"},
        {"dtype": "object"},
        {"offset": 4},
        {"offset": -8},
        {"offset": 16},
        {"length": 3},
        {"length": -1},
    ],
    ids=str,
)
def test_a_column_that_does_not_lie_in_the_buffer_is_refused_by_name(wrong):
    assert unpack([GOOD], bytes(24))["x"].tolist() == [0, 0]
    with pytest.raises(ValueError, match="'x'"):
        unpack([{**GOOD, **wrong}], bytes(24))


TEXTS = {0: "plain", 3: "größe 損失 🙂", 4: "", 9: "two\nlines\x00", 2**31: "e\u0301"}


def test_texts_come_back_as_they_were():
    specs, buffer = pack(pack_texts(TEXTS))
    assert unpack_texts(unpack(specs, buffer)) == TEXTS
    assert unpack_texts(pack_texts({})) == {}


def test_a_text_that_is_no_unicode_is_sent_with_marks():
    assert unpack_texts(pack_texts({1: "a\ud800b"})) == {1: "a?b"}


def test_a_reply_names_its_request():
    assert wire.reply("done", "run-1", 3, drained=True) == {
        "type": "done",
        "version": wire.VERSION,
        "run": "run-1",
        "id": 3,
        "drained": True,
    }
