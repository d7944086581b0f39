"""Test `%jaxdebug` with its commands and options, and `%%jaxdebug` together with other magics."""

from __future__ import annotations

import re

import pytest

from jax_debug_widgets.magics.options import COMMANDS, option_parser
from jax_debug_widgets.session import current_session, snapshot_of


def last_run():
    return current_session().current


def texts():
    return [event.text for event in last_run().events]


def test_an_expression_gives_its_value_and_is_captured(ours):
    outcome = ours.run("%jaxdebug f(1.)")
    assert float(outcome.result.result) == 2
    assert texts() == ["x 1.0"]
    assert outcome.summaries == 1
    assert [call.name for call in last_run().calls] == ["f(1.0)"]


def test_the_overview_counts_functions_and_not_the_expressions_that_call_them(ours):
    ours.run("import jax")
    ours.run("%%jaxdebug\nf(jax.numpy.ones(91))\nf(jax.numpy.ones(92))\nf(jax.numpy.ones(93))")
    (compiled,) = [fact for fact in snapshot_of(last_run()).facts if fact.label == "Compiled"]
    assert compiled.value == "3 times"


def test_options_come_before_the_expression(ours):
    outcome = ours.run("%jaxdebug --no-echo --timeout 5 --max-events=7 --max-mb 3 --no-barrier f(1.)")
    options = last_run().options
    assert (options.echo, options.timeout, options.max_events, options.max_mb) == (False, 5, 7, 3)
    assert not options.barrier
    assert float(outcome.result.result) == 2
    assert "x 1.0" not in outcome.stdout


def test_lanes_of_a_named_value_are_recorded_beside_all_values(ours):
    ours.run("import jax\ndef halves(x):\n    half = x / 2\n    most = half.max()\n    return most")
    ours.run("%jaxdebug --watch lanes/half --watch-all jax.jit(jax.vmap(halves))(jax.numpy.ones((3, 4)))")
    run = last_run()
    assert run["half"].lanes["mean"].shape == (1, 3)
    with pytest.raises(KeyError, match="not taken by lane"):
        _ = run["most"].lanes


def test_prints_are_echoed_in_a_terminal_unless_asked_not_to(ours):
    assert ours.run("%jaxdebug f(1.);").stdout == "x 1.0\n"
    assert ours.run("%jaxdebug --no-echo f(1.);").stdout == ""


@pytest.mark.parametrize(
    ("options", "is_told"), [("--break-on nan", True), ("--break-on nan --watch x", False), ("--break-on x>9", False)]
)
def test_break_on_without_watched_values_says_at_once_what_it_sees(options, is_told, ours):
    outcome = ours.run(f"%jaxdebug {options} print('the program begins')")
    said = outcome.stdout.partition("the program begins")[0]
    assert ("--break-on nan sees only the values of prints and callbacks" in said and "--watch-all" in said) == is_told


def test_a_terminal_shows_once_what_was_verified(ours):
    outcome = ours.run("%jaxdebug verify g(1.)")
    (verdict,) = (note for note in last_run().status().notes if "bitwise equal" in note)
    assert outcome.summaries == 1 and verdict not in outcome.stdout
    assert float(outcome.result.result) == 2


def test_the_assignment_form_assigns(ours):
    ours.run("y = %jaxdebug f(3.)")
    assert float(ours.ip.user_ns["y"]) == 6
    assert texts() == ["x 3.0"]


def test_braces_and_dollars_are_python(ours):
    ours.ip.push({"h": lambda d: (f"${d}", d)})
    assert ours.run("%jaxdebug h({'a': f})").result.result == (
        "${'a': " + repr(ours.ip.user_ns["f"]) + "}",
        {"a": ours.ip.user_ns["f"]},
    )


def test_a_statement_runs_in_the_namespace(ours):
    outcome = ours.run("%jaxdebug y = f(4.)")
    assert float(ours.ip.user_ns["y"]) == 8
    assert outcome.result.result is None
    assert texts() == ["x 4.0"]


def test_an_expression_sees_the_locals_of_a_function(ours):
    ours.run("def h():\n    local = 5.\n    return get_ipython().run_line_magic('jaxdebug', 'f(local)')\nh()")
    assert texts() == ["x 5.0"]


