"""Write the golden messages that both sides decode: `wire.py` here, `js/src/transport/wire.ts` under vitest.

Each case is `NAME.json` (content), `NAME.bin` (buffer) and `NAME.expected.json` (columns and texts that decoding
must give; NaN and the infinities as strings); of an answer to `array` the last is `NAME.decoded.json`. Run again after
a change of the format:

    python tests/wire_cases/make_cases.py
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
_SPEC = importlib.util.spec_from_file_location("wire", HERE.parents[1] / "jax_debug_widgets" / "transport" / "wire.py")
assert _SPEC and _SPEC.loader
wire = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(wire)  # by path: the cases need the format alone, not the package with JAX

RUN = "run-1"
STARTED = 1_790_000_000.25

EVENT_DTYPES = {"site": "uint32", "time": "float64", "occurrence": "uint32", "lane": "int32", "call": "int32"}
POINT_DTYPES = {"point_row": "uint32", "point_value": "uint16", "point_y": "float64"}


def site(number: int, label: str, *, ordered: bool, line: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": number,
        "kind": "print",
        "ordered": ordered,
        "phase": "forward",
        "where": f"train.py:{line}",
        "file": "train.py",
        "line": line,
        "column": 4,
        "function": "step",
        "source": f'jax.debug.print("{label} {{}}", {label}, ordered={ordered})',
        "label": label,
        "values": [label],
        "shapes": [[]],
        "dtypes": ["float32"],
        "order": number - 1,
        "name_stack": "jit(step)",
        "transforms": ["jit"],
        **changes,
    }


def call(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": number,
        "name": "step",
        "origin": "cell",
        "state": "drained",
        "started": 0.5,
        "trace": 0.21,
        "lower": 0.04,
        "compile": 0.83,
        "dispatched": 1.6,
        "ready": 2.1,
        "drained": 2.15,
        "effects": True,
        "ordered": True,
        "events": 5,
        "error": "",
        **changes,
    }


def status(events: int, **changes: Any) -> dict[str, Any]:
    return {
        "state": "done",
        "title": "step(params, batch)",
        "started": STARTED,
        "elapsed": 2.2,
        "events": events,
        "rate": 12.5,
        "dropped": 0,
        "dropped_by_site": {},
        "muted": [],
        "barrier": {"state": "drained", "pending": [], "waited": 0.05, "timeout": 30.0},
        "notes": [],
        **changes,
    }


def columns_of(dtypes: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.asarray(values.get(name, []), dtype) for name, dtype in dtypes.items()}


def batch(
    events: Mapping[str, Any],
    *,
    points: Mapping[str, Any] | None = None,
    texts: Mapping[int, str] | None = None,
    first: int = 0,
    **fields: Any,
) -> tuple[dict[str, Any], bytes]:
    columns = columns_of(EVENT_DTYPES, events) | columns_of(POINT_DTYPES, points or {}) | wire.pack_texts(texts or {})
    specs, buffer = wire.pack(columns)
    count = len(columns["site"])
    content = {
        "type": "batch",
        "version": wire.VERSION,
        "run": RUN,
        "batch": 0,
        "first": first,
        "count": count,
        "oldest": 0,
        "columns": specs,
        "sites": [],
        "calls": [],
        "status": status(first + count),
        **fields,
    }
    return content, buffer


def small() -> tuple[dict[str, Any], bytes]:
    """Two sites, one call, five events."""
    return batch(
        {
            "site": [1, 2, 1, 2, 1],
            "time": [1.61, 1.62, 1.7, 1.71, 1.8],
            "occurrence": [0, 0, 1, 1, 2],
            "lane": [-1] * 5,
            "call": [1] * 5,
        },
        points={"point_row": [0, 2, 4], "point_value": [0, 0, 0], "point_y": [2.5, 1.25, 0.625]},
        texts={0: "loss 2.5", 1: "x [1. 2.]\n  [3. 4.]", 2: "loss 1.25", 3: "x [0. 0.]", 4: "loss 0.625"},
        sites=[site(1, "loss", ordered=True, line=41), site(2, "x", ordered=False, line=17, shapes=[[2, 2]])],
        calls=[call(1)],
    )


def dtypes() -> tuple[dict[str, Any], bytes]:
    """Every dtype at lengths that end off the 8-byte grid, in columns beside those of a batch."""
    lengths = {"uint8": 3, "uint16": 5, "uint32": 1, "int32": 7, "float32": 3, "float64": 2}
    extra = {f"extra_{name}": np.arange(length).astype(name) for name, length in lengths.items()}
    extra["extra_int32"] -= 3
    extra["extra_float32"] /= -4
    specs, buffer = wire.pack(columns_of(EVENT_DTYPES, {}) | wire.pack_texts({}) | extra)
    content, _ = batch({})
    return {**content, "columns": specs}, buffer


def unicode_text() -> tuple[dict[str, Any], bytes]:
    lines = ["größe 1 µs", "損失 0.5", "🙂 <b>not html</b>", "", "\ufeffbom", "a\x00b\ttab", "e\u0301", "≤" * 7]
    n = len(lines)
    return batch(
        {"site": [1] * n, "time": np.arange(n) / 8, "occurrence": range(n), "lane": [-1] * n, "call": [-1] * n},
        texts=dict(enumerate(lines)),
        sites=[site(1, "größe", ordered=False, line=3)],
    )


def lanes() -> tuple[dict[str, Any], bytes]:
    """Two firings of a print under a vmap of 3, and of one under a vmap of 20."""
    lane = [0, 1, 2, 0, 1, 2, *range(20)]
    n = len(lane)
    return batch(
        {
            "site": [1] * 6 + [2] * 20,
            "time": np.arange(n) / 16,
            "occurrence": [*range(6), *range(20)],
            "lane": lane,
            "call": [1] * n,
        },
        points={"point_row": range(n), "point_value": [0] * n, "point_y": np.arange(n) * 0.5},
        texts={0: "y 0.0", 25: "z 12.5"},
        sites=[
            site(1, "y", ordered=False, line=8, transforms=["jit", "vmap"]),
            site(2, "z", ordered=False, line=9, transforms=["jit", "vmap"]),
        ],
        calls=[call(1, events=n)],
    )


def nonfinite() -> tuple[dict[str, Any], bytes]:
    values = [1.0, math.nan, math.inf, -math.inf, 5e-324, -0.0]
    n = len(values)
    return batch(
        {"site": [3] * n, "time": np.arange(n) / 4, "occurrence": range(n), "lane": [-1] * n, "call": [2] * n},
        points={"point_row": range(n), "point_value": [1] * n, "point_y": values},
        texts={i: f"g {value}" for i, value in enumerate(values)},
        sites=[site(3, "g", ordered=False, line=29, phase="backward", values=["x", "g"], shapes=[[], []])],
        calls=[call(2, state="failed", ready=None, drained=None, error="FloatingPointError: nan in g")],
    )


def dropped() -> tuple[dict[str, Any], bytes]:
    """The kernel keeps events from 1000 on; the page has seen none of them."""
    return batch(
        {"site": [1, 1], "time": [9.0, 9.5], "occurrence": [1000, 1001], "lane": [-1, -1], "call": [1, 1]},
        texts={0: "loss 0.1", 1: "loss 0.09"},
        first=1000,
        oldest=1000,
        batch=7,
        sites=[site(1, "loss", ordered=True, line=41)],
        status=status(1002, dropped=1000, dropped_by_site={"1": 1000}, state="running"),
    )


def out_of_order() -> tuple[dict[str, Any], bytes]:
    """Three steps of `a, b` in program order; in the second, `b` arrives first. `outer` fires in another loop."""
    sites = [1, 2, 2, 1, 1, 2, 3]
    n = len(sites)
    place = {"ordered": False, "name_stack": "jit(step)/while/body"}
    return batch(
        {
            "site": sites,
            "time": np.arange(n) / 8,
            "occurrence": [0, 0, 1, 1, 2, 2, 0],
            "lane": [-1] * n,
            "call": [1] * n,
        },
        texts={i: f"{'?ab'[number]} {i}" for i, number in enumerate(sites[:-1])} | {n - 1: "outer"},
        sites=[
            site(1, "a", line=8, **place),
            site(2, "b", line=9, **place),
            site(3, "outer", line=6, **place | {"name_stack": "jit(step)"}, order=0),
        ],
        calls=[call(1, events=n)],
    )


def large() -> tuple[dict[str, Any], bytes]:
    n = 10_000
    at = np.arange(n)
    losses = 2.3 * np.exp(-at / 2000) + 0.1
    return batch(
        {"site": 1 + at % 2, "time": at * 1e-4, "occurrence": at // 2, "lane": at * 0 - 1, "call": at * 0 + 1},
        points={"point_row": at, "point_value": at * 0, "point_y": losses},
        texts={int(i): f"loss {losses[i]:.6f}" for i in at[-300:]},
        sites=[site(1, "loss", ordered=True, line=41), site(2, "x", ordered=False, line=17)],
        calls=[call(1, events=n)],
    )


def rows() -> tuple[dict[str, Any], bytes]:
    texts = {0: "loss 2.3", 1: "loss 2.2\nsecond line", 3: "損失"}
    specs, buffer = wire.pack(wire.pack_texts(texts))
    return wire.reply("rows", RUN, 12, first=200, count=200, columns=specs), buffer


def error() -> tuple[dict[str, Any], bytes]:
    return wire.reply("error", RUN, 13, message="This kernel does not know the run: run the cell again."), b""


def array(value: np.ndarray, rows: np.ndarray, stride: list[int], **fields: Any) -> tuple[dict[str, Any], bytes]:
    """The answer for `value`, of which `rows` is the slice sent."""
    finite = value[np.isfinite(value)]
    counts, _ = np.histogram(finite, bins=8, range=(finite.min(), finite.max()))
    specs, buffer = wire.pack({"data": rows.astype("float32").ravel(), "histogram": counts.astype("uint32")})
    stats = {
        "size": value.size,
        "nan": int(np.isnan(value).sum()),
        "inf": int(np.isinf(value).sum()),
        "zero": int((value == 0).sum()),
        **{name: float(getattr(finite, name)()) for name in ("min", "max", "mean", "std")},
    }
    content = wire.reply(
        "array",
        RUN,
        14,
        event=1,
        value=0,
        name="x",
        dtype=value.dtype.name,
        shape=list(value.shape),
        **{
            "index": [0] * (value.ndim - 2),
            "rows": rows.shape[0],
            "columns": rows.shape[1],
            "stride": stride,
            **fields,
        },
        stats=stats,
        data=specs,
    )
    return content, buffer


def matrices() -> tuple[dict[str, Any], bytes]:
    """The second of two 4x6 matrices, every second column of it, with values that are not finite."""
    value = np.arange(48, dtype="float32").reshape(2, 4, 6) / 4 - 6
    value[1, 0, 0], value[1, 1, 2], value[1, 3, 4] = math.nan, math.inf, -math.inf
    return array(value, value[1, :, ::2], [1, 2], index=[1])


def image() -> tuple[dict[str, Any], bytes]:
    """2x3 pixels of red, green and blue, asked for as an image."""
    value = np.linspace(0, 1, 18, dtype="float32").reshape(2, 3, 3)
    return array(value, value, [1, 1], index=[], channels=3)


ARRAYS = {"array": matrices, "image": image}

CASES = {
    "empty": lambda: batch({}),
    "small": small,
    "dtypes": dtypes,
    "unicode": unicode_text,
    "lanes": lanes,
    "nonfinite": nonfinite,
    "dropped": dropped,
    "out_of_order": out_of_order,
    "large": large,
    "rows": rows,
    "error": error,
}


def as_json(value: Any) -> Any:
    """Numbers that JSON has not, as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    return value


def expected(content: Mapping[str, Any], buffer: bytes) -> dict[str, Any]:
    if "columns" not in content:
        return {"columns": {}, "texts": {}}
    is_array = content["type"] == "array"
    columns = wire.unpack(content["data" if is_array else "columns"], buffer)
    return {
        "columns": {name: [as_json(value) for value in column.tolist()] for name, column in columns.items()},
        "texts": {} if is_array else wire.unpack_texts(columns),
    }


def main() -> None:
    for name, make in (CASES | ARRAYS).items():
        content, buffer = make()
        (HERE / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")
        (HERE / f"{name}.bin").write_bytes(buffer)
        answer = json.dumps(expected(content, buffer), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        suffix = "decoded" if name in ARRAYS else "expected"
        (HERE / f"{name}.{suffix}.json").write_text(answer + "\n", "utf-8")


if __name__ == "__main__":
    main()
