"""Print the versions and the device as JSON.

This runs in a process of its own, because a process that asks for a GPU holds memory on it.
"""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("jax", "jaxlib", "jax-cuda13-plugin", "jax-cuda12-plugin", "numpy", "numba", "jax-debug-widgets")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def main() -> None:
    """Print the versions and the device."""
    import jax

    from tests.devices import PLATFORMS

    jax.config.update("jax_platforms", PLATFORMS)
    device = jax.devices()[0]
    told = {"versions": versions(), "device": f"{device.device_kind} ({device.platform})"}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