def test_an_expression_that_raises_shows_the_users_error_and_ends_the_capture(ours):
    outcome = ours.run("%jaxdebug 1 / len([f(1.)][1:])")
    assert "ZeroDivisionError" in outcome.stdout
    assert "jax_debug_widgets" not in outcome.stdout
    assert last_run().status().state == "failed"
    ours.run("f(2.)")
    assert texts() == ["x 1.0"]


@pytest.mark.parametrize("command", ["callbacks", "cost", "verify"])
def test_an_error_in_the_call_of_a_command_shows_only_the_users_frames(ours, command):
    ours.run("def two(x, y):\n    return three(x)\ndef three(x):\n    return x.nothing")
    wrong, unknown, inside = (
        ours.run(f"%jaxdebug {command} {call}").stdout for call in ("two(1.)", "tow(1.)", "two(1., 2.)")
    )
    assert wrong.endswith("----> 1 two(1.)\n\nTypeError: two() missing 1 required positional argument: 'y'\n")
    assert unknown.endswith("----> 1 tow(1.)\n\nNameError: name 'tow' is not defined\n")
    assert "----> 2     return three(x)" in inside and "----> 4     return x.nothing" in inside
    assert not any("jax_debug_widgets" in text or "<jaxdebug>" in text for text in (wrong, unknown, inside))
    assert "Traceback" not in ours.run("f(1.)").stdout


def test_a_line_in_a_captured_cell_is_a_run_of_its_own(ours):
    ours.run("%%jaxdebug\nf(1.)\n%jaxdebug f(2.)\nf(3.)")
    assert texts() == ["x 1.0", "x 3.0"]


def test_on_captures_the_cells_that_follow_until_off(ours):
    ours.run("%jaxdebug on --no-echo")
    ours.run("f(1.)")
    ours.run("y = f(2.)\n1/0")
    run = last_run()
    ended = ours.run("%jaxdebug off")
    ours.run("f(3.)")
    assert [event.text for event in run.events] == ["x 1.0", "x 2.0"]
    assert [call.name for call in run.calls if call.origin == "cell"] == ["f(1.0)", "f(2.0)"]
    assert ended.summaries == 0  # `run` began before, so that its headline is counted instead.
    assert "jaxdebug: %jaxdebug on — done" in ended.stdout


def test_errors_while_it_is_on_have_none_of_our_frames(ours):
    ours.run("%jaxdebug on")
    failed = ours.run("@jax.jit\ndef h(x):\n    jax.debug.print('{} {}', x)\n    return x\nh(1.)")
    assert "Traceback" in failed.stdout
    assert "jax_debug_widgets" not in failed.stdout


def test_on_when_already_on_and_off_when_already_off_are_reported(ours):
    assert "capturing is not on" in ours.run("%jaxdebug off").stdout + ours.run("%jaxdebug off").stderr
    ours.run("%jaxdebug on")
    again = ours.run("%jaxdebug on")
    assert "on already" in again.stdout + again.stderr


def test_a_captured_cell_while_it_is_on_has_a_run_of_its_own(ours):
    ours.run("%jaxdebug on --no-echo")
    lasting = last_run()
    ours.run("%%jaxdebug\nf(1.)")
    ours.run("f(2.)")
    assert [event.text for event in lasting.events] == ["x 2.0"]


def test_status_shows_the_outcome_of_the_last_capture(ours):
    ours.run("%%jaxdebug\nf(1.)")
    said = ours.run("%jaxdebug status").stdout
    assert re.search(r"jaxdebug: f\(1\.0\) — done after [\d.]+ m?s, 1 print, all effects arrived", said)
    assert "(unordered print)" in said and "f(1.0): " in said


def test_barrier_says_that_effects_have_drained(ours):
    ours.run("%%jaxdebug --no-barrier\nf(1.)")
    assert ours.run("%jaxdebug barrier").stdout == "jaxdebug: all effects arrived\n"
    assert last_run().status().barrier.state == "drained"


def test_panel_gives_the_last_run(ours):
    ours.run("%%jaxdebug\nf(1.)")
    assert ours.run("%jaxdebug panel").result.result is last_run()


