/** The height that somebody has dragged a panel to is that of the panels after it, on this page and on later ones. */
import { useEffect } from "preact/hooks";

const KEY = "jaxdebug-height";
const LOWEST = 200;
const HIGHEST = 2400;

/** Only where it can be dragged: in a split or at the side a panel fills its space. */
export function useHeightKept(root: { current: HTMLElement | null }, isThere: boolean): void {
  useEffect(() => {
    const panel = root.current;
    if (!panel || getComputedStyle(panel).resize === "none") return;
    const kept = read();
    if (kept !== null) panel.style.height = `${kept}px`;
    const observer = new MutationObserver(() => write(Number.parseFloat(panel.style.height)));
    observer.observe(panel, { attributeFilter: ["style"] });
    return () => observer.disconnect();
  }, [root, isThere]);
}

function read(): number | null {
  const kept = Number(storage()?.getItem(KEY));
  return kept >= LOWEST && kept <= HIGHEST ? kept : null;
}

function write(height: number): void {
  if (height >= LOWEST && height <= HIGHEST) storage()?.setItem(KEY, String(Math.round(height)));
}

/** A page in a sandbox has none. */
function storage(): Storage | null {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}
