/** The keyboard shortcuts of the panel. They do not apply while the user types in a field. */
import { TABS } from "../../store/ui";
import { DEBUGGER_KEYS } from "../debugger/keys";
import { goToNonFinite } from "../header/NonFinite";
import { tabOf, tabsOf } from "../panel/available";
import { copyLines, copyPython } from "../search/Export";
import { type Context, type Key, press } from "./key";

const PAGE = 100;

export const KEYS: readonly Key[] = [
  { keys: ["?"], words: "show or hide these keys", does: ({ ui }) => flip(ui.keys) },
  {
    keys: TABS.map((_, i) => String(i + 1)),
    words: "open a view",
    does: ({ run, ui }, key) => {
      ui.tab.value = tabsOf(run)[Number(key) - 1] ?? ui.tab.value;
    },
  },
  { keys: ["/"], words: "filter the lines", does: (context) => focusOn(context, ".filter") },
  { keys: ["f"], words: "find in the lines; then Enter, Shift+Enter", does: (context) => focusOn(context, ".find") },
  { keys: ["n"], words: "next match", does: ({ root }) => press(root, "[data-testid=find-next]") },
  { keys: ["N"], words: "match before", does: ({ root }) => press(root, "[data-testid=find-before]") },
  { keys: ["m"], words: "show prints in one list by arrival, or in two lists", does: ({ ui }) => flip(ui.merged) },
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
  {
    keys: [",", "."],
    words: "go back or forward by one print or value",
    does: (context, key) => move(context, key === "," ? -1 : 1),
  },
  {
    keys: ["<", ">"],
    words: `${PAGE} of them back, on`,
    does: (context, key) => move(context, key === "<" ? -PAGE : PAGE),
  },
  {
    keys: ["l"],
    words: "live: back to the newest step",
    does: ({ ui }) => {
      ui.moment.value = null;
    },
  },
  { keys: ["!"], words: "the first value that was NaN or infinite", does: goToNonFinite },
  {
    keys: ["b"],
    words: "wait until all prints and callbacks have arrived",
    does: ({ root }) => press(root, "[data-testid=barrier]"),
  },
  {
    keys: ["Escape"],
    words: "close the list or the detail; show all calls and places",
    does: ({ ui }) => {
      if (ui.keys.value) return flip(ui.keys);
      for (const state of [ui.event, ui.anchor, ui.value, ui.onlyCall, ui.site]) state.value = null;
    },
  },
];

/** The shortcuts of lists and charts, which handle these keys themselves. They are here only to be listed. */
export const KEYS_ELSEWHERE: readonly (readonly [string, string])[] = [
  ["↑ ↓", "in the prints: choose a line; with Shift, several"],
  ["↑ ↓ Enter w", "in the code: choose a line, inspect its value, watch it or not; with Shift, the next line with one"],
  [
    "← → Space",
    "in the code: the step before, the next step; with Shift, the end of long lines; all values of the line",
  ],
  ["F9", "in the code: a breakpoint at the line, or none"],
  ["t", "in the code: the next statistic, for names, column and plot"],
  ["↑ ↓ ← → Enter Space", "in the names: choose one, fold, inspect it, plot it together with others"],
  ["↑ ↓", "in the calls: the life of the next one"],
  ["← →", "in the row of views: the next view"],
  ["+ − ← → 0", "in a chart or the timeline: zoom, move, show all"],
  ["↑ ↓ ← →", "in an array: read out its elements"],
];

/** Handles a key. Returns whether it is a shortcut. */
export function pressed(context: Context, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return false;
  const { run, ui } = context;
  const key = event.shiftKey && /^F\d/.test(event.key) ? `Shift+${event.key}` : event.key;
  const inDebugger = run.debugger.stop && tabOf(ui) === "source";
  const found = (inDebugger ? [...DEBUGGER_KEYS, ...KEYS] : KEYS).find(({ keys }) => keys.includes(key));
  found?.does(context, key);
  return found !== undefined;
}

function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  // Function keys and Escape type no text.
  if (/^(Escape|F\d+)$/.test(event.key)) return false;
  return target.matches("input:not([type=range], [type=checkbox]), select, textarea");
}

function flip(state: { value: boolean }): void {
  state.value = !state.value;
}

function focusOn({ ui, root }: Context, selector: string): void {
  ui.tab.value = "streams";
  // The element exists only after the view was drawn.
  requestAnimationFrame(() => root.querySelector<HTMLElement>(selector)?.focus());
}

function move({ run, ui }: Context, by: number): void {
  const last = run.next - 1;
  const next = Math.max(run.oldest, (ui.moment.value ?? last) + by);
  ui.moment.value = next >= last ? null : next;
}
