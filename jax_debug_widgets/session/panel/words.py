"""Write numbers for the overview; the twin of `js/src/kit/format.ts`."""

from __future__ import annotations

import math

_INTEGERS, _LARGE, _SMALL = 1e9, 1e4, 1e-3
"""The limits for numbers without an exponent: integers below the first, other numbers between the third and the second."""


def gone_from(first: float, last: float) -> str:
    """Write the first and the last number: `2.29 → 0.2`, or one number if both are written alike."""
    return " → ".join(dict.fromkeys(map(brief, (float(first), float(last)))))


def brief(y: float) -> str:
    """Write a number with few characters."""
    if not math.isfinite(y):
        return "nan" if math.isnan(y) else "inf" if y > 0 else "-inf"
    if y.is_integer() and abs(y) < _INTEGERS:
        return str(int(y))
    if abs(y) >= _LARGE or abs(y) < _SMALL:
        mantissa, exponent = f"{y:.1e}".split("e")
        return f"{mantissa}e{int(exponent):+d}"
    return f"{float(f'{y:.3g}'):.10g}"
