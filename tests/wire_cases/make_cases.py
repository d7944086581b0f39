"""Write the golden messages that both sides decode.

The two sides are `wire.py` and `columns.py` here, and `js/src/transport` under vitest. Each case is `NAME.json`
(content), `NAME.bin` (buffer) and `NAME.expected.json`: the decoded columns and texts, with NaN and the infinities as
strings. For an answer to `array` the last file is `NAME.decoded.json`. After a change of the format run

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
TRANSPORT = HERE.parents[1] / "jax_debug_widgets" / "transport"


def loaded(name: str) -> Any:
    """Import a module by its path: the cases need only the format, not the package with JAX."""
    spec = importlib.util.spec_from_file_location(name, TRANSPORT / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


packing, wire = loaded("columns"), loaded("wire")

RUN = "run-1"
STARTED = 1_790_000_000.25

EVENT_DTYPES = {
    "site": "uint32",
    "time": "float64",
    "occurrence": "uint32",
    "lane": "int32",
    "call": "int32",
    "execution": "int32",
    "step": "int32",
    "inner": "int32",
    "device": "int32",
    "phantom": "uint8",
    "type": "uint16",
}
UNTOLD = {"execution": -1, "step": -1, "inner": -1, "device": -1, "phantom": 0, "type": 0}
"""The default values of these columns."""

SPAN_DTYPES = {"span_site": "int32", "span_thread": "int32", "span_from": "float64", "span_to": "float64"}
POINT_DTYPES = {"point_row": "uint32", "point_value": "uint16", "point_element": "uint16", "point_y": "float64"}


def site(number: int, label: str, *, ordered: bool, line: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": number,
        "type": 0,
        "kind": "print",
        "ordered": ordered,
        "phase": "forward",
        "where": f"train.py:{line}",
        "file": "train.py",
        "line": line,
        "column": 4,
        "end_line": line,
        "end_column": 60,
        "function": "step",
        "source": f'jax.debug.print("{label} {{}}", {label}, ordered={ordered})',
        "label": label,
        "values": [label],
        "shapes": [[]],
        "dtypes": ["float32"],
        "order": number - 1,
        "loops": [],
        "reverse": [],
        "leap": 1,
        "name_stack": "jit(step)",
        "transforms": ["jit"],
        "callers": [],
        "watch": None,
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
        "queued": 0.0,
        "flight": [1.58, 1, 1],
        "dispatched": 1.6,
        "ready": 2.1,
        "drained": 2.15,
        "effects": True,
        "ordered": True,
        "events": 5,
        "error": "",
        "prints": [],
        "thread": "main",
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
        "added": [],
        "nonfinite": None,
        "first_nonfinite": None,
        "findings": 0,
        "every": {},
        "barrier": {"state": "drained", "pending": [], "waited": 0.05, "timeout": 30.0, "waits": [[2.1, 2.15]]},
        "notes": [],
        "breakpoints": [],
        "paused": False,
        "stoppable": True,
        "captured": True,
        "cost": "",
        "apart": [0, 0.0],
        "checked": "",
        "commands": "in the shell channel's thread",
        **changes,
    }


def columns_of(dtypes: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.asarray(values.get(name, []), dtype) for name, dtype in dtypes.items()}


def batch(
    events: Mapping[str, Any],
    *,
    points: Mapping[str, Any] | None = None,
    spans: Mapping[str, Any] | None = None,
    texts: Mapping[int, str] | None = None,
    first: int = 0,
    **fields: Any,
) -> tuple[dict[str, Any], bytes]:
    untold = {name: [value] * len(events.get("site", ())) for name, value in UNTOLD.items()}
    scalars = {"point_element": [0] * len((points or {}).get("point_row", ()))}
    columns = (
        columns_of(EVENT_DTYPES, untold | events)
        | columns_of(POINT_DTYPES, scalars | (points or {}))
        | columns_of(SPAN_DTYPES, spans or {})
        | packing.pack_texts(texts or {})
    )
    specs, buffer = packing.pack(columns)
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
        "devices": [],
        "threads": [],
        "first_span": 0,
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
        calls=[call(1, prints=["train.py:12 in step: <x> Traced (traced: its first call here)"])],
    )


def dtypes() -> tuple[dict[str, Any], bytes]:
    """Every dtype at lengths that end off the 8-byte grid, in columns beside those of a batch."""
    lengths = {"uint8": 3, "uint16": 5, "uint32": 1, "int32": 7, "float32": 3, "float64": 2}
    extra = {f"extra_{name}": np.arange(length).astype(name) for name, length in lengths.items()}
    extra["extra_int32"] -= 3
    extra["extra_float32"] /= -4
    specs, buffer = packing.pack(columns_of(EVENT_DTYPES, {}) | packing.pack_texts({}) | extra)
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
            "occurrence": [0, 0, 0, 1, 1, 1, *[0] * 20],
            "lane": lane,
            "call": [1] * n,
            "phantom": [0, 1, 0, 0, 1, 1, *[0] * 18, 1, 1],
        },
        points={"point_row": range(n), "point_value": [0] * n, "point_y": np.arange(n) * 0.5},
        texts={0: "y 0.0", 25: "z 12.5"},
        sites=[
            site(1, "y", ordered=False, line=8, transforms=["jit", "vmap"], callers=["train.py:20", "train.py:31"]),
            site(2, "z", ordered=False, line=9, transforms=["jit", "vmap"]),
        ],
        calls=[call(1, events=n)],
    )


def steps() -> tuple[dict[str, Any], bytes]:
    """Two calls of a scan of 2 with a scan of 2 inside, on two devices; the second device comes later. `v` is a vector."""
    n = 16
    step, inner, device = [0, 0, 1, 1] * 4, [0, 1] * 8, [0] * 4 + [1] * 4 + [0] * 4 + [1] * 4
    values = np.arange(2.0 * n)
    return batch(
        {
            "site": [1] * n,
            "time": np.arange(n) / 8,
            "occurrence": range(n),
            "lane": [-1] * n,
            "call": [1] * 8 + [2] * 8,
            "step": step,
            "inner": inner,
            "device": device,
        },
        points={
            "point_row": np.repeat(np.arange(n), 2),
            "point_value": [0] * 2 * n,
            "point_element": [0, 1] * n,
            "point_y": values,
        },
        texts={i: f"v [{values[2 * i]} {values[2 * i + 1]}]" for i in range(n)},
        devices=["cpu:0", "cpu:1"],
        sites=[site(1, "v", ordered=False, line=8, shapes=[[2]], loops=[2, 2], transforms=["jit", "shard_map"])],
        calls=[call(1, events=8), call(2, events=8, trace=None, lower=None, compile=None)],
    )


FIRST_NAN = {"site": 3, "event": 1, "nan": True, "masked": False}


def nonfinite() -> tuple[dict[str, Any], bytes]:
    values = [1.0, math.nan, math.inf, -math.inf, 5e-324, -0.0]
    n = len(values)
    return batch(
        {"site": [3] * n, "time": np.arange(n) / 4, "occurrence": range(n), "lane": [-1] * n, "call": [2] * n},
        points={"point_row": range(n), "point_value": [1] * n, "point_y": values},
        texts={i: f"g {value}" for i, value in enumerate(values)},
        sites=[site(3, "g", ordered=False, line=29, phase="backward", values=["x", "g"], shapes=[[], []])],
        calls=[call(2, state="failed", ready=None, drained=None, error="FloatingPointError: nan in g")],
        status=status(n, state="failed", nonfinite={"nan": 1, "inf": 2, "first": 1}, first_nonfinite=FIRST_NAN),
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
        status=status(1002, every={"1": 10}, dropped=1000, dropped_by_site={"1": 1000}, state="running"),
    )


def threads() -> tuple[dict[str, Any], bytes]:
    """Calls of two Python threads, a host function on two others, and a wait of each kind."""
    return batch(
        {"site": [1, 1], "time": [0.5, 0.75], "occurrence": [0, 1], "lane": [-1] * 2, "call": [0, 1]},
        spans={
            "span_site": [1, 1, -2, -1],
            "span_thread": [0, 1, 2, 2],
            "span_from": [0.5, 0.75, 0.5, 1.25],
            "span_to": [0.625, 1.0, 1.125, 1.5],
        },
        texts={0: "host 1", 1: "host 2"},
        threads=["XLA 140", "XLA 141", "main"],
        sites=[site(1, "host", ordered=False, line=9, kind="callback")],
        calls=[call(0, started=0.25, trace=None), call(1, started=0.5, thread="loader-0")],
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
    losses = 2.3 / (1 + at / 2000) + 0.1  # `np.exp` gives other bytes on other processors.
    return batch(
        {"site": 1 + at % 2, "time": at * 1e-4, "occurrence": at // 2, "lane": at * 0 - 1, "call": at * 0 + 1},
        points={"point_row": at, "point_value": at * 0, "point_y": losses},
        texts={int(i): f"loss {losses[i]:.6f}" for i in at[-300:]},
        sites=[site(1, "loss", ordered=True, line=41), site(2, "x", ordered=False, line=17)],
        calls=[call(1, events=n)],
    )


STATISTICS = ["min", "max", "mean", "std", "l2", "zeros", "nan", "posinf", "neginf"]
MERGES = {"min": "min", "max": "max", "mean": "mean", "std": "std", "l2": "norm", "value": "value"}


def watched(number: int, name: str, role: str, *, line: int, **changes: Any) -> dict[str, Any]:
    """A watched array: its value, or its gradient in the backward pass of a scan over layers."""
    is_gradient = role == "gradient"
    about = {"name": name, "role": role, "shape": [128, 10], "dtype": "float32", "primitive": "add"} | {
        "scope": "head",
        "full": False,
        "lanes": [],
        "value": None,
        "gradient": None,
        "intended": [],
        "choice": "",
        "derivatives": [],
        "given_on": [],
        "has_ended_lanes": False,
        "vmapped": [],
        "position": [],
    }
    values = changes.pop("values", STATISTICS)
    about["merges"] = [MERGES.get(name, "sum") for name in values]
    return site(
        number,
        f"grad/{name}" if is_gradient else name,
        ordered=False,
        line=line,
        kind="watch",
        column=13,
        end_column=25,
        phase="backward" if is_gradient else "forward",
        source=f"{name} = w.dot(x) + b",
        values=values,
        shapes=[[] for _ in values],
        dtypes=["float32"] * len(values),
        name_stack="jit(step)/transpose(jvp(head))" if is_gradient else "jit(step)/jvp(head)",
        transforms=["jit", "transpose", "jvp"] if is_gradient else ["jit", "jvp"],
        watch=about | {key: value for key, value in changes.items() if key in about},
        **{key: value for key, value in changes.items() if key not in about},
    )


def watch() -> tuple[dict[str, Any], bytes]:
    """Two steps of `logits`, its gradient and the scalar `loss`; the second gradient has NaNs. No event has a text."""
    logits = [[-2.5, 3.0, 0.125, 1.5, 53.75, 4, 0, 0, 0], [-2.25, 2.75, 0.25, 1.25, 45.5, 0, 0, 0, 0]]
    gradients = [[-0.5, 0.25, 0.0, 0.125, 4.5, 0, 0, 0, 0], [math.nan] * 5 + [0, 1280, 0, 0]]
    events = [logits[0], [2.25], gradients[0], logits[1], [2.125], gradients[1]]
    rows = [row for row, values in enumerate(events) for _ in values]
    numbers = [number for values in events for number in range(len(values))]
    n = len(events)
    return batch(
        {
            "site": [1, 2, 3] * 2,
            "time": np.arange(n) / 8,
            "occurrence": [0, 0, 0, 1, 1, 1],
            "lane": [-1] * n,
            "call": [1, 1, 1, 2, 2, 2],
        },
        points={"point_row": rows, "point_value": numbers, "point_y": [y for values in events for y in values]},
        sites=[
            watched(1, "logits", "value", line=21),
            watched(2, "loss", "value", line=22, shape=[], primitive="reduce_sum", scope="", values=["value"]),
            watched(3, "logits", "gradient", line=21, order=5, value=1),
        ],
        calls=[call(1, events=3), call(2, events=3)],
        status=status(n, first_nonfinite=FIRST_NAN | {"event": 5}),
    )


def types() -> tuple[dict[str, Any], bytes]:
    """A watched value in a loop, computed in turn by a program of its function for a longer argument and a longer loop."""
    loops = [3, 3, 3, 5, 5, 5, 5, 5, 3, 3, 3]
    n = len(loops)
    return batch(
        {
            "site": [1] * n,
            "time": np.arange(n) / 8,
            "occurrence": range(n),
            "lane": [-1] * n,
            "call": [1] * 3 + [2] * 5 + [3] * 3,
            "step": [0, 1, 2, 0, 1, 2, 3, 4, 0, 1, 2],
            "type": [0] * 3 + [1] * 5 + [0] * 3,
        },
        points={"point_row": range(n), "point_value": [0] * n, "point_y": np.arange(n) / 4},
        sites=[
            watched(1, "h", "value", line=21, shape=[3], loops=[3], reverse=[False], intended=["neginf"]),
            watched(1, "h", "value", line=21, shape=[5], dtype="bfloat16", loops=[5], reverse=[False], type=1),
        ],
        calls=[call(1, events=3), call(2, events=5), call(3, events=3)],
    )


def source() -> tuple[dict[str, Any], bytes]:
    lines = ["def step(params, x):", "    größe = x.shape[0]", "    logits = params @ x  # <b>", "    return logits"]
    place = {"end_line": 3, "end_column": 23}
    return wire.reply(
        "source",
        RUN,
        15,
        file="train.py",
        where="train.py",
        first_line=1,
        lines=lines,
        functions=[{"name": "step", "first": 1, "last": 4}],
        names=[
            {
                "line": 2,
                "column": 13,
                "end_line": 2,
                "end_column": 23,
                "name": "größe",
                "why": "while tracing",
                "pattern": "",
            },
            {"line": 3, "column": 13, **place, "name": "logits", "why": "", "pattern": ""},
        ],
    ), b""


def rows() -> tuple[dict[str, Any], bytes]:
    texts = {0: "loss 2.3", 1: "loss 2.2\nsecond line", 3: "損失"}
    specs, buffer = packing.pack(packing.pack_texts(texts))
    return wire.reply("rows", RUN, 12, first=200, count=200, columns=specs), buffer


def error() -> tuple[dict[str, Any], bytes]:
    return wire.reply("error", RUN, 13, message="This kernel does not know the run: run the cell again."), b""


def module() -> tuple[dict[str, Any], bytes]:
    return wire.reply("module", RUN, 14, name="views", text="export default(shared)=>({})"), b""


def array(value: np.ndarray, rows: np.ndarray, stride: list[int], **fields: Any) -> tuple[dict[str, Any], bytes]:
    """Make the answer for `value`; `rows` is the slice that is sent."""
    finite = value[np.isfinite(value)]
    counts, _ = np.histogram(finite, bins=8, range=(finite.min(), finite.max()))
    specs, buffer = packing.pack({"data": rows.astype("float32").ravel(), "histogram": counts.astype("uint32")})
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


def local(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "type": "Array",
        "text": "Array([1., nan, inf], dtype=float32)",
        "shape": [3],
        "dtype": "float32",
        "device": "cpu:0",
        "stats": {"size": 3, "nan": 1, "inf": 1, "zero": 0, "min": 1.0, "max": 1.0, "mean": 1.0, "std": 0.0},
        **changes,
    }


def stop_message(stop: dict[str, Any] | None) -> tuple[dict[str, Any], bytes]:
    return {"type": "stop", "version": wire.VERSION, "run": RUN, "stop": stop}, b""


def stop() -> tuple[dict[str, Any], bytes]:
    """At a breakpoint with a value to replace, in a `vmap` of 4 in a loop, two of whose lanes are not finite."""
    plain = {"shape": None, "dtype": None, "device": "", "stats": None}
    frames = [
        {
            "index": 0,
            "file": "/work/train.py",
            "where": "train.py:41",
            "function": "loss_fn",
            "line": 41,
            "first_line": 40,
            "source": ["def loss_fn(params, x):", "    h = jdw.breakpoint(h, when=~jnp.isfinite(h).all())", ""],
            "locals": [local("h"), local("name", type="str", text="'größe <b>'", **plain)],
        },
        {
            "index": 1,
            "file": "<ipython-input-7>",
            "where": "In [7]:12",
            "function": "<module>",
            "line": 12,
            "first_line": 12,
            "source": ["train(params)"],
            "locals": [],
        },
    ]
    body = {
        "id": 3,
        "kind": "breakpoint",
        "site": 5,
        "name": "h",
        "reason": "h is not finite: 1 NaN, 1 infinite",
        "since": 0.25,
        "timeout": None,
        "thread": "MainThread",
        "way": "shell",
        "phase": "forward",
        "step": [12],
        "event": -1,
        "lanes": {"sizes": [4], "chosen": [1], "stopped": [[1], [3]]},
        "device": "cpu:0",
        "hits": 13,
        "warning": "",
        "replaceable": {"name": "h", "shape": [3], "dtype": "float32"},
        "frame": 0,
        "frames": frames,
    }
    return stop_message(body)


def paused() -> tuple[dict[str, Any], bytes]:
    """A batch of a run that stands at a breakpoint and has another one that is switched off."""
    first = {
        "site": 5,
        "name": "h",
        "where": "train.py:41",
        "condition": "nonfinite",
        "enabled": True,
        "skip": 0,
        "hits": 13,
        "cost": "3 values, 4.1 kB: computed in full up to here, and copied to the host where the condition holds",
    }
    second = {
        **first,
        "site": 6,
        "name": "",
        "where": "train.py:50",
        "condition": "",
        "enabled": False,
        "skip": 2,
        "hits": 0,
        "cost": "",
    }
    return batch({}, status=status(0, state="running", paused=True, breakpoints=[first, second]))


def console() -> tuple[dict[str, Any], bytes]:
    text = "Array(nan, dtype=float32)\n größe 🙂"
    return wire.reply("console", RUN, 15, stop=3, text=text, error=False), b""


def completions() -> tuple[dict[str, Any], bytes]:
    return wire.reply("completions", RUN, 16, start=4, matches=["isfinite", "isnan"]), b""


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
    "types": types,
    "steps": steps,
    "nonfinite": nonfinite,
    "dropped": dropped,
    "threads": threads,
    "out_of_order": out_of_order,
    "large": large,
    "watch": watch,
    "source": source,
    "rows": rows,
    "error": error,
    "module": module,
    "stop": stop,
    "stop_ended": lambda: stop_message(None),
    "paused": paused,
    "console": console,
    "completions": completions,
}


def as_json(value: Any) -> Any:
    """Convert numbers that JSON does not have to strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    return value


def expected(content: Mapping[str, Any], buffer: bytes) -> dict[str, Any]:
    if "columns" not in content:
        return {"columns": {}, "texts": {}}
    is_array = content["type"] == "array"
    columns = packing.unpack(content["data" if is_array else "columns"], buffer)
    return {
        "columns": {name: [as_json(value) for value in column.tolist()] for name, column in columns.items()},
        "texts": {} if is_array else packing.unpack_texts(columns),
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
