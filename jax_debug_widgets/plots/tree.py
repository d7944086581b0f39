"""One array as treescope shows it: any rank, in the notebook, without a kernel later on."""

from __future__ import annotations

from typing import Any

import numpy as np


def array_tree(value: np.ndarray) -> Any:
    """The array as a treescope figure, which a notebook shows.

    Args:
      value: of any shape; complex numbers are shown by their magnitude.

    Raises:
      ImportError: treescope is not installed.
    """
    try:
        import treescope
    except ImportError as error:
        msg = 'run.tree() needs treescope: pip install "jax-debug-widgets[treescope]"'
        raise ImportError(msg) from error
    numbers = np.abs(value) if value.dtype.kind == "c" else value
    # Types that NumPy does not know by itself, such as bfloat16.
    return treescope.render_array(numbers if numbers.dtype.kind in "biuf" else numbers.astype(np.float32))
