"""Name the section of JAX's documentation that explains a kind of finding."""

from __future__ import annotations

_DOCUMENTATION = "https://docs.jax.dev/en/latest"

_CONTROL_FLOW = "201/control-flow.html"
_DTYPES = "101/default_dtypes.html"
_JIT = "201/jit.html"
_PURE = "101/transformations.html#consequence-1-transformations-require-traceable-functions"
_SHARP_BITS = "notebooks/Common_Gotchas_in_JAX.html"
_TO_NUMPY = "101/errors.html#jax.errors.TracerArrayConversionError"

_SECTIONS = {
    "branches": _CONTROL_FLOW,
    "callback": "_autosummary/jax.pure_callback.html",
    "carry": _CONTROL_FLOW,
    "casts": _DTYPES,
    "checkify": "debugging/checkify_guide.html",
    "control-flow": _CONTROL_FLOW,
    "donated": f"{_JIT}#jax-201-buffer-donation",
    "donated-twice": f"{_JIT}#jax-201-buffer-donation",
    "frozen": "101/pytrees.html",
    "hashed": f"{_JIT}#marking-arguments-as-static",
    "in-place": "_autosummary/jax.numpy.ndarray.at.html",
    "iterator-operand": _PURE,
    "key-reuse": "101/errors.html#jax.errors.KeyReuseError",
    "keys": "jax.random.html#prng-keys",
    "leaks": "101/errors.html#jax.errors.UnexpectedTracerError",
    "lists": f"{_SHARP_BITS}#non-array-inputs-numpy-vs-jax",
    "no-array": "101/pytrees.html",
    "nonfinite": "201/debugging.html#jax-debug-nans",
    "numpy": _TO_NUMPY,
    "numpy-call": _TO_NUMPY,
    "oob": f"{_SHARP_BITS}#out-of-bounds-indexing",
    "outer-state": "101/errors.html#jax.errors.UnexpectedTracerError",
    "overflow": _DTYPES,
    "prints": "201/debugging.html#sharp-bits-of-jax-debug-print",
    "purity": _PURE,
    "retraces": f"{_JIT}#jit-and-caching",
    "shape": f"{_SHARP_BITS}#dynamic-shapes",
    "stale": _PURE,
    "static": f"{_JIT}#marking-arguments-as-static",
    "truth": _CONTROL_FLOW,
    "uncalled": _CONTROL_FLOW,
    "unpacked": _CONTROL_FLOW,
    "x64": _DTYPES,
}
"""Kind of finding -> page and section. If JAX 0.12 names a section in its own message, it is that one."""


def section_of(kind: str) -> str:
    """Return the address of the section that explains a kind of finding; empty if there is none."""
    section = _SECTIONS.get(kind)
    return f"{_DOCUMENTATION}/{section}" if section else ""
