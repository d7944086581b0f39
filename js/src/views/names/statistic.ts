/** The statistic that tree, column and plot show. A value may not have it. */
import type { RunStore } from "../../store/run";
import { SCALAR, type WatchSite } from "../../store/watched";
import type { Seen } from "../source/reading";

const WORDS: Readonly<Record<string, string>> = { nan: "NaN", posinf: "+∞", neginf: "−∞" };

/** Returns the statistics to choose from: those of an array. Before any array has arrived, only `chosen`. */
export function choicesOf(run: RunStore, chosen: string): readonly string[] {
  for (const { statistics } of run.watched.tables.values()) if (statistics[0] !== SCALAR) return statistics;
  return [chosen];
}

export function wordFor(statistic: string): string {
  return WORDS[statistic] ?? statistic;
}

const OF_FINITE = new Set(["min", "max", "mean", "std"]);

/** Returns the name of a statistic: `mean of finite` if elements were left out of it because they were not finite. */
export function labelOf({ get }: Seen, statistic: string): string {
  const isPartial = OF_FINITE.has(statistic) && ["nan", "posinf", "neginf"].some((name) => get(name) > 0);
  return `${wordFor(statistic)}${isPartial ? " of finite" : ""}`;
}

/** Returns the statistic, or the number itself for a scalar; undefined if it is not known. */
export function statisticOf({ table, lookup }: Seen, statistic: string): number | undefined {
  return lookup(table.isScalar ? SCALAR : statistic);
}

/**
 * Returns the key `site/value` of the statistic's series, or of the number's for a scalar; "" if there is no such
 * statistic.
 */
export function seriesKey(run: RunStore, site: WatchSite, statistic: string): string {
  const name = run.watched.tables.get(site.id)?.isScalar ? SCALAR : statistic;
  const value = site.values.indexOf(name);
  return value < 0 ? "" : `${site.id}/${value}`;
}
