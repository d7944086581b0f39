"""Choose one source name for each variable of a body."""

from __future__ import annotations

from typing import Any

from jax_debug_widgets._jax.origins.libraries import is_library
from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.passes.body_context import BodyContext
from jax_debug_widgets._jax.passes.uses import VariableUses
from jax_debug_widgets.watch.naming.arguments import arguments
from jax_debug_widgets.watch.naming.bindings_of_body import BodyBindings
from jax_debug_widgets.watch.naming.body import BodyWithFrames
from jax_debug_widgets.watch.naming.named import label_of
from jax_debug_widgets.watch.naming.names import named_values
from jax_debug_widgets.watch.naming.variable_types import is_key


def names_of_variables(jaxpr: Any, place: Place, around: BodyContext, uses: VariableUses) -> dict[Any, str]:
    """Map each variable to its name in the user's files, `grad/h` for the gradient of `h`; the first name if it has several."""
    bound = BodyBindings(BodyWithFrames(jaxpr, place, around, _is_of_user, uses))
    found = {one.variable: one.name for one in arguments(bound, _is_of_user, is_key)}
    named = named_values(bound, _is_of_user, set())
    for one in sorted(named, key=lambda one: one.is_alias):
        if not one.name.startswith("("):
            found.setdefault(one.variable, label_of(one.name, one.role))
    return found


def _is_of_user(file: str) -> bool:
    return not is_library(file)
