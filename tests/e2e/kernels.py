"""Kernels with other versions of ipykernel, beside the environment's own: the ways into a busy kernel differ.

A version is installed alone, without what it needs, into a folder that comes first on the kernel's path.
"""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jupyter_client.kernelspec

VERSIONS = ("6.31.0", "7.3.0", "7.4.0")
"""The oldest that is supported, one with subshells, and the one that sends a widget's messages to the main thread.

7.0 and 7.1 now and then lose what is printed after an interrupt, without us as well: not for every change.
"""

ALL_VERSIONS = ("6.31.0", "7.0.1", "7.1.0", "7.3.0", "7.4.0")
"""Those that were looked at one by one; `JAXDEBUG_KERNELS=all` runs them."""

_FOLDER = "JAXDEBUG_KERNEL_FOLDER"
"""The environment variable that names a folder where versions stay installed from one run to the next."""


def all_of(every: Any, some: Any) -> Any:
    """Every case where all are asked for (`JAXDEBUG_KERNELS=all`), else those that every change is tested with."""
    return every if os.environ.get("JAXDEBUG_KERNELS") == "all" else some


def versions() -> tuple[str, ...]:
    """The versions to test."""
    return all_of(ALL_VERSIONS, VERSIONS)


@functools.cache
def folder_of(version: str) -> Path:
    """Where this version of ipykernel is, installed if it is not."""
    base = Path(os.environ.get(_FOLDER) or Path(tempfile.gettempdir()) / "jaxdebug-kernels")
    folder = base / version
    if not folder.is_dir():
        base.mkdir(parents=True, exist_ok=True)
        # Other workers of the tests may do the same: whoever is first moves a whole one into place.
        with tempfile.TemporaryDirectory(dir=base) as beside:
            fresh = Path(beside) / version
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(fresh)]
            subprocess.run([*command, f"ipykernel=={version}"], check=True, timeout=300)
            with contextlib.suppress(OSError):
                fresh.rename(folder)
    return folder


def spec_of(version: str) -> dict[str, Any]:
    """The contents of a `kernel.json` for it."""
    path = os.pathsep.join(filter(None, (str(folder_of(version)), os.environ.get("PYTHONPATH", ""))))
    return {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": f"ipykernel {version}",
        "language": "python",
        "env": {"PYTHONPATH": path},
    }


def kernel_spec(version: str) -> jupyter_client.kernelspec.KernelSpec:
    """The same for `jupyter_client`."""
    return jupyter_client.kernelspec.KernelSpec(**spec_of(version))
