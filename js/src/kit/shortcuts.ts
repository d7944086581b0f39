/**
 * Keeps keys that are typed in the panel from running the notebook's shortcuts. JupyterLab sees only the host of the
 * panel.
 */

/** Marks the host at each key, except for keys that the page should handle. Returns a function that stops this. */
export function shieldKeys(host: HTMLElement): () => void {
  host.dataset.lmSuppressShortcuts = "true";
  const mark = (event: KeyboardEvent) => {
    const path = event.composedPath();
    if (path.includes(host)) host.toggleAttribute("data-lm-suppress-shortcuts", !isOfPage(event, path[0] as Element));
  };
  // The listener is on the window: JupyterLab listens on the document, perhaps before the host does.
  window.addEventListener("keydown", mark, true);
  return () => window.removeEventListener("keydown", mark, true);
}

/**
 * Whether the page should handle a key: save, the palette and other commands, including our own (`Alt J`). Commands
 * that copy, undo or run something are not among them.
 */
function isOfPage(event: KeyboardEvent, at: Element): boolean {
  const { ctrlKey, metaKey, altKey, shiftKey, code } = event;
  if (!/^Key[A-Z]$/.test(code)) return false;
  if (ctrlKey || metaKey) return code === "KeyS" || shiftKey;
  // On a Mac, Alt types a character.
  return altKey && !at.matches("input, select, textarea");
}
