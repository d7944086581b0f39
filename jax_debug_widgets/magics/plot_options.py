"""Parse the arguments of `%jaxdebug plot` and `%jaxdebug show`."""

from __future__ import annotations

import re

from IPython.core.error import UsageError

_KIND = re.compile(r"(?:^|\s)--kind[=\s]+(\w+)(?=\s|$)")


_SHOW = re.compile(r"(?:^|\s)--(step|lane)[=\s]+(-?\d+)(?=\s|$)")


def parse_plot(rest: str) -> tuple[list[str], str]:
    """Parse `NAME ... --kind ridge`: return the names, and the kind of plot.

    Raises:
      UsageError: there is another option.
    """
    kind = _KIND.search(rest)
    names = _KIND.sub("", rest).split()
    odd = next((name for name in names if name.startswith("--")), None)
    if odd:
        raise UsageError(f"jaxdebug: cannot read {odd!r}; write `%jaxdebug plot NAME ... --kind line|ridge|heat|lanes`")
    return names, kind[1] if kind else "line"


def parse_show(rest: str) -> tuple[str, int, int]:
    """Parse `NAME --step N --lane I`: return the name (an expression, which may have blanks), step and lane.

    Raises:
      UsageError: there is another option, or an option without its number.
    """
    where = {found[1]: int(found[2]) for found in _SHOW.finditer(rest)}
    name = _SHOW.sub("", rest).strip()
    odd = re.search(r"(?:^|\s)(--\w\S*)", name)
    if odd:
        raise UsageError(f"jaxdebug: cannot read {odd[1]!r}; write `%jaxdebug show NAME --step N --lane I`")
    return name, where.get("step", -1), where.get("lane", 0)
