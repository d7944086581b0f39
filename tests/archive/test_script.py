"""A script that is recorded does what it does without us."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.magics.options import option_parser
from jax_debug_widgets.scripts.command import FLAGS, Command

SCRIPT = """
import argparse, os, sys
os.environ["JAX_ENABLE_X64"] = "1"  # Before JAX is imported, as many do.
import jax, jax.numpy as jnp
import beside

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("end", nargs="?")
args = parser.parse_args()

@jax.jit
def step(x):
    y = x * args.lr
    jax.debug.print("y {y} {kind}", y=y, kind=jnp.asarray(0.1).itemsize, ordered=True)
    return y

def main():
    print(sys.argv, __name__, __file__, sys.path[0], sys.modules["__main__"].main is main, __spec__, beside.NAME)
    for i in range(3):
        step(jnp.float32(i))
    if args.end == "raise":
        raise ValueError("it ends here")
    if args.end == "exit":
        sys.exit(7)

import atexit
atexit.register(lambda: print("at exit", sys.modules["__main__"].main is main))

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def script(tmp_path):
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT)
    (folder / "beside.py").write_text("NAME = 'a module beside the script'")
    return Path("code/train.py")


def python(folder, *words: object, input: str = ""):  # noqa: A002 - as subprocess has it.
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(
        command, cwd=folder, env=environment, input=input, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.behaviour("R1")
@pytest.mark.parametrize("end", ["", "raise", "exit"])
def test_a_script_does_what_it_does_without_us(script, tmp_path, end):
    arguments = [script, "--lr", "3", *([end] * bool(end))]
    plain = python(tmp_path, *arguments)
    ours = python(tmp_path, "-m", "jax_debug_widgets", "record", "run.jdw", "--watch", "y", "--name", "lr3", *arguments)
    assert ours.stdout == plain.stdout and ours.returncode == plain.returncode, ours.stderr
    assert "y 6.0 8" in plain.stdout and "at exit True" in plain.stdout
    told = [
        line
        for line in ours.stderr.splitlines()
        if not line.startswith(f"jaxdebug: recorded into {tmp_path / 'run.jdw'}")
    ]
    assert told == plain.stderr.splitlines(), "the traceback is that of the script alone"
    run = jdw.load(tmp_path / "run.jdw")
    printed = [event.text for event in run.events if event.kind == "print"]
    assert run.is_complete and printed == re.findall(r"^y .*$", plain.stdout, re.MULTILINE)
    assert (run.name, run.title, len(run["y"].steps)) == ("lr3", "train.py", 3)
    assert run.status().state == ("failed" if end == "raise" else "done")


def test_a_module_can_be_recorded(script, tmp_path):
    del script
    (tmp_path / "code/__init__.py").touch()
    (tmp_path / "code/inner.py").write_text(
        "import sys, jax\nprint(sys.argv[1:], __name__, __package__)\njax.debug.print('x')\n"
    )
    done = python(tmp_path, "-m", "jax_debug_widgets", "record", "run.jdw", "-m", "code.inner", "-a", "--b")
    assert done.stdout == "['-a', '--b'] __main__ code\nx\n", done.stderr
    assert [event.text for event in jdw.load(tmp_path / "run.jdw").events] == ["x"]


FINDERS = {"-c": ["-c", "{}"], "-": ["-"], "a zip file": ["app.pyz"]}

ASKED = """
import sys, jax
print(sys.argv, __name__, sys.path[0], __spec__ and __spec__.name, globals().get("__file__"))
jax.debug.print("x")
1 / int(sys.argv[1])
"""


@pytest.mark.behaviour("R1")
@pytest.mark.parametrize("finder", FINDERS)
def test_whatever_python_runs_is_run_and_fails_as_python_says(tmp_path, finder):
    (tmp_path / "app").mkdir()
    (tmp_path / "app/__main__.py").write_text(ASKED)
    zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz")
    words = [word.format(ASKED) for word in FINDERS[finder]]
    plain = python(tmp_path, *words, "0", input=ASKED)
    ours = python(tmp_path, "-m", "jax_debug_widgets", "record", "run.jdw", *words, "0", input=ASKED)
    assert (ours.stdout, ours.returncode) == (plain.stdout, plain.returncode) and "ZeroDivisionError" in plain.stderr
    assert ours.stderr.splitlines()[:-1] == plain.stderr.splitlines()
    assert [event.text for event in jdw.load(tmp_path / "run.jdw").events] == ["x"]


@pytest.mark.parametrize("words", [["missing.py"], ["empty"], ["-m", "no_such_module"], ["broken.py"]])
def test_a_script_that_python_cannot_run_has_the_same_error_as_without_recording(tmp_path, words):
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.py").write_text("x =")
    plain = python(tmp_path, *words)
    ours = python(tmp_path, "-m", "jax_debug_widgets", "record", "run.jdw", *words)
    told = ours.stderr.splitlines()
    assert ours.returncode == plain.returncode and plain.stderr.splitlines() != []
    assert [line for line in told if "nothing was recorded" not in line] == plain.stderr.splitlines()
    assert len(told) == len(plain.stderr.splitlines()) or words != ["missing.py"]


ENDING = """
import atexit, os, signal, sys, threading, jax
say = jax.jit(lambda x: [jax.debug.print("x {}", x), x][1])
may_go_on = threading.Event()

def late():
    may_go_on.wait()
    say(1)
    raise ValueError("in a thread")

threading.Thread(target=late).start()
atexit.register(lambda: say(2))
say(0)
threading._register_atexit(may_go_on.set)  # It goes on when the main thread is over.
if sys.argv[1] == "interrupt":
    signal.raise_signal(signal.SIGINT)
"""


@pytest.mark.parametrize("end", ["", "interrupt"])
def test_threads_and_exit_handlers_are_recorded_and_no_frame_of_ours_is_shown(tmp_path, end):
    (tmp_path / "train.py").write_text(ENDING)
    plain = python(tmp_path, "train.py", end)
    ours = python(tmp_path, "-m", "jax_debug_widgets", "record", "run.jdw", "train.py", end)
    assert (ours.stdout, ours.returncode) == (plain.stdout, plain.returncode)
    assert plain.returncode == (-signal.SIGINT if end else 0)
    assert ours.stderr.splitlines()[:-1] == plain.stderr.splitlines() and "in a thread" in plain.stderr
    assert [event.text for event in jdw.load(tmp_path / "run.jdw").events] == ["x 0", "x 1", "x 2"]


def test_a_script_without_jax_runs_and_a_word_says_that_nothing_was_recorded(tmp_path):
    (tmp_path / "plain.py").write_text("import sys; print('jax' in sys.modules)")
    done = python(tmp_path, "-m", "jax_debug_widgets", "record", "run.jdw", "plain.py")
    assert (done.returncode, done.stdout) == (0, "False\n") and "nothing was recorded" in done.stderr


@pytest.mark.behaviour("R1")
def test_a_script_that_changes_its_folder_is_recorded_where_the_command_says(tmp_path):
    code = "import os; os.mkdir('sub'); os.chdir('sub'); import jax; jax.jit(lambda x: x + 1)(1.0)"
    done = python(tmp_path, "-m", "jax_debug_widgets", "record", "run.jdw", "-c", code)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.jdw/run.json").exists() and not list((tmp_path / "sub").iterdir())


def test_a_script_whose_disk_is_full_says_so_at_once_and_at_its_end(tmp_path):
    code = """
import resource, signal, sys, threading, jax
written, write = threading.Event(), sys.stderr.write
sys.stderr.write = lambda text: (write(text), text.endswith("\\n") and written.set())[0]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
step = jax.jit(lambda x: [jax.debug.print("{x}", x=x), x + 1][1])
x = jax.random.normal(jax.random.key(0), (30_000,))
for i in range(40):
    x = step(x)
written.wait()
sys.stderr.write("the script's last line\\n")
"""
    done = python(tmp_path, "-m", "jax_debug_widgets", "record", "--no-echo", "run.jdw", "-c", code)
    assert done.returncode == 0
    first, last, end = done.stderr.splitlines()
    assert first.startswith("jaxdebug: Recording stopped: File too large. ") and last == "the script's last line"
    assert end == f"{first} jdw.load({str(tmp_path / 'run.jdw')!r}) reads it"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "record FILE"),
        (["record"], "say where to record"),
        (["record", "run.jdw"], "say which script"),
        (["record", "run.jdw", "--watch", "h"], "say which script"),
        (["record", "run.jdw.zip", "x.py"], "record into run.jdw; jdw.load('run.jdw').save('run.jdw.zip')"),
        (["record", __file__, "x.py"], "test_script.py is a file that is there: record into"),
    ],
)
def test_an_incomplete_command_line_is_refused_with_what_to_write(tmp_path, words, why):
    done = python(tmp_path, "-m", "jax_debug_widgets", *words)
    assert done.returncode == 2 and why in done.stderr and not done.stdout


