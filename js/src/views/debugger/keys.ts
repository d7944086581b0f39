/** The keyboard shortcuts at a stop, while the Code view is open. */
import { type Key, press } from "../keys/key";
import { STEPS, WAYS } from "./ways";

const ways = new Map([...WAYS, ...STEPS].map((way) => [way.key, way]));

export const DEBUGGER_KEYS: readonly Key[] = [
  ...[...ways.values()].map(
    ({ how, key, also, words }): Key => ({
      keys: [key, also].filter(Boolean),
      words: words.toLowerCase(),
      does: ({ root }) => press(root, `[data-resume=${how}]`),
    }),
  ),
  {
    keys: ["u", "d"],
    words: "the frame above, below",
    does: ({ root }, key) => press(root, `[data-frame-key=${key}]`),
  },
  { keys: ["e"], words: "evaluate: type in the console", does: ({ root }) => focusOn(root, ".prompt textarea") },
];

export const DEBUGGER_KEYS_ELSEWHERE: readonly (readonly [string, string])[] = [
  ["Tab ↑ ↓", "in the console: complete; what was typed before"],
  ["Escape", "leave the console; the keys above work again"],
  ["↑ ↓ Enter", "in the source of a stepped program: run to that line"],
];

function focusOn(root: HTMLElement, selector: string): void {
  root.querySelector<HTMLElement>(selector)?.focus();
}
