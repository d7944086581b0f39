"""Write the numbers of a run as a TensorBoard log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jax_debug_widgets.session.run.by_name import choices, choices_matching, numbers_of
from jax_debug_widgets.session.run.naming import SelectedValue, full_names

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.ports import Values
    from jax_debug_widgets.store import Store


class _Curve(NamedTuple):
    """One curve: its name, and for each point the step, the seconds since the run began, and the value."""

    name: str
    steps: np.ndarray
    seconds: np.ndarray
    values: np.ndarray


def write_tensorboard(run: Values, started: float, folder: str | PathLike[str], names: Sequence[str]) -> None:
    """See `Run.to_tensorboard`; `started` is the number of seconds since the epoch when the run began."""
    try:
        from tensorboardX import FileWriter  # `SummaryWriter` changes names, and warns of each NaN.
        from tensorboardX.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue] - made at run time.
    except ImportError as error:
        msg = 'to_tensorboard() needs tensorboardX: pip install "jax-debug-widgets[tensorboard]"'
        raise ImportError(msg) from error
    at = Path(folder).expanduser()
    if at.is_dir() and any(at.glob("*tfevents*")):
        msg = f"{at} has a log of TensorBoard's already: choose another folder"
        raise FileExistsError(msg)
    curves = list(_curves(run, names))
    writer = FileWriter(str(at))
    try:
        for tag, curve in zip(_tags([curve.name for curve in curves]), curves, strict=True):
            for step, second, value in zip(*(one.tolist() for one in curve[1:]), strict=True):
                point = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
                writer.add_summary(point, step, started + second)
    finally:
        writer.close()


def _curves(run: Values, names: Sequence[str]) -> Iterator[_Curve]:
    """Yield the curves of these values, one for each lane, device and element; of all numbers, if no value is named."""
    chosen = [choice for name in names for choice in choices_matching(run, name)]
    if not names:
        chosen = [one for one in choices(run) if one.site.id not in run.copies and one.site.kind != "breakpoint"]
    called = full_names(chosen)
    times = Counter(called)
    for choice, own in zip(chosen, called, strict=True):
        name = own if times[own] == 1 else choice.place
        try:
            is_number = numbers_of(run, choice).ndim == 1
        except ValueError:  # The value has several shapes.
            is_number = False
        if names or is_number:
            yield from _curves_of(run.store, choice, name)


def _curves_of(store: Store, choice: SelectedValue, name: str) -> Iterator[_Curve]:
    positions, _, values = store.history.series(choice.site.id, choice.value)
    if values.dtype.kind == "c":
        return  # TensorBoard has no complex numbers.
    x, lane, device = store.history.places(choice.site.id)
    count = min(len(x), len(values))  # Events may have come or gone between the two reads.
    positions, values, x, lane, device = (one[len(one) - count :] for one in (positions, values, x, lane, device))
    seconds, table = _times_ns(store, positions) * 1e-9, values.reshape(count, -1)
    strands = np.stack([lane, device], axis=1)
    for own_lane, own_device in np.unique(strands, axis=0).tolist():
        rows = np.flatnonzero((lane == own_lane) & (device == own_device))
        rows = rows[np.argsort(x[rows], kind="stable")]
        parts = [
            name,
            *[f"lane {own_lane}"] * (own_lane >= 0),
            *([store.devices[own_device]] if own_device >= 0 else []),
        ]
        for element in range(table.shape[1]):
            own = "/".join(parts + [str(element)] * (values.ndim > 1))
            yield _Curve(own, _as_steps(x[rows]), seconds[rows], table[rows, element])


def _as_steps(x: np.ndarray) -> np.ndarray:
    """Return the steps, int64[n]; the numbers of the points, if steps are fractions or do not increase."""
    whole = x.astype(np.int64)
    return whole if np.array_equal(x, whole) and (np.diff(whole) > 0).all() else np.arange(len(x))


def _times_ns(store: Store, positions: np.ndarray) -> np.ndarray:
    """Return when the events at these positions fired, int64[n] in ns since the run began."""
    if not len(positions):
        return positions
    pieces = store.columns(int(positions.min()), int(positions.max()) + 1)
    return np.concatenate([piece.time_ns for piece in pieces])[positions - pieces[0].first]


def _tags(names: Sequence[str]) -> Iterator[str]:
    """Yield the names, numbered if several curves have the same name."""
    times, seen = Counter(names), Counter[str]()
    for name in names:
        seen[name] += 1
        yield f"{name}#{seen[name]}" if times[name] > 1 else name
