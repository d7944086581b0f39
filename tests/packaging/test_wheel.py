"""What is built for PyPI holds the panel, works where it is installed, and brings along nothing unneeded."""

from __future__ import annotations

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
PANEL_LIMIT_BYTES = 150_000


def run(*command: str, cwd: Path, **environment: str) -> str:
    """Run a command; its output is in the failure's message."""
    finished = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, f"{' '.join(command)}:\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout


def wrong_with_wheel(sizes: Mapping[str, int]) -> list[str]:
    """What should not be as it is in a wheel with files of these sizes."""
    problems = []
    if not 0 < sizes.get(PANEL, 0) <= PANEL_LIMIT_BYTES:
        problems.append(f"{PANEL}: {sizes.get(PANEL, 'missing')}")
    if "jax_debug_widgets/py.typed" not in sizes:
        problems.append("py.typed: missing")
    allowed = ("jax_debug_widgets/", "jax_debug_widgets-")
    unwanted = ("node_modules/", "__pycache__/", ".gitkeep")
    problems += [
        f"{name}: unwanted"
        for name in sizes
        if not name.startswith(allowed) or name.endswith(".map") or any(part in name for part in unwanted)
    ]
    return problems


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist from the checkout, and the wheel from the sdist: what an installer does with it."""
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
    assert {PANEL, "js/package-lock.json", "js/build.mjs", "hatch_build.py", "pyproject.toml", "LICENSE"} <= names
    assert any(name.startswith("js/src/") for name in names)
    assert [name for name in names if "node_modules" in name or name.endswith(".map")] == []


def test_the_wheel_works_where_it_is_installed(wheel, tmp_path):
    target = tmp_path / "installed"
    run(
        sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(target), str(wheel), cwd=ROOT
    )
    program = "import jax_debug_widgets; print(jax_debug_widgets.__file__)"
    where = run(sys.executable, "-W", "error", "-c", program, cwd=tmp_path, PYTHONPATH=str(target))
    assert Path(where.strip()).is_relative_to(target)


GOOD_WHEEL = {PANEL: 1000, "jax_debug_widgets/py.typed": 0, "jax_debug_widgets-0.1.0.dist-info/METADATA": 10}


@pytest.mark.parametrize(
    ("changed", "problems"),
    [
        ({}, 0),
        ({PANEL: 0}, 1),
        ({PANEL: PANEL_LIMIT_BYTES + 1}, 1),
        ({"jax_debug_widgets/static/panel.js.map": 1}, 1),
        ({"jax_debug_widgets/static/node_modules/x.js": 1}, 1),
        ({"js/src/x.ts": 1}, 1),
    ],
)
def test_the_check_of_the_wheel_can_fail(changed, problems):
    assert len(wrong_with_wheel(GOOD_WHEEL | changed)) == problems


@pytest.mark.parametrize("missing", [PANEL, "jax_debug_widgets/py.typed"])
def test_the_check_of_the_wheel_misses_what_is_missing(missing):
    sizes = {name: size for name, size in GOOD_WHEEL.items() if name != missing}
    assert len(wrong_with_wheel(sizes)) == 1
