"""Define the `stop` message, which says where a stopped program stands. See `wire` for how it travels."""

from __future__ import annotations

from typing import TypedDict


class ArrayStatistics(TypedDict):
    """The statistics of all elements of a value; `min` to `std` are of the finite elements, None without any."""

    size: int
    nan: int
    inf: int
    zero: int
    min: float | None
    max: float | None
    mean: float | None
    std: float | None


class LocalMessage(TypedDict):
    """A variable of a frame. `text` is its shortened repr; `shape`, `dtype` and `stats` are None if it is not an array.

    `device` is the device that held it in the program, empty if that is not known.
    """

    name: str
    type: str
    text: str
    shape: list[int] | None
    dtype: str | None
    device: str
    stats: ArrayStatistics | None


class FrameMessage(TypedDict):
    """One of the user's frames, 0 the innermost. `source` are its lines from `first_line` on, and `line` is the current one."""

    index: int
    file: str
    where: str
    function: str
    line: int
    first_line: int
    source: list[str]
    locals: list[LocalMessage]


class LanesMessage(TypedDict):
    """The `vmap` axes of a stop. `stopped` lists the lanes in which the condition holds, None without a condition."""

    sizes: list[int]
    chosen: list[int]
    stopped: list[list[int]] | None


class ReplaceableMessage(TypedDict):
    """The value that the program goes on with (`x = jdw.breakpoint(x)`) in the chosen lane; `set` replaces it."""

    name: str
    shape: list[int]
    dtype: str


class StopBody(TypedDict):
    """A stop.

    `kind` is `breakpoint`, `pause` or `step`. `site` is -1 if the stop is at no site. `reason` is a sentence.
    `since` is the seconds since the stop began. `timeout` is the seconds after which the program goes on by itself, None for
    never. `event` is the position of the event at which the program stands, -1 if none is recorded.
    `way` is how commands reach the kernel: `shell`, `control` or `stdin`. `hits` is how often the site was reached.
    `warning` says what may go wrong while the program stands; it is empty if nothing may. `frame` is the chosen frame.
    """

    id: int
    kind: str
    site: int
    name: str
    reason: str
    since: float
    timeout: float | None
    thread: str
    way: str
    phase: str
    step: list[int]
    event: int
    lanes: LanesMessage
    device: str
    hits: int
    warning: str
    replaceable: ReplaceableMessage | None
    frame: int
    frames: list[FrameMessage]


class TypedMessage(TypedDict):
    """A command that was typed in the console before; `output` is None if its answer has not come."""

    text: str
    output: str | None
    error: bool


class StopMessage(TypedDict):
    """The open stop; `stop` is None when the stop is over."""

    type: str
    version: int
    run: str
    stop: StopBody | None
