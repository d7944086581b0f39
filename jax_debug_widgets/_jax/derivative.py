"""Which arguments a jitted derivative is for: `jax.jit(jax.grad(f, argnums=1))` keeps that to itself."""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from jax._src import api, pjit, source_info_util

_WITHIN = {"grad_f": "", "grad_f_aux": "[0]", "value_and_grad_f": "[1]"}
"""What JAX calls a derivative's function -> where the gradient is in what that returns."""


@dataclass(frozen=True)
class Derivative:
    """What a program is the derivative for.

    Attributes:
      argnums: the arguments, as `jax.grad` was given them.
      within: where the gradient is in what the program returns, `[1]`.
    """

    argnums: int | tuple[int, ...]
    within: str

    def position(self, path: str) -> tuple[int, str] | None:
        """Of which argument a result is the gradient, and of which leaf; None where it is no gradient.

        Args:
          path: where the result is in what the program returns, `[1][0]['w']`.
        """
        if not path.startswith(self.within):
            return None
        own = path.removeprefix(self.within)
        if isinstance(self.argnums, int):
            return self.argnums, own
        number, _, leaf = own.removeprefix("[").partition("]")
        return (self.argnums[int(number)], leaf) if number.isdigit() and int(number) < len(self.argnums) else None


def derivative_now() -> Derivative | None:
    """What the program that is being lowered is the derivative for; None where it is none, or nobody can say."""
    function = _jitted()
    while isinstance(function, FunctionType) and not source_info_util.is_user_filename(function.__code__.co_filename):
        code, kept = function.__code__, _kept(function)
        if code.co_filename == api.__file__ and code.co_name in _WITHIN:
            while "argnums" not in kept and isinstance(
                inner := kept.get("value_and_grad_f", kept.get("fun")), FunctionType
            ):
                kept = _kept(inner)
            argnums = kept.get("argnums")
            return Derivative(argnums, _WITHIN[code.co_name]) if isinstance(argnums, int | tuple) else None
        function = kept.get("fun")
    return None


def _kept(function: FunctionType) -> dict[str, Any]:
    """What a function of JAX's knows from where it was made."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells}


def _jitted() -> Any:
    """The function whose program JAX is about to lower."""
    for frame, _ in traceback.walk_stack(sys._getframe()):
        if frame.f_code.co_filename != pjit.__file__:
            continue
        match frame.f_code.co_name:
            case "cache_miss":
                return frame.f_locals.get("fun")
            case "jit_lower":
                return getattr(frame.f_locals.get("jit_func"), "__wrapped__", None)
            case "call_impl_cache_miss":  # Un-jitted, something transforms a jitted function.
                return None
    return None
