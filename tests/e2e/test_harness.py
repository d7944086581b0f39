"""Test the helpers of the end-to-end tests on a small widget."""

from __future__ import annotations

import pytest

from tests.e2e.browser import ARTIFACTS, chromium

# A widget that shows how many messages it got, and a cell that sends messages from a thread while it blocks the kernel
# until the file `go` exists. The model has the count, so all views show the same.
WIDGET = """
import pathlib, threading, time
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = '''
    export default {
      initialize({ model }) {
        model.on("msg:custom", (content) => {
          model.set("seen", model.get("seen") + 1);
        });
      },
      render({ model, el }) {
        el.className = "counter";
        const show = () => { el.textContent = `${model.get("title")}: ${model.get("seen")} seen`; };
        model.on("change:seen", show);
        show();
      },
    };
    '''
    title = traitlets.Unicode("counter").tag(sync=True)
    seen = traitlets.Int(0).tag(sync=True)

counter = Counter()
counter
"""
SEND_WHILE_BLOCKED = """
{define}
def send():
    for number in range(10):
        counter.send({{"number": number}})

sender = threading.Thread(target=send)
sender.start()
wait()
sender.join()
print("the cell ended")
"""


@pytest.fixture
def counting(lab, lab_page, hold):
    path = lab.write_notebook("counting.ipynb", WIDGET, SEND_WHILE_BLOCKED.format(define=hold.define))
    return lab_page.open_notebook(path)


def test_messages_are_seen_while_the_cell_runs(lab_page, counting, hold):
    counting.run_cell(0)
    counting.output(0).get_by_text("counter: 0 seen").wait_for()
    run = counting.start_cell(1)
    counting.output(0).get_by_text("counter: 10 seen").wait_for()
    assert not run.ended
    assert counting.is_running(1)
    lab_page.screenshot("harness-messages-while-the-cell-runs")
    hold.go_on()
    run.wait()
    assert counting.printed(1) == "the cell ended\n"
    assert lab_page.requests_elsewhere() == []
    assert lab_page.errors == []


def test_a_page_that_reconnects_is_answered_again(lab_page, counting):
    counting.run_cell(0)
    counting.reconnect()
    lab_page.wait_for("kernelIsIdle", counting.path)
    counting.run_cell(0)
    counting.output(0).get_by_text("counter: 0 seen").wait_for()


def test_the_model_is_there_again_after_a_reload(lab_page, counting):
    counting.run_cell(0)
    counting.output(0).get_by_text("counter: 0 seen").wait_for()
    counting.save()
    lab_page.reload()
    counting.wait_until_open()
    counting.wait_until_idle()
    counting.output(0).get_by_text("counter: 0 seen").wait_for()
    lab_page.screenshot("harness-after-a-reload")


def test_a_reload_loses_what_was_not_saved(lab_page, counting):
    counting.cell(0).click()  # browsers ask "Leave the page?" only after a user action
    counting.run_cell(0)
    lab_page.reload()
    counting.wait_until_open()
    assert counting.outputs(0) == []


def test_a_saved_notebook_opens_without_its_kernel(lab, lab_page, counting, hold):
    hold.go_on()
    counting.run_all()
    counting.output(0).get_by_text("counter: 10 seen").wait_for()
    counting.save()
    counting.shut_down_kernel()
    assert lab.kernel_ids() == []
    counting.close()
    assert lab.read_notebook(counting.path).cells[1].outputs[0].text == "the cell ended\n"

    reopened = lab_page.open_notebook(counting.path)
    assert reopened.printed(1) == "the cell ended\n"
    # A live widget shows nothing without its kernel.
    assert reopened.output(0).get_by_text("10 seen").count() == 0
    lab_page.screenshot("harness-reopened-without-its-kernel")
    assert not lab_page.clear(), "the page was loaded twice: what was open may come back"


def test_the_dark_theme_is_shown(lab, lab_page):
    notebook = lab_page.open_notebook(lab.write_notebook("dark.ipynb", "print('in the dark')"), theme="Dark")
    notebook.run_all()
    assert notebook.printed(0) == "in the dark\n"
    lab_page.screenshot("harness-dark")


def test_an_interrupt_ends_a_cell(lab, lab_page):
    endless = "import time\nprint('started')\nwhile True: time.sleep(0.05)"
    notebook = lab_page.open_notebook(lab.write_notebook("endless.ipynb", endless))
    run = notebook.start_cell(0)
    # Not `wait_until_running`: an interrupt that reaches the kernel before the program has begun is lost.
    notebook.output(0).get_by_text("started").wait_for()
    notebook.interrupt()
    run.wait()
    assert notebook.outputs(0)[-1]["ename"] == "KeyboardInterrupt"


def test_a_wait_that_times_out_names_its_condition(lab, lab_page):
    lab_page.open_notebook(lab.write_notebook("empty.ipynb", "pass"))
    with pytest.raises(AssertionError, match=r"waited 0\.2 s for \(\) => window\.never"):
        lab_page.wait_for_js("() => window.never", timeout_s=0.2)


def test_the_evidence_of_a_failure_is_a_picture_with_console_and_state(lab, lab_page):
    lab_page.open_notebook(lab.write_notebook("empty.ipynb", "pass")).run_cell(0)
    lab_page.page.evaluate("console.log('a line of the console')")
    evidence = lab_page.evidence()
    assert "a line of the console" in evidence
    assert '"path":"empty.ipynb"' in evidence
    assert '"cells":["idle [1]"]' in evidence
    assert f"Kernel started: {lab.kernel_ids()[0]}" in evidence
    (ARTIFACTS / f"failed-{lab_page.name}.png").unlink()  # The picture exists although nothing failed.


def test_a_request_to_another_server_is_recorded(lab, lab_page):
    lab_page.open_notebook(lab.write_notebook("elsewhere.ipynb", "pass"))
    lab_page.page.evaluate("fetch('http://127.0.0.1:1/pixel.png').catch(() => null)")
    assert lab_page.requests_elsewhere() == ["http://127.0.0.1:1/pixel.png"]


def test_the_next_test_finds_the_page_as_if_it_had_just_been_loaded(lab, lab_page):
    lab_page.open_notebook(lab.write_notebook("taken.ipynb", "print('one')"), theme="Dark").run_all()
    lab_page.page.evaluate("console.error('a mistake')")
    assert lab_page.clear()
    lab.shut_down_kernels()
    lab_page.forget()
    assert lab_page.errors == lab_page.requests == []
    assert lab_page.page.locator(".jp-NotebookPanel").count() == 0
    again = lab_page.open_notebook(lab.write_notebook("taken.ipynb", "print('another')"))
    assert lab_page.ask("themeIs", "JupyterLab Light")
    again.run_all()
    assert again.printed(0) == "another\n"
    lab_page.reload()
    assert not lab_page.clear(), "what was open may come back"


def test_a_missing_browser_is_a_failure_with_a_sentence(monkeypatch):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="need Chromium"):
        chromium()
