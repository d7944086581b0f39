"""Test a JAX with renamed functions: features that need them are off and say so, everything else works.

Each case runs in a process of its own, see `another_jax.py`. By default a case changes the names of three features.
With `JAXDEBUG_NAMES=all` there is a case for each feature and for each name.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jax_debug_widgets._jax.compat import features

ROOT = Path(__file__).parents[2]


def hooks_of(feature):
    """Return the functions of JAX that a feature replaces."""
    texts = features.NEEDED[feature].items()
    found = [(module, one) for module, text in texts for one in features.names_of(text)]
    return " ".join(f"{module}.{one['path']}" for module, one in found if one["parameters"] and not one["key"])


def names_of(feature):
    texts = features.NEEDED[feature].items()
    return " ".join(f"{module}.{found['path']}" for module, text in texts for found in features.names_of(text))


ALL = os.environ.get("JAXDEBUG_NAMES") == "all"
OTHERS = [feature for feature in features.NEEDED if feature != features.CAPTURE]
TOGETHER = [(features.CAPTURE,), *(tuple(OTHERS[first : first + 3]) for first in range(0, len(OTHERS), 3))]
EACH = [(feature,) for feature in features.NEEDED]
NAMES = sorted({name for feature in features.NEEDED for name in names_of(feature).split()})
HOOKED = [feature for feature in OTHERS if hooks_of(feature)]

SAYING = {features.CALLBACKS: ("loss.<lambda>", "written.<lambda>"), features.STOPS: ("breakpoint(",)}
"""How what these features capture begins."""


@pytest.fixture(scope="module")
def without():
    """Return a function that runs the programs with a changed JAX and returns the results."""
    command = [sys.executable, "-W", "error", "-m", "tests._jax.another_jax"]
    # Compiled programs run only once.
    quick = {**os.environ, "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    with subprocess.Popen(
        command, cwd=ROOT, env=quick, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def ask(names):
            process.stdin.write(names + "\n")
            process.stdin.flush()
            told = json.loads(process.stdout.readline())
            assert "raised" not in told, told["raised"]
            return told

        yield ask
        process.stdin.close()


@pytest.fixture(scope="module")
def as_it_is(without):
    return without("gone")


def test_an_unchanged_jax_has_all_features(as_it_is):
    assert as_it_is["off"] == []
    assert as_it_is["is_same"]
    assert len(as_it_is["said"]) == 16
    assert as_it_is["watched"] == ["h", "y"]
    assert as_it_is["listed"] == 3


@pytest.mark.parametrize("gone", EACH if ALL else TOGETHER, ids=" and ".join)
def test_features_whose_names_jax_lacks_are_off_and_the_rest_works(gone, without, as_it_is):
    told = without("gone " + " ".join(map(names_of, gone)))
    assert set(gone) <= set(told["off"])
    check(told, as_it_is)


@pytest.mark.parametrize("name", NAMES if ALL else [])
def test_features_that_need_one_missing_name_are_off_and_the_rest_works(name, without, as_it_is):
    told = without(f"gone {name}")
    assert set(told["off"]) == {feature for feature in features.NEEDED if name in names_of(feature).split()}
    check(told, as_it_is)


@pytest.mark.parametrize("how", ["extra", "renamed"])
@pytest.mark.parametrize("hooked", [(features.CAPTURE,), *([(one,) for one in HOOKED] if ALL else [HOOKED])], ids=len)
def test_features_whose_hooks_jax_calls_differently_are_off_and_the_rest_works(hooked, how, without, as_it_is):
    hooks = {name for feature in hooked for name in hooks_of(feature).split()}
    told = without(f"{how} {' '.join(sorted(hooks))}")
    # The only hook of this feature passes all positional arguments on unchanged.
    unharmed = {features.CALL_PROGRAMS} if how == "extra" else set()
    assert set(hooked) - unharmed <= set(told["off"])
    check(told, as_it_is)


def check(told, as_it_is):
    """Check that programs compute the same, other features capture, and notes name the features that are off."""
    off, notes = told["off"], told["notes"]
    assert told["is_same"]
    assert all(any(note.endswith(f", so {feature} is off.") for note in notes) for feature in off)
    assert not [note for note in notes if "fault of ours" in note or "runs unwatched" in note]
    if features.CAPTURE in off:
        assert told["said"] == told["watched"] == []
        assert told["listed"].endswith(" is off.")
        return
    silent = tuple(start for feature in off for start in SAYING.get(feature, ()))
    assert told["said"] == [line for line in as_it_is["said"] if not (silent and line.startswith(silent))]
    assert told["watched"] == ([] if features.WATCH in off else ["h", "y"])
    if features.INVENTORY in off:
        assert told["listed"].endswith(f", so {features.INVENTORY} is off.")
    else:
        assert told["listed"] == (2 if features.CALLBACKS in off else 3)
