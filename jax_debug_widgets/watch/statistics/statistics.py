"""Compute statistics of arrays on the arrays' own devices.

It has more than 300 lines because the formulas of all statistics, and how partial results merge, must agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jax_core

from jax_debug_widgets._jax.compat.native import computed_natively, importable
from jax_debug_widgets._jax.passes.written_values import folded_transposes
from jax_debug_widgets.watch.statistics.chain import Chain
from jax_debug_widgets.watch.statistics.layout import (
    CHAIN,
    GPU,
    GPU_TYPES,
    GPU_WANTED,
    LARGEST,
    LEAST,
    SCALAR,
    SMALL,
    STATISTICS,
    TABLE,
    scratch_of,
)
from jax_debug_widgets.watch.statistics.recompute_plan import shows_all

_MERGED = {"l2": "norm", **{name: name for name in ("min", "max", "mean", "std", "value")}}
"""How statistics of parts are merged into that of the whole; the other statistics are counts and are added."""

_TOGETHER = 1 << 24
"""The most elements of the arrays in one group: if one of them is odd (see `SMALL`), all are kept and read together."""

_ROW = 1024
"""The number of elements in a row of the table of a group, so that arrays of any sizes make one table."""

_SCALES = 2.0**-126, 2.0**126
"""The least and the largest divisor: XLA multiplies by the reciprocal, which must not be flushed to zero."""


def names_of(aval: Any) -> tuple[str, ...]:
    """Return the names of the statistics of a value of this type."""
    return SCALAR if aval.size == 1 else STATISTICS


def merges_of(values: Sequence[str]) -> tuple[str, ...]:
    """Return for each value of a site how the values of its lanes, or devices, are merged; "" for values that are not numbers.

    `norm` is the root of the sum of squares, `sum` the sum; the others are names of statistics.
    """
    return tuple(_merge_of(name) if at == 0 or name != SCALAR[0] else "" for at, name in enumerate(values))


def _merge_of(name: str) -> str:
    is_count = name in STATISTICS or name.startswith("hist ")
    return _MERGED.get(name, "sum" if is_count else "")


def origins(jaxpr: Any) -> dict[Any, Any]:
    """Map a variable to another one of the body with the same statistics that XLA more likely writes to memory.

    XLA may never write a variable that only rearranges another one; reading it would make XLA write it.
    """
    folded = folded_transposes(jaxpr)
    found = dict(folded)
    for equation in jaxpr.eqns:
        if shows_all(equation) or equation.primitive.name == "rev" or _only_widens(equation):
            (operand,), (result,) = equation.invars, equation.outvars
            if not isinstance(operand, jax_core.Literal) and operand not in folded:
                found[result] = found.get(operand, operand)
    return found


def _only_widens(equation: Any) -> bool:
    if equation.primitive.name != "convert_element_type":
        return False
    operand = equation.invars[0].aval
    is_other = jnp.issubdtype(operand.dtype, jnp.complexfloating) or dtype_of(operand) != np.float32
    return equation.params["new_dtype"] == jnp.float32 and not is_other


def stacked(
    arrays: Sequence[jax.Array], rows: Sequence[int] | None = None, chains: Sequence[ChainOf] = ()
) -> jax.Array:
    """Return float32[n, k]: a row of `STATISTICS` for each array, or for each number in `rows`.

    The row of a single number begins with the number, see `dtype_of`. The statistics of complex numbers are those of
    their magnitudes. On a CPU `native` reads each array once and also makes the table, for which XLA would compile a
    large kernel. XLA itself takes six passes over each array. The small operations after them are combined for all
    arrays, because their number costs more than their size, at run time and at compile time.

    Args:
      chains: chains that read some of the arrays. In `rows`, the numbers after those of the arrays are the values that
        the chains watch.
    """
    rows = range(len(arrays)) if rows is None else rows
    if cuda_target() and not chains:
        return _by_cuda(arrays, rows)
    return _in_groups(arrays, rows, chains)


def stacked_if(wanted: jax.Array, arrays: Sequence[jax.Array], rows: Sequence[int]) -> jax.Array:
    """As `stacked` on a GPU where `wanted`, bool[], is true. Otherwise nothing is read, and the table is not defined."""
    return _by_cuda(arrays, rows, wanted)


def _by_cuda(arrays: Sequence[jax.Array], rows: Sequence[int], wanted: jax.Array | None = None) -> jax.Array:
    """As `stacked`, by one custom call for all arrays where the program runs on a GPU that holds whole arrays."""
    numbers = sorted(set(rows))
    order = np.array([numbers.index(row) for row in rows], np.int32)
    read = [array if (array := arrays[number]).dtype.name in GPU_TYPES else _in_float_bits(array) for number in numbers]
    before = [jnp.asarray(order), *([] if wanted is None else [wanted])]

    def otherwise(*operands: jax.Array) -> list[jax.Array]:
        return [_in_groups(operands[len(before) :], order.tolist(), ())]

    width = len(STATISTICS if any(array.size > 1 for array in read) else SCALAR)
    scratch = scratch_of(array.size for array in read)
    shape = len(order), width
    target = GPU if wanted is None else GPU_WANTED
    return computed_natively(None, [*before, *read], shape, otherwise, together=True, on_cuda=(target, scratch))[0]


def _in_groups(arrays: Sequence[jax.Array], rows: Sequence[int], chains: Sequence[ChainOf]) -> jax.Array:
    """As `stacked`, computed group by group, by `native` or XLA."""
    sizes = [array.size for array in arrays]
    wanted = sorted({number for number in rows if number < len(arrays)})
    found = {number: _in_float_bits(arrays[number]).reshape(1) for number in wanted if sizes[number] == 1}
    large = [number for number in wanted if sizes[number] > 1]
    for group in _groups(large, sizes):
        values = [as_float(arrays[number]) for number in group]
        found.update(zip(group, computed_natively(native_target(), values, (len(STATISTICS),), _by_xla), strict=True))
    pieces = [found[number] for number in wanted]
    numbers = list(wanted)
    beyond = itertools.count(len(arrays))
    for chain, sources in chains:
        numbers += itertools.islice(beyond, len(chain.watched))
        pieces.append(_of_chain(chain, [arrays[number] for number in sources]))
    width = len(STATISTICS if large or chains else SCALAR)
    place = {number: place for place, number in enumerate(numbers)}
    order = np.array([place[row] for row in rows], np.int32)
    if len(pieces) == 1 and np.array_equal(order, np.arange(pieces[0].size // width)):
        return pieces[0].reshape(-1, width)  # The only piece is the table.
    target = TABLE if native_target() else None

    def by_xla(_order: jax.Array, *pieces: jax.Array) -> list[jax.Array]:
        return [_table_by_xla(width, order, pieces)]

    return computed_natively(target, [jnp.asarray(order), *pieces], (len(order), width), by_xla, together=True)[0]


ChainOf = tuple[Chain, Sequence[int]]
"""A chain, and the indices of the arrays that it reads."""


def _of_chain(chain: Chain, sources: Sequence[jax.Array]) -> jax.Array:
    """Return float32[n, k]: a row of `STATISTICS` for each value that a chain watches."""

    def by_xla(_code: Any, _size: Any, *operands: jax.Array) -> list[jax.Array]:
        return [jnp.stack(_by_xla(*chain.evaluate(*operands)))]

    operands = [jnp.asarray(chain.code), jnp.int32([chain.size]), jnp.asarray(chain.numbers), *sources]
    shape = len(chain.watched), len(STATISTICS)
    return computed_natively(CHAIN if native_target() else None, operands, shape, by_xla, together=True)[0]


def _table_by_xla(width: int, rows: np.ndarray, pieces: Sequence[jax.Array]) -> jax.Array:
    """Return float32[n, width], see `TABLE`."""
    longer = [number for number, piece in enumerate(pieces) if piece.size > 1]
    single = [number for number, piece in enumerate(pieces) if piece.size == 1]
    columns = [pieces[number].reshape(-1, width).T for number in longer]
    if single:
        numbers = jnp.concatenate([pieces[number] for number in single])
        columns.append(jnp.pad(numbers[None], ((0, width - 1), (0, 0))))
    table = (columns[0] if len(columns) == 1 else jnp.concatenate(columns, 1)).T
    counts = [max(piece.size // width, 1) for piece in pieces]
    owner = np.repeat([*longer, *single], [counts[number] for number in (*longer, *single)])
    order = np.argsort(owner, kind="stable")[rows]
    return table if np.array_equal(order, np.arange(len(table))) else table[order.astype(np.int32)]


def _groups(numbers: Sequence[int], sizes: Sequence[int]) -> Iterator[list[int]]:
    group: list[int] = []
    for number in numbers:
        if group and sum(sizes[one] for one in group) + sizes[number] > _TOGETHER:
            yield group
            group = []
        group.append(number)
    if group:
        yield group


def dtype_of(aval: Any) -> np.dtype[Any]:
    """Return the dtype of a value's entries in the table: 32-bit integer scalars keep their bits, all else is float32."""
    is_exact = aval.size == 1 and aval.dtype in (np.int32, np.uint32)
    return np.dtype(aval.dtype if is_exact else np.float32)


