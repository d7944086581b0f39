"""The forms in which equations that make PRNG keys may be written: see `forms`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.export.literals import text_of

Operands = Sequence[str]


def seeded(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    """A key made of a number."""
    yield f"jax.random.key({x[0]})"
    yield f"jax.random.key({x[0]}, impl={_impl(equation)!r})"


def wrapped(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    """A key made of its numbers."""
    yield f"jax.random.wrap_key_data({x[0]})"
    yield f"jax.random.wrap_key_data({x[0]}, impl={_impl(equation)!r})"


def _impl(equation: core.JaxprEqn) -> str:
    return str(getattr(equation.params["impl"], "name", "threefry2x32"))


def split_keys(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    """Keys made of a key."""
    shape = equation.params["shape"]
    if tuple(shape) == (2,):
        yield from _of_each(equation, x, "jax.random.split({})")
    yield from _of_each(
        equation, x, f"jax.random.split({{}}, {text_of(shape[0] if len(shape) == 1 else tuple(shape))})"
    )


def folded_in(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    """A key made of a key and a number."""
    return _of_each(equation, x, "jax.random.fold_in({})")


def drawn(equation: core.JaxprEqn, x: Operands) -> Iterator[str]:
    """Random bits."""
    params = equation.params
    return _of_each(equation, x, f"jax.random.bits({{}}, {text_of(params['shape'])}, jnp.uint{params['bit_width']})")


def _of_each(equation: core.JaxprEqn, x: Operands, call: str) -> Iterator[str]:
    """A call that takes one key; of an array of keys, for each of them."""
    shapes = [atom.aval.shape for atom in equation.invars]  # pyright: ignore[reportAttributeAccessIssue]
    if not shapes[0]:
        yield call.format(", ".join(x))
        return
    names = [name if shape else one for name, shape, one in zip(("key", "number"), shapes, x, strict=False)]
    mapped = [place for place, shape in enumerate(shapes) if shape]
    each = f"lambda {', '.join(names[place] for place in mapped)}: {call.format(', '.join(names))}"
    for _ in shapes[0]:
        each = f"jax.vmap({each})"
    yield f"{each}({', '.join(x[place] for place in mapped)})"