def test_an_unknown_option_is_refused_before_the_script_runs(script, tmp_path):
    done = python(tmp_path, "-m", "jax_debug_widgets", "record", "run.jdw", "--wacth", "h", script, "--lr", "3")
    assert done.returncode == 2 and "unknown option --wacth; did you mean --watch?" in done.stderr and not done.stdout
    assert "nothing was recorded" not in done.stderr


def test_the_folder_may_stand_after_the_options():
    command = Command.of(["--watch", "a,b", "--values", "run.jdw", "--every", "3", "train.py", "--lr", "1"])
    assert command.options == ("--watch", "a,b", "--values", "--every", "3")
    assert (command.file.endswith("/run.jdw"), command.target, command.arguments) == (True, "train.py", ("--lr", "1"))


def test_help_is_no_error(tmp_path):
    done = python(tmp_path, "-m", "jax_debug_widgets", "record", "--help")
    assert (done.returncode, done.stderr) == (0, "") and "record FILE [options] train.py" in done.stdout
    assert "--watch NAMES" in done.stdout and "--break-on WHAT" in done.stdout


def test_options_stand_before_the_script_and_its_own_after_it():
    command = Command.of(["run.jdw", "--values", "--watch", "a,b", "--every=3", "train.py", "--watch", "x", "-m"])
    assert command.options == ("--values", "--watch", "a,b", "--every=3")
    assert (command.target, command.arguments, command.kind) == ("train.py", ("--watch", "x", "-m"), "file")


def test_the_options_without_a_value_are_those_of_the_magic():
    actions = option_parser()._actions
    assert {flag for action in actions if action.nargs == 0 for flag in action.option_strings} == FLAGS
