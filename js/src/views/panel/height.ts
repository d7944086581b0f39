/** Stores the height to which the user has dragged a panel, for later panels on this and other pages. */
import { useEffect } from "preact/hooks";

const KEY = "jaxdebug-height";
const LOWEST = 200;
const HIGHEST = 2400;

/** Applies to a resizable panel only. In a split or a side bar, a panel fills its space. */
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

/** Returns null in a sandboxed page, which has no storage. */
function storage(): Storage | null {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}
