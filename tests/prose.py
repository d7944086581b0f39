"""Find phrases that are hard to read: `python -m tests.prose` prints them, and fails if there are any.

It reads the docs, and in Python and TypeScript all text that is not code: docstrings, comments and messages.
CONTRIBUTING.md describes what to write instead.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]

BANNED = {
    r"of which": "begin a new sentence, or name the thing again",
    r"(?:is|are|was|were) told(?! apart)": "say who tells: `the panel shows`, `the run says`",
    r"how manieth": "`number`, `the n-th`",
    r"so-manieth": "`each n-th`",
    r"(?:is|are) said": "say who says it",
    r"that is none": "`that is not a …`",
    r"in the place of": "`instead of`, `replaces`",
}
"""A banned form -> what to write instead."""

_GAP = r"\s+(?:[#*]\s+|//\s+)?"  # A form may continue on the next line.
_FORMS = [(re.compile(rf"\b(?:{form.replace(' ', _GAP)})\b", re.IGNORECASE), advice) for form, advice in BANNED.items()]
_TYPESCRIPT_COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.DOTALL)


def banned_in(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield, for each banned form in a text, its line from 0, its words, and what to write instead."""
    for form, advice in _FORMS:
        for found in form.finditer(text):
            yield text.count("\n", 0, found.start()), found[0], advice


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each piece of prose in a file, with the number of its first line."""
    text = path.read_text()
    if path.suffix == ".md":
        yield 1, text
    elif path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.STRING, tokenize.COMMENT):
                yield token.start[0], token.string
    else:
        for comment in _TYPESCRIPT_COMMENT.finditer(text):
            yield 1 + text.count("\n", 0, comment.start()), comment[0]


def findings(paths: list[Path]) -> list[str]:
    """Return a line for each banned form: `file:line: words: what to write`."""
    return [
        f"{path.relative_to(ROOT)}:{first + line}: {words!r}: {advice}"
        for path in paths
        for first, piece in prose_of(path)
        for line, words, advice in banned_in(piece)
    ]


def pages() -> list[Path]:
    """Return all files to check."""
    code = [*(ROOT / "jax_debug_widgets").rglob("*.py"), *(ROOT / "js" / "src").rglob("*.ts*")]
    written = [*ROOT.glob("*.md"), *(path for path in (ROOT / "docs").glob("*.md") if path.name != "behaviours.md")]
    return sorted((*code, *written))


if __name__ == "__main__":
    found = findings(pages())
    print("\n".join(found))
    sys.exit(1 if found else 0)
