"""Test 64-bit numbers that become 32-bit ones: a finding at the user's line says what is lost."""

from __future__ import annotations

import runpy
import warnings
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jax_debug_widgets as jdw

W = np.array([0.1, 0.2])
BIG = np.array([1, 2**40])


@jax.jit
def loss(params, x):
    return (params["w"] * x).sum()


class Scaled:
    """A class whose method is jitted as a bound method, and through the `jit` of libraries."""

    def __init__(self, by: float) -> None:
        self.by = by

    def sum(self, params, x):
        return self.by * (params["w"] * x).sum()


def asked():
    with pytest.warns(UserWarning, match="Explicitly requested dtype"):
        return jnp.zeros(3, dtype=jnp.float64)


PROGRAMS = {
    "argument": (
        lambda: loss({"w": W}, jnp.ones(2, jnp.float32)),
        ("float64 came as `params['w']`; float32 is used", "largest relative error is 1.5e-08"),
    ),
    "made of NumPy's": (
        lambda: jnp.asarray(BIG),
        ("int64 came", "1 of 2 values wrapped around: 1099511627776 became 0"),
    ),
    "asked for": (asked, ("float64 was asked for; float32 is used",)),
    "too large": (lambda: jnp.asarray(np.array([1e300])), ("1 of 1 values became infinite: 1e+300",)),
    "list": (
        lambda: jnp.array([[1e300, 2.0], [3.0, -1e300]]),
        ("float64 came", "2 of 2 values became infinite: 1e+300"),
    ),
    "Python number": (lambda: jnp.ones(2) * 1e300, ("1 of 1 values became infinite: 1e+300",)),
    "traced Python number": (lambda: jax.jit(lambda x: x - 1e39)(1.0), ("1 of 1 values became infinite: 1e+39",)),
    "vmap": (lambda: jax.vmap(loss, (None, 0))({"w": W}, jnp.ones((3, 2), jnp.float32)), ("float64 came",)),
    "grad": (lambda: jax.jit(jax.grad(loss))({"w": W}, jnp.ones(2, jnp.float32)), ("float64 came",)),
}


@pytest.mark.behaviour("S12")
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_lossy_conversion_to_32_bits_has_a_finding_at_its_line(name):
    program, says = PROGRAMS[name]
    jax.clear_caches()
    with jdw.capture(check="x64") as run:
        program()
    finding = run.findings[0]
    assert finding.kind == "x64"
    assert finding.file == __file__
    assert all(word in finding.message for word in says), finding.message
    assert finding.fix == ('jax.config.update("jax_enable_x64", True)',)


def total(scale, params, x):
    return scale * (params["w"] * x).sum()


@pytest.mark.each
@pytest.mark.parametrize("jit", [jax.jit, eqx.filter_jit, partial(eqx.filter_jit, donate="all"), nnx.jit])
@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable:UserWarning")
def test_an_argument_has_the_users_name_whoever_jits(jit):
    for function, leading in ((total, (1.0,)), (Scaled(2.0).sum, ())):
        with jdw.capture(check="x64") as run:
            jit(function)(*leading, {"w": W}, jnp.ones(2))
        assert "came as `params['w']`" in run.findings[0].headline


LIBRARY = """
import contextlib, jax, jax.numpy as jnp, numpy as np

TABLE = np.array([0.1, 0.2, 0.3])

def with_its_own(x):
    return jnp.tensordot(TABLE, x, axes=1) + jax.jit(lambda table, x: (table * x).sum())(TABLE, x)

@contextlib.contextmanager
def quietly():
    yield

@quietly()
def called_by_python(x, table):
    return passed_on(x, table)

def with_its_own_through_python(x):
    return called_by_python(x, TABLE)

def given(x, table):
    return passed_on(x, table)

def passed_on(x, table):
    return jnp.tensordot(table, x, axes=1)
"""


@pytest.fixture
def library(tmp_path):
    file = tmp_path / "site-packages" / "tables.py"
    file.parent.mkdir()
    file.write_text(LIBRARY, encoding="utf-8")
    return runpy.run_path(str(file))


def test_constants_of_a_library_are_its_own_matter(library):
    for jit in (lambda f: f, jax.jit):
        for name in ("with_its_own", "with_its_own_through_python"):
            with jdw.capture(check="x64") as run:
                jit(library[name])(jnp.ones(3))
            assert run.findings == []
        with jdw.capture(check="x64") as run:
            jit(lambda x: library["given"](x, np.array([0.1, 0.2, 0.3])))(jnp.ones(3))
        assert run.findings[0].headline.startswith("float64 came")


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x[np.array([0, 1])],
        lambda x: x * 0.1 + np.float32(0.2),
        lambda x: jnp.asarray(np.arange(3)) + jnp.linspace(0.0, 1.0, 3).astype(int) + x.astype(int),
        lambda x: (
            jax.random.normal(jax.random.key(np.int64(3)), x.shape) * np.array([1.0, 2.0, 0.5]).astype(np.float32)
        ),
        lambda x: jnp.sort(x).mean() + jnp.linalg.norm(x),
        # Greater than the largest float32, to which it is rounded.
        lambda x: jnp.minimum(x, 3.4028235e38) + jnp.array([3.4028235e38, -jnp.inf, 0.0]),
    ],
)
def test_a_lossless_conversion_to_32_bits_has_no_finding(program):
    with jdw.capture(check="x64") as run:
        program(jnp.ones(3))
        jax.jit(program)(jnp.ones(3))
    assert run.findings == []


def test_programs_with_x64_enabled_have_no_finding():
    with jax.enable_x64(True), jdw.capture(check="x64") as run:
        loss({"w": W}, jnp.ones(2))
        assert jnp.asarray(BIG).dtype == np.int64
    assert run.findings == []


@pytest.mark.parametrize("check", [None, "x64"])
def test_jaxs_warning_is_shown_at_the_line_where_it_is_without_a_capture(check):
    def asks():
        jnp.zeros(3, dtype="float64")
        return jax.jit(lambda x: jnp.asarray(x, dtype=jnp.int64))(1)

    def places():
        jax.clear_caches()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            asks()
        return [(one.filename, one.lineno) for one in found]

    plain = places()
    with jdw.capture(check=check):
        captured = places()
    assert captured == plain and {file for file, _ in plain} == {__file__}


class Fit:
    def __init__(self) -> None:
        self.weight = np.linspace(0.1, 0.9, 3)

    def loss(self, p, x):
        return ((p - x) ** 2).sum()

    def weighted(self, p):
        return jnp.dot(p, self.weight)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda fit, p, x: jax.value_and_grad(fit.loss)(p, x), "x"),
        (lambda fit, p, x: jax.jit(jax.value_and_grad(fit.loss))(p, x), "x"),
        (lambda fit, p, _x: fit.weighted(p), "self.weight"),
        (lambda fit, p, _x: jax.jit(fit.weighted)(p), "self.weight"),
        (lambda _fit, p, x: p * x, "x"),
    ],
)
def test_what_is_no_argument_of_a_jitted_function_has_its_name_too(call, name):
    with jdw.capture(check="x64") as run:
        call(Fit(), jnp.ones(3), np.linspace(0.1, 0.9, 3))
    (finding,) = run.findings
    assert finding.headline == f"float64 came as `{name}`; float32 is used"
