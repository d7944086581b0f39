"""`--break-on nonfinite`, `nan`, `inf`: the events whose values become so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from jax_debug_widgets.events import Tap
from jax_debug_widgets.events.numbers import infinite

Arrays = tuple[np.ndarray, ...]

Lanes = list[tuple[int, ...]]

Kinds = Collection[str]
"""The kinds that a condition looks for, of `nan` and `inf`."""

KINDS: dict[str, Kinds] = {"nonfinite": ("nan", "inf"), "nan": ("nan",), "inf": ("inf",)}
"""Name of a condition -> the kinds that it looks for."""


class Onset:
    """Lanes that are not finite and were at the firing before: who has seen a NaN need not stop for it in every iteration."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._before: dict[tuple[int, tuple[int, ...]], Lanes] = {}
        """By site and device."""

    def __call__(self, tap: Tap, arrays: Arrays) -> Lanes:
        """The lanes that are not finite in this firing and were finite in the one before, at this site and device."""
        here = tap.site.id, tap.coordinates_of(arrays)
        lanes, before = _lanes(tap, arrays, self._kinds), self._before.get(here, [])
        self._before[here] = lanes
        return [lane for lane in lanes if lane not in before] if before else lanes


def finite_at(arrays: Arrays, numbers: Collection[int]) -> Arrays:
    """The arrays with zeros for those of these numbers: a stop at their own lines tells of them."""
    if not numbers:
        return arrays
    return tuple(np.zeros_like(one) if number in numbers else one for number, one in enumerate(arrays))


def nonfinite_words(tap: Tap, arrays: Arrays, kinds: Kinds = KINDS["nonfinite"]) -> str:
    """`h is not finite: 3 NaN`; empty where all are."""
    watch = tap.site.watch
    meant = watch.meant if watch else ()
    if watch is not None and "nan" in tap.site.values:
        told = dict(zip(tap.site.values, arrays, strict=False))
        odd = sum(int(told[name]) for name in ("posinf", "neginf") if name not in meant)
        words = _not_finite(_about(tap, ""), {"nan": int(told["nan"]), "inf": odd}, kinds)
        value = told.get("value")
        if words and value is not None and value.shape == watch.shape:  # A large one may have been sampled.
            words += _first_at(value, meant, kinds)
        return words
    for name, array in zip(tap.site.values, arrays, strict=False):
        if _is_inexact(array) and not np.isfinite(array).all():
            counts = {"nan": int(np.isnan(array).sum()), "inf": int(infinite(array, meant).sum())}
            if words := _not_finite(_about(tap, name), counts, kinds):
                return words
    return ""


def _first_at(value: np.ndarray, meant: Sequence[str], kinds: Kinds) -> str:
    """Which element it is, or the first of several: `, at [3, 0]`."""
    odd = (np.isnan(value) & ("nan" in kinds)) | (infinite(value, meant) & ("inf" in kinds))
    at = np.argwhere(odd)
    return f", {'' if len(at) == 1 else 'the first '}at {at[0].tolist()}" if len(at) else ""


def _about(tap: Tap, name: str) -> str:
    """The name of a value for people: a watched one by its own name, its gradient as such."""
    watch = tap.site.watch
    if watch is None:
        return name
    return f"gradient of {watch.name}" if watch.role == "gradient" else watch.name


def _not_finite(name: str, counts: dict[str, int], kinds: Kinds) -> str:
    words = {"nan": "NaN", "inf": "infinite"}
    found: Iterable[str] = (f"{count} {words[kind]}" for kind, count in counts.items() if count and kind in kinds)
    told = ", ".join(found)
    return f"{name} is not finite: {told}" if told else ""


def _lanes(tap: Tap, arrays: Arrays, kinds: Kinds) -> Lanes:
    if tap.site.watch is not None:
        return [()] if nonfinite_words(tap, arrays, kinds) else []
    suspects = [array for array in arrays[: len(tap.shapes)] if _is_inexact(array)]
    if all(bool(np.isfinite(array).all()) for array in suspects):
        return []
    real = (lane for lane in tap.lane_order if not tap.is_phantom(arrays, lane))
    return [lane for lane in real if any(_has(value, kinds) for value in tap.values_of(arrays, lane))]


def _has(value: np.ndarray, kinds: Kinds) -> bool:
    """Whether any element is of one of these kinds."""
    if not _is_inexact(value):
        return False
    return ("nan" in kinds and bool(np.isnan(value).any())) or ("inf" in kinds and bool(np.isinf(value).any()))


def _is_inexact(array: np.ndarray) -> bool:
    """Whether it may hold NaN; `bfloat16` and the like are no NumPy floats."""
    return array.dtype.kind in "fc" or (array.dtype.kind == "V" and array.dtype.name.startswith(("bfloat", "float")))
