"""Test that conditions over arrays equal Python's answer for each element."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jax_debug_widgets.events.elementwise import compiled, names_in, parsed, why_not, words_of

H = np.float32([-2, -0.5, 0, 0.25, 0.5, 1, 3])
G = np.float32([0.25, 1, -1, 0.25, 0.75, 1, 9])
CONDITIONS = [
    "0 < h < 1",
    "h < g <= 1 != h",
    "not h > 0",
    "h > 0 and g > 0.5",
    "h < 0 or g > 0.5 or h == 0.25",
    "not (h > 0 or g > 0) and h != 5",
    "h in (0.5, 3)",
    "h not in [0.5, 3]",
    "h > 0 if g > 0.5 else g < 0",
    "True and h > 0",
    "(False or h) and g",
    "-1 < h < 1 < g + 1 or abs(h) > 2",
]


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_over_arrays_equals_pythons_answer_for_each_element(text):
    wanted = [bool(eval(text, {"h": h, "g": g})) for h, g in zip(H.tolist(), G.tolist(), strict=True)]  # noqa: S307
    in_numpy = compiled(parsed(text, "", words_of(np)), np, words_of(np))({"h": H, "g": G})
    in_jax = compiled(parsed(text, "", words_of(jnp)), jnp, words_of(jnp))
    np.testing.assert_array_equal(np.asarray(in_numpy).astype(bool), wanted)
    np.testing.assert_array_equal(jax.jit(lambda h, g: in_jax({"h": h, "g": g}))(H, G).astype(bool), wanted)


def test_parts_of_a_condition_that_are_no_arrays_are_evaluated_as_in_python():
    text = "h.ndim == 2 and h.shape[1] > 3 or len(h) == 7 or h.nothing"
    assert compiled(parsed(text, "", words_of(jnp)), jnp, words_of(jnp))({"h": jnp.asarray(H)}) is True
    assert compiled(parsed("0 < len(h) < 7", "", words_of(np)), np, words_of(np))({"h": H}) is False


@pytest.mark.parametrize("xp", [np, jnp])
@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("h > 0 & g > 0.5", "write h > 0 and g > 0.5"),
        (" h > 0 & g > 0.5", "write h > 0 and g > 0.5"),
        ("h == 0.5 | g > 0.5", "write h == 0.5 or g > 0.5"),
        ("(h > 0) & (g + 'a')", ""),
        ("h > np.ones(3) & np.ones(2)", "write"),
        ("~h", ""),
    ],
)
def test_joined_comparisons_without_parentheses_are_reported(xp, text, instead):
    words = words_of(xp)
    told = compiled(parsed(text, "", words), xp, words)
    with pytest.raises((TypeError, ValueError)) as raised:
        told({"h": xp.asarray(H), "g": xp.asarray(G)})
    why = why_not(text, raised.value)
    assert why.startswith(type(raised.value).__name__)
    assert instead in why if instead else "write" not in why


def test_words_are_names_of_values_where_they_are_not_called():
    words = words_of(np)
    assert names_in(parsed("max(h) > jnp.sum(g.x) and np.pi < sum < other['w']", "", words), words) == {
        "h", "g", "sum", "other",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "h >",
        "[x for x in h]",
        "any(x > 0 for x in h)",
        "(lambda: h)()",
        "(h := 3) > g",
        "f(h)",
        "h.maxx() > 1",
        "np.maxx(h)",
    ],
)
def test_a_condition_that_arrays_do_not_support_is_refused(text):
    with pytest.raises(ValueError, match=r"^it wants this, got "):
        parsed(text, "it wants this", words_of(np))
