"""Test the console, which accepts JAX's commands and Python, and from which the program can always continue."""

from __future__ import annotations

import threading

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw

NAME = "global of this module"


def inner(x):
    scale = 3
    y = x * scale
    jdw.breakpoint(num_frames=2)
    return y


def outer(x):
    z = x + 1
    return inner(z)


SAID = {
    "p y": "Array([3., 6.], dtype=float32)",
    "y.sum()": "Array(9., dtype=float32)",
    "jnp.abs(y - 4)": "Array([1., 2.], dtype=float32)",
    "pp {'a': scale}": "{'a': 3}",
    "NAME": "'global of this module'",
    "q = 4; q + scale": "7",
    "print('one'); 2": "one\n2",
    "[v for v in (scale, q)]": "[3, 4]",
    "nothing = None": "",
}


@pytest.mark.behaviour("B1")
def test_the_console_takes_commands_and_python(stopped):
    def user(page):
        stop = page.stop()
        for text, answer in SAID.items():
            assert page.say(stop, text) == answer, text
        assert "u, d" in page.say(stop, "h")
        assert "->      jdw.breakpoint(num_frames=2)" in page.say(stop, "l")
        assert "in inner\n    jdw.breakpoint" in page.say(stop, "bt")
        assert "return inner(z)" in page.say(stop, "u")
        assert page.say(stop, "z") == "Array([1., 2.], dtype=float32)"
        assert page.say(stop, "u") == "At topmost frame."
        page.say(stop, "d")
        assert page.say(stop, "d") == "At bottommost frame."
        failed = page.ask("command", stop=stop["id"], text="y + missing")
        assert failed["error"] and failed["text"].endswith("NameError: name 'missing' is not defined")
        assert "console.py" not in failed["text"]
        for text in ("1 +", "p 1 +"):
            failed = page.ask("command", stop=stop["id"], text=text)
            assert failed["error"] and failed["text"].startswith('  File "<console>", line 1'), text
            assert failed["text"].endswith("SyntaxError: invalid syntax") and "ast.py" not in failed["text"]
        assert page.ask("frame", stop=stop["id"], frame=7)["type"] == "error"
        assert page.say(stop, "lane") == "this stop has no vmap around it."
        for text, told in {
            "lane 0": "no lane [0]: this stop has no vmap",
            "lane x": "number for each vmap axis",
        }.items():
            failed = page.ask("command", stop=stop["id"], text=text)
            assert failed["error"] and told in failed["text"]
        assert page.say(stop, "c") == ""

    stopped(jax.jit(outer), jnp.float32([0, 1]), user=user)


loss = late = "of another run"


def computing(params, x):
    logits = x @ params["w"]
    jdw.breakpoint()
    late = jnp.log(logits - logits.max())
    late = late * 2
    loss = late.mean()
    return loss  # noqa: RET504 - it has a name.


PARAMS, X = {"w": jnp.eye(2)}, jnp.ones((3, 2))


@pytest.mark.behaviour("B1")
def test_a_variable_without_a_value_is_no_global_of_its_name(stopped):
    def user(page):
        stop = page.stop()
        told = {text: page.ask("command", stop=stop["id"], text=text) for text in ("loss", "p late + 1")}
        for name, answer in zip(("loss", "late"), told.values(), strict=True):
            assert answer["error"]
            assert answer["text"].startswith(f"NameError: '{name}' is a variable of computing that has no value")
            assert "nothing has been assigned" in answer["text"]
        assert page.say(stop, "[loss for loss in (1, 2)]") == "[1, 2]"
        assert page.say(stop, "NAME") == "'global of this module'"
        page.go_on(stop)

    stopped(jax.jit(computing), PARAMS, X, user=user)


@pytest.mark.behaviour("B2")
def test_a_watched_value_stands_under_its_name_with_its_statistics(stopped, monkeypatch):
    monkeypatch.setattr("jax_debug_widgets.watch.choosing.stops.MOST_ELEMENTS", 5)

    def user(page):
        page.go_on(page.stop())
        stop = page.stop()
        (local,) = stop["frames"][0]["locals"]
        assert (local["name"], local["shape"], local["dtype"]) == ("late", [3, 2], "float32")
        assert (local["stats"]["size"], local["stats"]["inf"], local["stats"]["max"]) == (6, 6, None)
        assert page.say(stop, "min(3, 2)") == "2"
        assert page.say(stop, "late.neginf") == "6"
        assert "float32[3,2] with" in page.say(stop, "late") and "--values" in page.say(stop, "late.sum()")
        missing = page.ask("command", stop=stop["id"], text="params")
        assert missing["error"] and "jdw.breakpoint() in computing" in missing["text"]
        shown = page.ask("local", stop=stop["id"], frame=0, name="late")
        assert shown["type"] == "error" and "--values" in shown["message"]
        page.go_on(stop, "all")

    stopped(jax.jit(computing), PARAMS, X, user=user, break_on="nonfinite", watch="late")


