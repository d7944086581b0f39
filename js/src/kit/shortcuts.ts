/** JupyterLab sees only the host of a panel: without a mark on it, typing in the panel would run the notebook's shortcuts. */

/** Marks the host for each key but those that the page is to have from here too; returns what ends it. */
export function shieldKeys(host: HTMLElement): () => void {
  host.dataset.lmSuppressShortcuts = "true";
  const mark = (event: KeyboardEvent) => {
    const path = event.composedPath();
    if (path.includes(host)) host.toggleAttribute("data-lm-suppress-shortcuts", !isOfPage(event, path[0] as Element));
  };
  // On the window: JupyterLab listens on the document, maybe before the host does.
  window.addEventListener("keydown", mark, true);
  return () => window.removeEventListener("keydown", mark, true);
}

/** Save, the palette and other commands, of ours as well (`Alt J`); nothing that copies, undoes or runs something. */
function isOfPage(event: KeyboardEvent, at: Element): boolean {
  const { ctrlKey, metaKey, altKey, shiftKey, code } = event;
  if (!/^Key[A-Z]$/.test(code)) return false;
  if (ctrlKey || metaKey) return code === "KeyS" || shiftKey;
  // On a Mac it types a character.
  return altKey && !at.matches("input, select, textarea");
}
