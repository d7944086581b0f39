"""Print the versions, the device, and which of our kernels run there, as JSON.

This runs in a process of its own, because a process that asks for a GPU holds memory on it.
"""

from __future__ import annotations

import json
import platform
import sys
import warnings
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


def kernels() -> dict[str, str]:
    """Return for each kind of our kernels whether they can be used on the device, and if not, why."""
    from jax_debug_widgets._jax.passes import device_rings
    from jax_debug_widgets.watch.statistics.statistics import cuda_target

    found = {}
    for name, ask in (("statistics", cuda_target), ("rings", device_rings._blocks)):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            is_there = ask() is not None
        found[name] = "used" if is_there else "; ".join(str(one.message) for one in warned) or "not used"
    return found


def main(ask: str = "device") -> None:
    """Print the versions and the device, or `kernels`."""
    import jax

    from tests.devices import PLATFORM, PLATFORMS

    jax.config.update("jax_platforms", PLATFORMS)
    device = jax.devices()[0]
    if (
        device.platform == "cpu" and PLATFORM != "cpu"
    ):  # Without its plugin JAX takes the next platform, and says nothing.
        sys.exit(
            f"JAX finds no device for JDW_PLATFORM={PLATFORM}, only {device.device_kind}: is its plugin installed?"
        )
    of_device = {"versions": versions(), "device": f"{device.device_kind} ({device.platform})"}
    sys.stdout.write(json.dumps(kernels() if ask == "kernels" else of_device) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
