"""Compare the function of a replay with the source text in the file of the run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any


def note_about(function: Callable[..., Any], name: str, sources: Mapping[str, Any]) -> str:
    """Return a note if the function's name or source text differs from the recorded one; "" if neither is known to differ.

    Args:
      name: the name of the function that the recorded call was made to.
      sources: file -> its text when the run was recorded.
    """
    own = getattr(inspect.unwrap(function), "__name__", name)
    if own != name:
        return f"The call was of `{name}`; the replay calls `{own}` with its inputs."
    texts = ["\n".join(line.rstrip() for line in one.get("lines", ())) for one in sources.values()]
    recorded = [text for text in texts if f"def {name}(" in text]
    try:
        lines, _ = inspect.getsourcelines(inspect.unwrap(function))
    except (OSError, TypeError):  # It has no source text.
        return ""
    text = "\n".join(line.rstrip() for line in lines).rstrip()
    if not recorded or any(text in one for one in recorded):
        return ""
    return f"The text of `{name}` is another one than when the call was recorded, so its result may be, too."