def test_help_names_every_command_and_option(ours):
    said = ours.run("%jaxdebug help").stdout
    for command in COMMANDS:
        assert command == "help" or f"%jaxdebug {command}" in said
    for action in option_parser()._actions:
        assert action.option_strings[0] in said
    # A notebook breaks longer lines anywhere.
    assert max(map(len, said.splitlines())) <= 90


@pytest.mark.parametrize("asked", ["%jaxdebug?", "%%jaxdebug?", "?%jaxdebug", "?%%jaxdebug"])
def test_a_question_mark_shows_the_help(ours, asked):
    said = ours.run(asked).stdout
    assert "See inside jax.jit" in said
    assert "%%jaxdebug [options]" in said
    assert "--timeout" in said


def test_the_help_option_and_the_help_command_print_the_same(ours):
    assert ours.run("%jaxdebug --help").stdout == ours.run("%jaxdebug help").stdout


MISTAKES = {
    "%jaxdebug": "say what to capture",
    "%jaxdebug --no-echo": "nothing to capture",
    "%jaxdebug stauts": "did you mean 'status'",
    "%jaxdebug bariere": "did you mean 'barrier'",
    "%jaxdebug plto loss": "did you mean the command 'plot'",
    "%jaxdebug foo bar": "invalid syntax; `%jaxdebug help` lists the commands",
    "%jaxdebug --ecko f(1.)": "unknown option --ecko; did you mean --echo",
    "%jaxdebug --time 3 f(1.)": "unknown option --time; did you mean --timeout",
    "%jaxdebug --max-event=3 f(1.)": "unknown option --max-event; did you mean --max-events",
    "%jaxdebug --timeout soon f(1.)": "--timeout takes a number, not 'soon'; write `--timeout 30`",
    "%jaxdebug --timeout 0 f(1.)": "timeout must be greater than 0",
    "%jaxdebug --timeout nan f(1.)": "timeout must be greater than 0",
    "%jaxdebug --max-events many f(1.)": "--max-events takes a whole number, not 'many'; write `--max-events 10`",
    "%jaxdebug --max-events -1 f(1.)": "max_events must be greater than 0",
    "%jaxdebug --max-mb 0 f(1.)": "max_mb must be greater than 0",
    "%jaxdebug --timeout": "--timeout wants to know S; write `--timeout 30`",
    "%jaxdebug on --ecko": "did you mean --echo",
    "%jaxdebug on f(1.)": "`on` takes no 'f(1.)'",
    "%jaxdebug status now": "`status` takes no 'now'",
    "%jaxdebug barrier --timeot 3": "did you mean --timeout",
    "%jaxdebug panel 3": "`panel` takes no '3'",
    "%jaxdebug help me": "`help` takes no 'me'",
    "%jaxdebug off now": "`off` takes no 'now'",
    "%jaxdebug cost": "`cost` takes a call, e.g. `%jaxdebug cost f(x)`\n",
    "%jaxdebug verify f": "`verify` takes a call, e.g. `%jaxdebug verify f(x)`",
    "%jaxdebug f(1.": "cannot read 'f(1.': '(' was never closed",
    "%%jaxdebug --ecko\nf(1.)": "did you mean --echo",
    "%%jaxdebug --timeout soon\nf(1.)": "--timeout takes a number, not 'soon'",
    "%%jaxdebug --watch\nf(1.)": "--watch wants to know NAMES; write `--watch logits,h`, or `--watch-all`",
    "%%jaxdebug --every --watch-all\nf(1.)": "--every wants to know N; write `--every 10`",
    "%%jaxdebug --values=yes\nf(1.)": "--values takes no value",
    "%jaxdebug cost --timeout soon f(1.)": "--timeout takes a number, not 'soon'; write `--timeout 30`",
    "%%jaxdebug f(1.)\nf(2.)": "'f(1.)' is no option; the code goes on the lines below",
    "%%jaxdebug watch-all\nf(2.)": "'watch-all' is no option; did you mean --watch-all? The code goes on the lines below",
    "%%jaxdebug -watch y\nf(2.)": "'-watch y' is no option; did you mean --watch? The code goes on the lines below",
}


