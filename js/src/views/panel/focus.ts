/** The focus stays in the panel when what has it goes away: elsewhere a notebook would take the next key for a command of its own. */
import { useEffect } from "preact/hooks";

/** It goes to what is left around it, at least to the view. */
export function useFocusKept(root: { current: HTMLElement | null }, isThere: boolean): void {
  useEffect(() => {
    const panel = root.current;
    if (!panel) return;
    let path: HTMLElement[] = [];
    const come = ({ target }: FocusEvent) => {
      path = [];
      for (let one = target as HTMLElement | null; one && one !== panel; one = one.parentElement) path.push(one);
    };
    // Browsers differ in whether they tell of the focus of what is being removed: a moment later it is gone.
    const leave = () => {
      const before = path;
      queueMicrotask(() => {
        if (path === before && path[0]?.isConnected) path = [];
      });
    };
    const observer = new MutationObserver(() => {
      if (path.length === 0 || path[0]?.isConnected) return;
      const left = path.find((one) => one.isConnected && one.tabIndex >= 0);
      path = [];
      (left ?? panel.querySelector<HTMLElement>("#body"))?.focus();
    });
    panel.addEventListener("focusin", come);
    panel.addEventListener("focusout", leave);
    observer.observe(panel, { childList: true, subtree: true });
    return () => {
      panel.removeEventListener("focusin", come);
      panel.removeEventListener("focusout", leave);
      observer.disconnect();
    };
  }, [root, isThere]);
}
