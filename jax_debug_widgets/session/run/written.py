"""Turn the lines of a cell that IPython has translated into Python back into what was written."""

from __future__ import annotations

import ast
import re

_TRANSLATED = re.compile(
    r"^(?P<before>\s*(?:.*=\s*)?)get_ipython\(\)\.(?P<by>run_line_magic|system|getoutput)\((?P<arguments>.*)\)$"
)
_HELP = {"pinfo": "?", "pinfo2": "??", "psearch": "?"}


def as_written(line: str) -> str:
    """Return `%time f(x)` for `get_ipython().run_line_magic('time', 'f(x)')`, and likewise `!ls` and `f?`; else the line."""
    found = _TRANSLATED.match(line)
    try:
        arguments = ast.literal_eval(f"({found['arguments']},)") if found else ()
    except (SyntaxError, ValueError):
        return line
    if not found or not all(isinstance(one, str) for one in arguments):
        return line
    before = found["before"]
    match found["by"], arguments:
        case "run_line_magic", (name, rest):
            return f"{before}{rest}{_HELP[name]}" if name in _HELP else f"{before}%{name} {rest}".rstrip()
        case "system", (command,):
            return f"{before}!{command}"
        case "getoutput", (command,):
            return f"{before}{'!' if before.strip() else '!!'}{command}"
    return line
