/** Renders a panel from a golden batch, and finds and clicks its elements. */
import { signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach } from "vitest";
import { createUi, type Tab, type UiState } from "../src/store/ui";
import type { StopBody } from "../src/transport/stops";
import type { Batch, StatusMessage } from "../src/transport/wire";
import { Panel } from "../src/views/panel/Panel";
import { TestRun } from "./fakes";
import { goldenBatch, goldenStop } from "./golden";

const host = document.createElement("div");
document.body.append(host);
afterEach(() => render(null, host));

export function show(batch: Batch, ui: UiState = createUi()): TestRun {
  const run = new TestRun();
  run.store.apply(batch);
  act(() => render(<Panel run={run.store} ui={ui} dark={signal(false)} />, host));
  return run;
}

export function showTab(tab: Tab, batch: Batch): { run: TestRun; ui: UiState } {
  const ui = createUi();
  ui.tab.value = tab;
  return { run: show(batch, ui), ui };
}

/** Shows a panel with the streams open. */
export function showStreams(batch: Batch, ui: UiState = createUi()): TestRun {
  ui.tab.value ??= "streams";
  return show(batch, ui);
}

/** Shows a panel with an active run that is at a stop. */
export function showStop(stop: Partial<StopBody> | null = {}, changes: Partial<StatusMessage> = {}) {
  const ui = createUi();
  const run = show(goldenBatch("paused", { status: { ...goldenBatch("paused").status, ...changes } }), ui);
  if (stop) stopAt(run, goldenStop(stop));
  return { run, ui };
}

export function stopAt(run: TestRun, stop: StopBody | null): void {
  act(() => {
    run.store.debugger.apply(stop);
    run.draw();
  });
}

export function change(run: TestRun, batch: Batch): void {
  act(() => {
    run.store.apply(batch);
    run.draw();
  });
}

export function all(selector: string): HTMLElement[] {
  return [...host.querySelectorAll<HTMLElement>(selector)];
}

export function find(selector: string): HTMLElement {
  const [found] = all(selector);
  if (!found) throw new Error(`no ${selector} in ${host.innerHTML}`);
  return found;
}

export function texts(selector: string): string[] {
  return all(selector).map((element) => element.textContent ?? "");
}

export function click(selector: string, options: MouseEventInit = {}): void {
  act(() => {
    find(selector).dispatchEvent(new MouseEvent("click", { bubbles: true, ...options }));
  });
}

export function press(selector: string, key: string, options: KeyboardEventInit = {}): void {
  act(() => {
    find(selector).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...options }));
  });
}

export function type(selector: string, text: string): void {
  act(() => {
    const input = find(selector) as HTMLInputElement;
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

export function choose(selector: string, value: string): void {
  act(() => {
    const select = find(selector) as HTMLSelectElement;
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

export function status(changes: Partial<StatusMessage>): StatusMessage {
  return { ...goldenBatch("small").status, ...changes };
}
