"""Compute the statistics of arrays in one pass: functions compiled by Numba, as custom calls of XLA's CPU backend.

XLA takes six passes for them and vectorises none of them well; this takes a tenth to a twentieth of the time, and next
to nothing to compile into a program. All of XLA's threads take part. Importing this module needs Numba; the machine code is
kept on disk, and Numba looks at no other file to see whether it is still right: a change of `accumulators` needs one here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import binding
from numba import carray, cfunc, njit, types

from jax_debug_widgets._jax.compat.ffi import (
    ARGUMENT_COUNT,
    ARGUMENTS,
    FRAME_WORDS,
    RESULTS,
    array_of,
    asks_for_version,
    pointer,
    register,
    words,
)
from jax_debug_widgets._jax.compat.thread_pool import WORK, address_of, do_together, doing, new_job
from jax_debug_widgets.watch.statistics.accumulators import (
    BLOCK,
    ENDS,
    ODD,
    SUMS,
    begin,
    begin_odd,
    join,
    join_odd,
    see,
    see_odd,
    write_odd,
    write_plain,
)
from jax_debug_widgets.watch.statistics.chain import FILL, LOAD, OPERATIONS, SPREAD
from jax_debug_widgets.watch.statistics.layout import CHAIN, STATISTICS, TABLE, TARGET

_STATISTICS = len(STATISTICS)

_FIRST_SOURCE = 2
"""Before the numbers and the sources of a chain come its code and its size."""

_PART_WORK, _MOST_PARTS = 1 << 15, 16
"""Operations on single elements that are worth a thread: some 5 µs, less than it takes to wake one, but XLA's are often awake
still, and stay so. And of how many parts a job is at most. How many threads there are does not matter: with it the last bit of
a sum would change."""

_LOAD, _SPREAD, _FILL = map(OPERATIONS.index, (LOAD, SPREAD, FILL))
_ADD, _SUB, _MUL, _DIV, _MAX, _MIN, _SQRT = map(OPERATIONS.index, ("add", "sub", "mul", "div", "max", "min", "sqrt"))


@njit(error_model="numpy")
def _operate(number: int, x: Any, y: Any, out: Any, count: int) -> None:  # noqa: C901, PLR0912 - a loop for each.
    """An operation on parts of arrays. Each is rounded to float32 by itself."""
    if number == _ADD:
        for i in range(count):
            out[np.uint64(i)] = x[np.uint64(i)] + y[np.uint64(i)]
    elif number == _SUB:
        for i in range(count):
            out[np.uint64(i)] = x[np.uint64(i)] - y[np.uint64(i)]
    elif number == _MUL:
        for i in range(count):
            out[np.uint64(i)] = x[np.uint64(i)] * y[np.uint64(i)]
    elif number == _DIV:
        for i in range(count):
            out[np.uint64(i)] = x[np.uint64(i)] / y[np.uint64(i)]
    elif number == _MAX:
        for i in range(count):
            one, other = x[np.uint64(i)], y[np.uint64(i)]
            out[np.uint64(i)] = one if one > other or math.isnan(one) else other
    elif number == _MIN:
        for i in range(count):
            one, other = x[np.uint64(i)], y[np.uint64(i)]
            out[np.uint64(i)] = one if one < other or math.isnan(one) else other
    elif number == _SQRT:
        for i in range(count):
            out[np.uint64(i)] = math.sqrt(x[np.uint64(i)])


@njit
def _take_in(number: int, source: Any, size: int, b: int, start: int, out: Any, count: int) -> None:
    """A block of an operand, from element `start` of the result on; `b` as in `Chain.code`."""
    x = carray(pointer(source), (size,), np.float32)
    if number == _FILL:
        value = x[b]
        for i in range(count):
            out[np.uint64(i)] = value
    else:  # Each of `x` is repeated, then all of them again.
        at, left = start // b % size, b - start % b
        for i in range(count):
            out[np.uint64(i)] = x[np.uint64(at)]
            left -= 1
            if left == 0:
                at, left = at + 1, b
                if at == size:
                    at = 0


_SOURCES, _SIZES, _CODE, _STEPS, _SIZE, _LENGTH, _WATCHED, _IS_ODD, _ENDS, _SUMS, _SEEN, _JOB_WORDS = range(
    WORK, WORK + 12
)
"""The words of a job: the addresses of the addresses of its sources and of their sizes; of its code, and how many steps
that is; elements of its arrays, and of a part of them; how many results are watched; the addresses of what is known of
them: int64[watched], and of each part int64[watched, ENDS], float64[watched, SUMS] and float64[watched, ODD]."""


@njit
def _number(word: Any) -> Any:
    return np.int64(word)


@njit
def _floats(address: Any) -> Any:
    """A block of float32 in memory."""
    return carray(pointer(address), (BLOCK,), np.float32)


@njit
def _run_part(job: Any, part: int) -> None:
    """Run a chain on a part of its arrays, block by block, and take in its watched results: those that are odd as such."""
    fields = words(job, _JOB_WORDS)
    steps, watched, length = _number(fields[_STEPS]), _number(fields[_WATCHED]), _number(fields[_LENGTH])
    code = carray(pointer(fields[_CODE]), (steps, 5), np.int32)
    sources, sizes = words(fields[_SOURCES], steps), words(fields[_SIZES], steps)
    is_odd = carray(pointer(fields[_IS_ODD]), (watched,), np.int64)
    before = np.uint64(8 * part * watched)
    ends = carray(pointer(fields[_ENDS] + before * np.uint64(ENDS)), (watched, ENDS), np.int64)
    sums = carray(pointer(fields[_SUMS] + before * np.uint64(SUMS)), (watched, SUMS), np.float64)
    seen = carray(pointer(fields[_SEEN] + before * np.uint64(ODD)), (watched, ODD), np.float64)
    for row in range(watched):
        begin(ends[row], sums[row])
        begin_odd(seen[row])
    registers = np.empty((steps, BLOCK), np.float32)
    places = np.empty(steps, np.uint64)  # The address of what is in each register: there, or in a source itself.
    stop = min(_number(fields[_SIZE]), (part + 1) * length)
    for start in range(part * length, stop, BLOCK):
        count = min(stop - start, BLOCK)
        for step in range(steps):
            number, a, b, place, row = code[step, 0], code[step, 1], code[step, 2], code[step, 3], code[step, 4]
            if number == _LOAD:
                places[place] = sources[a] + np.uint64(4 * start)
            else:
                result = registers[place]
                if number <= _FILL:
                    _take_in(number, sources[a], _number(sizes[a]), b, start, result, count)
                else:
                    _operate(number, _floats(places[a]), _floats(places[b]), result, count)
                places[place] = np.uint64(result.ctypes.data)
            if row >= 0 and is_odd[row]:
                see_odd(_floats(places[place]), count, seen[row])
            elif row >= 0:
                bits = carray(pointer(places[place]), (BLOCK,), np.int32)
                see(_floats(places[place]), bits, count, ends[row], sums[row])


_TASK = "jax_debug_widgets_run_parts"
_task = address_of(_TASK)
_run_parts = doing(_run_part)


@cfunc(types.uint64(types.uint64), cache=True)
def _help(job: Any) -> Any:
    """The function that XLA's threads run to help."""
    _run_parts(job)
    return 0


