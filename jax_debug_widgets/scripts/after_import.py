"""Call a function as soon as a program has imported a certain module."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def after_import(name: str, then: Callable[[], None]) -> None:
    """Call `then` as soon as the module called `name` has been imported; at once if it already has been."""
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _Finder(name, then))


class _Finder(MetaPathFinder):
    """Finds the module as Python would, and wraps its loader; ignores all other modules."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib`."""
        del path, target
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loading(spec.loader, self._then)
        return spec


class _Loading(Loader):
    """Loads a module with the module's own loader, then calls `then`."""

    def __init__(self, loader: Loader, then: Callable[[], None]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """See `importlib`."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """See `importlib`."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then()