def _in_float_bits(number: jax.Array) -> jax.Array:
    if dtype_of(number) == np.float32:
        return as_float(number)
    return lax.bitcast_convert_type(number, jnp.float32)


def as_float(array: jax.Array) -> jax.Array:
    """Return float32 of the same shape; the magnitude of complex numbers. Numbers out of range become the nearest float32."""
    is_infinite = None
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        array, is_infinite = jnp.abs(array), jnp.isinf(array)
    elif array.dtype == np.float64:
        is_infinite = jnp.isinf(array)
    held = array if is_infinite is None else jnp.where(is_infinite, array, _held(array))
    if array.dtype == np.float64:  # Numbers that are not zero stay so.
        held = jnp.where((array != 0) & (jnp.abs(array) < LEAST), jnp.copysign(LEAST, array), held)
    return held.astype(jnp.float32)


def _held(number: jax.Array) -> jax.Array:
    """Return the number clipped to float32's range: a large finite number must not become infinite."""
    return jnp.clip(number, -LARGEST, LARGEST)


def native_target() -> str | None:
    """Return the custom call that computes statistics; None without Numba, or, with a warning, if Numba does not work here."""
    if not importable(
        "jax_debug_widgets.watch.statistics.native", "XLA computes the statistics of watched values, which costs more"
    ):
        return None
    from jax_debug_widgets.watch.statistics.native import TARGET

    return TARGET


