"""Find the checks that have not checked a run, with the reasons."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Protocol

import jax

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.running.checking import CHECKERS
from jax_debug_widgets.checks import Kind, checks_of
from jax_debug_widgets.checks import options as check_names

if TYPE_CHECKING:
    from jax_debug_widgets.events.status import RunState
    from jax_debug_widgets.session.options import Options
    from jax_debug_widgets.taps.check_log import CheckLog

_NEEDS = {
    **dict.fromkeys(CHECKERS, features.HANDOVER),
    **dict.fromkeys(("purity", "lists", "stale"), features.RETRACED),
    **dict.fromkeys(("leaks", "prints"), features.TRACING),
    "retraces": features.RETRACES,
    "x64": features.PRECISION,
}
"""Check -> the feature that it needs. The other checks need only the feature of each capture."""


_NOTHING_TO_CHECK = "no jitted function of yours that ran to its end has an operation that this check covers"

_OUTSIDE = "outside jax.jit, nonfinite checks only derivatives (jax.grad), and the bodies of loops and branches"


class Checked(Protocol):
    """A run as this module uses it."""

    @property
    def options(self) -> Options:
        """See `Run`."""
        ...

    @property
    def checked(self) -> CheckLog:
        """See `Run`."""
        ...


def quiet_checks(run: Checked, state: RunState, muted: Collection[str]) -> str:
    """Return the checks that the user asked for and that have checked this run: `All checks`, `oob, keys`; empty for none."""
    unchecked = not_checked(run, state, muted)
    ran = [name for name in run.options.check if name not in unchecked]
    return "All checks" if set(ran) == set(checks_of(True)) else ", ".join(ran)


def not_checked(run: Checked, state: RunState, muted: Collection[str]) -> dict[str, str]:
    """Return the checks that did not check this run -> the reason."""
    always = {kind.option for kind in Kind if kind.option and kind.default}
    return {name: why for name in check_names() if (why := _why_not(run, name, state, muted, is_on=name in always))}


def _why_not(run: Checked, name: str, state: RunState, muted: Collection[str], *, is_on: bool) -> str:
    if not is_on and name not in run.options.check:
        return f"only {', '.join(run.options.check)} {'is' if len(run.options.check) == 1 else 'are'} selected"
    if name in muted:
        return f"it is muted (`%jaxdebug unmute check:{name}` shows what it finds)"
    if off := features.why_off(_NEEDS.get(name, features.CAPTURE)):
        return off.rstrip(".")
    if name == "leaks" and state == "failed":
        return "the traceback of an exception holds tracers itself"
    return _why_not_on_device(run, name, state) if name in CHECKERS else ""


def _why_not_on_device(run: Checked, name: str, state: RunState) -> str:
    if jax.process_count() > 1:
        return "several processes run this program"
    if run.checked.calls or name in run.checked.options:
        return ""
    if state == "failed":
        return "no jitted function of yours ran to its end"
    return f"{_NOTHING_TO_CHECK} ({_OUTSIDE}: call jax.jit(f)(x))"


def of_checking(run: Checked, state: RunState) -> Iterator[str]:
    """Yield the note that no program had an operation for a check of compiled programs."""
    found = {one.checked.option for one in run.checked.seen(wait=False)} | run.checked.options
    checks = [one for one in run.options.check if one in CHECKERS and one not in found]
    if checks and state == "done" and not run.checked.calls:
        yield (
            f"Not checked ({', '.join(checks)}): {_NOTHING_TO_CHECK}. "
            f"{_OUTSIDE[0].upper()}{_OUTSIDE[1:]}: call jax.jit(f)(x). It does not check JAX's own "
            "functions: instead of jax.jit(jnp.log) write jax.jit(lambda x: jnp.log(x))."
        )
