"""Report which checks of a run have run, which could not, and what they found: `%jaxdebug check f(x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax_debug_widgets.checks import options as check_names
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.session.run.not_checked import not_checked

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.run import Run


def checked_text(run: Run, muted: frozenset[str]) -> str:
    """Return a text that says how many checks ran, why others did not, and at the end the findings."""
    state = run.status().state
    unchecked = not_checked(run, state, muted)
    done = [name for name in check_names() if name not in unchecked]
    reasons: dict[str, list[str]] = {}
    for name, why in unchecked.items():
        reasons.setdefault(why, []).append(name)
    found = run.findings
    amount = plural(len(found), "finding") if found else "nothing found"
    if state == "failed":
        amount += " before the exception"
    parts = [f"{amount}, {plural(len(done), 'check')} ran{': ' * bool(done)}{', '.join(done)}"]
    parts += [f"not checked: {', '.join(names)}, because {why}" for why, names in reasons.items()]
    return "\n\n".join([f"jaxdebug: {'; '.join(parts)}", *([str(found)] if found else [])])
