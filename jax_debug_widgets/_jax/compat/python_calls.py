"""Call a function of Python from functions that Numba compiles, on any thread. Importing this module needs Numba.

A callback of ctypes would lose an interrupt that arrives as it begins: it prints the exception, and returns any number.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numba import njit

from jax_debug_widgets._jax.compat.ffi import call_address, call_with_two, words

_ENSURE_GIL, _RELEASE_GIL, _NEW_NUMBER, _CALL, _DECREF, _CLEAR_ERROR, _TRUE = range(7)

FUNCTIONS = np.array(
    [
        ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        for name in (
            "PyGILState_Ensure",
            "PyGILState_Release",
            "PyLong_FromUnsignedLongLong",
            "PyObject_CallOneArg",
            "Py_DecRef",
            "PyErr_Clear",
        )
    ]
    + [id(True)],
    np.uint64,
)
"""What `call_python` needs of this process: addresses of functions of Python's C API, and that of `True`."""


@njit
def call_python(functions: Any, function: Any, number: Any) -> bool:
    """Call a function of Python with a number; return whether it returned `True`. An exception of it is dropped.

    Args:
      functions: the address of `FUNCTIONS`.
      function: the address of the function, its `id`.
    """
    api = words(functions, _TRUE + 1)
    state = call_address(api[_ENSURE_GIL], np.uint64(0)) & np.uint64(0xFFFFFFFF)
    argument = call_address(api[_NEW_NUMBER], number)
    result = call_with_two(api[_CALL], function, argument)
    if not result:
        call_address(api[_CLEAR_ERROR], np.uint64(0))
    if argument:
        call_address(api[_DECREF], argument)
    if result:
        call_address(api[_DECREF], result)
    call_address(api[_RELEASE_GIL], state)
    return result == api[_TRUE]