binding.add_symbol(_TASK, _help.address)


@njit
def _run(
    frame: Any, code: Any, sources: Any, sizes: Any, size: int, is_odd: Any, ends: Any, sums: Any, seen: Any
) -> None:
    """Run all parts of a chain; `ends`, `sums` and `seen` have an entry for each part."""
    parts = len(ends)
    job = new_job(parts, _JOB_WORDS)
    fields = words(job, _JOB_WORDS)
    fields[_SOURCES], fields[_SIZES] = np.uint64(sources.ctypes.data), np.uint64(sizes.ctypes.data)
    fields[_CODE], fields[_STEPS] = np.uint64(code.ctypes.data), np.uint64(len(code))
    fields[_SIZE], fields[_LENGTH] = np.uint64(size), np.uint64(-(-size // (parts * BLOCK)) * BLOCK)
    fields[_WATCHED], fields[_IS_ODD] = np.uint64(len(is_odd)), np.uint64(is_odd.ctypes.data)
    fields[_ENDS], fields[_SUMS] = np.uint64(ends.ctypes.data), np.uint64(sums.ctypes.data)
    fields[_SEEN] = np.uint64(seen.ctypes.data)
    do_together(frame, _task(), job)


@njit
def _run_chain(frame: Any, code: Any, sources: Any, sizes: Any, size: int, out: Any) -> None:
    """Write the statistics of the watched results of a chain into float32[n, k]; a second run computes those of odd ones."""
    watched, parts = len(out), max(1, min(size * len(code) // _PART_WORK, _MOST_PARTS))
    is_odd, odd = np.zeros(watched, np.int64), 0
    ends, sums = np.empty((parts, watched, ENDS), np.int64), np.empty((parts, watched, SUMS))
    seen = np.empty((parts, watched, ODD))
    _run(frame, code, sources, sizes, size, is_odd, ends, sums, seen)
    for row in range(watched):
        for part in range(1, parts):
            join(ends[0, row], sums[0, row], ends[part, row], sums[part, row])
        is_odd[row] = not write_plain(out[row], size, ends[0, row], sums[0, row])
        odd += is_odd[row]
    if odd == 0:
        return
    _run(frame, code, sources, sizes, size, is_odd, ends, sums, seen)
    for row in range(watched):
        if is_odd[row]:
            for part in range(1, parts):
                join_odd(seen[0, row], seen[part, row])
            write_odd(out[row], seen[0, row])


@njit
def _gather(rows: Any, operands: Any, count: Any, table: Any) -> None:
    """Write the rows with these numbers into a table: of all rows of the pieces, which come after the first operand."""
    width, first = table.size // rows.size, 0
    for number in range(1, count):
        piece = array_of(operands, number, np.float32)
        length = max(piece.size // width, 1)
        for row in range(rows.size):
            if first <= rows[row] < first + length:
                for column in range(width):
                    at = (rows[row] - first) * width + column
                    table[row * width + column] = piece[at] if at < piece.size else np.float32(0)
        first += length


@njit
def _table_of(frame: Any) -> Any:
    """The result of a custom call as float32[n, k], see `STATISTICS`."""
    results = array_of(frame[RESULTS], 0, np.float32)
    return carray(pointer(np.uint64(results.ctypes.data)), (results.size // _STATISTICS, _STATISTICS), np.float32)


@cfunc(types.uint64(types.uint64), cache=True)
def _handle(address: Any) -> Any:
    """Called by XLA: once to ask for the version, then with each array. Returns 0: no error."""
    frame = words(address, FRAME_WORDS)
    if not asks_for_version(frame):
        x, out = array_of(frame[ARGUMENTS], 0, np.float32), _table_of(frame)
        size = x.size // len(out)
        load = np.zeros((1, 5), np.int32)
        sources, sizes = np.empty(1, np.uint64), np.full(1, np.uint64(size))
        for row in range(len(out)):
            sources[0] = np.uint64(x.ctypes.data) + np.uint64(4 * row * size)
            _run_chain(frame, load, sources, sizes, size, out[row : row + 1])
    return 0


@cfunc(types.uint64(types.uint64), cache=True)
def _handle_chain(address: Any) -> Any:
    """Called by XLA to run a chain; the operands are its code, its size, its numbers and its sources; as `_handle`."""
    frame = words(address, FRAME_WORDS)
    if not asks_for_version(frame):
        operands, count = frame[ARGUMENTS], np.int64(frame[ARGUMENT_COUNT]) - _FIRST_SOURCE
        code, size = array_of(operands, 0, np.int32), _number(array_of(operands, 1, np.int32)[0])
        steps = carray(pointer(np.uint64(code.ctypes.data)), (code.size // 5, 5), np.int32)
        sources, sizes = np.empty(count, np.uint64), np.empty(count, np.uint64)
        for number in range(count):
            source = array_of(operands, _FIRST_SOURCE + number, np.float32)
            sources[number], sizes[number] = np.uint64(source.ctypes.data), np.uint64(source.size)
        _run_chain(frame, steps, sources, sizes, size, _table_of(frame))
    return 0


@cfunc(types.uint64(types.uint64), cache=True)
def _handle_table(address: Any) -> Any:
    """Called by XLA to make a table of numbered rows, out of pieces that are a number, a row or rows; as `_handle`."""
    frame = words(address, FRAME_WORDS)
    if not asks_for_version(frame):
        operands, count = frame[ARGUMENTS], np.int64(frame[ARGUMENT_COUNT])
        _gather(array_of(operands, 0, np.int32), operands, count, array_of(frame[RESULTS], 0, np.float32))
    return 0


for _target, _function in ((TARGET, _handle), (CHAIN, _handle_chain), (TABLE, _handle_table)):
    register(_target, _function)
