"""Test that the text of an event equals the line that JAX writes, byte for byte."""

from __future__ import annotations

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from tests.conftest import LOG, UNPACKED_INT4
from tests.devices import PLATFORM

F32 = np.float32(-1234.5678)
LONG = np.arange(2000, dtype=np.float32) / 7
WIDE = np.arange(12, dtype=np.float32).reshape(3, 4) / 7
CASES = {
    "keyword": ("x={x}", (), {"x": F32}),
    "positional": ("{} and {}", (F32, WIDE), {}),
    "numbered": ("{1} before {0}, {k}", (F32, WIDE), {"k": np.int32(3)}),
    "repr": ("{x!r} {y!r}", (), {"x": F32, "y": WIDE}),
    "str and ascii": ("{x!s} {x!a}", (), {"x": F32}),
    "decimals": ("{x:.3f} {x:+.2e} {x:%}", (), {"x": F32}),
    "aligned": ("[{x:>20}] [{x:<20}] [{x:^20.3f}]", (), {"x": F32}),
    "nested spec": ("{x:{w}}|{x:{v}.2f}", (), {"x": F32, "w": "20", "v": 15}),
    "attribute": ("{x.shape} {x.dtype} {x.ndim} {x.T}", (), {"x": WIDE}),
    "index": ("{x[0]} {x[0]!r}", (), {"x": WIDE}),
    "item of a dict": ("{d[a]} {d[b]:.2f}", (), {"d": {"a": WIDE, "b": F32}}),
    "escaped braces": ("{x} {{literally}} {{{x}}}", (), {"x": F32}),
    "only escaped braces": ("{{x}}", (), {}),
    "unicode": ("∂L/∂w = {∇} 🙂", (), {"∇": F32}),
    "newline": ("{x}\n  second line\t{x}", (), {"x": F32}),
    "no values": ("here", (), {}),
    "empty": ("", (), {}),
    "percent": ("%s %d 100% {x}", (), {"x": F32}),
    "static strings": ("{name}: {x}, {name!r}, {name:>8}", (), {"name": "w", "x": F32}),
    "None": ("{x} {nothing}", (), {"x": F32, "nothing": None}),
    "static object": ("{x} {kind}", (), {"x": F32, "kind": np.ndarray}),
    "dict": ("{d}", (), {"d": {"b": F32, "a": (WIDE, None, "s")}}),
    "list": ("{} {l}", ([F32, F32],), {"l": [WIDE]}),
    "empty containers": ("{a} {b} {x}", (), {"a": [], "b": {}, "x": F32}),
    "long": ("{x}", (), {"x": LONG}),
    "no elements": ("{x} {x!r}", (), {"x": LONG[:0].reshape(0, 3)}),
    "not finite": ("{x} {y} {z}", (), {"x": np.array([np.nan, -np.inf, -0.0]), "y": np.float32("nan"), "z": np.inf}),
    "bool": ("{x} {y} {x!r}", (), {"x": np.True_, "y": np.array([True, False])}),
    "complex": ("{x} {y} {x:.2f}", (), {"x": np.complex64(1 - 2j), "y": np.array([1j, -0.0], np.complex64)}),
    "Python scalars": ("{a} {b!r} {c!r} {d!r}", (), {"a": 1, "b": 2.5, "c": True, "d": 1j}),
}
USERS_OPTIONS = {"precision": 2, "threshold": 8, "edgeitems": 1, "linewidth": 40, "suppress": True, "sign": "+"}
DTYPES = (
    *(
        "bool",
        pytest.param("int4", marks=UNPACKED_INT4),
        "int8",
        "int32",
        "uint8",
        "uint32",
        "float16",
        "bfloat16",
        "float32",
        "float8_e4m3fn",
    ),
    "complex64",
)


def lines_of(program, printed):
    _, written = printed(program)
    with jdw.capture() as run:
        _, leaked = printed(program)
    assert leaked == ""
    return written, "".join(event.text + "\n" for event in run.events)


def program_of(template, args, kwargs, *, compiled):
    """Return a print of these values; if compiled, the numbers among them are traced and the rest is static."""
    leaves, tree = jax.tree.flatten((args, kwargs))
    traced = {i: leaf for i, leaf in enumerate(leaves) if not isinstance(leaf, str | type)}

    def f(traced):
        args, kwargs = jax.tree.unflatten(tree, [traced.get(i, leaf) for i, leaf in enumerate(leaves)])
        jax.debug.print(template, *args, **kwargs)

    g = jax.jit(f) if compiled else f
    return lambda: g(traced)


@pytest.mark.behaviour("P1")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("options", [{}, USERS_OPTIONS], ids=["", "print options of the user"])
def test_the_text_is_what_jax_writes(case, compiled, options, printed):
    program = program_of(*case, compiled=compiled)
    with np.printoptions(**options):
        _, written = printed(program)
        with jdw.capture() as run:
            _, leaked = printed(program)
    assert leaked == ""
    assert "".join(event.text + "\n" for event in run.events) == written
    assert written.endswith("\n")


