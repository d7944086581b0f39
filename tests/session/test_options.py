"""Test that invalid options of a capture are refused with the correct form, and that none is ignored."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.magics.options import UsageError, parse
from jax_debug_widgets.session import Options

SWITCHES = ("ops", "values", "histograms", "lanes", "echo", "debug", "barrier", "prompt")

REFUSED = [
    *(("every", value, "every must be a whole number") for value in (True, 0, -3, "x", 2.0, None, [2])),
    *(("watch", value, "give names") for value in ("", "  ", ",", [], (), [""])),
    *(("watch", value, "watch must be True, a name or several") for value in (5, {"h"}, {"h": 1}, ["h", 3], b"h")),
    *((name, value, f"{name} must be True or False") for name in SWITCHES for value in ("all", 1, None, "")),
    *(("when", value, "expression") for value in ("", " ", "h >", 5, True)),
    ("when", "3 > 2", "names no value"),
    *(("break_on", value, "break_on wants nonfinite, a site") for value in (None, True, 5.5, {"a": 1}, [3.2], [None])),
    *(("break_on", value, "wants nonfinite, a site") for value in ("x >", "", "  ", "h = 3")),
    *(("break_on", value, "names no captured value: write") for value in (-3, "3 > 2")),
    *((name, True, f"{name} must be a number") for name in ("timeout", "stuck_after", "max_mb", "break_timeout")),
]


@pytest.mark.parametrize(("name", "value", "told"), REFUSED)
def test_impossible_options_are_refused_with_what_to_write(name, value, told):
    options = {"watch": "h", name: value}
    with pytest.raises((TypeError, ValueError), match=told):
        jdw.capture(**options)
    with pytest.raises((TypeError, ValueError), match=told):
        jdw.instrument(jax.jit(lambda x: x), **options)


def test_an_option_that_there_is_not_is_refused_with_the_nearest_and_all_that_there_are():
    with pytest.raises(
        TypeError, match=r"there is no option evry; did you mean every\? there are .*, every, .*, title, .*"
    ):
        jdw.instrument(jax.jit(lambda x: x), evry=2)
    with pytest.raises(TypeError, match="there is no option colour; there are barrier, ") as refused:
        jdw.instrument(jax.jit(lambda x: x), colour="red", watch="h")
    assert "others" not in str(refused.value)


@pytest.mark.parametrize("line", ["--watch ''", "--watch ,", "--watch '' --watch-ops"])
def test_an_empty_name_is_refused_in_a_cell_as_well(line):
    with pytest.raises(UsageError, match="give names"):
        parse(line, echo_by_default=False)


def test_numbers_of_numpy_are_numbers_and_its_truths_truths():
    jdw.capture(watch="h", every=np.int64(2), values=np.bool_(True), timeout=np.float32(3))
    assert parse("--every 3 f(x)", echo_by_default=False)[0].watch is None


@pytest.mark.parametrize(("wrong", "right"), [("nonfinit", "nonfinite"), ("non_finite", "nonfinite"), ("infs", "inf")])
def test_a_misspelled_kind_of_number_is_refused_before_anything_runs(wrong, right):
    with pytest.raises(ValueError, match=f"did you mean {right}"):
        jdw.capture(break_on=wrong)
    assert Options.of(break_on=wrong, watch=wrong).break_on == (wrong,)
    assert Options.of(break_on="info").break_on == ("info",)


def test_a_file_that_is_there_is_no_folder_to_record_into(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("1")
    with pytest.raises(ValueError, match=r"is a file that is there: record into .*train\.jdw"):
        jdw.capture(record=script)


@pytest.mark.parametrize("path", ["", " ", ".", "..", "../", "/", "~", "runs/.."])
def test_a_run_is_recorded_into_a_folder_with_a_name(path):
    with pytest.raises(ValueError, match=r"does not name: write '.*run\.jdw'"):
        jdw.capture(record=path)
    with pytest.raises(UsageError, match="does not name"):
        parse(f"--record {path!r}", echo_by_default=False)


def test_a_script_writes_unmatched_names_and_the_path_of_the_run_to_stderr(capsys, tmp_path):
    f = jax.jit(lambda x: x * 2)
    with jdw.capture(record=tmp_path / "s.jdw"):
        f(1.0)
    assert not capsys.readouterr().err
    with jdw.capture(watch="nosuch", record=tmp_path / "s.jdw") as run:
        f(1.0)
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("jaxdebug: ")]
    assert [line.removeprefix("jaxdebug: ") in run.notes for line in told] == [True, True]
    assert "recorded into" in told[0] and "s-2.jdw" in told[0] and "Nothing to watch is called 'nosuch'" in told[1]


def test_an_option_that_capture_has_not_is_refused_with_the_nearest():
    with pytest.raises(TypeError, match=r"there is no option watchh; did you mean watch\?"):
        jdw.capture(watchh="h")  # pyright: ignore[reportCallIssue]


def test_a_run_is_shown_by_the_name_that_its_user_gave_it():
    with jdw.capture(name="lr3") as run:
        pass
    assert repr(run).startswith("<Run 'lr3' (capture): done")


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("--watch-all --break-on 'loss > 10'", {"watch": True, "break_on": "loss > 10"}),
        ("--watch h,b --break-on nan --values", {"watch": "h,b", "break_on": "nan", "values": True}),
        ("--watch h --break-on h --break-on 'h > b'", {"watch": "h", "break_on": ["h", "h > b"]}),
        ("--watch-ops --histogram --every 3 --lanes", {"ops": True, "histograms": True, "every": 3, "lanes": True}),
        ("--watch h --when 'h > 1' --check oob", {"watch": "h", "when": "h > 1", "check": "oob"}),
        ("--config lr=3 --record-max-mb 5 --no-debug", {"config": {"lr": 3}, "record_max_mb": 5, "debug": False}),
    ],
)
def test_a_line_and_the_same_arguments_make_the_same_options(line, arguments):
    assert parse(line, echo_by_default=False)[0] == Options.of(**arguments)


def test_a_condition_over_an_array_holds_in_a_cell_as_in_a_capture(ours):
    ours.ip.push({"f": jax.vmap(jax.jit(lambda x: [loss := x * 9, loss + 1][1])), "xs": jax.numpy.float32([0, 1, 2])})
    ours.run("%jaxdebug --watch-all --break-on 'loss > 10' f(xs)")
    notes = jdw.last().notes
    assert any("loss > 10 (--break-on) skipped" in note for note in notes), notes
