/** The steps of a run, as its watched values tell them, else its prints: what the slider moves along. */
import { printSteps } from "./print_steps";
import type { RunStore } from "./run";
import type { UiState } from "./ui";
import type { Look, WatchTable } from "./watched";

/** A row for each step, from the event `begin` on; up to `event` it is looked at. */
export type Clock = Pick<WatchTable, "length" | "begin" | "event" | "rowAt" | "at" | "siteAt">;

export function clockOf(run: RunStore): Clock | undefined {
  return watchedSteps(run) ?? printSteps(run);
}

/** The value that was computed most often tells the steps; but not one lane after the other. */
export function watchedSteps(run: RunStore): WatchTable | undefined {
  // Not gradients: those of one step may come long after its values.
  const every = [...run.watched.tables];
  const values = every.filter(([id]) => run.sites.get(id)?.watch?.role === "value");
  const all = (values.length > 0 ? values : every).map(([, table]) => table).filter(({ length }) => length > 0);
  const alone = all.filter((table) => table.at(0, "lane") === -1);
  const tables = alone.length > 0 ? alone : all;
  return tables.reduce<WatchTable | undefined>(
    (most, one) => (most && most.total >= one.total ? most : one),
    undefined,
  );
}

/** To the step `by` further on; the newest is live. */
export function moveBy(run: RunStore, ui: UiState, look: Look, by: number): void {
  const clock = clockOf(run);
  if (clock) moveTo(ui, clock, clock.rowAt(look) + by);
}

export function moveTo(ui: UiState, clock: Clock, row: number): void {
  ui.moment.value = row >= clock.length - 1 ? null : clock.event(Math.max(0, row));
}

/** When the moment was that is looked at, in seconds; null for the newest. */
export function timeOfMoment(run: RunStore, ui: UiState): number | null {
  const moment = ui.moment.value;
  if (moment === null) return null;
  const position = run.log.lowerBound(moment + 1) - 1;
  // What was before it is not kept any more.
  return position < 0 ? Number.NEGATIVE_INFINITY : run.log.time(position);
}

/** `call 3 · step 12`, as far as it is known. */
export function whenOf(table: Pick<Clock, "at">, row: number): string {
  return whenAt((column) => table.at(row, column) as number);
}

/** The same of an event, by its columns. Outside loops its step is which execution it was, as on the axis of the charts. */
export function whenAt(
  at: (column: "call" | "execution" | "occurrence" | "step" | "inner" | "device") => number,
): string {
  const execution = at("execution") < 0 ? at("occurrence") : at("execution");
  const step = at("step") < 0 ? execution : at("step");
  return [
    at("call") < 0 ? "" : `call ${at("call")}`,
    `step ${step}`,
    at("inner") < 0 ? "" : `inner ${at("inner")}`,
    at("device") < 0 ? "" : `device ${at("device")}`,
  ]
    .filter(Boolean)
    .join(" · ");
}
