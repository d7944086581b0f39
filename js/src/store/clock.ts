/**
 * The steps of a run, along which the slider moves. They come from the watched values or, if nothing is watched, from
 * the prints.
 */
import { printSteps } from "./print_steps";
import type { RunStore } from "./run";
import type { UiState } from "./ui";
import type { Look, WatchTable } from "./watched";

/** A table with a row for each step. The step of a row lasts from event `begin(row)` to event `event(row)`. */
export type Clock = Pick<WatchTable, "length" | "begin" | "event" | "rowAt" | "at" | "siteAt">;

export function clockOf(run: RunStore): Clock | undefined {
  return watchedSteps(run) ?? printSteps(run);
}

/** Returns the table with the most rows. Tables that have a row for each lane are used only if there are no others. */
export function watchedSteps(run: RunStore): WatchTable | undefined {
  // Gradients are left out: those of one step may come long after its values.
  const entries = [...run.watched.tables];
  const values = entries.filter(([id]) => run.sites.get(id)?.watch?.role === "value");
  const all = (values.length > 0 ? values : entries).map(([, table]) => table).filter(({ length }) => length > 0);
  const withoutLanes = all.filter((table) => table.at(0, "lane") === -1);
  const tables = withoutLanes.length > 0 ? withoutLanes : all;
  return tables.reduce<WatchTable | undefined>(
    (longest, table) => (longest && longest.total >= table.total ? longest : table),
    undefined,
  );
}

/** Moves the moment by `by` steps. At the last step the view is live again. */
export function moveBy(run: RunStore, ui: UiState, look: Look, by: number): void {
  const clock = clockOf(run);
  if (clock) moveTo(ui, clock, clock.rowAt(look) + by);
}

export function moveTo(ui: UiState, clock: Clock, row: number): void {
  ui.moment.value = row >= clock.length - 1 ? null : clock.event(Math.max(0, row));
}

/** Returns the time of the shown moment, in seconds since the run started; null for the newest. */
export function timeOfMoment(run: RunStore, ui: UiState): number | null {
  const moment = ui.moment.value;
  if (moment === null) return null;
  const position = run.log.lowerBound(moment + 1) - 1;
  // The event of the moment is no longer kept.
  return position < 0 ? Number.NEGATIVE_INFINITY : run.log.time(position);
}

/** Describes when a row was recorded: `call 3 · step 12`, without the parts that are not known. */
export function whenOf(table: Pick<Clock, "at">, row: number): string {
  return whenAt((column) => table.at(row, column) as number);
}

/**
 * Describes when an event was recorded, from its columns. Outside loops, `step` is the number of the execution, as on
 * the x axis of charts.
 */
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
