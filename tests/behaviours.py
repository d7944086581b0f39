"""List the behaviours that the tool makes visible, and the tests that show each.

`python -m tests.behaviours` writes the table `docs/behaviours.md`. A test names the behaviours that it shows:
`@pytest.mark.behaviour("P4")`. The table is made from these marks, and a test compares the two, so that the table
cannot say more than is tested.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "behaviours.md"

ROWS = {
    "P1": "a print under jit: the run-time value, byte for byte as JAX prints it, with its place in the source",
    "P2": "a print of an f-string: the tracer's text, flagged, with the corrected line",
    "P3": "Python's `print` in a jitted function: shown apart, as output of the trace",
    "P4": "`vmap` against `lax.map`: each value with its lane or step",
    "P5": "`pmap` and `shard_map`: each value with its device and mesh coordinates",
    "P6": "`grad`, `custom_vjp`, `checkpoint`: forward, backward or recomputed",
    "P7": "`jax.debug.callback`: the function runs exactly as without us",
    "P8": "ordered and unordered streams side by side; program order beside observed order",
    "P9": "prints that arrive late: the effects barrier per call, in the panel of the cell that dispatched them",
    "P10": "what a print costs",
    "P11": "phantom, lost and hoisted prints",
    "P12": "the same cell without the magic: output and speed unchanged",
    "C1": "an inventory of callbacks before running",
    "C2": "a `pure_callback` whose result is not used: eliminated by the compiler",
    "C3": "JAX's own errors about callbacks, explained",
    "C4": "an impure host generator under `vmap`: calls in order, lane by lane",
    "C5": "`custom_jvp` around a `pure_callback`: each host call with the derivative that asked for it",
    "C6": "a callback that raises, blocks, or calls JAX",
    "W1": "values inside compiled code by the names of the source, with no edit, in libraries too",
    "W2": "the source with what each line computed beside it, a slider over steps",
    "W3": "statistics taken and sampled on the device, the cost said before it is paid",
    "W4": "values as pictures: live plots, inline figures, gradients beside the values",
    "B1": "a breakpoint under any transformation: frames, source, locals, a console",
    "B2": "stops only where a condition holds, looked at on the device or at captured events",
    "B3": "many breakpoints: switch, skip, count, to the next one, no more",
    "B4": "nobody there, a closed tab, an interrupt: never a hang, a clean end",
    "B5": "what a breakpoint materialises: its own frame unless more is asked for",
    "S1": "side effects that happen while tracing only",
    "S2": "a global, closure or attribute whose value was baked in when the function was traced",
    "S3": "a leaked tracer, with the chain of names that holds it",
    "S4": "an iterator in `fori_loop`, `scan` or `cond`: `next` ran once, while tracing",
    "S5": "`x[i] = y`: JAX's error with the line rewritten",
    "S6": "an index out of bounds: the line, the index, the axis, the step",
    "S7": "a list or tuple where an array belongs",
    "S8": "a PRNG key that is used twice, with both lines",
    "S9": "Python control flow on a traced value: the error explained, with the rewrite",
    "S10": "a shape that depends on values, such as a boolean mask",
    "S11": "where a NaN or an infinity is born, forward and backward, with its operands",
    "S12": "float64 or int64 that was truncated to 32 bits",
    "S13": "a cast that changes values",
    "S14": "traces and compilations: how often, how long, and what changed",
    "S15": "differences from NumPy, explained where they occur",
    "G1": "two functions compared: outputs, intermediates, the first place where they part",
    "G2": "a program run equation by equation: over, into, out, to a line",
    "G3": "source, jaxpr, StableHLO and optimised HLO, linked line by line",
    "G4": "a program written to a folder as readable Python that gives the same numbers",
    "G5": "the equations of a program as a table",
    "G6": "two programs compared equation by equation",
    "G7": "a program that differs from trace to trace, with the line that causes it",
    "W5": "runs saved and loaded; a saved notebook that shows its last state",
    "W6": "several processes in one panel",
    "R1": "a run recorded into a folder that survives `kill -9`",
    "R2": "a run loaded in another process, without a device",
    "R3": "a run followed while another process writes it",
    "R4": "runs side by side: overlay, differences, the first step at which they part",
    "R5": "a call run again from its recorded inputs, equal to the bit",
    "R6": "processes of one job: merged streams, differences between replicas, one that died",
    "A1": "every row above on a GPU",
    "A2": "watching that does not stop a GPU's stream",
    "A3": "results that are the same to the bit by construction: `--exact`",
    "O1": "a training cell under `--watch-all` without a click: facts, curves, findings",
    "O2": "one value: code, picture, plot, histogram and gradient at one step",
    "O3": "the table of runs; two of them compared",
    "O4": "a notebook saved at any moment shows its runs as they were",
}
"""Row -> the behaviour that is visible."""


def marked_tests(folder: Path = ROOT / "tests") -> dict[str, list[str]]:
    """Return the tests marked with each row, as `rooms/test_file.py::test_name`, sorted."""
    tests: dict[str, list[str]] = defaultdict(list)
    for file in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                for row in _rows_of(node):
                    tests[row].append(f"{file.relative_to(folder)}::{node.name}")
    return dict(tests)


def document(tests: dict[str, list[str]]) -> str:
    """Return the text of `docs/behaviours.md`: for each row, the files with its tests, and how many each file has."""
    lines = [
        "# What the tool makes visible",
        "",
        "`python -m tests.behaviours` makes this table from the marks in `tests/`. A row without a test is not there yet.",
        "`pytest tests/FILE` runs the tests of a row.",
        "",
        "| row | what is seen | tests |",
        "|---|---|---|",
    ]
    for row, what in ROWS.items():
        files = Counter(name.partition("::")[0] for name in tests.get(row, []))
        shown = "<br>".join(f"`{file}` ({count})" for file, count in files.items()) or "not there yet"
        lines.append(f"| {row} | {what} | {shown} |")
    return "\n".join(lines) + "\n"


def _rows_of(function: ast.FunctionDef) -> Iterator[str]:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.behaviour":
            yield from (argument.value for argument in decorator.args if isinstance(argument, ast.Constant))


if __name__ == "__main__":
    DOCUMENT.write_text(document(marked_tests()), encoding="utf-8")
