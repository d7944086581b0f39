"""Count the clicks of a person in a page: the tasks of the panel are promised within so many."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

_COUNT = """() => {
  window.clicked ??= (addEventListener('pointerdown', (event) => { clicked.count += event.isTrusted; }, true), {});
  window.clicked.count = 0;
}"""


@contextmanager
def clicks(page: Page, wanted: int) -> Iterator[None]:
    """Assert that what is done in the block takes this many clicks, and no key."""
    page.evaluate(_COUNT)
    yield
    assert page.evaluate("clicked.count") == wanted
