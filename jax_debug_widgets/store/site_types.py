"""Number the types that a site was compiled for, so that each event can say its own."""

from __future__ import annotations

import weakref
from collections.abc import Hashable

from jax_debug_widgets.events import Tap


class SiteTypes:
    """Counts the types of each site: a function is traced anew for other shapes, and for loops of other lengths.

    Attributes:
      taps: of each site, by number, and each of its types, by number, the tap that came last.
    """

    def __init__(self) -> None:
        self.taps: dict[tuple[int, int], Tap] = {}
        self._known: dict[int, dict[Hashable, int]] = {}
        self._numbers = weakref.WeakKeyDictionary[Tap, int]()

    def of(self, tap: Tap) -> int:
        """The number of the type of a tap among those of its site."""
        if tap not in self._numbers:
            known = self._known.setdefault(tap.site.id, {})
            number = self._numbers[tap] = known.setdefault(_type_of(tap), len(known))
            self.taps[tap.site.id, number] = tap
        return self._numbers[tap]


def _type_of(tap: Tap) -> Hashable:
    """All that a message of a site says of one compilation, see `transport.batch.site_message`."""
    nesting = tap.nesting
    return tap.site.watch, tap.shapes, tap.dtypes, nesting.loops, nesting.reverse, nesting.leap
