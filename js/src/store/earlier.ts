/** Earlier runs of the same program, for comparison. */
import type { SiteMessage } from "../transport/wire";
import type { RunStore } from "./run";
import type { Series } from "./series";

const MOST_RUNS = 4;

/** Returns the runs with the same title that began before `run`, the newest first. */
export function earlierRuns(run: RunStore, all: Iterable<RunStore>): RunStore[] {
  const { title, started } = run.status ?? {};
  return [...all]
    .filter(({ status }) => status && started && status.title === title && status.started < started)
    .sort((a, b) => (b.status?.started ?? 0) - (a.status?.started ?? 0))
    .slice(0, MOST_RUNS);
}

/**
 * Returns the same series in each of these runs; undefined if a run has none. Site ids differ between runs, so sites
 * are matched by content.
 */
export function sameIn(runs: readonly RunStore[], run: RunStore, { site, value }: Series): (Series | undefined)[] {
  const wanted = run.sites.get(site);
  return runs.map((other) => {
    const same = [...other.sites.values()].find((candidate) => wanted && keyOf(candidate) === keyOf(wanted));
    return same && other.series.get(same.id, value);
  });
}

function keyOf({ kind, label, values, name_stack, order }: SiteMessage): string {
  return JSON.stringify([kind, label, values, name_stack, order]);
}
