"""Register the kinds of findings.

A new kind needs a row here and a file of its own. A kind for an exception also needs texts in `words`. A check also needs a
row in `device`. `sections` has the section of JAX's documentation about a kind, if there is one.
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
      word: the name of the kind; the name of its check, if it has one.
      row: its row in docs/behaviours.md.
      severity: 0 an error, 1 a wrong result, 2 lost precision, 3 lost time.
      option: the name of its check in `--check`; empty for explained exceptions.
      default: whether the check is always on.
      further: whether asking for the check makes it look in more places.
    """

    IN_PLACE = ("in-place", "S5", 0)
    FROZEN = ("frozen", "S5", 0)
    ITERATOR_OPERAND = ("iterator-operand", "S4", 0)
    CONTROL_FLOW = ("control-flow", "S9", 0)
    TRUTH = ("truth", "S9", 0)
    SHAPE = ("shape", "S10", 0)
    LIST = ("lists", "S7", 0)
    NUMPY_CALL = ("numpy-call", "S9", 0)
    LEAK = ("leaks", "S3", 0)
    OUTER_STATE = ("outer-state", "S3", 0)
    DONATED = ("donated", "S5", 0)
    DONATED_TWICE = ("donated-twice", "S5", 0)
    CARRY = ("carry", "S9", 0)
    BRANCHES = ("branches", "S9", 0)
    HASHED = ("hashed", "S9", 0)
    UNCALLED = ("uncalled", "S9", 0)
    UNPACKED = ("unpacked", "S9", 0)
    NO_ARRAY = ("no-array", "S9", 0)
    CALLBACK = ("callback", "C3", 0)
    OVERFLOW = ("overflow", "S12", 0)
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
    KEY_REFUSED = ("key-reuse", "S8", 0)
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
"""Earlier name of a kind of finding -> its present name, which is the name of the check."""


_WITHOUT_CHECK = {"hoisted": 3}
"""Kind of finding that is not in `Kind` -> its severity, if it is not 1 (a wrong result)."""


def severity_of(finding: Finding) -> int:
    """Return the severity of a finding, as in `Kind.severity`.

    An explained exception may have the name of a check. It differs from a finding of the check: its `seen` is 0.
    """
    kinds = [kind for kind in Kind if kind.word == finding.kind]
    own = [kind for kind in kinds if bool(kind.option) == bool(finding.seen)] or kinds
    return own[0].severity if own else _WITHOUT_CHECK.get(finding.kind, 1)


def named_now(word: str) -> str:
    """Return the present name of a kind of finding or check, which may be given by its earlier name."""
    return _FORMER.get(word, word)


def options() -> tuple[str, ...]:
    """Return the names that `--check` accepts besides `all`."""
    return tuple(dict.fromkeys(kind.option for kind in Kind if kind.option))


def checks_of(asked: str | Sequence[str] | bool | None) -> tuple[str, ...]:
    """Return the checks to turn on for `asked`: `"oob,keys"`, a list of names, or True (the same as `"all"`).

    Checks that are always on are left out, unless asking makes them look in more places.

    Raises:
      TypeError: `asked` is none of these.
      ValueError: there is no check with this name; the message lists them.
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
