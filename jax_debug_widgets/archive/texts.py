"""Make the text and the arguments of events that were read from a file, without JAX."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets.archive.layout import RunFileError
from jax_debug_widgets.archive.plain import as_plain, from_plain
from jax_debug_widgets.events import CallSite
from jax_debug_widgets.events.tap import Arguments
from jax_debug_widgets.events.texts import PRINT_OPTIONS, TextRecipe, as_numpy, is_plain_format, watched_text

if TYPE_CHECKING:
    from jax_debug_widgets.events import Tap

_VALUE = "value"
"""The key of a placeholder for a value in the structure of arguments: `{"value": 3}`. Lists, dicts, tuples have others."""


class Structure:
    """The structure of `(args, kwargs)` of an event as JSON, with the numbers of values as leaves."""

    def __init__(self, data: Any) -> None:
        self.data = data

    @classmethod
    def of(cls, tap: Tap) -> Structure | None:
        """Return the structure of a tap's arguments; None if it holds more than lists, tuples, dicts and constants."""
        try:
            args, kwargs = tap.unflatten([_Leaf(number) for number in range(len(tap.shapes))])
            return cls({"args": [_written(one) for one in args], "kwargs": {k: _written(v) for k, v in kwargs.items()}})
        except Exception:  # noqa: BLE001 - a pytree of the user may refuse leaves that are not arrays.
            return None

    def __call__(self, values: Sequence[Any]) -> Arguments:
        """Return the arguments with these values as leaves."""
        args = tuple(_read(one, values) for one in self.data["args"])
        return args, {str(name): _read(one, values) for name, one in self.data["kwargs"].items()}


@dataclass(frozen=True)
class _Leaf:
    number: int


def _written(one: Any) -> Any:
    if type(one) is _Leaf:
        return {_VALUE: one.number}
    if type(one) in (list, tuple):
        return {type(one).__name__: [_written(part) for part in one]}
    if type(one) is dict and all(type(key) is str for key in one):
        return {"dict": {key: _written(part) for key, part in one.items()}}
    if one is None or type(one) in (bool, int, str):
        return {"constant": one}
    raise TypeError(type(one))


def _read(one: Any, values: Sequence[Any]) -> Any:
    try:
        ((kind, part),) = one.items()
        match kind:
            case "value" if type(part) is int and part >= 0:
                return values[part]
            case "list" if isinstance(part, list):
                return [_read(element, values) for element in part]
            case "tuple" if isinstance(part, list):
                return tuple(_read(element, values) for element in part)
            case "dict" if isinstance(part, dict):
                return {str(key): _read(element, values) for key, element in part.items()}
            case "constant" if part is None or type(part) in (bool, int, str):
                return part
    except (AttributeError, IndexError, TypeError, ValueError):
        pass
    raise RunFileError(f"{one!r:.80} is no structure of arguments")


@dataclass
class StoredTexts:
    """Looks up stored texts, which only the program could make, by the values of their events."""

    texts: dict[bytes, str] = field(default_factory=dict)

    def add(self, values: Sequence[np.ndarray], text: str) -> None:
        """Add the text of an event with these values."""
        self.texts.setdefault(_key_of(values), text)

    def __call__(self, values: Sequence[Any]) -> str:
        """Return the text for these values."""
        return self.texts.get(_key_of(values), "<its text is not in the file>")


def _key_of(values: Sequence[Any]) -> bytes:
    found = hashlib.blake2b(digest_size=16)
    for value in values:
        found.update(np.ascontiguousarray(value).tobytes())
    return found.digest()


class TextMaker:
    """Makes texts by a recipe."""

    def __init__(self, recipe: TextRecipe, structure: Structure) -> None:
        self._recipe, self._structure = recipe, structure
        self._options = dict(recipe.options)

    def __call__(self, values: Sequence[Any]) -> str:
        """Return the text of one event."""
        return self.many([values])[0]

    def many(self, rows: Iterable[Sequence[Any]]) -> list[str]:
        """Return the texts of many events; NumPy's print options are set once."""
        taken: Callable[[Any], Any] = np.asarray if self._recipe.kind == "call" else as_numpy
        with np.printoptions(**self._options):
            return [self._recipe.text(*self._structure([taken(value) for value in values])) for values in rows]


def recipe_that_holds(tap: Tap, structure: Structure | None, values: Sequence[np.ndarray]) -> TextRecipe | None:
    """Return the recipe for a tap's texts without JAX; None if the program makes another text of these values."""
    if tap.site.kind == "watch":
        return TextRecipe("watch")
    recipe = getattr(tap.render, "recipe", None)
    if recipe is None or structure is None or TextMaker(recipe, structure)(values) != tap.render(values):
        return None
    return recipe


def written_text(recipe: TextRecipe | None, structure: Structure | None) -> dict[str, Any]:
    """Return the entries of a file about the texts and arguments of a tap."""
    return {"text": recipe and as_plain(recipe), "structure": structure and structure.data}


def read_text(site: CallSite, data: dict[str, Any], values: int) -> tuple[Callable[..., Arguments], Callable[..., str]]:
    """Return `unflatten` and `render` of a tap with `values` values, see `Tap`.

    Raises:
      RunFileError: the file's entries are not valid.
    """
    structure = None if data.get("structure") is None else _structure(data["structure"], values)
    unflatten: Callable[..., Arguments] = structure or _flat
    if data.get("text") is None:
        return unflatten, StoredTexts()
    recipe = from_plain(TextRecipe, data["text"])
    options = [(str(name), value) for name, value in recipe.options]
    if any(name not in PRINT_OPTIONS or type(value) not in PRINT_OPTIONS[name] for name, value in options):
        raise RunFileError(f"{options!r:.80} are no print options of NumPy's")
    if recipe.kind == "format" and not is_plain_format(recipe.format):
        raise RunFileError(f"the format {recipe.format!r:.80} asks for more than values")
    if recipe.kind == "watch":
        return unflatten, partial(watched_text, site)
    if structure is None:
        raise RunFileError(f"{site.where}: a text without the structure of its arguments")
    return unflatten, TextMaker(TextRecipe(recipe.kind, recipe.format, tuple(options)), structure)


def _structure(data: Any, values: int) -> Structure:
    if not (isinstance(data, dict) and isinstance(data.get("args"), list) and isinstance(data.get("kwargs"), dict)):
        raise RunFileError(f"{data!r:.80} is no structure of arguments")
    structure = Structure(data)
    structure(range(values))  # Raises if the structure is not valid.
    return structure


def _flat(values: Sequence[Any]) -> Arguments:
    return tuple(values), {}
