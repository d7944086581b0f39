"""Programs on several devices: while one of them stands, the others may wait for it, and XLA's patience is limited.

A device that waits in a collective for longer than XLA allows ends the whole process. So all devices that fire are held
together, the stop of a device that others may be waiting for ends in time, and a program is ended on all of its devices at
the same place.
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
"""Seconds before the end of XLA's patience when we go on."""

ADVICE = f'set XLA_FLAGS="--{_END_FLAG}=86400" before JAX starts to stand longer'


def patience_of_xla() -> float:
    """Seconds after which XLA ends the process when a device does not come to a collective."""
    flags = os.environ.get("XLA_FLAGS", "")

    def value(flag: str, default: int) -> int:
        found = re.findall(rf"{flag}=(\d+)", flags)
        return int(found[-1]) if found else default

    return float(value(_WARN_FLAG, _WARN_DEFAULT) + value(_END_FLAG, _END_DEFAULT))


def standing_time() -> float:
    """Seconds that a stop may last while another device may be waiting."""
    return max(patience_of_xla() - _MARGIN, _MARGIN)


def runs_on_several(tap: Tap | Bundle) -> bool:
    """Whether other devices run the same program."""
    return tap.nesting.replicas > 1


def warning(tap: Tap | Bundle, held: int) -> str:
    """A warning of what may go wrong while a stop stands and `held` of the devices are held with it; empty if nothing."""
    replicas = tap.nesting.replicas
    if replicas <= 1 or held >= replicas:
        return ""
    others = replicas - held
    return (
        f"{others} of {replicas} devices may be waiting for this one in a collective, and XLA ends the process after "
        f"{patience_of_xla():.0f} s: the program goes on by itself after {standing_time():.0f} s; {ADVICE}."
    )


class CollectiveStop:
    """Where a program on several devices is to be held or ended: the same firing on each.

    Each tap that fires after the decision gets a target one beyond what any device has reached, so no device is past it;
    all run through the same sequence of firings, so all come first to the same target.
    """

    def __init__(self) -> None:
        self._targets: dict[Tap | Bundle, int] = {}

    def is_here(
        self,
        tap: Tap | Bundle,
        coordinates: tuple[int, ...],
        reached: Mapping[tuple[int, ...], int],
    ) -> bool:
        """Whether the device at `coordinates` is there now; `reached`: how often each has fired, this time included."""
        if tap.nesting.conditional:
            return False  # Not every device need come here.
        if tap not in self._targets:
            self._targets[tap] = 1 + max(reached.values())
        return reached[coordinates] >= self._targets[tap]