@pytest.mark.parametrize(("cell", "words"), MISTAKES.items(), ids=MISTAKES)
def test_a_mistake_in_the_options_is_reported_in_one_line_with_a_suggestion(ours, cell, words):
    before = last_run()
    outcome = ours.run(cell)
    said = outcome.stdout + outcome.stderr
    assert words in said
    assert "Traceback" not in said
    assert outcome.error.startswith("UsageError")
    assert last_run() is before
    assert "x " not in outcome.stdout.split("UsageError")[0]


def test_a_name_that_resembles_a_command_is_evaluated(ours):
    ours.run("on_ = 3")
    assert ours.run("%jaxdebug on_").result.result == 3


@pytest.mark.parametrize("cell", ["%%time\n%%jaxdebug --no-echo\nf(1.)", "%%capture c\n%%jaxdebug\nf(1.)"])
def test_the_cell_magic_works_below_another_cell_magic(ours, cell):
    before = last_run()
    outcome = ours.run(cell)
    assert outcome.error == "None"
    assert last_run() is not before
    assert texts() == ["x 1.0"]
    ours.run("f(2.)")
    assert texts() == ["x 1.0"]


@pytest.mark.parametrize(
    "cell", ["%time {}", "y = %time {}", "%%time\n{}", "get_ipython().run_line_magic('time', '{}')"]
)
def test_a_timed_call_without_effects_is_listed_as_one_that_is_not_timed(ours, cell):
    ours.run("still = jax.jit(lambda x: x * 2)")
    listed = []
    for written in ("{}", cell):
        outcome = ours.run("%%jaxdebug --no-echo\n" + written.format("jnp.sum(still(1.)) + 1"))
        assert outcome.error == "None"
        listed.append([(call.name, call.state) for call in last_run().calls])
    assert listed[0] == listed[1] != []
    assert "Wall time" in outcome.stdout


def test_code_under_timeit_is_not_captured(ours):
    ours.run("still = jax.jit(lambda x: x * 2)")
    assert ours.run("%%jaxdebug --no-echo\n%timeit -q -n 3 -r 1 still(1.)\nstill(2.)").error == "None"
    assert [call.name for call in last_run().calls] == ["still(2.0)"]


def test_the_cell_magic_works_when_called_by_name(ours):
    ours.run("get_ipython().run_cell_magic('jaxdebug', '--no-echo', 'f(1.)\\ny = 3')")
    assert texts() == ["x 1.0"]
    assert ours.ip.user_ns["y"] == 3


def test_a_captured_cell_inside_a_captured_cell_has_a_run_of_its_own(ours):
    ours.run("%%jaxdebug\nf(1.)\nget_ipython().run_cell('%%jaxdebug\\nf(2.)')\nf(3.)\nundefined")
    assert texts() == ["x 1.0", "x 3.0"]
    ours.run("f(4.)")
    assert texts() == ["x 1.0", "x 3.0"]


def test_after_an_error_the_next_cell_is_not_captured(ours):
    ours.run("%%jaxdebug\nf(1.)\n1/0")
    run = last_run()
    assert run.status().state == "failed"
    ours.run("f(2.)")
    assert last_run() is run
    assert texts() == ["x 1.0"]


@pytest.mark.parametrize(
    ("cell", "title"),
    [
        ("\n# train\nfor i in range(1):\n    f(1.)", "f(1.0)"),
        ("x = jax.jit(lambda x: x)(2.)\nlosses = f(\n    x,\n)\nlosses", "f(x)"),
        ("for i in range(2):\n    a = f(1.)\n    f(a)", "f(1.0)"),
        ("def run():\n    return f(1.)\nlosses = run()\nprint(losses)\nlosses", "losses = run()"),
        ("x = 3\nx", "x"),
    ],
    ids=["in a loop", "the one that says something", "the first", "in a function", "no call"],
)
def test_the_title_of_a_run_is_the_call_that_it_is_about(ours, cell, title):
    ours.run("%%jaxdebug\n" + cell)
    assert last_run().title == last_run().status().title == title


