/** The iterations of the loops around an event. */
import type { SiteMessage } from "../transport/wire";
import type { EventLog } from "./events";

/** How often the innermost loop runs for each iteration of the outermost. */
export function innerCount({ loops }: SiteMessage): number {
  return loops.slice(1).reduce((product: number, length) => product * (length || 1), 1);
}

/** Of each loop, outermost first; empty where it is not known. */
export function stepsOf(log: EventLog, position: number, site: SiteMessage | undefined): number[] {
  const step = log.step(position);
  if (step < 0) return [];
  let inner = log.inner(position);
  const steps: number[] = [];
  for (const length of inner < 0 ? [] : (site?.loops.slice(1) ?? []).reverse()) {
    steps.unshift(inner % (length || 1));
    inner = Math.floor(inner / (length || 1));
  }
  return [step, ...steps];
}
