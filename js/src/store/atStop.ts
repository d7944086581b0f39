/** The step at which the program stands: which values are of it, and which are left of an earlier one. */
import type { StopBody } from "../transport/stops";
import type { SiteMessage } from "../transport/wire";
import { whenAt } from "./clock";
import type { RunStore } from "./run";
import type { UiState } from "./ui";
import type { WatchTable } from "./watched";

export interface AtStop {
  stop: StopBody;
  site: SiteMessage | undefined;
  /** A column of the event at which it stands; -1 where that is not known. */
  at(column: "time" | "call" | "execution" | "occurrence" | "step" | "inner" | "device"): number;
  /** `call 3 · step 12`. */
  when: string;
}

/** The stop at which the program was ended, until it is closed: nothing of another step came after it. */
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

/** Null where the program stands at no event that is kept. */
export function atStop(run: RunStore, stop: StopBody | null): AtStop | null {
  const position = stop && stop.event >= 0 ? run.log.find(stop.event) : -1;
  if (!stop || position < 0) return null;
  const at: AtStop["at"] = (column) => run.log[column](position);
  const site = run.sites.of(run.log.site(position), run.log.type(position));
  return { stop, site, at, when: whenAt(at) };
}

/** The call or step of a row that is not of the stop's own; "" where it is. */
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
