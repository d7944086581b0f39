"""Report which checks of a run have run, which could not, and what they found: `%jaxdebug check f(x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.running.checking import CHECKERS
from jax_debug_widgets.checks import Kind
from jax_debug_widgets.checks import options as check_names
from jax_debug_widgets.events.amounts import plural

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.run import Run

_NEEDS = {
    **dict.fromkeys(CHECKERS, features.HANDOVER),
    **dict.fromkeys(("purity", "lists", "stale"), features.RETRACED),
    **dict.fromkeys(("leaks", "prints"), features.TRACING),
    "retraces": features.RETRACES,
    "x64": features.PRECISION,
}
"""Check -> the feature that it needs. The other checks need only the feature of each capture."""


def checked_text(run: Run, muted: frozenset[str]) -> str:
    """Return a text that says how many checks ran, why others did not, and at the end the findings."""
    unchecked = not_checked(run, muted)
    done = [name for name in check_names() if name not in unchecked]
    reasons: dict[str, list[str]] = {}
    for name, why in unchecked.items():
        reasons.setdefault(why, []).append(name)
    found = run.findings
    amount = plural(len(found), "finding") if found else "nothing found"
    if run.status().state == "failed":
        amount += " before the exception"
    told = [f"{amount}, {plural(len(done), 'check')} ran{': ' * bool(done)}{', '.join(done)}"]
    told += [f"not checked: {', '.join(names)}, because {why}" for why, names in reasons.items()]
    return "\n\n".join([f"jaxdebug: {'; '.join(told)}", *([str(found)] if found else [])])


def not_checked(run: Run, muted: frozenset[str]) -> dict[str, str]:
    """Return the checks that did not check this run -> the reason."""
    always = {kind.option for kind in Kind if kind.option and kind.default}
    return {name: why for name in check_names() if (why := _why_not(run, name, muted, is_on=name in always))}


def _why_not(run: Run, name: str, muted: frozenset[str], *, is_on: bool) -> str:
    if not is_on and name not in run.options.check:
        return f"only {', '.join(run.options.check)} {'is' if len(run.options.check) == 1 else 'are'} selected"
    if name in muted:
        return f"it is muted (`%jaxdebug unmute check:{name}` shows what it finds)"
    if off := features.why_off(_NEEDS.get(name, features.CAPTURE)):
        return off.rstrip(".")
    if name == "leaks" and run.status().state == "failed":
        return "the traceback of an exception holds tracers itself"
    return _why_not_on_device(run) if name in CHECKERS else ""


def _why_not_on_device(run: Run) -> str:
    if jax.process_count() > 1:
        return "several processes run this program"
    if run.checked.calls:
        return ""
    if run.status().state == "failed":
        return "no jitted function of yours ran to its end"
    return (
        "no jitted function of yours that ran has an operation that this check covers (outside jax.jit only x[i] and x.at[i] "
        "are checked, by oob: call jax.jit(f)(x))"
    )
