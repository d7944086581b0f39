"""The command line `record FILE [options] what [arguments]`."""

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
"""The options without a value. JAX is imported by those who parse them, and the script is found before."""

Kind = Literal["file", "module", "code", "stdin"]

_KINDS: dict[str, Kind] = {"-m": "module", "-c": "code", "-": "stdin"}


class UsageOfScriptError(Exception):
    """The command line says nothing that can be done."""


@dataclass(frozen=True)
class Command:
    """What a command line asks for.

    Attributes:
      file: the absolute path of the folder to record into.
      options: the words of the options.
      kind: how Python finds the program: a file (also a folder or zip file with a `__main__.py`), `-m`, `-c` or `-`.
      target: the path, the name of the module, or the code; `-` for what stands on stdin.
      arguments: what the program finds after its own name.
    """

    file: str
    options: tuple[str, ...]
    kind: Kind
    target: str
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> Command:
        """The command that these words are.

        Raises:
          UsageOfScriptError: there is no script among them.
        """
        file, *rest = words or [""]
        if not file or file.startswith("-"):
            raise UsageOfScriptError("say where to record, and which script")
        try:
            refuse_file(file)
        except RunFileError as error:
            raise UsageOfScriptError(str(error)) from None
        file = os.path.abspath(os.path.expanduser(file))  # The script may change the working directory.
        count = 0
        while count < len(rest) and rest[count].startswith("--"):
            count += 1 if rest[count] in FLAGS or "=" in rest[count] else 2
        options, rest = tuple(rest[:count]), rest[count:]
        kind = _KINDS.get(rest[0], "file") if rest else "file"
        target = rest[1:] if kind in ("module", "code") else rest
        if not target:
            raise UsageOfScriptError("say which script to run")
        if kind == "file" and target[0].startswith("-"):
            raise UsageOfScriptError(f"{target[0]} is no script, and none of -m, -c and -")
        return cls(file, options, kind, target[0], tuple(target[1:]))

    @property
    def title(self) -> str:
        """What is run, for people."""
        return {"code": "-c", "stdin": "<stdin>"}.get(self.kind) or self.target.rstrip("/").rpartition("/")[2]
