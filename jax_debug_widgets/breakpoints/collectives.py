"""Hold and end programs on several devices, where other devices may wait in a collective for the one that stands.

If a device waits in a collective for longer than XLA allows, XLA ends the whole process. So all devices that fire are held
together. A stop ends in time if other devices may be waiting. A program is ended on all its devices at the same place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from jax_debug_widgets.events import Bundle, Tap

_WARN_FLAG = "xla_cpu_collective_call_warn_stuck_timeout_seconds"
_END_FLAG = "xla_cpu_collective_call_terminate_timeout_seconds"
_WARN_DEFAULT, _END_DEFAULT = 20, 40
_MARGIN = 10.0
"""A stop ends this number of seconds before XLA would end the process."""

ADVICE = f'set XLA_FLAGS="--{_END_FLAG}=86400" before JAX starts to stand longer'


def patience_of_xla() -> float:
    """Return the seconds after which XLA ends the process if a device does not reach a collective."""
    flags = os.environ.get("XLA_FLAGS", "")

    def value(flag: str, default: int) -> int:
        found = re.findall(rf"{flag}=(\d+)", flags)
        return int(found[-1]) if found else default

    return float(value(_WARN_FLAG, _WARN_DEFAULT) + value(_END_FLAG, _END_DEFAULT))


def standing_time() -> float:
    """Return the seconds that a stop may last while another device may be waiting."""
    return max(patience_of_xla() - _MARGIN, _MARGIN)


def runs_on_several(tap: Tap | Bundle) -> bool:
    """Whether several devices run the program of a tap."""
    return tap.nesting.replicas > 1


def warning(tap: Tap | Bundle, held: int) -> str:
    """Warn that devices outside a stop may be waiting; empty if all are held.

    Args:
      held: the number of devices that the stop holds, the one that stands included.
    """
    replicas = tap.nesting.replicas
    if replicas <= 1 or held >= replicas:
        return ""
    others = replicas - held
    return (
        f"{others} of {replicas} devices may be waiting for this one in a collective, and XLA ends the process after "
        f"{patience_of_xla():.0f} s: the program goes on by itself after {standing_time():.0f} s; {ADVICE}."
    )


class CollectiveStop:
    """Chooses one firing, the same on each device, at which a program on several devices is held or ended.

    Each tap that fires after the decision gets a target: one firing beyond what any device has reached. So no device is past
    the target. All devices run through the same sequence of firings, so they all come to the same target first.
    """

    def __init__(self) -> None:
        self._targets: dict[Tap | Bundle, int] = {}

    def is_here(
        self,
        tap: Tap | Bundle,
        coordinates: tuple[int, ...],
        reached: Mapping[tuple[int, ...], int],
    ) -> bool:
        """Whether the device at `coordinates` is at the chosen firing now.

        Args:
          reached: mesh coordinates of a device -> how often the tap has fired on it, this firing included.
        """
        if tap.nesting.conditional:
            return False  # Some devices may never reach this tap.
        if tap not in self._targets:
            self._targets[tap] = 1 + max(reached.values())
        return reached[coordinates] >= self._targets[tap]
