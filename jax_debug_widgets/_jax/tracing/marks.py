"""Define the identity primitive `named`, which gives a tangent, and after transposition a cotangent, the name of a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from jax.extend.core import Primitive

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import ad, batching, core, lax, mlir, source_info_util
from jax_debug_widgets._jax.compat.registrations import registers
from jax_debug_widgets._jax.origins.name_places import NamePlace
from jax_debug_widgets._jax.origins.name_registry import VariableNote
from jax_debug_widgets._jax.origins.residuals import is_marked_copy


@dataclass(frozen=True, eq=False)
class Mark:
    """The value that a tangent, or a cotangent, belongs to.

    Attributes:
      noted: the note of the tangent, whose `of` is the note of the value; or the note of the value itself.
      places: the places where the value has its names: a function and its caller may both name a returned value. Empty
        for an input that a derivative is taken with respect to.
      is_cotangent: whether the mark is of a cotangent.
      is_of_input: whether the value is an input of the program.
    """

    noted: VariableNote
    places: frozenset[NamePlace]
    is_cotangent: bool = False
    is_of_input: bool = False

    @property
    def is_sure(self) -> bool:
        """Whether the derivative that pushes the tangent has differentiated the value itself, not only an operation on it."""
        return self.noted.of is not None

    def __repr__(self) -> str:
        return next(name for place in self.places or self.noted.names for name in self.noted.names[place])


class _Named(Primitive):
    """An identity. Under an interpreter that is not JAX's, `bind` returns the operand, so the interpreter sees no equation."""

    def bind_with_trace(self, trace: Any, args: Any, *rest: Any) -> Any:
        is_jaxs = type(trace).__module__.startswith("jax._src.")
        return super().bind_with_trace(trace, args, *rest) if is_jaxs else args[0]


named_p = _Named("named")
named_p.def_impl(lambda x, **_: x)
named_p.def_abstract_eval(lambda x, **_: x)


def _transpose(cotangent: Any, _: Any, of: Mark) -> list[Any]:
    # After a second transposition, it is not a cotangent of the value.
    is_zero = isinstance(cotangent, ad.Zero) or of.is_cotangent
    return [cotangent if is_zero else named_p.bind(cotangent, of=replace(of, is_cotangent=True))]


def _derive(primals: Any, tangents: Any, of: Mark) -> Any:
    return named_p.bind(*primals, of=of), *tangents


@registers(features.BINDINGS)
def _register() -> None:
    mlir.register_lowering(named_p, lambda _, x, **__: [x])
    batching.defvectorized(named_p)
    ad.primitive_jvps[named_p] = _derive
    ad.primitive_transposes[named_p] = _transpose


def is_named(equation: Any) -> bool:
    """Whether an equation is the identity `named`."""
    return equation.primitive is named_p


def is_mark(equation: Any) -> bool:
    """Whether an equation marks a tangent or cotangent: by `named`, or as a copy that we have made."""
    return is_named(equation) or (equation.primitive is lax.copy_p and is_marked_copy(equation))


def is_of_input(equation: Any) -> bool:
    """Whether an equation marks the tangent, or cotangent, of an input of the program: it belongs to no line."""
    return is_named(equation) and equation.params["of"].is_of_input


def cotangent_of(equation: Any) -> Mark | None:
    """Return the mark of the cotangent that an equation returns; None if it marks no cotangent."""
    mark: Mark | None = equation.params["of"] if is_named(equation) else None
    return mark if mark is not None and mark.is_cotangent else None


def named_equation(variable: Any, result: Any, mark: Mark, source_info: Any, context: Any) -> core.JaxprEqn:
    return core.new_jaxpr_eqn([variable], [result], named_p, {"of": mark}, core.no_effects, source_info, context)


def stack_of_input(*, is_direct: bool) -> Any:
    """Return the name stack for the mark of an input's tangent.

    With `is_direct` it has `jvp`, as for an un-jitted derivative.
    """
    stack = source_info_util.new_name_stack()
    return stack.transform("jvp") if is_direct else stack
