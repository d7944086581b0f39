"""Print the versions and the device as JSON. A process of its own: who asks for a GPU holds memory on it."""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("jax", "jaxlib", "jax-cuda13-plugin", "jax-cuda12-plugin", "numpy", "numba", "jax-debug-widgets")


def versions() -> dict[str, str]:
    """Of Python and the packages that are installed."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def main() -> None:
    """Print them."""
    import jax

    from tests.devices import PLATFORMS

    jax.config.update("jax_platforms", PLATFORMS)
    device = jax.devices()[0]
    told = {"versions": versions(), "device": f"{device.device_kind} ({device.platform})"}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
