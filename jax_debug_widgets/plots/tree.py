"""Show one array of any rank with treescope, as static output that needs no kernel later on."""

from __future__ import annotations

from typing import Any

import numpy as np


def array_tree(value: np.ndarray) -> Any:
    """Make a treescope figure of an array, which a notebook can show.

    Args:
      value: an array of any shape; complex numbers are shown by their magnitude.

    Raises:
      ImportError: treescope is not installed.
    """
    try:
        import treescope
    except ImportError as error:
        msg = 'run.tree() needs treescope: pip install "jax-debug-widgets[treescope]"'
        raise ImportError(msg) from error
    numbers = np.abs(value) if value.dtype.kind == "c" else value
    # `kind` is another one for types that are not NumPy's own, such as bfloat16.
    return treescope.render_array(numbers if numbers.dtype.kind in "biuf" else numbers.astype(np.float32))
