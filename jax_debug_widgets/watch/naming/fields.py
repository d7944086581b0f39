"""Find the fields that a method takes from its object: in a jitted function of `model`, `self.w` is `model.w`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jax_debug_widgets.watch.naming.arguments import Argument
from jax_debug_widgets.watch.naming.body import BodyWithFrames
from jax_debug_widgets.watch.syntax.mentions import NameUse, all_loads
from jax_debug_widgets.watch.syntax.statements import Span


def fields_of_self(
    body: BodyWithFrames, taken: Iterable[Argument], wanted: Callable[[str], bool]
) -> Iterator[tuple[Any, str, str, Span, str]]:
    """Yield the arguments with dots in their names as methods name them: variable, name, file, range and function.

    The operand of an equation is the field that its expression mentions, if the argument's own name ends with that
    field, and no other field in the expression fits.
    """
    for argument in taken:
        if "." not in argument.name:
            continue
        for number in body.uses.consumers.get(argument.variable, ()):
            levels = body.levels[number]
            if not levels or body.uses.transposed[number] or not wanted(levels[-1].file):
                continue
            level = levels[-1]
            function = body.source(level.file).function_at(level.code_line, level.function)
            loads = all_loads(function) if function else ()
            within = [one for one in loads if Span(*level.span).contains(one.span) and _ends(argument.name, one)]
            if len({one.text for one in within}) == 1 and within[0].text.startswith("self."):
                yield argument.variable, within[0].text, level.file, within[0].span, level.function


def _ends(name: str, load: NameUse) -> bool:
    """Whether an argument's name ends with the path of a mention after its root: `model.layers[0].w` with `.w` of `self.w`."""
    root, dot, path = load.text.partition(".")
    return bool(dot) and root.isidentifier() and name.endswith(f".{path}")
