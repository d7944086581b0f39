"""Configure JAX for all Python tests, strict and with four CPU devices, and define the transformations of programs.

`JDW_PLATFORM=gpu` makes a GPU the default device.
"""

from __future__ import annotations

import gc
import logging
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from jax_debug_widgets._jax.compat.collecting import without_collecting
from jax_debug_widgets._jax.running import backlog, dispatch
from jax_debug_widgets.session import recording
from tests import cases
from tests.devices import PLATFORM, PLATFORMS, cpu_mesh, cpu_pmap

DEVICES = 4

# A shell starts background processes with SIGINT ignored, and Python would keep that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# These are settings, not environment variables: processes that tests start must not inherit them.
jax.config.update("jax_platforms", PLATFORMS)
if PLATFORM != "cpu":  # By default GPUs round the operands of products to fewer bits, which is not under test.
    jax.config.update("jax_default_matmul_precision", "highest")
jax.config.update("jax_num_cpu_devices", DEVICES)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


def pytest_configure(config: pytest.Config) -> None:
    """Let JAX keep what it compiles on disk: many programs are compiled again by another test.

    Each process has a folder of its own, because JAX may read what another process has written in part.
    """
    if PLATFORM != "cpu":
        return
    folder = tempfile.mkdtemp(prefix="jdw-programs-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, which would pass over the growing number of tests again and again."""
    with without_collecting():
        return (yield)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--cases all | pairs | each`."""
    cases.add_option(parser)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases that `--cases` does not ask for, and on other platforms the tests that need the CPU."""
    kept = cases.chosen(items, config.getoption("cases"))
    if PLATFORM != "cpu":
        kept = [item for item in kept if item.get_closest_marker("cpu") is None]
    left_out = set(items) - set(kept)
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def since(*version: int) -> pytest.MarkDecorator:
    """Mark a test of a feature that older versions of JAX do not have; the oldest supported version is 0.8."""
    return pytest.mark.skipif(jax.__version_info__ < version, reason=f"JAX has it since {'.'.join(map(str, version))}")


CURRIED, LOG, UNPACKED_INT4 = since(0, 10), since(0, 9), since(0, 10, 2)
"""`jax.debug.print(ordered=True)(...)`; `jax.debug.log`; int4 values that compiled programs hand over unpacked."""


@pytest.fixture(autouse=True, scope="module")
def own_heap():
    """Hide what earlier files left from the garbage collector.

    A process of the tests comes to hold over a million objects. Python's collections pass over all of them, and so does
    the search for the name that holds a leaked tracer.
    """
    gc.freeze()


@pytest.fixture(autouse=True)
def no_word_of_numba(monkeypatch):
    """Suppress the note that Numba compiles, which the first test that needs Numba would get in a new environment."""
    monkeypatch.setattr(recording, "numba_compiles", lambda: False)


@pytest.fixture(autouse=True)
def own_print_options():
    """Restore NumPy's print options (`%precision 3`) after each test, because JAX would keep them in later programs."""
    with np.printoptions():
        yield


@pytest.fixture(autouse=True)
def no_figure_left():
    """Close all figures after each test, because Matplotlib warns if more than 20 are open."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


class _Faults(logging.Handler):
    """Keeps the errors of ours that are only logged, because they must not reach the user's program."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record))


@pytest.fixture(autouse=True)
def no_fault_of_ours(request):
    """Fail a test in which an error of ours was logged, unless the test looks at the log itself (`caplog`)."""
    logger, faults = logging.getLogger("jax_debug_widgets"), _Faults()
    logger.addHandler(faults)
    yield
    logger.removeHandler(faults)
    if "caplog" not in request.fixturenames:
        assert not faults.found, "\n".join(faults.found)


@pytest.fixture
def no_tool_ids():
    """Take the tool ids of `sys.monitoring` that ours could use, if Python has it."""
    ids = (3, 4) if hasattr(sys, "monitoring") else ()
    for one in ids:
        sys.monitoring.use_tool_id(one, "other")
    yield
    for one in ids:
        sys.monitoring.free_tool_id(one)


@pytest.fixture
def platform() -> str:
    """Return the name of the default platform: `cpu`, `gpu`."""
    return jax.devices()[0].platform


@pytest.fixture(autouse=True)
def no_failed_effects():
    """Forget failed effects after each test: on a GPU, JAX's barrier would raise their error in each later test."""
    yield
    if PLATFORM != "cpu":
        dispatch.forget_failed_tokens()


Body = Callable[[Any], Any]
"""A program under test: it maps float32 of any shape to the same, and prints or calls back once."""


@dataclass(frozen=True)
class Transform:
    """One way to run a body.

    Attributes:
      wrap: body -> function without arguments that runs it; it may be called again, and hits JAX's caches then.
      firings: how often the body's print fires in plain JAX 0.10.
      devices: how many devices run it; with several devices the order of firings is not defined.
    """

    name: str
    wrap: Callable[[Body], Callable[[], Any]]
    firings: int
    devices: int = 1


def mesh() -> jax.sharding.Mesh:
    return cpu_mesh((DEVICES,), ("d",))


X = np.float32(0.5)
XS = np.linspace(-1, 1, DEVICES, dtype=np.float32)
TABLE = np.arange(6, dtype=np.float32).reshape(2, 3)


def total(body: Body) -> Body:
    return lambda x: body(x).sum()


def scanned(body: Body) -> Body:
    return lambda x: lax.scan(lambda carry, _: (body(carry), carry), x, length=3)[0]


def mixed(body: Body) -> Callable[[Any, Any], Any]:
    """Map over [2, 3] of x and 3 of y: the first print has both axes, the second has one, the third has none."""

    def f(x, y):
        return body(x) + body(y) + body(jnp.float32(2))

    return jax.vmap(jax.vmap(f, (0, 0)), (0, None))


def with_custom_jvp(body: Body) -> Body:
    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)

    @f.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        return jnp.sin(x), body(x) * t

    return f


def with_custom_vjp(body: Body) -> Body:
    @jax.custom_vjp
    def f(x):
        return jnp.sin(x)

    f.defvjp(lambda x: (jnp.sin(x), x), lambda residual, cotangent: (cotangent * body(residual),))
    return f


def vmapped_while(body: Body) -> Body:
    return jax.vmap(lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, body(c[1])), (0, X))[1])


def sharded(body: Body) -> Body:
    return jax.shard_map(body, mesh=mesh(), in_specs=P("d"), out_specs=P("d"))


def on_all_devices(body: Body) -> Callable[[], Any]:
    f, x = jax.jit(body), jax.device_put(XS, NamedSharding(mesh(), P("d")))
    return lambda: f(x)


def compiled_ahead(body: Body) -> Callable[[], Any]:
    f = jax.jit(body)
    return lambda: f.lower(X).compile()(X)


def pulled_back(body: Body) -> Callable[[], Any]:
    def run():
        y, pull = jax.vjp(body, X)
        return y, pull(jnp.float32(1))

    return run


def custom_vmapped(body: Body) -> Body:
    @jax.custom_batching.custom_vmap
    def f(x):
        return body(x)

    @f.def_vmap
    def _(_axis_size, _in_batched, x):
        return body(x), True

    return jax.vmap(f)


def of(transform: Callable[[Body], Callable[..., Any]], *args: Any) -> Callable[[Body], Callable[[], Any]]:
    """Return the transformed body on these arguments; it is transformed once, so that later calls hit JAX's caches."""

    def wrap(body: Body) -> Callable[[], Any]:
        f = transform(body)
        return lambda: f(*args)

    return wrap


def jitted(transform: Callable[[Body], Callable[..., Any]]) -> Callable[[Body], Callable[..., Any]]:
    return lambda body: jax.jit(transform(body))


def nothing(body: Body) -> Body:
    return body


TRANSFORMS = (
    Transform("eager", of(nothing, X), 1),
    Transform("jit", of(jax.jit, X), 1),
    Transform("jit_in_jit", of(lambda b: jax.jit(lambda x: jax.jit(b)(jax.jit(b)(x))), X), 2),
    Transform("vmap", of(jax.vmap, XS), 4),
    Transform("jit_vmap", of(jitted(jax.vmap), XS), 4),
    Transform("vmap_jit", of(lambda b: jax.vmap(jax.jit(b)), XS), 4),
    Transform("vmap_last_axis", of(jitted(lambda b: jax.vmap(b, 1)), TABLE), 3),
    Transform("vmap_of_nothing", of(jitted(jax.vmap), XS[:0]), 0),
    Transform("vmap_mixed", of(mixed, TABLE, TABLE[0]), 6 + 3 + 1),
    Transform("jit_vmap_mixed", of(jitted(mixed), TABLE, TABLE[0]), 6 + 3 + 1),
    Transform("custom_vmap", of(jitted(custom_vmapped), XS), 1),
    Transform("grad", of(lambda b: jax.grad(total(b)), X), 1),
    Transform("jit_grad", of(lambda b: jax.jit(jax.grad(total(b))), XS), 1),
    Transform("vmap_grad", of(lambda b: jax.jit(jax.vmap(jax.grad(total(b)))), XS), 4),
    Transform("hessian", of(lambda b: jax.jit(jax.hessian(total(b))), X), 1),
    Transform("vjp", pulled_back, 1),
    Transform("scan", of(scanned, X), 3),
    Transform("jit_scan", of(jitted(scanned), X), 3),
    Transform("vmap_scan", of(jitted(lambda b: jax.vmap(scanned(b))), XS), 12),
    Transform("scan_vmap", of(jitted(lambda b: scanned(jax.vmap(b))), XS), 12),
    Transform("grad_scan", of(lambda b: jax.jit(jax.grad(total(scanned(b)))), X), 3),
    Transform("map", of(lambda b: lambda xs: lax.map(b, xs), XS), 4),
    Transform("fori", of(jitted(lambda b: lambda x: lax.fori_loop(0, 3, lambda _, c: b(c), x)), X), 3),
    Transform(
        "while_body",
        of(jitted(lambda b: lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, b(c[1])), (0, x))), X),
        3,
    ),
    Transform(
        "while_cond", of(jitted(lambda b: lambda x: lax.while_loop(lambda c: b(c) > 0, lambda c: c + 1, x)), X), 4
    ),
    Transform("vmap_while", of(jitted(vmapped_while), np.array([1, 3], np.int32)), 6),
    Transform("cond", of(jitted(lambda b: lambda x: lax.cond(x > 0, b, jnp.cos, x)), X), 1),
    Transform("cond_not_taken", of(jitted(lambda b: lambda x: lax.cond(x < 0, b, jnp.cos, x)), X), 0),
    Transform("vmap_cond", of(jitted(lambda b: jax.vmap(lambda x: lax.cond(x > 0.5, b, jnp.cos, x))), XS), 4),
    Transform("switch", of(jitted(lambda b: lambda x: lax.switch(1, (jnp.cos, b, b), b(x))), X), 2),
    Transform("remat_grad", of(lambda b: jax.grad(total(jax.checkpoint(b))), X), 2),
    Transform("jit_remat_grad", of(lambda b: jax.jit(jax.grad(total(jax.checkpoint(b)))), X), 2),
    Transform("vmap_remat_grad", of(lambda b: jax.jit(jax.vmap(jax.grad(total(jax.checkpoint(b))))), XS), 8),
    Transform("custom_jvp", of(lambda b: jax.jit(jax.grad(total(with_custom_jvp(b)))), X), 1),
    Transform("custom_vjp", of(lambda b: jax.jit(jax.grad(total(with_custom_vjp(b)))), X), 1),
    Transform("vmap_custom_vjp", of(lambda b: jax.jit(jax.vmap(jax.grad(total(with_custom_vjp(b))))), XS), 4),
    Transform("eager_custom_vjp", of(lambda b: jax.grad(total(with_custom_vjp(b))), X), 1),
    Transform("aot", compiled_ahead, 1),
    Transform("shard_map", of(jitted(sharded), XS), 4, DEVICES),
    Transform("eager_shard_map", of(sharded, XS), 4, DEVICES),
    Transform("grad_shard_map", of(lambda b: jax.jit(jax.grad(total(sharded(b)))), XS), 4, DEVICES),
    Transform("vmap_shard_map", of(jitted(lambda b: jax.vmap(sharded(b), 1)), np.stack([XS, XS + 1], 1)), 8, DEVICES),
    Transform("pmap", of(lambda b: cpu_pmap(b, DEVICES), XS), 4, DEVICES),
    Transform("sharded_jit", on_all_devices, 1, DEVICES),
)


@pytest.fixture(params=TRANSFORMS, ids=lambda transform: transform.name)
def transform(request) -> Transform:
    """Return each of the transformations in turn."""
    return request.param


@pytest.fixture
def printed(capsys) -> Callable[[Callable[[], Any]], tuple[Any, str]]:
    """Return a function that runs a program until its effects are over; it returns result and printed text."""

    def run(program: Callable[[], Any]) -> tuple[Any, str]:
        capsys.readouterr()
        result = program()
        jax.block_until_ready(result)
        jax.effects_barrier()
        return result, capsys.readouterr().out

    return run


@pytest.fixture
def same_bits() -> Callable[[Any, Any], bool]:
    """Return a comparison of results bit by bit: NaN equals itself, 0.0 differs from -0.0."""

    def bits(tree: Any) -> list[tuple[Any, ...]]:
        leaves, structure = jax.tree.flatten(tree)
        return [structure, *((x.dtype, x.shape, np.asarray(x).tobytes()) for x in map(jnp.asarray, leaves))]

    return lambda one, other: bits(one) == bits(other)


@pytest.fixture
def handed(monkeypatch):
    """Return a list with one entry for each call that has handed something over."""
    calls = []
    add = backlog.Backlog.add
    monkeypatch.setattr(backlog.Backlog, "add", lambda self, one: (calls.append(one), add(self, one)))
    return calls
