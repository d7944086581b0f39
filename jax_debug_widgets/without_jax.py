"""Let runs be read where JAX is not installed: what needs JAX is replaced by stand-ins that say so when they are used.

In:   the imports of this package's own modules, only where `import jax` fails.
Out:  the modules that need no JAX, as they are. A module that imports JAX, or uses a stand-in while it is imported, is a
      stand-in itself, and so is each name that is imported from it.
"""

from __future__ import annotations

import functools
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_PACKAGE = __name__.partition(".")[0]
_NEEDED = ("jax", "jaxlib")


class NeedsJaxError(ImportError):
    """Raised by the use of what needs JAX."""


def refuse(what: str) -> NoReturn:
    """Say that something needs JAX.

    Raises:
      NeedsJaxError: always.
    """
    raise NeedsJaxError(
        f"{what} needs JAX: pip install jax. Without it, `load` and the runs that it returns can be used"
    )


class _StandIn(type):
    """The type of stand-ins. They are classes, so that classes may inherit from them."""

    def _refuse(cls, *_: object, **__: object) -> NoReturn:
        refuse(cls.__qualname__)

    __call__ = __iter__ = __contains__ = __len__ = __getitem__ = _refuse  # pyright: ignore[reportAssignmentType]
    __or__ = __ror__ = __eq__ = _refuse  # pyright: ignore[reportAssignmentType]
    __hash__ = type.__hash__

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _stand_in(f"{cls.__qualname__}.{name}")


def _stand_in(name: str) -> Any:
    return _StandIn(name.rpartition(".")[2], (), {"__qualname__": name})


class _OwnLoader(Loader):
    """Loads a module of this package; one that cannot be loaded without JAX becomes a stand-in."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """See `Loader`."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """See `Loader`."""
        try:
            self._loader.exec_module(module)
        except ImportError as error:
            if not isinstance(error, NeedsJaxError) and (error.name or "").partition(".")[0] not in _NEEDED:
                raise
            name = module.__name__.removeprefix(f"{_PACKAGE}.")
            module.__dict__["__getattr__"] = _StandIn.__getattr__.__get__(_stand_in(name))


class _OwnFinder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `MetaPathFinder`."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname.startswith(f"{_PACKAGE}.") else None
        if spec is not None and spec.loader is not None:
            spec.loader = _OwnLoader(spec.loader)
        return spec


@functools.cache
def has_jax() -> bool:
    """Whether JAX can be imported, as far as that is known without doing it."""
    try:
        return "jax" in sys.modules or all(find_spec(name) is not None for name in _NEEDED)
    except ImportError:
        return False


def use_stand_ins() -> None:
    """Replace what needs JAX by stand-ins from now on."""
    sys.meta_path.insert(0, _OwnFinder())
