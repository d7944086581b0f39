"""The `stop` message: where a program stands that a debugger has stopped. See `wire` for how it travels."""

from __future__ import annotations

from typing import TypedDict


class ArrayStatistics(TypedDict):
    """The statistics of all elements of a value; `min` to `std` are those of the finite ones, None where there are none."""

    size: int
    nan: int
    inf: int
    zero: int
    min: float | None
    max: float | None
    mean: float | None
    std: float | None


class LocalMessage(TypedDict):
    """A variable of a frame. `text` is its shortened repr; `shape`, `dtype` and `stats` are None where it is no array.

    `device` is where it was in the program, empty where that is not known.
    """

    name: str
    type: str
    text: str
    shape: list[int] | None
    dtype: str | None
    device: str
    stats: ArrayStatistics | None


class FrameMessage(TypedDict):
    """One frame of the user's, 0 the innermost: `source` are its lines from `first_line` on, `line` the current one."""

    index: int
    file: str
    where: str
    function: str
    line: int
    first_line: int
    source: list[str]
    locals: list[LocalMessage]


class LanesMessage(TypedDict):
    """The `vmap` axes of a stop. `stopped` lists the lanes whose condition holds, None where there was no condition."""

    sizes: list[int]
    chosen: list[int]
    stopped: list[list[int]] | None


class ReplaceableMessage(TypedDict):
    """The value that goes on (`x = jdw.breakpoint(x)`), as the chosen lane has it; `set` gives another one."""

    name: str
    shape: list[int]
    dtype: str


class StopBody(TypedDict):
    """A stop.

    `kind` is `breakpoint`, `pause` or `step`; `site` -1 where it is at none; `reason` a sentence; `since` seconds since it
    began; `event` the number of the event at which it stands, -1 where none is recorded; `timeout` seconds after which the
    program goes on by itself, None for never; `way` how commands reach the
    kernel: `shell`, `control` or `stdin`; `hits` how often its site was reached; `warning` empty, or what may go wrong while
    it stands; `frame` the frame looked at.
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
    """A command of the console that was typed before; `output` is None where its answer has not come."""

    text: str
    output: str | None
    error: bool


class StopMessage(TypedDict):
    """`stop` is None when there is none any more."""

    type: str
    version: int
    run: str
    stop: StopBody | None
