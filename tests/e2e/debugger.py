"""Drive the debugger of the first panel on the screen as a person would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.panel import PanelOnScreen

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.e2e.browser import LabPage

_TYPE = """async ([prompt, texts]) => {
  const root = prompt.getRootNode();
  const frame = () => new Promise(requestAnimationFrame);
  for (const text of texts) {
    const before = root.querySelectorAll('[data-ms]').length;
    prompt.focus();
    prompt.value = text;
    prompt.dispatchEvent(new Event('input', { bubbles: true }));
    await frame();
    const asked = performance.now();
    prompt.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
    while (root.querySelectorAll('[data-ms]').length === before) {
      if (performance.now() - asked > 20000) throw new Error(`no answer to ${text}`);
      await frame();
    }
  }
  return [...root.querySelectorAll('[data-ms]')].slice(-texts.length).map((typed) => Number(typed.dataset.ms));
}"""
"""JavaScript that types in the page itself: it measures the way to the kernel and back, not that to the browser."""

_RECORD_STATUS = """(path) => {
  const context = window.notebookDriver.panel(path).sessionContext;
  const record = (status) => window.kernelStatuses.push({ at: performance.now(), status });
  window.kernelStatuses = [];
  record(context.session.kernel.status);
  context.statusChanged.connect((_, status) => record(status));
}"""

_LONGEST_IDLE = """() => {
  const statuses = [...window.kernelStatuses, { at: performance.now(), status: '' }];
  const lengths = statuses.slice(1).map(({ at }, i) => statuses[i].status === 'idle' ? at - statuses[i].at : 0);
  return Math.max(...lengths);
}"""


class DebuggerOnScreen:
    """The tab of the debugger."""

    def __init__(self, lab_page: LabPage) -> None:
        self.panel = PanelOnScreen(lab_page)
        self._lab_page = lab_page

    @property
    def root(self) -> Locator:
        """Return the panel that contains it."""
        return self.panel.root

    @property
    def stop(self) -> str:
        """Return the number of the current stop; empty if there is none."""
        return self.root.get_attribute("data-stop") or ""

    def wait_for_stop(self, after: str = "", timeout_s: float = 60) -> str:
        """Wait until the program is held at a stop other than `after`; return its number."""
        other = f"[data-testid=jaxdebug-panel]:not([data-stop='']):not([data-stop='{after}'])"
        self._lab_page.page.locator(f"{other} [data-stands=true]").first.wait_for(timeout=timeout_s * 1000)
        return self.stop

    def resume(self, how: str) -> None:
        """Click a button: `continue`, `next`, `all`, `quit`."""
        self.root.locator(f"[data-resume={how}]").click()

    def expression(self, text: str) -> str:
        """Enter an expression to evaluate at each stop; return its value."""
        field = self.root.get_by_label("Evaluate at each stop")
        field.fill(text)
        field.press("Enter")
        value = self.root.locator(f"[data-expression='{text}'] .value")
        value.filter(has_not_text="…").wait_for()
        return value.inner_text()

    def run(self, text: str) -> str:
        """Run a command in the console; return its output."""
        self.time_of([text])
        return self.root.locator("[data-typed] pre:last-child").last.inner_text()

    def time_of(self, texts: list[str]) -> list[float]:
        """Run commands one after the other; return the milliseconds from Enter to the answer of each."""
        prompt = self.root.get_by_test_id("prompt").element_handle()
        return self._lab_page.page.evaluate(_TYPE, [prompt, texts])

    def record_status(self, path: str) -> None:
        """Begin to record the status of the notebook's kernel that JupyterLab shows."""
        self._lab_page.page.evaluate(_RECORD_STATUS, path)

    def longest_idle(self) -> float:
        """Return the longest time, in milliseconds, for which JupyterLab has shown the kernel as idle since then."""
        return self._lab_page.page.evaluate(_LONGEST_IDLE)

    def facts(self) -> list[str]:
        """Return the facts shown about the stop: place, name, phase, step, device, …."""
        return self.root.get_by_test_id("facts").locator("> span").all_inner_texts()

    def way(self) -> str:
        """Return the route of requests to the kernel, as the kernel has named it."""
        return self.root.get_by_test_id("debugger").get_attribute("data-way") or ""

    def frames(self) -> list[str]:
        """Return the functions of the frames, the innermost first."""
        return self.root.get_by_test_id("frames").locator(".mono").all_inner_texts()

    def local(self, name: str) -> str:
        """Return the value shown for a variable."""
        return self.root.locator(f"[data-local={name}] > button").inner_text()
