/** The step at which the program is stopped, and which shown values are from an earlier step. */
import type { StopBody } from "../transport/stops";
import type { SiteMessage } from "../transport/wire";
import { whenAt } from "./clock";
import type { RunStore } from "./run";
import type { UiState } from "./ui";
import type { WatchTable } from "./watched";

export interface AtStop {
  stop: StopBody;
  site: SiteMessage | undefined;
  /** Returns a column of the event at which the program is stopped; -1 if the value is not known. */
  at(column: "time" | "call" | "execution" | "occurrence" | "step" | "inner" | "device"): number;
  /** The call and step as text: `call 3 · step 12`. */
  when: string;
}

/**
 * Returns the stop at which the user ended the program, until that stop is closed or an event of another step follows
 * it.
 */
export function endedAt(run: RunStore, ui: UiState): StopBody | null {
  const {
    log,
    status,
    debugger: { last, stop },
  } = run;
  if (stop || !last || status?.state !== "stopped" || ui.closedStop.value === last.id) return null;
  const position = log.find(last.event);
  if (position < 0) return null;
  for (let i = position + 1; i < log.length; i++)
    if (log.step(i) !== log.step(position) || log.call(i) !== log.call(position)) return null;
  return last;
}

/** Returns null if the program is not stopped, or if the event of the stop is not kept. */
export function atStop(run: RunStore, stop: StopBody | null): AtStop | null {
  const position = stop && stop.event >= 0 ? run.log.find(stop.event) : -1;
  if (!stop || position < 0) return null;
  const at: AtStop["at"] = (column) => run.log[column](position);
  const site = run.sites.of(run.log.site(position), run.log.type(position));
  return { stop, site, at, when: whenAt(at) };
}

/** Names the call, step or inner iteration of a row if it differs from that of the stop; "" if it is the same. */
export function earlier(table: Pick<WatchTable, "at" | "siteAt">, row: number, { site, at: ofStop }: AtStop): string {
  const at = (column: string) => table.at(row, column) as number;
  const [call, step] = [at("call"), at("step")];
  if (call !== ofStop("call") && call >= 0) return `call ${call}`;
  if (call < 0) return at("time") < ofStop("time") ? whenAt(at) : "";
  const loops = table.siteAt(row)?.loops ?? [];
  const isOfOneLoop = step >= 0 && ofStop("step") >= 0 && loops[0] === site?.loops[0];
  if (!isOfOneLoop) return "";
  if (step !== ofStop("step")) return `step ${step}`;
  const [inner, other] = [at("inner"), ofStop("inner")];
  return inner >= 0 && other >= 0 && inner !== other && loops[1] === site?.loops[1] ? `inner ${inner}` : "";
}