def cuda_target() -> str | None:
    """Return the custom call that computes statistics on a GPU; None if the default device is not a CUDA device.

    Return None too, with a warning, if something that it needs is missing.
    """
    if jax.default_backend() != "gpu" or "cuda" not in jax.local_devices()[0].client.platform_version:
        return None
    what = "XLA computes the statistics of watched values on the GPU, which costs several times more"
    return GPU if importable("jax_debug_widgets.watch.statistics.cuda", what) else None


def _by_xla(*arrays: jax.Array) -> list[jax.Array]:
    """Return a row of `STATISTICS` for each array."""
    parts = jnp.stack([part for each in zip(*map(_passes, arrays), strict=True) for part in each])
    parts = parts.reshape(-1, len(arrays))
    low, high, _, spread, squares, _ = parts
    largest = jnp.maximum(high, -low)
    is_plain = jnp.isfinite(squares + spread) & ((largest > SMALL) | (largest == 0))
    # If no array is odd, which is usual, the passes are enough.
    table = lax.cond(is_plain.all(), _of_finite, _of_any, parts, arrays)
    return list(table.T)


@jax.jit
def _passes(x: jax.Array) -> tuple[jax.Array, ...]:
    """Reduce an array in six passes. Jitted so that JAX traces and lowers arrays of one shape once.

    Each pass is a full reduction by one operation, for which XLA's CPU backend has kernels. Other reductions (to
    several results, of comparisons, of columns) it does not vectorise, or they cost more to compile than to run.
    """
    low, high = x.min(), x.max()
    away = x - _middle(low, high)
    return low, high, away.sum(), (away * away).sum(), (x * x).sum(), jnp.square(jnp.sign(x)).sum()


def _of_finite(parts: jax.Array, arrays: Sequence[jax.Array]) -> jax.Array:
    low, high, total, spread, squares, others = parts
    sizes = _sizes(arrays)
    none = jnp.zeros_like(low)
    mean, std = _moments(total, spread, sizes)
    return jnp.stack([low, high, _middle(low, high) + mean, std, jnp.sqrt(squares), sizes - others, none, none, none])


