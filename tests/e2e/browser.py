"""Control the browser, and one page that shows JupyterLab and records messages, errors and requests."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from playwright.sync_api import Error, expect, sync_playwright

from tests.e2e.notebook import Notebook

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import BrowserContext, ConsoleMessage, FloatRect, Locator, Page, Playwright, WebSocket

    from tests.e2e.lab import JupyterLab

Theme = Literal["Light", "Dark", "Dark High Contrast"]
ARTIFACTS = Path(__file__).parents[2] / "test-artifacts" / "e2e"
DRIVER = (Path(__file__).parent / "driver.js").read_text()
WAIT_S = 60
EXPECT_S = 20
"""How long an assertion waits for the page to show something."""
expect.set_options(timeout=EXPECT_S * 1000)

DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""JavaScript that resolves when the page has drawn its present state."""
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",  # Chromium refuses to run as root with its sandbox
    "--disable-gpu",
    # The browser itself looks up and fetches nothing.
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Browser:
    """The system's Chromium without a window: `with Browser() as browser: browser.new_page(…)`."""

    def __enter__(self) -> Self:
        executable = chromium()
        self._playwright: Playwright = sync_playwright().start()
        try:
            # A folder of its own, with a cache: a context for each test would have neither a cache nor compiled code, and
            # open a window each time. The blank page that is there from the start keeps the window open.
            self._context: BrowserContext = self._playwright.chromium.launch_persistent_context(
                "", executable_path=executable, args=CHROMIUM_ARGUMENTS, viewport={"width": 1280, "height": 900}
            )
        except BaseException:
            self._playwright.stop()
            raise
        self._context.add_init_script(DRIVER)
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()
        self._playwright.stop()

    def new_page(self, lab: JupyterLab, name: str) -> LabPage:
        """Open a page that has loaded nothing yet; `name` tells its pictures apart."""
        return LabPage(self._context.new_page(), lab, name)


def chromium() -> str:
    """Return the path of the browser.

    Without a browser these tests fail: skipping them would look like success.
    """
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None:
        raise RuntimeError(
            "The end-to-end tests need Chromium, and there is no `chromium` on the PATH: "
            "install it (Debian: apt-get install chromium), or set CHROMIUM to its path."
        )
    return executable


def shows(page: Page, read: Callable[[], Any], wanted: object) -> None:
    """Wait until a value read from the page equals `wanted`: right after a click it may be that of the frame before."""
    deadline = time.monotonic() + EXPECT_S
    while (found := read()) != wanted and time.monotonic() < deadline:
        page.evaluate(DRAWN)
    assert found == wanted, found


def boxes_at_rest(page: Page, *parts: Locator) -> list[FloatRect]:
    """Return the positions of these parts, after all are there and nothing moves any more."""
    deadline, before = time.monotonic() + EXPECT_S, None
    while time.monotonic() < deadline:
        boxes = [box for part in parts if (box := part.bounding_box())]
        if boxes == before and len(boxes) == len(parts):
            return boxes
        before = boxes
        page.evaluate(DRAWN)
    raise AssertionError(f"they move, or are not there: {before}")


