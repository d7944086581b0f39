"""Define small working stand-ins for objects that only a notebook has."""

from __future__ import annotations

from typing import Any

from jax_debug_widgets.transport import wire
from jax_debug_widgets.transport.columns import unpack, unpack_texts


class RecordingComm:
    """A comm that keeps the messages sent, and lets a test act as the browser."""

    def __init__(self, target_name: str = "jupyter.widget", **_: Any) -> None:
        self.target_name = target_name
        self.comm_id = "recording"
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        self._receive: Any = None
        self._closed: Any = None

    def open(self, *_args: Any, **_options: Any) -> None:
        """Open the comm; no browser answers."""

    def close(self, *_args: Any, **_options: Any) -> None:
        """Close the comm; nobody answers any more."""
        self._receive = None

    def on_msg(self, receive: Any) -> None:
        self._receive = receive

    def on_close(self, callback: Any) -> None:
        """Set what is called when the browser closes the comm."""
        self._closed = callback

    def close_by_front_end(self) -> None:
        """Close the comm as a browser does that does not know the target."""
        self._closed({})

    def send(self, data: dict[str, Any], metadata: Any = None, buffers: Any = None) -> None:
        del metadata
        self.sent.append((data, [bytes(buffer) for buffer in buffers or ()]))

    def ask(self, content: dict[str, Any]) -> None:
        """Receive a message from the browser's program."""
        self._receive({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})

    @property
    def messages(self) -> list[tuple[dict[str, Any], bytes]]:
        """Return the custom messages: content and buffer."""
        return [(data["content"], b"".join(buffers)) for data, buffers in self.sent if data["method"] == "custom"]


class Browser:
    """A client with the state that `js/src/store` keeps: events, points, texts, sites, calls, status."""

    def __init__(self) -> None:
        self.next = 0
        self.events: dict[int, tuple[Any, ...]] = {}
        self.points: dict[tuple[int, int], float] = {}
        self.texts: dict[int, str] = {}
        self.sites: dict[int, Any] = {}
        self.calls: dict[int, Any] = {}
        self.status: dict[str, Any] = {}
        self.oldest = 0

    def receive(self, content: dict[str, Any], buffer: bytes) -> bool:
        """Take in a message; return False if earlier events are missing and must be requested."""
        assert content["version"] == wire.VERSION
        columns = unpack(content["columns"], buffer)
        if content["type"] == "rows":
            self.texts |= {content["first"] + row: text for row, text in unpack_texts(columns).items()}
            return True
        self.sites |= {site["id"]: site for site in content["sites"]}
        self.calls |= {call["id"]: call for call in content["calls"]}
        self.status, self.oldest = content["status"], content["oldest"]
        first = content["first"]
        if first > self.next and first > content["oldest"]:
            return False
        names = ("site", "time", "occurrence", "lane", "call")
        rows = zip(*(columns[name].tolist() for name in names), strict=True)
        self.events |= {first + row: values for row, values in enumerate(rows)}
        points = (columns[name].tolist() for name in ("point_row", "point_value", "point_y"))
        self.points |= {(first + row, value): y for row, value, y in zip(*points, strict=True)}
        self.texts |= {first + row: text for row, text in unpack_texts(columns).items()}
        self.next = max(self.next, first + content["count"])
        return True