def test_a_cell_captures_functions_jitted_before_it(ours):
    ours.run("h = jax.jit(lambda x: (jax.debug.print('h {}', x), x)[1])\nh(1.)")
    ours.run("%%jaxdebug\nh(2.)")
    assert texts() == ["h 2.0"]
    (site,) = last_run().sites
    assert site.where == "In [1]:1"
    assert site.function.endswith("<lambda>")


@pytest.mark.parametrize("options", ["", " --watch twice"])
def test_a_cell_that_is_run_again_with_the_same_text_has_its_new_number_everywhere(ours, options):
    cell = (
        f"%%jaxdebug{options}\n\n\n\n\n\n\ng = jax.jit(lambda x: (twice := x * 2, jax.debug.print('{{y}}', y=twice)))\n"
    )
    for number in (1, 2):
        ours.run(cell + "_ = g(1.)")
        (at,) = {site.where for site in last_run().sites}
        assert at == f"In [{number}]:8"
        assert at in ours.run("%jaxdebug sites").stdout
        ours.ip.execution_count = 2


def test_a_site_is_switched_off_and_on_by_its_number(ours):
    ours.run("h = jax.jit(lambda x: jax.debug.print('switched {x}', x=x))")
    ours.run("%jaxdebug --no-echo h(1.)")
    number = last_run().sites[0].id
    assert re.search(rf"^ *(\d+,)*{number}(,\d+)*  on  .* x$", ours.run("%jaxdebug sites").stdout, re.MULTILINE)
    assert f"muted: {number}  " in ours.run(f"%jaxdebug mute {number}").stdout
    ours.run("%jaxdebug --no-echo h(2.)")
    assert texts() == []
    assert re.search(rf"^ *(\d+,)*{number}(,\d+)*  muted  .* x$", ours.run("%jaxdebug sites").stdout, re.MULTILINE)
    ours.run(f"%jaxdebug unmute {number}")
    ours.run("%jaxdebug --no-echo h(3.)")
    assert texts() == ["switched 3.0"]


def test_a_check_is_asked_for_and_muted_by_its_name(ours):
    ours.run("import jax, jax.numpy as jnp")
    ours.run("%%jaxdebug --check oob\njax.jit(lambda x, i: x[i])(jnp.arange(3.0), 7)")
    assert "index 7 is outside axis 0" in ours.run("%jaxdebug status").stdout
    assert (
        "| jax.jit(lambda x, i: x[i])(jnp.arange(3.0), 7)\n  |                      ^^^^\n"
        in ours.run("%jaxdebug findings").stdout
    )
    ours.run("%jaxdebug verify jax.jit(jnp.sin)(1.)")
    assert "index 7 is outside" in ours.run("%jaxdebug findings").stdout, (
        "a question about a function is no capture of it"
    )
    ours.run("%jaxdebug --check oob jax.jit(lambda x, i: x[i])(jnp.arange(3.0), 7)")
    assert "muted: check:oob" in ours.run("%jaxdebug mute check:oob").stdout
    assert "index 7" not in ours.run("%jaxdebug status").stdout
    ours.run("%jaxdebug unmute check:oob")
    assert "index 7 is outside" in ours.run("%jaxdebug status").stdout
    assert "there is no check obb; there are" in ours.run("%jaxdebug mute check:obb").stderr
    assert "muted: check:oob\njaxdebug: muted: check:casts" in ours.run("%jaxdebug mute check:oob,cast").stdout
    ours.run("%jaxdebug unmute check:oob,cast")
    assert "there is no check nosuch; there are all, " in ours.run("%%jaxdebug --check nosuch\n1").stderr


def test_a_call_is_run_once_under_all_checks_and_what_they_find_is_printed(ours):
    ours.run(
        "pick, calls = jax.jit(lambda x, i: x[i]), []\ndef once(x, i):\n    calls.append(i)\n    return pick(x, i)"
    )
    found = ours.run("%jaxdebug check once(jnp.arange(3.0), 7)")
    assert found.result.result is None, "the last thing to see are the findings"
    assert ours.ip.user_ns["calls"] == [7]
    head, text = found.stdout.split("\n\n", 1)
    assert text.startswith("oob: In [1]:1: index 7 is outside axis 0 (size 3)\n  |\n1 | pick, calls = jax.jit(lambda")
    names = "purity, leaks, stale, keys, oob, nonfinite, casts, numpy, x64, lists, retraces, prints"
    assert head == f"jaxdebug: 1 finding, 12 checks ran: {names}"
    assert "not checked" not in found.stdout
    assert "index 7 is outside" in ours.run("%jaxdebug findings").stdout


