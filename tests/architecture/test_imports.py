"""Test the layers of imports, what an import loads, the length of files, and the names in docstrings."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import jax_debug_widgets

ROOT = Path(__file__).parents[2]

# Imports the modules named on its command line, then tells what is loaded and which threads run.
PROBE = """
import importlib, json, sys, threading
for name in sys.argv[1:]:
    importlib.import_module(name)
threads = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
json.dump({"modules": sorted(sys.modules), "threads": threads}, sys.stdout)
"""
THREAD_STARTER = (
    "import threading\nthreading.Thread(target=threading.Event().wait, name='stray', daemon=True).start()\n"
)


def after_importing(*modules: str, cwd: Path = ROOT) -> dict[str, list[str]]:
    finished = subprocess.run(
        [sys.executable, "-c", PROBE, *modules], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def rooms() -> list[str]:
    """Return the path of every room in the contracts, from the package on: `events`, `_jax/compat`."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return [
        "/".join([*container.split(".")[1:], room])
        for contract in contracts
        for container in contract.get("containers", [])
        for layer in contract["layers"]
        for room in layer.split(" | ")
    ]


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_imports_point_down_the_list_of_rooms():
    finished = lint_imports(ROOT)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def imports_of(module: str, modules: dict[str, Path]) -> set[str]:
    """Return our modules that a module imports, also in functions and for types."""
    imported = set()
    for node in ast.walk(ast.parse(modules[module].read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            imported |= {name if name in modules else node.module for name in inner}
    return imported & modules.keys() - {module}


def modules_in(package: Path) -> dict[str, Path]:
    """Return each module of a folder with its file."""
    return {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in package.rglob("*.py")
    }


def test_imports_have_no_cycles():
    modules = modules_in(ROOT / "jax_debug_widgets")
    graph = {module: imports_of(module, modules) for module in modules}
    TopologicalSorter(graph).prepare()  # Raises `CycleError`, which names the modules.


def test_a_cycle_is_found_also_where_it_is_for_types(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "one.py").write_text("if TYPE_CHECKING:\n    from package.two import Two\n")
    (package / "two.py").write_text("def f():\n    from package import one\n")
    modules = modules_in(package)
    with pytest.raises(CycleError):
        TopologicalSorter({module: imports_of(module, modules) for module in modules}).prepare()


@pytest.mark.parametrize(("lower", "upper"), [("events", "widgets"), ("_jax/compat", "_jax/running")])
def test_the_check_of_the_rooms_can_fail(tmp_path, lower, upper):
    package = tmp_path / "jax_debug_widgets"
    for room in rooms():
        (package / room).mkdir(parents=True, exist_ok=True)
        (package / room / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    imported, importing = (f"jax_debug_widgets.{room.replace('/', '.')}" for room in (upper, lower))
    (package / lower / "__init__.py").write_text(f"import {imported}\n")
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    finished = lint_imports(tmp_path)
    assert finished.returncode != 0
    assert f"{importing} -> {imported}" in finished.stdout


@pytest.mark.parametrize("room", ["events", "graphs", "store", "transport"])
def test_the_rooms_of_plain_data_load_without_jax_and_jupyter(room):
    loaded = after_importing(f"jax_debug_widgets.{room}")["modules"]
    assert {"jax", "jaxlib", "IPython", "ipywidgets", "anywidget", "matplotlib"}.isdisjoint(loaded)


def test_the_package_loads_without_ipython_and_matplotlib_and_starts_no_thread():
    after = after_importing("jax_debug_widgets")
    assert {"IPython", "matplotlib"}.isdisjoint(after["modules"])
    assert after["threads"] == []


def test_the_capturing_modules_load_without_any_extra():
    loaded = after_importing("jax_debug_widgets.session", "jax_debug_widgets.magics", "jax_debug_widgets.pytest")
    assert {"numba", "pandas", "pyarrow", "treescope"}.isdisjoint(loaded["modules"])


def test_the_probe_sees_what_an_import_brings_along(tmp_path):
    (tmp_path / "stray.py").write_text(THREAD_STARTER)
    after = after_importing("IPython", "stray", cwd=tmp_path)
    assert "IPython" in after["modules"]
    assert "stray" in after["threads"]


def unexplained(path: Path) -> bool:
    """Return whether a file is long and its first lines do not give a reason."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return len(lines) > 300 and "more than 300 lines because" not in " ".join(lines[:20])


def test_a_file_of_more_than_300_lines_says_why():
    ours = [*(ROOT / "jax_debug_widgets").rglob("*.py"), *(ROOT / "js" / "src").rglob("*.ts*")]
    assert [str(path.relative_to(ROOT)) for path in ours if ".test." not in path.name and unexplained(path)] == []


def test_a_long_file_that_does_not_say_why_is_found(tmp_path):
    (tmp_path / "long.py").write_text("x = 1\n" * 301)
    (tmp_path / "facts.py").write_text('"""It has more than 300 lines because."""\n' + "x = 1\n" * 301)
    assert [path.name for path in sorted(tmp_path.iterdir()) if unexplained(path)] == ["long.py"]


REFERENCE = re.compile(r"`([\w/]+(?:\.\w+)+)(?:\([^`]*\))?`")
NOT_OURS = {"pytest", "A", "Compiled", "ExecuteReplicated", "HostBufferSemantics", "Model", "host.py", "train.py"}
"""Libraries, classes of JAX, and the user's files and classes in examples."""


def bound_in(node: ast.AST) -> set[str]:
    """Return the names and attributes that the code below a node defines, assigns or imports."""
    names = set[str]()
    for one in ast.walk(node):
        match one:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names.add(other or name)
    return names


def docstrings(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> Iterator[tuple[int, str]]:
    """Yield line and text of each docstring, also of those after assignments."""
    for one in node.body:
        if isinstance(one, ast.ClassDef | ast.FunctionDef):
            yield from docstrings(one)
        elif isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
            yield one.lineno, one.value.value


class Names:
    """The modules and classes of a package, and the names that they bind."""

    def __init__(self, package: Path, public: Collection[str]) -> None:
        self.package, self.public, self.modules = package, public, modules_in(package)
        self.trees = {module: ast.parse(path.read_text()) for module, path in self.modules.items()}
        self.classes: dict[str, list[ast.ClassDef]] = {}
        for node in (one for tree in self.trees.values() for one in tree.body):
            if isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, []).append(node)

    def has_member(self, name: str, member: str) -> bool:
        bases = (ast.unparse(base).split("[")[0] for each in self.classes.get(name, ()) for base in each.bases)
        own = (member in bound_in(each) for each in self.classes.get(name, ()))
        return any(own) or any(self.has_member(base, member) for base in bases)

    def has(self, module: str, rest: Sequence[str]) -> bool:
        if rest and f"{module}.{rest[0]}" in self.modules:
            return self.has(f"{module}.{rest[0]}", rest[1:])
        is_bound = not rest or rest[0] in bound_in(self.trees[module])
        return is_bound and (len(rest) < 2 or self.has_member(rest[0], rest[1]))

    def exists(self, reference: str) -> bool:
        """Return whether a reference exists, or is not a name of ours.

        References have the form `room.module.Name`, `Class.member`, `module.Name` or `module.py`.
        """
        first, *rest = reference.split(".")
        if not NOT_OURS.isdisjoint((first, reference)):
            return True
        if rest == ["py"]:
            files = map(str, self.modules.values())
            return (self.package.parent / reference).exists() or any(file.endswith(f"/{reference}") for file in files)
        if first in (self.package.name, "jdw"):
            return rest[0] in self.public or self.has(self.package.name, rest)
        if f"{self.package.name}.{first}" in self.modules:
            return self.has(f"{self.package.name}.{first}", rest)
        if first[0].isupper():
            return self.has_member(first, rest[0])
        alike = [module for module in self.modules if module.endswith(f".{first}")]
        return not (alike and rest[0][0].isupper()) or any(self.has(module, rest) for module in alike)

    def missing(self) -> list[str]:
        """Return `file:line: reference` for each reference in a docstring that does not exist."""
        return [
            f"{self.modules[module].relative_to(self.package)}:{line}: {reference}"
            for module, tree in self.trees.items()
            for line, text in docstrings(tree)
            for reference in REFERENCE.findall(text)
            if not self.exists(reference)
        ]


def test_names_in_docstrings_exist():
    assert Names(ROOT / "jax_debug_widgets", jax_debug_widgets.__all__).missing() == []


def test_a_reference_to_a_missing_name_is_found(tmp_path):
    package = tmp_path / "package"
    (package / "room").mkdir(parents=True)
    (package / "room" / "__init__.py").write_text("class Base:\n    x: int\n")
    (package / "room" / "one.py").write_text("class One(Base):\n    y = 1\n")
    there = ["room.one", "room.one.One.y", "One.x", "one.One", "room/one.py", "package.call", "jnp.where", "one.value"]
    gone = ["room.two", "room.one.Two", "one.Two", "One.z", "Two.x", "two.py", "jdw.put"]
    text = " ".join(f"`{each}`" for each in (*there, *gone))
    (package / "__init__.py").write_text(f'"""{text}"""\n')
    assert Names(package, ["call"]).missing() == [f"__init__.py:1: {each}" for each in gone]
