"""Show the file of a run in a saved notebook, with a button that shows the run again in a new kernel."""

from __future__ import annotations

import re
from html import escape

_SCRIPT = """
  for (const el of document.querySelectorAll('[data-jaxdebug-file]:not([data-jaxdebug-button])')) {
    const button = el.appendChild(document.createElement("button")), command = el.querySelector("code");
    el.dataset.jaxdebugButton = button.type = "button";
    button.textContent = window.__jaxDebugLoad ? "Reload" : "Copy";
    button.onclick = async () => {
      if (window.__jaxDebugLoad) return window.__jaxDebugLoad(el, command.textContent);
      getSelection().selectAllChildren(command);
      await navigator.clipboard?.writeText(command.textContent);
      button.textContent = "Copied";
    };
  }"""


def load_command(file: str) -> str:
    """Return the command that reads the file of a run again."""
    if not re.search(r"[\s,\"']", file):
        return f"%jaxdebug load {file}"
    quote = '"' if "'" in file else "'"
    return f"%jaxdebug load {quote}{file}{quote}"


def reload_html(file: str, style: str) -> str:
    """Return the line of a saved output that names the file; empty without a file."""
    if not file:
        return ""
    return (
        f'<div data-jaxdebug-file="{escape(file)}" style="{style}">'
        f"In a new kernel: <code>{escape(load_command(file))}</code> </div>"
    )


def reload_script(file: str) -> str:
    """Return the script that adds the button: JupyterLab's extension runs the command; elsewhere the button copies it."""
    return _SCRIPT if file else ""
