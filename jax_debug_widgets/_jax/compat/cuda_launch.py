"""Launch CUDA kernels from functions that Numba compiles. Importing this module needs Numba."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from jax_debug_widgets._jax.compat.cuda import THREADS


def _call_launch(_typing: Any, _launch: Any, _kernel: Any, _blocks: Any, _stream: Any, _arguments: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, operands: Any) -> Any:
        launch, kernel, blocks, stream, arguments = operands
        word, number = ir.IntType(64), ir.IntType(32)
        kind = ir.FunctionType(number, [word, *[number] * 7, word, word, word])
        one, threads, none = ir.Constant(number, 1), ir.Constant(number, THREADS), ir.Constant(number, 0)
        grid = [builder.trunc(blocks, number), one, one, threads, one, one, none]
        call = builder.inttoptr(launch, kind.as_pointer())
        return builder.call(call, [kernel, *grid, stream, arguments, ir.Constant(word, 0)])

    return types.int32(types.uint64, types.uint64, types.uint64, types.uint64, types.uint64), emit


launch_kernel: Any = intrinsic(_call_launch)
"""Launch a kernel; return CUDA's error, 0 if there is none.

Takes the address of `cuLaunchKernel`, the kernel's handle, the number of blocks, the stream, and the address of the
addresses of the kernel's arguments.
"""
