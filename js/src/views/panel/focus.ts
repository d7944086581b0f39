/**
 * Keeps the focus in the panel when the focused element is removed. Otherwise the notebook would take the next key as a
 * command.
 */
import { useEffect } from "preact/hooks";

/** Moves the focus to the nearest remaining ancestor that is focusable, at least to the view. */
export function useFocusKept(root: { current: HTMLElement | null }, isThere: boolean): void {
  useEffect(() => {
    const panel = root.current;
    if (!panel) return;
    let path: HTMLElement[] = [];
    const noteFocus = ({ target }: FocusEvent) => {
      path = [];
      for (let element = target as HTMLElement | null; element && element !== panel; element = element.parentElement)
        path.push(element);
    };
    // Browsers differ in whether they send `focusout` for an element that is being removed, so its state is checked
    // afterwards.
    const forgetFocus = () => {
      const before = path;
      queueMicrotask(() => {
        if (path === before && path[0]?.isConnected) path = [];
      });
    };
    const observer = new MutationObserver(() => {
      if (path.length === 0 || path[0]?.isConnected) return;
      const remaining = path.find((element) => element.isConnected && element.tabIndex >= 0);
      path = [];
      (remaining ?? panel.querySelector<HTMLElement>("#body"))?.focus();
    });
    panel.addEventListener("focusin", noteFocus);
    panel.addEventListener("focusout", forgetFocus);
    observer.observe(panel, { childList: true, subtree: true });
    return () => {
      panel.removeEventListener("focusin", noteFocus);
      panel.removeEventListener("focusout", forgetFocus);
      observer.disconnect();
    };
  }, [root, isThere]);
}
