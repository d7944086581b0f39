"""Test the build of the panel: when it is needed, and its errors."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "hatch_build.py"


@pytest.fixture(scope="module")
def hatch_build():
    spec = importlib.util.spec_from_file_location("hatch_build", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def product(hatch_build):
    return hatch_build.Product("the panel", "built/panel.js", "js", ("js/src",))


@pytest.fixture
def checkout(tmp_path):
    """Return a panel and its source, equally old, as in an unpacked sdist."""
    for name in ("js/src/panel.ts", "js/package-lock.json", "built/panel.js"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("export {}")
        os.utime(file, (1000, 1000))
    return tmp_path


def test_a_panel_as_old_as_its_sources_is_used_as_it_is(hatch_build, checkout, product):
    assert not hatch_build.is_stale(checkout, product)


@pytest.mark.parametrize("source", ["js/src/panel.ts", "js/package-lock.json"])
def test_a_changed_source_asks_for_a_build(hatch_build, checkout, product, source):
    os.utime(checkout / source, (1001, 1001))
    assert hatch_build.is_stale(checkout, product)


def test_a_missing_panel_asks_for_a_build(hatch_build, checkout, product):
    (checkout / product.target).unlink()
    assert hatch_build.is_stale(checkout, product)


def test_the_sources_named_are_there(hatch_build):
    for product in hatch_build.PRODUCTS:
        missing = [source for source in product.sources if not (SCRIPT.parent / source).exists()]
        assert missing == []


def test_a_build_without_npm_says_what_to_install(hatch_build, checkout, product, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match=r"no npm on the PATH. Install Node"):
        hatch_build.build(checkout, product)


def test_an_npm_that_cannot_run_does_not_count(hatch_build, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not hatch_build.npm_works()
    broken = tmp_path / "npm"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert not hatch_build.npm_works()
    broken.write_text("#!/bin/sh\nexit 0\n")
    assert hatch_build.npm_works()


def test_a_step_that_fails_is_named(hatch_build, checkout):
    with pytest.raises(RuntimeError, match=r"`npm -c exit 3` failed in .*js \(exit status 3\)"):
        hatch_build.run(["/bin/sh", "-c", "exit 3"], checkout / "js")
