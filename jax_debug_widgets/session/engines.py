"""Let the engines of an ipyparallel client record into one folder, and follow them in one panel."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.compat.processes import COUNT, NUMBER
from jax_debug_widgets.archive.layout import RUN
from jax_debug_widgets.session.loading import load
from jax_debug_widgets.session.recorder import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from jax_debug_widgets.session.ports import Loading
    from jax_debug_widgets.session.run.loaded import LoadedRun

_RUN = re.compile(r"run(?:-(\d+))?\.jdw")


class Engines:
    """Merges the captures that all engines of a client make from now on. Its display is the panel of the newest run.

    Attributes:
      folder: the folder of the runs. The engines and this process must see it.
    """

    def __init__(self, session: Loading, client: Any, folder: str | PathLike[str] | None) -> None:
        """Tell each engine to record. `client` is an `ipyparallel.Client`; the folder is a temporary one if None."""
        self.folder = Path(folder or tempfile.mkdtemp(prefix="jaxdebug-")).expanduser().absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._session, self._client = session, client
        self._loaded: dict[Path, LoadedRun] = {}
        numbers = list(client.ids)
        for number, engine in enumerate(numbers):
            variables = {VARIABLE: str(self.folder / "run.jdw"), NUMBER: str(number), COUNT: str(len(numbers))}
            client[engine].apply_sync(set_environment, variables)

    def stop(self) -> None:
        """End the recording in the engines, except in captures that ask for it themselves."""
        for engine in list(self._client.ids):
            self._client[engine].apply_sync(set_environment, dict.fromkeys((VARIABLE, NUMBER, COUNT)))

    @property
    def run(self) -> LoadedRun:
        """The newest run of the engines. It is followed while it goes on.

        Raises:
          LookupError: no run has begun.
        """
        path = self._newest()
        if path is None:
            msg = (
                f"the engines have captured nothing yet: %%px, and %%jaxdebug in the line after it (into {self.folder})"
            )
            raise LookupError(msg)
        if path not in self._loaded:
            loaded = load(self._session, path, follow=True)
            self._loaded[path] = loaded  # pyright: ignore[reportArgumentType] - a run, and no table of several.
        return self._loaded[path]

    def _newest(self) -> Path | None:
        found = {int(name[1] or 1): path for path in self.folder.iterdir() if (name := _RUN.fullmatch(path.name))}
        begun = [number for number, path in found.items() if (path / RUN).exists()]
        return found[max(begun)] if begun else None

    def __repr__(self) -> str:
        path = self._newest()
        return f"<Engines: {len(self._client.ids)}, into {self.folder}, newest {path.name if path else 'none'}>"

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if self._newest() is None:
            return {"text/plain": repr(self)}, {}
        return self.run._repr_mimebundle_()


def set_environment(variables: Mapping[str, str | None]) -> None:
    """Set environment variables, or remove those with the value None. It runs in an engine."""
    import os

    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