class LabPage:
    """JupyterLab in the browser; every wait is for a condition."""

    def __init__(self, page: Page, lab: JupyterLab, name: str) -> None:
        self.page = page
        self.lab = lab
        self.name = name
        self.console: list[str] = []
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.received: list[int] = []
        """The size in bytes of each message that the kernels have sent."""
        self.is_as_loaded = True
        """Whether the page, after closing everything, is as it was when it was loaded."""
        self._is_cleared = False
        page.set_default_timeout(WAIT_S * 1000)
        # Answers yes to "Leave the page?". Without a handler a reload with unsaved changes would be refused.
        page.on("dialog", lambda dialog: dialog.accept())
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self._note(f"uncaught: {error}", is_error=True))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", self._on_websocket)

    def clear(self) -> bool:
        """Close everything for the next test; return whether the page is then as if it had just been loaded."""
        self.page.context.clear_permissions()
        self._is_cleared = self.is_as_loaded and bool(self.page.evaluate("() => window.notebookDriver?.clear()"))
        return self._is_cleared

    def forget(self) -> None:
        """Forget the records for the test that has ended, including JupyterLab's messages about closing everything."""
        self.page.evaluate(DRAWN)
        for noted in (self.console, self.errors, self.requests, self.received):
            noted.clear()

    def open_notebook(self, path: str, theme: Theme = "Light") -> Notebook:
        """Open a notebook and wait until its kernel is idle.

        A page is loaded for it, unless one is already there.
        """
        if self._is_cleared:
            self._is_cleared = False
            self.ask("open", path)
        else:
            # A reloaded page may reopen documents at any moment, also in the next test.
            self.is_as_loaded = self.is_as_loaded and self.page.url == "about:blank"
            # A workspace of its own does not reopen the notebooks of other tests.
            workspace = re.sub(r"\W", "-", self.name)
            self.page.goto(f"{self.lab.url}/lab/workspaces/{workspace}/tree/{path}?token={self.lab.token}")
        notebook = Notebook(self, path)
        notebook.wait_until_open()
        self.set_theme(theme)
        notebook.wait_until_idle()
        return notebook

    def open_in_notebook_7(self, path: str) -> Notebook:
        """Open a notebook in Jupyter Notebook, which shows one document per page, and wait until its kernel is idle."""
        self.is_as_loaded = False
        self.page.goto(f"{self.lab.url}/notebooks/{path}?token={self.lab.token}")
        notebook = Notebook(self, path)
        notebook.wait_until_open()
        notebook.wait_until_idle()
        return notebook

    def open_beside(self, path: str) -> Notebook:
        """Open one more notebook in the page, as a new tab."""
        self.ask("open", path)
        notebook = Notebook(self, path)
        notebook.wait_until_open()
        notebook.wait_until_idle()
        return notebook

    def set_theme(self, theme: Theme) -> None:
        """Set the theme of the page; JupyterLab keeps it for later pages."""
        if self.ask("themeIs", f"JupyterLab {theme}"):
            return
        self.ask("setTheme", f"JupyterLab {theme}")
        self.wait_for("themeIs", f"JupyterLab {theme}")
        self.wait_for_js("() => !document.getElementById('jupyterlab-splash')")

    def reload(self) -> None:
        """Reload the page as a person does: the kernels continue, unsaved changes are lost."""
        self.is_as_loaded = False  # Documents may be reopened at any moment.
        self.page.reload()

    def ask(self, function: str, *arguments: Any) -> Any:
        """Call a function of `driver.js` in the page."""
        return self.page.evaluate("([name, args]) => window.notebookDriver[name](...args)", [function, list(arguments)])

    def wait_for(self, function: str, *arguments: Any, timeout_s: float = WAIT_S) -> Any:
        """Wait until a function of `driver.js` returns a true value, and return that."""
        condition = "([name, args]) => window.notebookDriver?.[name](...args)"
        return self._wait(condition, [function, list(arguments)], f"{function}{arguments}", timeout_s)

    def wait_for_js(self, condition: str, argument: Any = None, timeout_s: float = WAIT_S) -> Any:
        """Wait until a JavaScript expression (or `argument => …`) is true, and return its value."""
        return self._wait(condition, argument, condition, timeout_s)

    def screenshot(self, title: str) -> Path:
        """Take a picture of the page into `test-artifacts/e2e/`."""
        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        path = ARTIFACTS / (re.sub(r"[^\w.-]", "-", title) + ".png")
        self.page.screenshot(path=path)
        return path

    def evidence(self) -> str:
        """Return what a failing test should leave behind: a picture, and its information as text."""
        picture = self.screenshot(f"failed-{self.name}")
        state = self.page.evaluate("() => window.notebookDriver?.state()")
        panels = self.page.get_by_test_id("jaxdebug-panel").all_inner_texts()
        texts = [f"panel {i}: {' | '.join(text.split(chr(10)))[:2000]}" for i, text in enumerate(panels)]
        return "\n".join(
            [f"picture: {picture}", f"state: {state}", *texts, *self.console[-20:], "server:", self.lab.log()]
        )

    def requests_elsewhere(self) -> list[str]:
        """Return the page's requests to any other origin than its server's."""
        host = self.lab.url.removeprefix("http://")
        own = (f"http://{host}/", f"ws://{host}/", "data:", "blob:")
        return [url for url in self.requests if not url.startswith(own)]

    def close(self) -> None:
        """Close the page and forget its permissions."""
        self.page.context.clear_permissions()
        self.page.close()

    def _wait(self, condition: str, argument: Any, what: str, timeout_s: float) -> Any:
        try:
            handle = self.page.wait_for_function(condition, arg=argument, timeout=timeout_s * 1000, polling=50)
            return handle.json_value()
        except Error as error:
            raise AssertionError(f"waited {timeout_s:g} s for {what}: {error.message}") from None

    def _on_websocket(self, socket: WebSocket) -> None:
        self.requests.append(socket.url)
        socket.on("framereceived", lambda payload: self.received.append(len(payload)))

    def _on_console(self, message: ConsoleMessage) -> None:
        self._note(f"{message.type}: {message.text}", is_error=message.type == "error")

    def _note(self, line: str, *, is_error: bool) -> None:
        self.console.append(line)
        if is_error:
            self.errors.append(line)