@pytest.mark.behaviour("P1")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.vmap], ids=["eager", "jit", "vmap"])
def test_the_text_of_every_dtype_is_what_jax_writes(dtype, wrap, printed):
    if PLATFORM != "cpu" and wrap is jax.jit and dtype == "int4":
        pytest.skip("on a GPU JAX's own callbacks get wrong numbers")
    values = jnp.asarray(np.array([[1, 0, 1]])).astype(dtype)
    f = wrap(lambda x: jax.debug.print("{x} {x!r} {y} {y!r} {y:}", x=x, y=x.ravel()[0]))
    written, text = lines_of(lambda: f(values), printed)
    assert written
    assert text == written


@pytest.mark.behaviour("P1")
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_keys_and_their_numbers_are_distinguished_at_one_site(wrap, printed):
    def show(x):
        jax.debug.print("{x}", x=x)

    def program():
        for value in (jax.random.key(0), jax.random.key_data(jax.random.key(0)), jax.random.key(0)):
            wrap(show)(value)

    written, text = lines_of(program, printed)
    assert text == written


def test_print_options_are_those_at_the_time_of_tracing():
    @jax.jit
    def f(x):
        jax.debug.print("{x}", x=x)

    with np.printoptions(precision=2), jdw.capture() as run:
        f(WIDE)
    with np.printoptions(precision=7), jdw.capture() as again:
        f(WIDE)
    assert "0.14" in run.events[0].text and "0.142" not in run.events[0].text
    assert again.events[0].text == run.events[0].text


def test_text_is_made_of_the_values_as_they_were(printed):
    @jax.jit
    def f(x):
        return jax.lax.fori_loop(0, 50, lambda _, x: (jax.debug.print("{x}", x=x), x + 1)[1], x)

    written, text = lines_of(lambda: f(LONG), printed)
    assert written.count("\n") == text.count("\n") >= 50
    assert text == written


@pytest.mark.behaviour("P1")
def test_a_value_that_was_given_away_is_still_what_it_was(printed):
    consume = jax.jit(lambda x: x + 1, donate_argnums=0)

    def program():
        x = jnp.arange(5000, dtype=jnp.float32) * 1
        jax.debug.print("{x}", x=x)
        consume(consume(consume(x)))

    written, text = lines_of(program, printed)
    assert text == written


def test_a_print_without_placeholders_shows_its_arguments(printed):
    @jax.jit
    def f(x):
        jax.debug.print("values", x, x.sum(), skip_format_check=True)

    written, text = lines_of(lambda: f(WIDE), printed)
    assert text == written


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_format_that_the_value_cannot_take_raises_as_without_us(wrap):
    f = wrap(lambda x: (jax.debug.print("{x:.3f}", x=x), x * 2)[1])

    def raised():
        with pytest.raises((TypeError, jax.errors.JaxRuntimeError)) as caught:
            jax.block_until_ready(f(WIDE))
        jax.jit(
            lambda: jax.debug.callback(lambda: None)
        )()  # A good program's token takes the place of the failed one's.
        return type(caught.value), str(caught.value).splitlines()[-1] if wrap is jax.jit else str(caught.value)

    expected = raised()
    with jdw.capture() as run:
        assert raised() == expected
    assert run.events[0].text.startswith("<TypeError while formatting '{x:.3f}': unsupported format string")


@LOG
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.vmap], ids=["eager", "jit", "vmap"])
def test_a_log_still_reaches_the_handlers(wrap, caplog, capsys):
    f = wrap(lambda x: jax.debug.log("value {x}", x=x))

    def logged():
        caplog.clear()
        f(WIDE)
        jax.effects_barrier()
        return [(r.name, r.levelno, r.getMessage(), r.pathname, r.lineno) for r in caplog.records if "value" in r.msg]

    with caplog.at_level(logging.INFO, logger="jax._src.debugging"):
        expected = logged()
        with jdw.capture() as run:
            assert logged() == expected
    assert len(expected) == (3 if wrap is jax.vmap else 1)
    assert [event.text for event in run.events] == [message for _, _, message, _, _ in expected]
    assert {event.kind for event in run.events} == {"log"}
    assert "value" not in capsys.readouterr().out


def test_a_print_whose_format_fails_is_named_with_the_types_of_its_values():
    @jax.jit
    def wrong(x):
        jax.debug.print("x={x:.3f}", x=x)
        return x

    with jdw.capture() as run, pytest.raises(Exception, match="unsupported format string"):
        jax.block_until_ready(wrong(jnp.ones(2)))
    (told,) = (note for note in run.notes if "'x={x:.3f}' fails" in note)
    assert "its values are float32[2]" in told
