"""Test the static picture of a run: complete, bounded in size, with all text of the user's program escaped."""

from __future__ import annotations

import base64
import dataclasses
import re
import time
from html.parser import HTMLParser

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.events import Barrier
from jax_debug_widgets.session import current_session
from jax_debug_widgets.widgets import Course, PrintLine, Problem, ScalarSeries
from jax_debug_widgets.widgets.static import static_html
from tests.widgets.conftest import CALL, SITE

ATTACK = "</pre></td></script><script>alert(1)</script><img src=x onerror=alert(2)>\" onload='alert(3)' &amp; {%s}"


class Elements(HTMLParser):
    """The tags, attributes and text of a page, as a browser sees them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.scripts = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    @property
    def picture(self) -> Elements:
        """Return the only picture of the page, which has charts and facts."""
        (source,) = [value for name, value in self.attributes if name == "src"]
        assert source
        kind, data = source.split(",", 1)
        assert kind == "data:image/svg+xml;base64"
        return Elements(base64.b64decode(data).decode())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("path", "img"):
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] == "script":
            self.scripts += data
        else:
            self.text += data


def test_the_static_picture_shows_state_calls_prints_and_curves(snapshot):
    page = Elements(static_html("run-1", snapshot()))
    for part in (
        "Done", "step(params)", "3 prints", "2.50 s", "all effects arrived", "Ordered 3", "loss 0.0", "loss 0.2",
        "train.py:41", "1 call", "traced 0.25 s", "compiled 1.50 s", "3 prints and values",
    ):  # fmt: skip
        assert part in page.text, part
    assert "Unordered" not in page.text
    assert "loss" in page.picture.text and len(curves(page.picture)) == 1


def test_the_live_panel_finds_its_place(snapshot):
    page = Elements(static_html("run-1", snapshot()))
    assert ("data-jaxdebug-run", "run-1") in page.attributes
    assert '[data-jaxdebug-run="run-1"]' in page.scripts
    assert page.tags.count("script") == 1


def test_the_static_picture_loads_nothing_from_the_network(snapshot):
    page = Elements(static_html("run-1", snapshot()))
    assert {name for name, _ in page.attributes}.isdisjoint({"href", "srcset", "action", "data"})
    assert "http" not in page.scripts and "import" not in page.scripts
    assert "url(" not in str(page.attributes)
    assert {name for name, _ in page.picture.attributes}.isdisjoint({"src", "href", "xlink:href"})


EVERYWHERE = {
    "text": lambda: {"ordered": [PrintLine(SITE, 0, (), ATTACK)], "unordered": [PrintLine(SITE, 0, (1,), ATTACK)]},
    "title": lambda: {"title": ATTACK},
    "place": lambda: {"ordered": [PrintLine(dataclasses.replace(SITE, where=ATTACK), 0, (), "x")]},
    "series": lambda: {"series": [ScalarSeries(SITE, ATTACK, np.arange(2), np.array([1.0, 2.0]))]},
    "call": lambda: {"calls": [dataclasses.replace(CALL, name=ATTACK)]},
    "call error": lambda: {"calls": [dataclasses.replace(CALL, error=ATTACK)]},
    "finding": lambda: {"findings": [Problem(ATTACK, ATTACK, [ATTACK])]},
    "watched value": lambda: {"courses": {1: Course(SITE, ATTACK, "mean", 0.0, 1.0)}},
    "note": lambda: {"notes": (ATTACK,)},
    "pending call": lambda: {"barrier": Barrier(state="pending", pending=(ATTACK,), waited=1.0, timeout=None)},
}


@pytest.mark.parametrize("changes", EVERYWHERE.values(), ids=EVERYWHERE)
def test_text_of_the_program_is_escaped(snapshot, changes):
    quiet = Elements(static_html("run-1", snapshot(courses={1: Course(SITE, "h.mean", "mean", 0.0, 1.0)})))
    page = Elements(static_html("run-1", snapshot(**changes())))
    assert "alert" not in page.scripts
    assert page.tags.count("script") == 1 and page.tags.count("img") == 1
    assert {name for name, _ in page.attributes} <= {name for name, _ in quiet.attributes}
    drawn = page.picture
    assert set(drawn.tags) <= {"svg", "style", "rect", "g", "text", "path"} and "onload" not in dict(drawn.attributes)
    assert ATTACK in page.text or ATTACK[:40] in drawn.text


def test_an_attack_through_a_real_print_stays_text():
    with jdw.capture(title=ATTACK) as run:
        jax.debug.print(ATTACK.replace("{%s}", "{}"), 1)
    page = Elements(run.panel._repr_mimebundle_()[0]["text/html"])
    assert ATTACK.replace("{%s}", "1") in page.text
    assert page.tags.count("script") == 1 and page.tags.count("img") == 1


@pytest.mark.parametrize("values", [[np.nan], [np.nan, np.inf], [1.0], [2.0, 2.0], [1.0, np.nan, 3.0], [-np.inf, 0.0]])
def test_any_series_can_be_drawn(snapshot, values):
    values = np.array(values)
    page = Elements(
        static_html("run-1", snapshot(series=[ScalarSeries(SITE, "loss", np.arange(len(values)), values)]))
    ).picture
    drawn = [dict(numbers) for numbers in curves(page)]
    finite = np.isfinite(values)
    assert sum(map(len, drawn)) == finite.sum()
    assert all(0 <= x <= 410 and 0 <= y <= 156 for curve in drawn for x, y in curve.items())
    words = {word for word in ("× NaN", "× infinite") if word in page.text}
    odd = values[~finite]
    assert words == ({"× NaN" if np.isnan(odd[0]) else "× infinite"} if len(odd) else set())


def curves(page):
    """Return the points of each curve."""
    lines = [value for name, value in page.attributes if name == "d" and value and not set(value) & {"V", "H"}]
    return [[tuple(map(float, point)) for point in re.findall(r"[ML]([\d.]+) ([\d.]+)", line)] for line in lines]


def test_a_curve_marks_where_its_value_became_nan(snapshot):
    values = np.array([3.0, 2.0, 1.0, np.nan, np.nan, np.nan, np.nan])
    page = Elements(static_html("run-1", snapshot(series=[ScalarSeries(SITE, "loss", np.arange(7), values)]))).picture
    ((*_, (end, _)),) = curves(page)
    (mark,) = [value for name, value in page.attributes if name == "d" and value and "V" in value]
    at = float(re.match(r"M([\d.]+)", mark)[1])
    left, right = 54, 398
    assert end == pytest.approx(left + (right - left) * 2 / 6, abs=1)
    assert at == pytest.approx(left + (right - left) * 3 / 6, abs=1)


def test_findings_come_first_and_further_ones_are_counted(snapshot):
    page = Elements(static_html("run-1", snapshot(findings=[Problem(f"train.py:{n} (x): 1 NaN.") for n in range(8)])))
    assert page.text.index("train.py:0 (x)") < page.text.index("train.py:4 (x)") < page.text.index("loss 0.0")
    assert "train.py:5 (x)" not in page.text and "… and 3 more findings" in page.text


def test_a_finding_has_its_reason_and_the_lines_to_write_below_it(snapshot):
    found = Problem(
        "train.py:3: `x` becomes NaN", "The derivative of `jnp.sqrt(n2)` <is> infinite.", ["y = 1", "z = 2"]
    )
    html = static_html("run-1", snapshot(findings=[found]))
    page = Elements(html)
    places = [
        page.text.index(text) for text in ("train.py:3: x becomes NaN", "jnp.sqrt(n2) <is> infinite.", "y = 1\nz = 2")
    ]
    assert places == sorted(places)
    assert "`" not in page.text and "&lt;is&gt;" in html


def test_code_in_a_note_is_code(snapshot):
    page = Elements(static_html("run-1", snapshot(notes=("`%jaxdebug verify F(X)` measures it.",))))
    assert "%jaxdebug verify F(X) measures it." in page.text


def test_the_note_about_the_cost_of_watching_is_no_warning(snapshot):
    cost = "With 57 watched values programs are expected to take about 8 times as long."
    quiet, loud = (static_html("run-1", snapshot(notes=(note,), cost=cost)) for note in (cost, "The program raised."))
    assert "--jp-warn-color0" not in quiet and "--jp-warn-color0" in loud


def test_a_run_without_events_says_so(snapshot):
    page = Elements(static_html("run-1", snapshot(ordered=[], series=[], calls=[], counts={}, sites=[], events=0)))
    assert "No prints or callbacks." in page.text


WORDS = {"running": "running", "waiting": "waiting for effects"}


@pytest.mark.parametrize("state", list(WORDS))
def test_an_unfinished_run_says_when_it_was_written(snapshot, state):
    empty = {"ordered": [], "series": [], "calls": [], "counts": {}, "sites": [], "events": 0}
    before = time.strftime("%Y-%m-%d %H:%M:%S")
    page = Elements(static_html("run-1", snapshot(state=state, **empty)))
    written = re.search(r"as of (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", page.text)
    assert f"Was {WORDS[state]} when saved" in page.text
    assert written and before <= written[1] <= time.strftime("%Y-%m-%d %H:%M:%S")
    assert "Nothing had been printed or called back when this was written." in page.text
    assert "as of" not in Elements(static_html("run-1", snapshot())).text


def test_the_number_of_dropped_events_is_shown(snapshot):
    assert "7 dropped" in Elements(static_html("run-1", snapshot(dropped=7))).text


def test_a_long_run_makes_a_page_of_bounded_size():
    @jax.jit
    def long(x):
        def step(carry, _):
            for _ in range(30):
                jax.debug.print("a value that has changed {}", carry)
            jax.debug.print("ordered {}", carry, ordered=True)
            return carry + 1, None

        return jax.lax.scan(step, x, length=700)[0]

    sizes = []
    for runs in (1, 3):
        with jdw.capture() as run:
            for _ in range(runs):
                long(jnp.float32(0))
        sizes.append(len(run.panel._repr_mimebundle_()[0]["text/html"]))
    assert sizes[1] < 1.2 * sizes[0] < 60_000
    assert current_session().current is run


def test_the_escape_codes_of_colours_are_left_out(snapshot):
    page = Elements(static_html("run-1", snapshot(ordered=[PrintLine(SITE, 0, (), "\x1b[1;31mloss\x1b[0m 0.25")])))
    assert "loss 0.25" in page.text
    assert "\x1b" not in page.text


def test_right_to_left_text_does_not_reorder_the_text_beside_it(snapshot):
    hebrew = "\u05d4\u05e4\u05e1\u05d3"
    wrong = [Problem(f"the gradient of `{hebrew}` becomes NaN")]
    page = static_html("run-1", snapshot(ordered=[PrintLine(SITE, 7, (), f"{hebrew} 0.25")], findings=wrong))
    assert re.search(rf"7</small>\s+<bdi>{hebrew} 0.25</bdi>\s+<small>train.py:41", page)
    assert re.search(rf'<code style="[^"]*unicode-bidi:isolate[^"]*">{hebrew}</code>', page)


def test_the_static_picture_says_how_a_new_kernel_loads_its_file(snapshot):
    page = Elements(static_html("run-1", snapshot(file="sweep/my run's.jdw")))
    assert 'In a new kernel: %jaxdebug load "sweep/my run\'s.jdw"' in page.text
    assert ("data-jaxdebug-file", "sweep/my run's.jdw") in page.attributes and "clipboard" in page.scripts
    assert "new kernel" not in Elements(static_html("run-1", snapshot())).text
