"""Write the files beside the module of an exported program: its README, its test, its host functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax

from jax_debug_widgets._jax.studies.export.package import FunctionText
from jax_debug_widgets._jax.studies.export.trees import children_of, is_leaf, plain_key


def readme_text(package: str, written: FunctionText) -> str:
    """Return the README, which says how to run and edit the program."""
    hosts = [f"* `{one.name}` takes {', '.join(one.takes) or 'nothing'}, gives {one.gives}" for one in written.hosts]
    sections = {
        "The backward pass": [_BACKWARD] if written.program.has_backward else [],
        "To be filled in": [_HOSTS, *hosts] if hosts else [],
        "Written otherwise than JAX has traced it": [f"* {one}" for one in written.notes],
        "Arrays": [_ARRAYS] if written.constants else [],
    }
    text = _README.format(package=package, name=written.name, given=", ".join(written.call.given))
    return text + "".join(f"\n## {title}\n\n" + "\n".join(lines) + "\n" for title, lines in sections.items() if lines)


_README = """# {package}: `{name}`, as JAX has traced it

It is a Python package of its own: it needs JAX, NumPy and what `module.py` imports for its pytrees, and not
jax_debug_widgets.

## Run

```python
import jax
from {package} import {name}

jax.jit({name})({given})
```

`jax.jit({name})` gives the bits that the jitted original gives, for arguments of these shapes and dtypes on the same kind of
device. Un-jitted, the last bit may differ: what the original calls jitted is taken apart here.

```sh
python test_program.py
```

## Edit

`module.py` is the program: one line an operation, under a comment with the line of the source that it comes from. Names are
those of the source. Change what you want to try: `jax_debug_widgets.diff` and `jax_debug_widgets.compare` tell what it does.
Shapes are part of the program.
"""

_BACKWARD = """The program computes gradients: the lines under `# backward of` compute them. They do not follow a change of the
forward pass. To try another model, export the function before it is differentiated, edit that package, and differentiate its
function, as `jax.value_and_grad` does."""

_HOSTS = "JAX does not see inside functions of the host. Write them in `host.py`:\n"

_ARRAYS = "`constants.npz` has the arrays that are part of the program. Nothing is pickled."


def host_text(written: FunctionText) -> str:
    """Return the module with the host functions that the user has to fill in."""
    parts = ['"""Functions that the host calls. JAX does not see inside them: write them here."""']
    for one in written.hosts:
        source = "".join(f"    # {line}\n" for line in one.source.rstrip().splitlines())
        parts.append(
            f"def {one.name}(*arrays):\n"
            f'    """Takes {", ".join(one.takes) or "nothing"}; gives {one.gives}."""\n'
            f"{source}"
            f'    raise NotImplementedError("write {one.name} in host.py")'
        )
    return "\n\n\n".join(parts) + "\n"


def test_text(package: str, written: FunctionText) -> str:
    """Return a test of the package, for `python test_program.py` and pytest."""
    return _TEST.format(
        package=package,
        name=written.name,
        arguments=_arguments(written),
        specs=",\n    ".join(f"({list(one.shape)!r}, {str(one.dtype)!r})" for one in written.call.operands()),
    )


_TEST = '''"""Runs the program on the arguments of its export, and compares the results with those of the original.

    python test_program.py
"""

import importlib
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
package = importlib.import_module(HERE.name)
runtime = importlib.import_module(f"{{HERE.name}}._runtime")
SPECS = [
    {specs}
]
OTHER = object()
"""Stands for an argument that is no array."""


@jax.tree_util.register_pytree_node_class
class ExportedObject:
    """Stands for an object of a class: its arrays, by attribute and by key."""

    def __init__(self, parts):
        self.parts = parts

    def __getattr__(self, name):
        if name == "parts" or name not in self.parts:
            raise AttributeError(name)
        return self.parts[name]

    def __getitem__(self, key):
        return self.parts[key]

    def tree_flatten(self):
        return tuple(self.parts.values()), tuple(self.parts)

    @classmethod
    def tree_unflatten(cls, names, parts):
        return cls(dict(zip(names, parts, strict=True)))


def example():
    """The arrays of the arguments; ones where they were not kept."""
    stored = runtime.load_arrays(HERE / "example.npz")
    return [stored[f"x{{n}}"] if stored else jnp.ones(shape, dtype) for n, (shape, dtype) in enumerate(SPECS)]


def run(*x):
    result = package.{name}({arguments})
    return [one for one in jax.tree.leaves(result) if one is not OTHER]


def test_the_program_runs_and_gives_what_the_original_gave():
    found = jax.tree.leaves(jax.jit(run)(*example()))
    expected = runtime.load_arrays(HERE / "expected.npz")
    assert expected, "nothing to compare with: check() of what to_folder returned keeps the results of the original"
    for n, one in enumerate(found):
        assert bits(one) == bits(expected[f"r{{n}}"]), f"result {{n}} differs"
    return len(found)


def bits(array):
    is_key = jnp.issubdtype(array.dtype, jax.dtypes.prng_key)
    return str(array.dtype), array.shape, np.asarray(jax.random.key_data(array) if is_key else array).tobytes()


if __name__ == "__main__":
    print(f"{{test_the_program_runs_and_gives_what_the_original_gave()}} results, equal to the bit")
'''


def _arguments(written: FunctionText) -> str:
    numbers = itertools.count()
    call = written.call
    return ", ".join(
        f"{name}={_tree(value, call.is_fixed, numbers)}"
        if name in call.keywords
        else _tree(value, call.is_fixed, numbers)
        for name, value in call.given.items()
    )


def _tree(value: Any, is_fixed: Callable[[Any], bool], numbers: Iterator[int]) -> str:
    """Write a pytree of the example's arrays as Python code."""
    if value is None:
        return "None"
    if is_leaf(jax.tree.structure(value)):
        if not is_fixed(value):
            return f"x[{next(numbers)}]"
        return repr(value) if isinstance(value, bool | int | str) else "OTHER"
    keys, parts = zip(*children_of(value), strict=True) if list(children_of(value)) else ((), ())
    texts = [_tree(one, is_fixed, numbers) for one in parts]
    if type(value) in (list, tuple):
        inside = ", ".join(texts)
        return f"[{inside}]" if type(value) is list else f"({inside}{',' * (len(texts) == 1)})"
    named = ", ".join(f"{plain_key(key)!r}: {text}" for key, text in zip(keys, texts, strict=True))
    return f"{{{named}}}" if type(value) is dict else f"ExportedObject({{{named}}})"
