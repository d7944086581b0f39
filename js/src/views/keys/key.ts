/** A keyboard shortcut, and the line that describes it. */
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";

export interface Context {
  run: RunStore;
  ui: UiState;
  root: HTMLElement;
}

export interface Key {
  keys: readonly string[];
  words: string;
  does(context: Context, key: string): unknown;
}

/** Clicks an element, unless it is missing or disabled. */
export function press(root: HTMLElement, selector: string): void {
  root.querySelector<HTMLElement>(selector)?.click();
}
