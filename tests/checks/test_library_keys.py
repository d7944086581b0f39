"""Test that a library's own use of a key has no finding, and that the user's use of a library may have one."""

from __future__ import annotations

import importlib.util

import jax
import pytest
from jax import lax, random

import jax_debug_widgets as jdw

LIBRARY = """
from jax import lax, random

def sample(k):
    return random.normal(k)

def increment(k):
    one = sample(k)
    return sample(k) - one

def walk(k):
    return lax.fori_loop(0, 3, lambda i, x: x + random.normal(k), 0.0)

def seeded():
    return random.normal(random.split(random.PRNGKey(0))[0])

def fit(model, k):
    a, b = random.split(k)
    return model(lambda: sample(k)) + sample(a)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    file = tmp_path_factory.mktemp("env") / "site-packages" / "keyed.py"
    file.parent.mkdir()
    file.write_text(LIBRARY, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("keyed", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def a_key_at_two_times(library, k):
    return library.increment(k)


def a_loop(library, k):
    return library.walk(k)


def a_model_that_the_library_calls(library, k):
    return library.fit(lambda draw: draw() + 1, k)


def a_key_for_two_calls(library, k):
    one = library.sample(k)
    return library.sample(k) - one


def a_loop_of_the_users(library, k):
    return lax.scan(lambda x, _: (x + library.sample(k), None), 0.0, None, length=3)[0]


def an_own_draw_in_the_model(library, k):
    return library.fit(lambda _draw: random.normal(k), k)


def findings(program, library, *, jitted):
    jax.clear_caches()
    function = (lambda k: program(library, k)) if not jitted else jax.jit(lambda k: program(library, k))
    with jdw.capture(check="keys") as run:
        function(random.key(0))
    return run.findings


@pytest.mark.parametrize("jitted", [True, False], ids=["jitted", "calls"])
@pytest.mark.parametrize("program", [a_key_at_two_times, a_loop, a_model_that_the_library_calls])
def test_a_librarys_own_use_of_a_key_has_no_finding(program, library, jitted):
    assert findings(program, library, jitted=jitted) == []


@pytest.mark.parametrize(
    ("program", "jitted"),
    [
        (a_key_for_two_calls, True),
        (a_key_for_two_calls, False),
        (a_loop_of_the_users, True),
        (an_own_draw_in_the_model, True),
        (an_own_draw_in_the_model, False),
    ],
)
def test_the_users_reuse_of_a_key_through_a_library_has_a_finding(program, library, jitted):
    (finding,) = findings(program, library, jitted=jitted)
    assert finding.kind == "keys"


def test_a_seed_of_a_library_makes_another_key_than_the_users(library):
    with jdw.capture(check="keys") as run:
        random.normal(random.split(random.PRNGKey(0))[0])
        library.seeded()
        jax.jit(lambda: random.normal(random.split(random.PRNGKey(0))[0]) + library.seeded())()
    assert run.findings == []


def test_a_seed_that_the_user_gives_twice_makes_one_key():
    with jdw.capture(check="keys") as run:
        random.normal(random.PRNGKey(0))
        random.uniform(random.PRNGKey(0))
    assert len(run.findings) == 1
