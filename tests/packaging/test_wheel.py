"""Test that the packages for PyPI contain the panel, work where they are installed, and contain nothing unneeded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
PANEL = "jax_debug_widgets/static/panel.js"
PANEL_LIMIT_BYTES = 200_000
"""Of what a page loads at first."""
VIEWS = "jax_debug_widgets/static/views.js"
PROGRAM = "jax_debug_widgets/static/program.js"
LINES = "jax_debug_widgets/static/lines.js"
RUNS = "jax_debug_widgets/static/runs.js"
CALLS = "jax_debug_widgets/static/calls.js"
VIEWS_LIMIT_BYTES = 120_000
"""Of each that it loads when one of their views is first shown."""
LABEXTENSION = "share/jupyter/labextensions/jax-debug-widgets"
LABEXTENSION_LIMIT_BYTES = 120_000
"""Of its programs: it brings no second copy of the panel."""


def run(*command: str, cwd: Path, **environment: str) -> str:
    """Run a command; if it fails, the failure's message has its output."""
    finished = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, f"{' '.join(command)}:\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout


def wrong_with_wheel(sizes: Mapping[str, int]) -> list[str]:
    """Return what is wrong in a wheel with files of these sizes."""
    problems = []
    limits = {PANEL: PANEL_LIMIT_BYTES, **dict.fromkeys((VIEWS, PROGRAM, LINES, RUNS, CALLS), VIEWS_LIMIT_BYTES)}
    for part, limit in limits.items():
        if not 0 < sizes.get(part, 0) <= limit:
            problems.append(f"{part}: {sizes.get(part, 'missing')}")
    if "jax_debug_widgets/py.typed" not in sizes:
        problems.append("py.typed: missing")
    problems += wrong_with_extension({name.split(".data/data/")[-1]: size for name, size in sizes.items()})
    allowed = ("jax_debug_widgets/", "jax_debug_widgets-")
    unwanted = ("node_modules/", "__pycache__/", ".gitkeep")
    problems += [
        f"{name}: unwanted"
        for name in sizes
        if not name.startswith(allowed) or name.endswith(".map") or any(part in name for part in unwanted)
    ]
    return problems


def wrong_with_extension(sizes: Mapping[str, int]) -> list[str]:
    """Return what is wrong in JupyterLab's extension; names are relative to the prefix of the environment."""
    needed = [
        f"{LABEXTENSION}/{name}" for name in ("package.json", "install.json", "schemas/jax-debug-widgets/plugin.json")
    ]
    problems = [f"{name}: missing" for name in needed if name not in sizes]
    programs = {name: size for name, size in sizes.items() if name.startswith(LABEXTENSION) and name.endswith(".js")}
    if not any("/remoteEntry." in name for name in programs):
        problems.append("remoteEntry: missing")
    if sum(programs.values()) > LABEXTENSION_LIMIT_BYTES:
        problems.append(f"{LABEXTENSION}: {sum(programs.values())} bytes of programs")
    if any(name.startswith("jax_debug_widgets/labextension/") for name in sizes):
        problems.append("the extension is in the package, too")
    return problems


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist from the checkout, and the wheel from the sdist, as an installer does."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    (path,) = built.glob("*.whl")
    return path


def test_the_wheel_holds_the_panel_and_nothing_unwanted(wheel):
    with zipfile.ZipFile(wheel) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    assert wrong_with_wheel(sizes) == []


def test_the_sdist_holds_the_sources_of_the_panel_and_the_panel(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {PANEL, VIEWS, PROGRAM, LINES, RUNS, CALLS, "js/package-lock.json", "js/build.mjs"} <= names
    assert {"hatch_build.py", "pyproject.toml", "LICENSE"} <= names
    assert {"js/lab/package-lock.json", "js/lab/install.json", "jax_debug_widgets/labextension/package.json"} <= names
    assert all(
        any(name.startswith(folder) for name in names) for folder in ("js/src/", "js/lab/src/", "js/lab/schema/")
    )
    assert [name for name in names if "node_modules" in name or name.endswith(".map")] == []


def test_the_wheel_works_where_it_is_installed(wheel, tmp_path):
    target = tmp_path / "installed"
    run(
        sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(target), str(wheel), cwd=ROOT
    )
    program = "import jax_debug_widgets; print(jax_debug_widgets.__file__)"
    where = run(sys.executable, "-W", "error", "-c", program, cwd=tmp_path, PYTHONPATH=str(target))
    assert Path(where.strip()).is_relative_to(target)


def test_jupyterlab_finds_the_extension_of_an_installed_wheel(wheel, tmp_path):
    """`pip install --prefix` installs shared data as an environment has it; JupyterLab lists what it finds there."""
    prefix = tmp_path / "prefix"
    # Without --ignore-installed pip takes the package out of the environment that runs these tests.
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-index",
        "--ignore-installed",
        "--prefix",
        str(prefix),
        str(wheel),
        cwd=ROOT,
    )
    program = (
        "from jupyterlab_server.config import get_federated_extensions\n"
        "import json, sys; print(json.dumps(get_federated_extensions([sys.argv[1]])))"
    )
    found = json.loads(
        run(sys.executable, "-c", program, str(prefix / "share" / "jupyter" / "labextensions"), cwd=tmp_path)
    )
    extension = found["jax-debug-widgets"]
    assert extension["install"]["packageName"] == "jax-debug-widgets"
    assert (Path(extension["ext_path"]) / extension["jupyterlab"]["_build"]["load"]).is_file()


DATA = f"jax_debug_widgets-0.1.0.data/data/{LABEXTENSION}"
GOOD_WHEEL = {
    f"{DATA}/package.json": 10,
    f"{DATA}/install.json": 10,
    f"{DATA}/schemas/jax-debug-widgets/plugin.json": 10,
    f"{DATA}/static/remoteEntry.abc.js": 1000,
    PANEL: 1000,
    VIEWS: 1000,
    PROGRAM: 1000,
    LINES: 1000,
    RUNS: 1000,
    CALLS: 1000,
    "jax_debug_widgets/py.typed": 0,
    "jax_debug_widgets-0.1.0.dist-info/METADATA": 10,
}


@pytest.mark.parametrize(
    ("changed", "problems"),
    [
        ({}, 0),
        ({PANEL: 0}, 1),
        ({PANEL: PANEL_LIMIT_BYTES + 1}, 1),
        ({VIEWS: 0}, 1),
        ({PROGRAM: 0}, 1),
        ({VIEWS: VIEWS_LIMIT_BYTES + 1}, 1),
        ({"jax_debug_widgets/static/panel.js.map": 1}, 1),
        ({"jax_debug_widgets/static/node_modules/x.js": 1}, 1),
        ({"js/src/x.ts": 1}, 1),
        ({f"{DATA}/static/x.js": LABEXTENSION_LIMIT_BYTES}, 1),
        ({"jax_debug_widgets/labextension/package.json": 1}, 1),
    ],
)
def test_the_check_of_the_wheel_can_fail(changed, problems):
    assert len(wrong_with_wheel(GOOD_WHEEL | changed)) == problems


@pytest.mark.parametrize("missing", [name for name in GOOD_WHEEL if "METADATA" not in name])
def test_the_check_of_the_wheel_misses_what_is_missing(missing):
    sizes = {name: size for name, size in GOOD_WHEEL.items() if name != missing}
    assert len(wrong_with_wheel(sizes)) == 1
