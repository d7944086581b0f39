/** What each key does while the panel is worked with, except where something is typed. */
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { tabsOf } from "../panel/available";
import { copyLines, copyPython } from "../search/Export";

interface Context {
  run: RunStore;
  ui: UiState;
  root: HTMLElement;
}

interface Key {
  keys: readonly string[];
  words: string;
  does(context: Context, key: string): unknown;
}

const PAGE = 100;

export const KEYS: readonly Key[] = [
  { keys: ["?"], words: "show or hide these keys", does: ({ ui }) => flip(ui.keys) },
  {
    keys: ["1", "2", "3", "4", "5"],
    words: "open a view",
    does: ({ run, ui }, key) => {
      ui.tab.value = tabsOf(run)[Number(key) - 1] ?? ui.tab.value;
    },
  },
  { keys: ["/"], words: "filter the lines", does: (context) => focusOn(context, ".filter") },
  { keys: ["f"], words: "find in the lines; then Enter, Shift+Enter", does: (context) => focusOn(context, ".find") },
  { keys: ["n"], words: "next match", does: ({ root }) => press(root, "[data-testid=find-next]") },
  { keys: ["N"], words: "match before", does: ({ root }) => press(root, "[data-testid=find-before]") },
  { keys: ["m"], words: "one stream by arrival, or two", does: ({ ui }) => flip(ui.merged) },
  {
    keys: ["c"],
    words: "copy the selected lines",
    does: ({ run, ui }) => ui.event.value !== null && void copyLines(run, ui),
  },
  {
    keys: ["p"],
    words: "copy them as Python",
    does: ({ run, ui }) => ui.event.value !== null && void copyPython(run, ui),
  },
  { keys: [",", "."], words: "one event back, on", does: (context, key) => move(context, key === "," ? -1 : 1) },
  {
    keys: ["<", ">"],
    words: `${PAGE} events back, on`,
    does: (context, key) => move(context, key === "<" ? -PAGE : PAGE),
  },
  {
    keys: ["l"],
    words: "live: back to the newest event",
    does: ({ ui }) => {
      ui.moment.value = null;
    },
  },
  { keys: ["b"], words: "barrier: wait for the effects", does: ({ root }) => press(root, "[data-testid=barrier]") },
  {
    keys: ["Escape"],
    words: "close the list or the detail; show all calls and sites",
    does: ({ ui }) => {
      if (ui.keys.value) return flip(ui.keys);
      for (const state of [ui.event, ui.anchor, ui.onlyCall, ui.site]) state.value = null;
    },
  },
];

/** In lists and charts, told so that the list of keys is complete. */
export const KEYS_ELSEWHERE: readonly (readonly [string, string])[] = [
  ["↑ ↓", "in a stream: choose an event; with Shift, several"],
  ["← →", "in the row of views: the next view"],
  ["+ − ← → 0", "in a chart or the timeline: zoom, move, show all"],
  ["↑ ↓ ← →", "in an array: read out its elements"],
];

/** Whether the key meant something. */
export function pressed(context: Context, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return false;
  const found = KEYS.find(({ keys }) => keys.includes(event.key));
  found?.does(context, event.key);
  return found !== undefined;
}

function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  if (event.key === "Escape") return false;
  return target.matches("input[type=search], select, textarea");
}

function flip(state: { value: boolean }): void {
  state.value = !state.value;
}

function focusOn({ ui, root }: Context, selector: string): void {
  ui.tab.value = "streams";
  // It is there once the view has been drawn.
  requestAnimationFrame(() => root.querySelector<HTMLElement>(selector)?.focus());
}

function press(root: HTMLElement, selector: string): void {
  root.querySelector<HTMLElement>(selector)?.click();
}

function move({ run, ui }: Context, by: number): void {
  const last = run.next - 1;
  const next = Math.max(run.oldest, (ui.moment.value ?? last) + by);
  ui.moment.value = next >= last ? null : next;
}
