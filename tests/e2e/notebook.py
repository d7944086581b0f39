"""Work in one open notebook as a person would: run cells, read outputs, save, close."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.e2e.browser import LabPage

NOTEBOOK_7_ITSELF = {
    "uncaught: Cannot read properties of undefined (reading 'schema')",
    "uncaught: Command 'filebrowser:open-path' not registered.",
}
"""Messages that Jupyter Notebook 7.6.5 writes to the console also without this package."""


class CellRun:
    """A run of a cell that was started and may still go on."""

    def __init__(self, lab_page: LabPage, run: int) -> None:
        self._lab_page = lab_page
        self._run = run

    @property
    def ended(self) -> bool:
        """Return whether the run is over, successfully or not."""
        return self._lab_page.ask("runHasEnded", self._run)

    def wait(self, timeout_s: float = 60) -> None:
        """Wait until the run is over. A cell that raised an exception is over, too: check its outputs."""
        self._lab_page.wait_for("runHasEnded", self._run, timeout_s=timeout_s)
        state = self._lab_page.ask("runState", self._run)
        assert state == "done", f"JupyterLab could not run the cell: {state}"


class Notebook:
    """A notebook, identified by its path; it stays usable after a reload of the page."""

    def __init__(self, lab_page: LabPage, path: str) -> None:
        self.lab_page = lab_page
        self.path = path

    def wait_until_open(self) -> None:
        """Wait until the notebook is on the screen."""
        self.lab_page.wait_for("isOpen", self.path)

    def wait_until_idle(self, timeout_s: float = 60) -> None:
        """Wait until the kernel has started and is idle.

        ipykernel 7.0 to 7.3 may not answer a new page's first request until another one arrives, also without this
        package (see `widgets/intake.py`, which ends this once something is captured). A person would reconnect.
        """
        try:
            self.lab_page.wait_for("kernelIsIdle", self.path, timeout_s=timeout_s / 2)
        except AssertionError:
            self.reconnect()
            self.lab_page.wait_for("kernelIsIdle", self.path, timeout_s=timeout_s)

    def reconnect(self) -> None:
        """Reconnect to the kernel."""
        self.lab_page.ask("reconnect", self.path)

    def start_cell(self, index: int) -> CellRun:
        """Start a cell and return at once, for tests that look while it runs."""
        return self._start("notebook:run-cell", index)

    def run_cell(self, index: int, timeout_s: float = 60) -> list[dict[str, Any]]:
        """Run a cell to its end; return its outputs."""
        self.start_cell(index).wait(timeout_s)
        return self.outputs(index)

    def run_all(self, timeout_s: float = 180) -> None:
        """Run all cells to the end of the last one."""
        self._start("notebook:run-all-cells").wait(timeout_s)

    def is_running(self, index: int) -> bool:
        """Return whether JupyterLab shows the cell as running."""
        return self.lab_page.ask("cellIsRunning", self.path, index)

    def wait_until_running(self, index: int) -> None:
        """Wait until JupyterLab shows the cell as running; its program may not have begun yet."""
        self.lab_page.wait_for("cellIsRunning", self.path, index)

    def outputs(self, index: int) -> list[dict[str, Any]]:
        """Return the outputs of a cell in the notebook format."""
        return self.lab_page.ask("outputs", self.path, index)

    def printed(self, index: int) -> str:
        """Return the text that a cell wrote to stdout."""
        outputs = self.outputs(index)
        return "".join("".join(output["text"]) for output in outputs if output.get("name") == "stdout")

    def cell(self, index: int) -> Locator:
        """Scroll a cell into view and return it."""
        self.lab_page.ask("showCell", self.path, index)
        panel = self.lab_page.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        return panel.locator(f'.jp-Cell[data-windowed-list-index="{index}"]')

    def output(self, index: int) -> Locator:
        """Return the outputs of a cell on the screen: `notebook.output(1).get_by_text("loss")`."""
        return self.cell(index).locator(".jp-Cell-outputArea")

    def save(self) -> None:
        """Save the notebook."""
        self.lab_page.ask("save", self.path)

    def shut_down_kernel(self) -> None:
        """Shut down the kernel; the notebook stays open."""
        self.lab_page.ask("shutDownKernel", self.path)
        self.lab_page.wait_for("kernelIsGone", self.path)

    def restart_kernel(self) -> None:
        """Restart the kernel as the restart button does, and wait until it is ready."""
        self.lab_page.ask("restartKernel", self.path)
        self.wait_until_idle()

    def activate(self) -> None:
        """Bring the notebook to the front."""
        self.lab_page.ask("activate", self.path)

    def make_subshell(self) -> None:
        """Make the kernel create a subshell, if it can, as a page does to bypass the main thread."""
        self.lab_page.ask("makeSubshell", self.path)

    def interrupt(self) -> None:
        """Interrupt the kernel as the stop button does."""
        self.lab_page.ask("interruptKernel", self.path)

    def close(self) -> None:
        """Save and close the notebook; its kernel continues."""
        self.lab_page.ask("close", self.path)

    def _start(self, command: str, index: int | None = None) -> CellRun:
        return CellRun(self.lab_page, self.lab_page.ask("start", command, self.path, index))
