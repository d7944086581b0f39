"""Which lines of the forward pass a gradient is computed from: an infinite derivative is theirs."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator

from jax_debug_widgets._jax.tracing.marks import is_named
from jax_debug_widgets.events import Derivative
from jax_debug_widgets.watch.naming.body import Body
from jax_debug_widgets.watch.naming.named import Named
from jax_debug_widgets.watch.naming.names import place_of
from jax_debug_widgets.watch.syntax.statements import Span

_LONGEST = 80
"""Characters of an expression that are shown."""


def derivatives_of(body: Body, gradient: Named, name_file: Callable[[str], str]) -> Iterator[Derivative]:
    """The expressions whose derivative gives a gradient: one for each line that has used the value, in that order.

    None where the body is given the gradient, as a loop gives it to the iteration before.
    """
    places = (place_of(body, number) for number in _makers(body, gradient.variable))
    levels = [place[0] for place in places if place is not None]
    for file, span in sorted({(one.file, Span(*one.span)) for one in levels}):
        text = textwrap.shorten(body.source(file).text(span), _LONGEST, placeholder=" …")
        if text:
            yield Derivative(text, file, span.line, f"{name_file(file)}:{span.line}")


def _makers(body: Body, variable: object) -> Iterator[int]:
    """The numbers of the equations that compute a gradient: of a sum those that compute its terms."""
    made = body.maker_of(variable)
    if made is None:
        return
    equation = body.equations[made[1]]
    if is_named(equation):
        yield from _makers(body, equation.invars[0])
    elif equation.primitive.name == "add_any":
        for operand in equation.invars:
            yield from _makers(body, operand)
    else:
        yield made[1]