def test_a_check_without_findings_says_what_it_looked_for(ours):
    ours.run("pick = jax.jit(lambda x, i: x[i])")
    alone = [
        ours.run(f"%jaxdebug check {line}").stdout
        for line in (
            "oob,casts pick(jnp.arange(3.0), 1)",
            "--only oob,casts pick(jnp.arange(3.0), 1)",
            "pick(jnp.arange(3.0), 1) --only oob,casts",
        )
    ]
    wanted = (
        "jaxdebug: nothing found, 6 checks ran: stale, keys, oob, casts, retraces, prints; "
        "not checked: purity, leaks, nonfinite, numpy, x64, lists, because only oob, casts are selected"
    )
    assert [one.strip() for one in alone] == [wanted] * 3
    unjitted = ours.run("%jaxdebug check jnp.sin(1.)").stdout
    assert "nothing found, 8 checks ran: purity, leaks, stale, keys, x64, lists, retraces, prints; " in unjitted
    assert (
        "not checked: oob, nonfinite, casts, numpy, because no jitted function of yours that ran to its end has an operation"
        in unjitted
    )
    ours.run("%jaxdebug mute check:oob")
    muted = ours.run("%jaxdebug check pick(jnp.arange(3.0), 7)").stdout
    ours.run("%jaxdebug unmute check:oob")
    assert "index 7" not in muted
    assert "not checked: oob, because it is muted" in muted
    failed = ours.run("%jaxdebug check pick(jnp.arange(3.0))")
    assert "leaks, because the traceback of an exception holds tracers itself" in failed.stdout
    assert "TypeError" in failed.error and "nothing found before the exception, " in failed.stdout
    assert "did you mean oob?" in ours.run("%jaxdebug check obb pick(jnp.arange(3.0), 1)").stderr
    assert "`check` takes a call" in ours.run("%jaxdebug check").stderr


def test_a_program_that_failed_leaves_no_leak_to_the_next_check(ours):
    assert "TypeError" in ours.run("%jaxdebug check jax.jit(lambda x: float(x))(jnp.ones(()))").error
    assert "nothing found" in ours.run("%jaxdebug check leaks g(jnp.ones(17))").stdout


def test_a_muted_print_is_not_echoed_either(ours):
    ours.run("h = jax.jit(lambda aloud: (jax.debug.print('first {}', aloud), jax.debug.print('second {}', -aloud)))")
    assert ours.run("%jaxdebug h(2.);").stdout.startswith("first 2.0\nsecond -2.0\n")
    ours.run("%jaxdebug mute aloud")
    silenced = ours.run("%jaxdebug h(2.);").stdout
    ours.run("%jaxdebug unmute aloud")
    assert silenced.startswith("second -2.0\n")
    assert ours.run("%jaxdebug h(2.);").stdout.startswith("first 2.0\nsecond -2.0\n")


def test_sites_are_switched_by_label_and_place_as_well(ours):
    ours.run("def h(x):\n    jax.debug.print('{one}', one=x)\n    jax.debug.print('{two}', two=x)\nh = jax.jit(h)")
    ours.run("%jaxdebug --no-echo h(1.)")
    first, second = last_run().sites
    number, of_second = first.id, second.id
    ours.run(f"%jaxdebug mute '{first.where}'")
    ours.run("%jaxdebug --no-echo h(2.)")
    assert f"is muted: `%jaxdebug unmute {number}`" in ours.run("%jaxdebug status").stdout
    assert [event.site for event in last_run().events] == [second]
    ours.run(f"%jaxdebug every 1000 '{second.where}'")
    ours.run(f"%jaxdebug unmute {number}")
    ours.run("%jaxdebug --no-echo h(3.)")
    assert first in last_run().sites
    sampled = current_session().switches.sampled()
    assert sampled[of_second] == 1000 and number not in sampled
    assert "is called three" in ours.run(f"%jaxdebug mute {number}, three").stderr
    assert number not in current_session().switches.muted(), "all or none"
    ours.run(f"%jaxdebug every 1 {of_second}")
    assert re.search(rf"^ *(\d+,)*{of_second}(,\d+)*  on  .*$", ours.run("%jaxdebug sites").stdout, re.MULTILINE)


