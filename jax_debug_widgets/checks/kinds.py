"""Register the kinds of findings.

A new kind needs a row here and a file of its own. A kind for an exception also needs texts in `words`, a check a row in
`device`.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Sequence

import numpy as np

from jax_debug_widgets.events import Finding


class Kind(enum.Enum):
    """A kind of finding.

    Attributes:
      word: how findings call it: by the check that finds it, where there is one.
      row: its row in docs/behaviours.md.
      severity: 0 an error, 1 a wrong result, 2 lost precision, 3 lost time.
      option: how `--check` calls what finds it; empty for the explanation of an exception.
      default: whether it is looked for without being asked for.
      further: whether it is looked for in more places where it is asked for.
    """

    IN_PLACE = ("in-place", "S5", 0)
    ITERATOR_OPERAND = ("iterator-operand", "S4", 0)
    CONTROL_FLOW = ("control-flow", "S9", 0)
    SHAPE = ("shape", "S10", 0)
    LIST = ("lists", "S7", 0)
    NUMPY_CALL = ("numpy-call", "S9", 0)
    LEAK = ("leaks", "S3", 0)
    DONATED = ("donated", "S5", 0)
    DONATED_TWICE = ("donated-twice", "S5", 0)
    CARRY = ("carry", "S9", 0)
    SIDE_EFFECT = ("purity", "S1", 1, "purity", False)
    HELD = ("leaks", "S3", 1, "leaks", False)
    ITERATOR = ("purity", "S4", 1, "purity", False)
    STALE = ("stale", "S2", 1, "stale", True, True)
    KEY = ("keys", "S8", 1, "keys", True, True)
    OUT_OF_BOUNDS = ("oob", "S6", 1, "oob", False)
    NONFINITE = ("nonfinite", "S11", 1, "nonfinite", False)
    CAST = ("casts", "S13", 1, "casts", False)
    NUMPY = ("numpy", "S15", 1, "numpy", False)
    X64 = ("x64", "S12", 2, "x64", False)
    NUMBERS = ("lists", "S7", 3, "lists", False)
    RETRACE = ("retraces", "S14", 3, "retraces")
    PRINT = ("prints", "P3", 3, "prints")
    STATIC = ("static", "S14", 0)
    CHECKIFY = ("checkify", "S9", 0)

    def __init__(
        self, word: str, row: str, severity: int, option: str = "", default: bool = True, further: bool = False
    ) -> None:
        self.word, self.row, self.severity, self.option, self.default = word, row, severity, option, default
        self.further = further


_FORMER = {
    "side-effect": "purity",
    "iterator": "purity",
    "held-tracer": "leaks",
    "leak": "leaks",
    "numbers": "lists",
    "list": "lists",
    "cast": "casts",
    "key": "keys",
    "retrace": "retraces",
}
"""How kinds of findings were called before they had the names of their checks."""


_WITHOUT_CHECK = {"hoisted": 3}
"""The severity of findings from a run's own events, where it is not that of a wrong result."""


def severity_of(finding: Finding) -> int:
    """The severity of a finding, in the numbers of `Kind.severity`.

    An explained exception may have the word of a check. It differs from what the check finds: it counts nothing.
    """
    kinds = [kind for kind in Kind if kind.word == finding.kind]
    own = [kind for kind in kinds if bool(kind.option) == bool(finding.seen)] or kinds
    return own[0].severity if own else _WITHOUT_CHECK.get(finding.kind, 1)


def named_now(word: str) -> str:
    """The name of a kind of finding, or of a check, that may be written as it was called before."""
    return _FORMER.get(word, word)


def options() -> tuple[str, ...]:
    """The names that `--check` understands besides `all`."""
    return tuple(dict.fromkeys(kind.option for kind in Kind if kind.option))


def checks_of(asked: str | Sequence[str] | bool | None) -> tuple[str, ...]:
    """The checks that are not on anyway, or look further, of `"oob,keys"`, a list of names, or True (`"all"`).

    Raises:
      TypeError: it is none of these.
      ValueError: no check is called so; the message lists them.
    """
    if asked is None or asked is False:
        return ()
    if isinstance(asked, bool | np.bool_):
        names = ["all"]
    elif isinstance(asked, str) or (isinstance(asked, Sequence) and all(isinstance(one, str) for one in asked)):
        texts = [asked] if isinstance(asked, str) else asked
        names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    else:
        msg = f"check must be True, a name or a list of names, got {asked!r}"
        raise TypeError(msg)
    for name in names:
        if name not in ("all", *options()):
            near = difflib.get_close_matches(name, ("all", *options()), n=1)
            hint = f" did you mean {near[0]}?" if near else ""
            msg = f"there is no check {name};{hint} there are all, {', '.join(options())}"
            raise ValueError(msg)
    chosen = (kind for kind in Kind if kind.further or not kind.default)
    return tuple(dict.fromkeys(kind.option for kind in chosen if "all" in names or kind.option in names))
