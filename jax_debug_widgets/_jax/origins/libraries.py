"""Distinguish the files of libraries from those that their user writes."""

from __future__ import annotations

import functools
import os
import re
import sysconfig

import jax

from jax_debug_widgets._jax.compat.hidden_frames import FOLDER

_STANDARD_LIBRARY = sysconfig.get_paths()["stdlib"] + os.sep
_JAX = os.path.join(os.path.dirname(jax.__file__), "")
_INSTALLED = re.compile(r"[/\\](site-packages|dist-packages)[/\\]")


@functools.lru_cache(maxsize=4096)
def is_library(file: str) -> bool:
    """Whether a file is installed or ours, and not a notebook's cell or a file that its user writes."""
    return is_installed(file) or file.startswith((_STANDARD_LIBRARY, FOLDER, "<frozen "))


def is_installed(file: str) -> bool:
    """Whether a file belongs to an installed package."""
    return bool(_INSTALLED.search(file))


def is_of_python(file: str) -> bool:
    """Whether a file belongs to Python's standard library. Its folder may contain that of installed packages."""
    return file.startswith(_STANDARD_LIBRARY) and not is_installed(file)


def is_of_jax(file: str) -> bool:
    """Whether a file is JAX's own. JAX hides more files from tracebacks: flax and equinox register theirs."""
    return file.startswith(_JAX)
