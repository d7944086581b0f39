"""Number the types that a site was compiled for, so that each event can refer to its type."""

from __future__ import annotations

import weakref
from collections.abc import Hashable

from jax_debug_widgets.events import Tap


class SiteTypes:
    """Numbers the types of each site. JAX traces a function again for other shapes, and for loops of other lengths.

    Attributes:
      taps: id of the site and number of the type -> the newest tap of this type.
    """

    def __init__(self) -> None:
        self.taps: dict[tuple[int, int], Tap] = {}
        self._known: dict[int, dict[Hashable, int]] = {}
        self._numbers = weakref.WeakKeyDictionary[Tap, int]()

    def of(self, tap: Tap) -> int:
        """Return the number of a tap's type among the types of its site."""
        if tap not in self._numbers:
            known = self._known.setdefault(tap.site.id, {})
            number = self._numbers[tap] = known.setdefault(_type_of(tap), len(known))
            self.taps[tap.site.id, number] = tap
        return self._numbers[tap]


def _type_of(tap: Tap) -> Hashable:
    """Return what differs between the types of a site in its messages, see `transport.site_messages.site_message`."""
    nesting = tap.nesting
    return tap.site.watch, tap.shapes, tap.dtypes, nesting.loops, nesting.reverse, nesting.leap
