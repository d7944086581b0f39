"""Install kernels with other versions of ipykernel than the environment's own: each has other ways into a busy kernel.

A version is installed alone, without its dependencies, into a folder that comes first on the kernel's path.
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
"""The oldest supported version, one with subshells, and the one that sends a widget's messages to the main thread.

7.0 and 7.1 sometimes lose text printed after an interrupt, also without this package, so they are not tested each time.
"""

ALL_VERSIONS = ("6.31.0", "7.0.1", "7.1.0", "7.3.0", "7.4.0")
"""All versions that were examined; `JAXDEBUG_KERNELS=all` tests them."""

_FOLDER = "JAXDEBUG_KERNEL_FOLDER"
"""The environment variable that names a folder where versions stay installed from one run to the next."""


def all_of(every: Any, some: Any) -> Any:
    """Return `every` if `JAXDEBUG_KERNELS=all` asks for all cases, else `some`, which are tested for each change."""
    return every if os.environ.get("JAXDEBUG_KERNELS") == "all" else some


def versions() -> tuple[str, ...]:
    """Return the versions to test."""
    return all_of(ALL_VERSIONS, VERSIONS)


@functools.cache
def folder_of(version: str) -> Path:
    """Return the folder with this version of ipykernel, after installing it if needed."""
    base = Path(os.environ.get(_FOLDER) or Path(tempfile.gettempdir()) / "jaxdebug-kernels")
    folder = base / version
    if not folder.is_dir():
        base.mkdir(parents=True, exist_ok=True)
        # Other test workers may install it, too: the first one moves the complete folder into place.
        with tempfile.TemporaryDirectory(dir=base) as beside:
            fresh = Path(beside) / version
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(fresh)]
            subprocess.run([*command, f"ipykernel=={version}"], check=True, timeout=300)
            with contextlib.suppress(OSError):
                fresh.rename(folder)
    return folder


def spec_of(version: str) -> dict[str, Any]:
    """Return the contents of a `kernel.json` for this version."""
    path = os.pathsep.join(filter(None, (str(folder_of(version)), os.environ.get("PYTHONPATH", ""))))
    return {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": f"ipykernel {version}",
        "language": "python",
        "env": {"PYTHONPATH": path},
    }


def kernel_spec(version: str) -> jupyter_client.kernelspec.KernelSpec:
    """Return the same for `jupyter_client`."""
    return jupyter_client.kernelspec.KernelSpec(**spec_of(version))
