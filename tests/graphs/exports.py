"""Check an exported package, see `jdw.to_folder`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax_debug_widgets as jdw

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


def check_export(
    exported: Any, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], folder: Path
) -> None:
    """Check that a package computes the same bits, is written the same way again, and exports to the same package.

    Args:
      exported: the export of `function` with these arguments.
      function, args, kwargs: the function and its arguments.
      folder: where further packages are written.
    """
    exported.check()
    assert "bind(" not in text_in(exported.path)
    twice = jdw.to_folder(function, *args, path=folder / "twice", name=exported.name, **kwargs)
    assert text_in(twice.path) == text_in(exported.path)
    again = jdw.to_folder(exported.function, *args, path=folder / "again", **kwargs)
    again.check()
    if exported.is_same:  # Parts that are written differently, such as a checkpoint's barrier, give another program.
        assert again.is_same, again.difference


def text_in(folder: Path) -> str:
    """Return the text of a package's module."""
    return (folder / "module.py").read_text()