def _of_any(_parts: jax.Array, arrays: Sequence[jax.Array]) -> jax.Array:
    """Return float32[k, n]: a column of `STATISTICS` for each array, where some arrays are odd, see `SMALL`.

    All arrays become rows of one table, padded with NaN: a separate computation for each array takes long to compile.
    """
    lengths = [-(-array.size // _ROW) for array in arrays]
    filling = np.array([rows * _ROW - array.size for rows, array in zip(lengths, arrays, strict=True)], np.float32)
    pieces: list[Any] = []
    for array, fill in zip(arrays, filling, strict=True):
        pieces += [array.ravel(), np.full(int(fill), np.nan, np.float32)]
    table = jnp.concatenate(pieces).reshape(-1, _ROW)
    owner = np.repeat(np.arange(len(arrays)), lengths)
    is_mine = lax.broadcasted_iota(jnp.int32, (len(arrays), len(owner)), 0) == owner[None].astype(np.int32)

    def folded(columns: Sequence[jax.Array], combine: Callable[..., jax.Array], neutral: float) -> Sequence[jax.Array]:
        """Return float32[n] for each result: these columns reduced over the rows of each array."""
        rows = _folded(columns, combine, neutral)
        return _folded([jnp.where(is_mine, row[None], neutral) for row in rows], combine, neutral)

    finite = jnp.isfinite(table)
    high, negative = folded([jnp.where(finite, one, -jnp.inf) for one in (table, -table)], lax.max, -np.inf)
    scale = jnp.clip(jnp.maximum(high, negative), *_SCALES)
    middle = _middle(-negative / scale, high / scale)
    scaled = jnp.where(finite, table, 0) / scale[owner][:, None]
    away = jnp.where(finite, scaled - middle[owner][:, None], 0)
    kinds = [kind.astype(jnp.float32) for kind in (table == 0, jnp.isnan(table), table == jnp.inf, table == -jnp.inf)]
    sums = [away, away * away, scaled * scaled, *kinds]
    total, spread, squares, zeros, nan, above, below = folded(sums, lax.add, 0)
    nan = nan - filling
    count = _sizes(arrays) - nan - above - below
    mean, std = _moments(total, spread, jnp.maximum(count, 1))
    norm = jnp.where(nan > 0, jnp.nan, jnp.where(above + below > 0, jnp.inf, _held(jnp.sqrt(squares) * scale)))
    of_finite = [
        jnp.where(count > 0, one, jnp.nan) for one in (-negative, high, _held((middle + mean) * scale), std * scale)
    ]
    return jnp.stack([*of_finite, norm, zeros, nan, above, below])


def of_rows(table: jax.Array) -> jax.Array:
    """Return float32[n, k]: a row of `STATISTICS` for each row of float32[n, m]."""
    finite = jnp.isfinite(table)
    low, high = jnp.where(finite, table, jnp.inf).min(1), jnp.where(finite, table, -jnp.inf).max(1)
    scale = jnp.clip(jnp.maximum(high, -low), *_SCALES)
    middle = _middle(low / scale, high / scale)
    scaled = jnp.where(finite, table, 0) / scale[:, None]
    away = jnp.where(finite, scaled - middle[:, None], 0)
    squares = (scaled * scaled).sum(1)
    zeros, nan, above, below = (
        kind.sum(1, dtype=jnp.float32) for kind in (table == 0, jnp.isnan(table), table == jnp.inf, table == -jnp.inf)
    )
    count = table.shape[1] - nan - above - below
    mean, std = _moments(away.sum(1), (away * away).sum(1), jnp.maximum(count, 1))
    norm = jnp.where(nan > 0, jnp.nan, jnp.where(above + below > 0, jnp.inf, _held(jnp.sqrt(squares) * scale)))
    of_finite = [jnp.where(count > 0, one, jnp.nan) for one in (low, high, _held((middle + mean) * scale), std * scale)]
    return jnp.stack([*of_finite, norm, zeros, nan, above, below], 1)


def _folded(columns: Sequence[jax.Array], combine: Callable[..., jax.Array], neutral: float) -> Sequence[jax.Array]:
    """Reduce each array along its rows, in one loop for all of them."""

    def both(one: Sequence[jax.Array], other: Sequence[jax.Array]) -> Sequence[jax.Array]:
        return tuple(map(combine, one, other))

    return lax.reduce(tuple(columns), (np.float32(neutral),) * len(columns), both, (1,))


def _sizes(arrays: Sequence[jax.Array]) -> jax.Array:
    return jnp.array([array.size for array in arrays], jnp.float32)


def _middle(low: jax.Array, high: jax.Array) -> jax.Array:
    """Return the middle of the range.

    It is subtracted before squaring: squares of numbers far from zero lose their differences.
    """
    return low * 0.5 + high * 0.5


def _moments(total: jax.Array, spread: jax.Array, count: Any) -> tuple[jax.Array, jax.Array]:
    """Return mean and standard deviation of numbers, given their sum and the sum of their squares."""
    mean = total / count
    return mean, jnp.sqrt(jnp.maximum(spread / count - mean * mean, 0))
