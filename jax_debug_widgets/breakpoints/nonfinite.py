"""Check `--break-on nonfinite`, `nan` and `inf`: find events with values that become NaN or infinite."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from jax_debug_widgets.events import Tap
from jax_debug_widgets.events.numbers import infinite

Arrays = tuple[np.ndarray, ...]

Lanes = list[tuple[int, ...]]

Kinds = Collection[str]
"""The kinds that a condition looks for: `nan`, `inf` or both."""

KINDS: dict[str, Kinds] = {"nonfinite": ("nan", "inf"), "nan": ("nan",), "inf": ("inf",)}
"""Name of a condition -> the kinds that it looks for."""


class Onset:
    """Finds lanes that are not finite now and were finite at the firing before, so that a NaN stops a loop only once."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._before: dict[tuple[int, tuple[int, ...]], Lanes] = {}
        """Site and device -> the lanes that were not finite at the firing before."""

    def __call__(self, tap: Tap, arrays: Arrays) -> Lanes:
        """Return the lanes that are not finite in this firing and were finite in the one before, at this site and device."""
        here = tap.site.id, tap.coordinates_of(arrays)
        lanes, before = _lanes(tap, arrays, self._kinds), self._before.get(here, [])
        self._before[here] = lanes
        return [lane for lane in lanes if lane not in before] if before else lanes


def finite_at(arrays: Arrays, numbers: Collection[int]) -> Arrays:
    """Return the arrays with zeros at these positions. These values are watched too, and a stop at their lines reports them."""
    if not numbers:
        return arrays
    return tuple(np.zeros_like(one) if number in numbers else one for number, one in enumerate(arrays))


def nonfinite_text(tap: Tap, arrays: Arrays, kinds: Kinds = KINDS["nonfinite"]) -> str:
    """Describe the values that are not finite: `h is not finite: 3 NaN`; empty if all are finite."""
    watch = tap.site.watch
    intended = watch.intended if watch else ()
    if watch is not None and "nan" in tap.site.values:
        statistics = dict(zip(tap.site.values, arrays, strict=False))
        odd = sum(int(statistics[name]) for name in ("posinf", "neginf") if name not in intended)
        words = _not_finite(_about(tap, ""), {"nan": int(statistics["nan"]), "inf": odd}, kinds)
        value = statistics.get("value")
        if words and value is not None and value.shape == watch.shape:  # A large value may have been sampled.
            words += _first_at(value, intended, kinds)
        return words
    for name, array in zip(tap.site.values, arrays, strict=False):
        if _is_inexact(array) and not np.isfinite(array).all():
            counts = {"nan": int(np.isnan(array).sum()), "inf": int(infinite(array, intended).sum())}
            if words := _not_finite(_about(tap, name), counts, kinds):
                return words
    return ""


def _first_at(value: np.ndarray, intended: Sequence[str], kinds: Kinds) -> str:
    """Name the element that is not finite, or the first of several: `, at [3, 0]`."""
    odd = (np.isnan(value) & ("nan" in kinds)) | (infinite(value, intended) & ("inf" in kinds))
    at = np.argwhere(odd)
    return f", {'' if len(at) == 1 else 'the first '}at {at[0].tolist()}" if len(at) else ""


def _about(tap: Tap, name: str) -> str:
    """Return the name of a value for people: a watched value has its own name, a gradient `gradient of h`."""
    watch = tap.site.watch
    if watch is None:
        return name
    return f"gradient of {watch.name}" if watch.role == "gradient" else watch.name


def _not_finite(name: str, counts: dict[str, int], kinds: Kinds) -> str:
    words = {"nan": "NaN", "inf": "infinite"}
    found: Iterable[str] = (f"{count} {words[kind]}" for kind, count in counts.items() if count and kind in kinds)
    listed = ", ".join(found)
    return f"{name} is not finite: {listed}" if listed else ""


def _lanes(tap: Tap, arrays: Arrays, kinds: Kinds) -> Lanes:
    if tap.site.watch is not None:
        return [()] if nonfinite_text(tap, arrays, kinds) else []
    suspects = [array for array in arrays[: len(tap.shapes)] if _is_inexact(array)]
    if all(bool(np.isfinite(array).all()) for array in suspects):
        return []
    real = (lane for lane in tap.lane_order if not tap.is_phantom(arrays, lane))
    return [lane for lane in real if any(_has(value, kinds) for value in tap.values_of(arrays, lane))]


def _has(value: np.ndarray, kinds: Kinds) -> bool:
    """Whether any element is of one of these kinds (NaN or infinite)."""
    if not _is_inexact(value):
        return False
    return ("nan" in kinds and bool(np.isnan(value).any())) or ("inf" in kinds and bool(np.isinf(value).any()))


def _is_inexact(array: np.ndarray) -> bool:
    """Whether an array may hold NaN. NumPy does not count `bfloat16` and the like as floats."""
    return array.dtype.kind in "fc" or (array.dtype.kind == "V" and array.dtype.name.startswith(("bfloat", "float")))
