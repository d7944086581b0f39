/**
 * Summarizes what the page has received of a run. A notebook that is saved without its kernel gets this
 * (`js/lab/src/saved.ts`).
 */
import type { RunStore } from "../store/run";
import { firingOf, stepsOf } from "../store/steps";
import type { OneStream } from "../store/stream";

/** The same limit as in the kernel's snapshot, see `session/panel/snapshots.py`. */
const MOST_LINES = 100;
const MOST_CHARACTERS = 400;

export interface SeenLines {
  name: string;
  received: number;
  lines: string[];
}

export interface LastSeen {
  events: number;
  /** Seconds. */
  elapsed: number;
  /** The streams that have lines. */
  streams: SeenLines[];
}

export function lastSeen(run: RunStore): LastSeen | undefined {
  const { status } = run;
  if (!status) return;
  const named: [string, OneStream][] = [
    ["Ordered", run.ordered],
    ["Unordered", run.unordered],
  ];
  const streams = named.flatMap(([name, stream]) => {
    const lines = linesOf(run, stream);
    return lines.length > 0 ? [{ name, received: stream.received, lines }] : [];
  });
  return { events: run.next, elapsed: status.elapsed, streams };
}

/** Returns the newest lines, up to the first one that has not been received. */
function linesOf(run: RunStore, { positions }: OneStream): string[] {
  const lines: string[] = [];
  for (let i = positions.length - 1; i >= 0 && lines.length < MOST_LINES; i--) {
    const position = positions.at(i);
    const text = run.texts.get(run.log.number(position));
    if (text === undefined) break;
    const site = run.sites.get(run.log.site(position));
    const step = stepsOf(run.log, position, site).join("·") || firingOf(run.log, position, site);
    const cut =
      text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)} … ${text.length} characters in all` : text;
    lines.unshift(`${step}  ${cut}  ${site?.where ?? ""}`);
  }
  return lines;
}