def test_a_watched_value_with_its_elements_is_an_array_in_the_console(stopped):
    def user(page):
        page.go_on(page.stop())
        stop = page.stop()
        assert [one["name"] for one in stop["frames"][0]["locals"]] == ["late"]
        assert page.say(stop, "late.shape") == "(3, 2)"
        page.go_on(stop, "all")

    stopped(jax.jit(computing), PARAMS, X, user=user, break_on="nonfinite", watch="late", values=True)


@pytest.mark.behaviour("B3")
def test_an_assignment_to_a_program_variable_says_that_only_the_console_changed(stopped):
    def user(page):
        stop = page.stop()
        told = page.say(stop, "logits = logits + 1")
        assert told.startswith("logits has changed in this console only, not in the program")
        assert "logits = jdw.breakpoint(logits)" in told
        assert "params has changed" in page.say(stop, "params['w'] = 1")
        assert page.say(stop, "mine = 1") == ""
        page.go_on(stop)

    stopped(jax.jit(computing), PARAMS, X, user=user)


def test_the_console_completes_names_of_the_frame_and_of_modules(stopped):
    def user(page):
        stop = page.stop()
        found = page.ask("complete", stop=stop["id"], text="print(scal", cursor=10)
        assert (found["start"], found["matches"]) == (6, ["scale"])
        assert "jnp.isfinite" in page.ask("complete", stop=stop["id"], text="1 + jnp.isf", cursor=11)["matches"]
        assert page.ask("complete", stop=stop["id"], text="1 + ", cursor=4)["matches"] == []
        page.go_on(stop)

    stopped(jax.jit(outer), jnp.float32([0, 1]), user=user)


def test_an_array_of_a_frame_is_sent_as_a_picture(stopped):
    def user(page):
        stop = page.stop()
        found = page.ask("local", stop=stop["id"], frame=0, name="y")
        assert (found["type"], found["shape"], found["event"], found["stats"]["max"]) == ("array", [2], -1, 6.0)
        assert "no variable" in page.ask("local", stop=stop["id"], frame=0, name="nothing")["message"]
        page.go_on(stop)
        assert "no longer stopped" in page.ask("frame", stop=stop["id"], frame=0)["message"]

    stopped(jax.jit(outer), jnp.float32([0, 1]), user=user)


def test_the_program_goes_on_while_an_expression_does_not_end(stopped):
    released = threading.Event()

    def user(page):
        stop = page.stop()
        page.post("command", stop=stop["id"], text="released.wait(30)")
        page.go_on(stop)

    result, _ = stopped(jax.jit(lambda x: waiting(x, released)), jnp.float32(1), user=user)
    assert result[0] == 1
    released.set()


def waiting(x, released):
    jdw.breakpoint()
    return x, bool(released)


def test_prints_of_other_threads_do_not_appear_in_the_console(stopped, capsys):
    began, ended = threading.Event(), threading.Event()

    def user(page):
        stop = page.stop()
        number = page.post("command", stop=stop["id"], text="began.set(); print('mine', ended.wait(30))")
        assert began.wait(30)
        print("of another thread")
        ended.set()
        with page._answered:
            assert page._answered.wait_for(lambda: number in page.answers, 30)
        assert page.answers.pop(number)["text"] == "mine True"
        page.go_on(stop)

    def f(x):
        return with_events(x, began, ended)

    stopped(jax.jit(f), jnp.float32(1), user=user)
    assert "of another thread" in capsys.readouterr().out


def with_events(x, began, ended):
    jdw.breakpoint()
    return x, bool(began and ended)


def test_expressions_of_the_page_are_not_in_the_history_of_the_console(stopped):
    def f(x):
        c = x * 2
        jdw.breakpoint()
        return c

    def user(page):
        stop = page.stop()
        told = page.ask("command", stop=stop["id"], text="p c", quiet=True)
        assert (told["text"], told["error"]) == ("Array(4., dtype=float32)", False)
        assert not page.run.policy.typed
        page.go_on(stop)

    stopped(jax.jit(f), jnp.float32(2), user=user)
