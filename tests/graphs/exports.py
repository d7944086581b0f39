"""What holds of every package that is written, see `jdw.to_folder`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax_debug_widgets as jdw

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


def check_export(
    exported: Any, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], folder: Path
) -> None:
    """It gives the same bits, is written alike again, and what is exported of it is the same in turn.

    Args:
      exported: of this function and arguments.
      folder: where the further packages go.
    """
    exported.check()
    assert "bind(" not in text_in(exported.path)
    twice = jdw.to_folder(function, *args, path=folder / "twice", name=exported.name, **kwargs)
    assert text_in(twice.path) == text_in(exported.path)
    again = jdw.to_folder(exported.function, *args, path=folder / "again", **kwargs)
    again.check()
    if exported.is_same:  # What is written otherwise, such as a checkpoint's barrier, is another program.
        assert again.is_same, again.difference


def text_in(folder: Path) -> str:
    """The module of a package."""
    return (folder / "module.py").read_text()