def test_a_name_that_several_places_have_switches_them_all_and_each_can_be_named_alone(ours):
    ours.run(
        "def a(x):\n    both = x * 2\n    return both + 1\n"
        "def b(x):\n    both = x * 3\n    jax.debug.print('{}', both)\n    return jnp.sin(both)\n"
        "k = jax.jit(lambda x: a(x) + b(x))"
    )
    ours.run("%jaxdebug --no-echo --watch both k(1.)")
    told = ours.run("%jaxdebug mute both").stdout
    assert re.findall(r"muted: \d+  (.*)  both", told) == ["In [1]:2", "In [1]:5", "In [1]:6"]
    assert told.endswith("jaxdebug: both is at 3 places; both@In [1]:2 names only the one there\n")
    told = ours.run("%jaxdebug unmute both@In [1]:2, 'both@In [1]:5' In [1]:6").stdout
    assert re.findall(r"unmuted: \d+  (.*)  both", told) == ["In [1]:2", "In [1]:5", "In [1]:6"]
    assert "places" not in told


def test_sites_are_a_table_with_one_line_for_a_place_whatever_was_watched(ours):
    ours.run(
        "def f(x, layer):\n    h = x @ layer['w']\n    return jnp.tanh(h).sum()\nf = jax.jit(jax.grad(f))\n"
        "x, layer = jnp.ones(3), {'w': jnp.ones((3, 2))}"
    )
    ours.run("%jaxdebug --watch h f(x, layer)")
    ours.run("""%jaxdebug --watch "h,layer['w']" --histogram f(x, layer)""")
    head, *lines = ours.run("%jaxdebug sites").stdout.splitlines()
    assert head.split() == ["number", "state", "kind", "place", "name"]
    own = [line for line in lines if "]:2 " in line and line.endswith("  h")]
    assert len(own) == 1, "the statistics and the histogram are two sites of one line"
    numbers = own[0].split()[0]
    assert len(numbers.split(",")) == 2
    assert own[0].index("In [") == head.index("place")

    of_others = current_session().switches.muted()
    assert "Did you mean layer['w']?" in ours.run("%jaxdebug mute layers['w']").stderr
    ours.run(f"%jaxdebug mute {numbers}, layer['w']")
    lines = ours.run("%jaxdebug sites").stdout.splitlines()
    assert {line.split()[-1]: line.split()[1] for line in lines if line.endswith((" h", " layer['w']", " grad/h"))} == {
        "h": "muted", "layer['w']": "muted", "grad/h": "on"
    }  # fmt: skip
    ours.run(f"%jaxdebug unmute {numbers} {own[0].split('  ')[-2].strip()}, layer['w']")
    assert current_session().switches.muted() == of_others


def test_muting_an_unknown_site_is_refused(ours):
    assert "no call site has the number 99999" in ours.run("%jaxdebug mute 99999").stderr
    assert "no call site is called nowhere" in ours.run("%jaxdebug mute nowhere").stderr
    assert "say which call site, by number" in ours.run("%jaxdebug mute").stderr


def test_step_and_replay_without_a_panel_write_the_prints(ours):
    assert "x 1.0" in ours.run("%jaxdebug step f(1.)").stdout
    ours.run("%jaxdebug --keep-inputs 2 f(2.)")
    assert "x 2.0" in ours.run("%jaxdebug replay").stdout
    assert current_session().current.title == "replay of <lambda>, the last call"
    assert "x 2.0" in ours.run("%jaxdebug replay --step").stdout


