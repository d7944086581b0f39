/** One line of the list of keys, and what it does. */
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

/** As if it were clicked; nothing where it is not there or disabled. */
export function press(root: HTMLElement, selector: string): void {
  root.querySelector<HTMLElement>(selector)?.click();
}
