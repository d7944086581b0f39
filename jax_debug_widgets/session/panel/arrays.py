"""Send one value of one event to the browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.transport import reply
from jax_debug_widgets.transport.arrays import picture, plane_of

if TYPE_CHECKING:
    from jax_debug_widgets.session.panel.feed import Message
    from jax_debug_widgets.session.run.view import RunView

_PAGE = (16, 8)
"""The most rows and columns of numbers in one answer."""


def array_message(run: RunView, request: int, asked: Mapping[str, Any]) -> Message:
    """Make the answer to an `array` request.

    Raises:
      IndexError: the event is not kept, or has no such value or index.
    """
    event = run.store.event(int(asked["event"]))
    number = int(asked["value"])
    fields, buffer = picture(event.values[number], asked)
    name = event.site.values[number]
    return reply("array", run.key, request, event=event.seq, value=number, name=name, **fields), buffer


def values_message(run: RunView, request: int, asked: Mapping[str, Any]) -> Message:
    """Make the answer to a `values` request: a page of the slice at `index`, as text that reads back as the same numbers.

    Raises:
      IndexError: see `array_message`.
    """
    value = run.store.event(int(asked["event"])).values[int(asked["value"])]
    _, plane = plane_of(value, asked)
    starts = [
        min(max(int(asked[name]), 0), size - 1) for name, size in zip(("row", "column"), plane.shape, strict=True)
    ]
    page = plane[tuple(slice(start, start + size) for start, size in zip(starts, _PAGE, strict=True))]
    text = [str(number) for number in page.ravel()]
    fields = {"row": starts[0], "column": starts[1], "rows": plane.shape[0], "columns": plane.shape[1]}
    return reply("values", run.key, request, **fields, page=list(page.shape), text=text), b""