def test_plot_and_show_draw_values_by_name(ours):
    ours.run("import matplotlib; matplotlib.use('Agg'); from matplotlib import pyplot as plt")
    ours.run("p = jax.jit(lambda x: jax.debug.callback(lambda *_: None, x.sum(), x))")
    ours.run("%jaxdebug p(jnp.ones((2, 3)))")
    ours.run("%jaxdebug plot x.sum()")
    assert ours.run("plt.gca().get_ylabel()").result.result == "x.sum()"
    ours.run("%jaxdebug show x")
    assert ours.run("plt.gca().get_title(); plt.close('all')").result.success
    assert "no captured value is called 'y'" in ours.run("%jaxdebug show y").stderr
    assert "nothing to draw" in ours.run("%jaxdebug show x.sum()").stderr
    assert ours.run("%jaxdebug show x --step 0 --lane 0").stderr == ""
    assert "no step 7; steps that are kept: 0" in ours.run("%jaxdebug show --step=7 x").stderr
    assert "cannot read '--stp'" in ours.run("%jaxdebug show x --stp 7").stderr


def test_a_cell_sets_the_name_and_the_configuration_of_its_run(ours):
    ours.ip.push({"lr": 0.25})
    ours.run("%%jaxdebug --name lr3 --config lr={lr},seed=1 --config opt=adam --no-barrier\nf(1.)")
    run = last_run()
    assert (run.name, run.config) == ("lr3", {"lr": 0.25, "seed": 1, "opt": "adam"})
    assert (run.cell, run.asked) == (len(ours.ip.user_ns["In"]) - 1 or None, "--no-barrier")
    assert "write `--config lr=3e-4,seed=1`" in ours.run("%%jaxdebug --config lr\nf(1.)").stderr


def test_a_cell_sets_the_title_of_its_run(ours):
    ours.run("%%jaxdebug --title 'without dropout' --no-barrier\nf(1.)")
    assert (last_run().title, last_run().asked) == ("without dropout", "--no-barrier")
    ours.run("%jaxdebug --title once f(1.)")
    assert last_run().title == "once"
    assert "write `--title 'without dropout'`" in ours.run("%%jaxdebug --title\nf(1.)").stderr


@pytest.mark.behaviour("B4")
@pytest.mark.parametrize("captured", ["%%jaxdebug\n{}", "def cell():\n    {}\n%jaxdebug cell()", "{}"])
def test_a_cell_whose_interrupt_python_has_dropped_fails_at_its_end(ours, captured):
    """Python drops an exception in a callback of the garbage collector; JAX has such a callback."""
    ours.run(
        "import gc, os, signal\ndef interrupt(*_):\n    gc.callbacks.remove(interrupt)\n    os.kill(os.getpid(), signal.SIGINT)"
    )
    if captured == "{}":
        ours.run("%jaxdebug on")
    outcome = ours.run(captured.format("f(1.); gc.callbacks.append(interrupt); gc.collect()"))
    assert outcome.error == "Stopped('interrupted after the last event')"
    assert "jaxdebug: interrupted after the last event. The program has ended" in outcome.stdout + outcome.stderr
    assert "Traceback" not in outcome.stdout + outcome.stderr
    assert ours.run("1 + 1").error == "None"
    assert ours.run("f(1.)").error == "None"


def test_a_replay_takes_a_dotted_name_and_without_a_run_the_newest_that_keeps_inputs(ours):
    ours.run("import types; T = types.SimpleNamespace(k=jax.jit(lambda x: [jax.debug.print('{x}', x=x), x * 2][1]))")
    ours.run("%%jaxdebug --keep-inputs 1 --no-barrier\nT.k(1.5)")
    ours.run("%%jaxdebug --no-barrier\nT.k(2.5)")
    done = ours.run("%jaxdebug replay --with T.k")
    assert done.result.success, done.stderr
    assert "T.no is no function here" in ours.run("%jaxdebug replay --with T.no").stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("compare f nosuch -- 1.0", "`compare`: nosuch is no function here"),
        ("diff nosuch -- 1.0 --before grad", "`diff`: nosuch is no function here"),
        ("graph f(1.0) --foo", "`graph`: unknown option --foo"),
    ],
)
def test_a_program_command_names_the_word_that_it_does_not_know(ours, line, told):
    assert told in ours.run(f"%jaxdebug {line}").stderr
