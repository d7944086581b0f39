"""Parse the command line `record FILE [options] what [arguments]`; options may also be before FILE."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jax_debug_widgets.archive.layout import RunFileError, refuse_file

FLAGS = frozenset(
    {
        "--echo", "--no-echo", "--no-debug", "--barrier", "--no-barrier", "--prompt", "--watch-all", "--watch-ops", "--values",
        "--histogram", "--lanes", "--exact",
    }
)  # fmt: skip
"""The options without a value. Finding the script needs them, and parsing options would import JAX before the script does."""

Kind = Literal["file", "module", "code", "stdin"]

_KINDS: dict[str, Kind] = {"-m": "module", "-c": "code", "-": "stdin"}


class UsageOfScriptError(Exception):
    """Raised for a command line that cannot be carried out; the message says what to write."""


@dataclass(frozen=True)
class Command:
    """A parsed command line.

    Attributes:
      file: the absolute path of the folder to record into.
      options: the options, as words of the command line.
      kind: how Python finds the program: a file (also a folder or zip file with a `__main__.py`), `-m`, `-c` or `-`.
      target: the path, the name of the module, or the code; `-` for a program on stdin.
      arguments: the arguments of the program.
    """

    file: str
    options: tuple[str, ...]
    kind: Kind
    target: str
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> Command:
        """Parse the words of a command line.

        Raises:
          UsageOfScriptError: they name no script, or no folder to record into.
        """
        before, rest = _options_at_the_start(words)
        if not rest or rest[0].startswith("-"):
            raise UsageOfScriptError("say where to record, and which script")
        file, rest = rest[0], rest[1:]
        try:
            refuse_file(file)
        except RunFileError as error:
            raise UsageOfScriptError(str(error)) from None
        file = os.path.abspath(os.path.expanduser(file))  # The script may change the working directory.
        after, rest = _options_at_the_start(rest)
        kind = _KINDS.get(rest[0], "file") if rest else "file"
        target = rest[1:] if kind in ("module", "code") else rest
        if not target:
            raise UsageOfScriptError("say which script to run")
        if kind == "file" and target[0].startswith("-"):
            raise UsageOfScriptError(f"{target[0]} is no script, and none of -m, -c and -")
        return cls(file, (*before, *after), kind, target[0], tuple(target[1:]))

    @property
    def title(self) -> str:
        """The name of the program for people."""
        return {"code": "-c", "stdin": "<stdin>"}.get(self.kind) or self.target.rstrip("/").rpartition("/")[2]


def _options_at_the_start(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the options with their values, and the other words."""
    count = 0
    while count < len(words) and words[count].startswith("--"):
        count += 1 if words[count] in FLAGS or "=" in words[count] else 2
    return words[:count], words[count:]
