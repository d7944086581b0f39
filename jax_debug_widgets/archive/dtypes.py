"""Map the names of dtypes in files to dtypes; only names in a fixed list are accepted."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from jax_debug_widgets.archive.layout import RunFileError

_NUMPY = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip

_MORE = (
    "bfloat16", "int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4",
    "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu",
)  # fmt: skip

_KNOWN = {name: np.dtype(name) for name in _NUMPY} | {
    name: np.dtype(getattr(ml_dtypes, name)) for name in _MORE if hasattr(ml_dtypes, name)
}


def dtype_called(name: object) -> np.dtype:
    """Return the dtype with this name.

    Raises:
      RunFileError: JAX has no dtype with this name.
    """
    if not isinstance(name, str) or name not in _KNOWN:
        raise RunFileError(f"no dtype of JAX is called {name!r:.80}")
    return _KNOWN[name]


def is_known(dtype: np.dtype) -> bool:
    """Return whether files can store the name of this dtype."""
    return dtype.name in _KNOWN
