/** Earlier runs of the same program, to compare with. */
import type { SiteMessage } from "../transport/wire";
import type { RunStore } from "./run";
import type { Series } from "./series";

const MOST_RUNS = 4;

/** Of `all`, those that ran what `run` runs, and began before it; the newest first. */
export function earlierRuns(run: RunStore, all: Iterable<RunStore>): RunStore[] {
  const { title, started } = run.status ?? {};
  return [...all]
    .filter(({ status }) => status && started && status.title === title && status.started < started)
    .sort((a, b) => (b.status?.started ?? 0) - (a.status?.started ?? 0))
    .slice(0, MOST_RUNS);
}

/** The same value in each of these runs, if it is there: ids change when a cell is run again, what the site is about does not. */
export function sameIn(runs: readonly RunStore[], run: RunStore, { site, value }: Series): (Series | undefined)[] {
  const own = run.sites.get(site);
  return runs.map((other) => {
    const same = [...other.sites.values()].find((one) => own && keyOf(one) === keyOf(own));
    return same && other.series.get(same.id, value);
  });
}

function keyOf({ kind, label, values, name_stack, order }: SiteMessage): string {
  return JSON.stringify([kind, label, values, name_stack, order]);
}
