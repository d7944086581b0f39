/** The statistic that tree, column and plot show, of values that may not have it. */
import type { RunStore } from "../../store/run";
import { ITSELF, type WatchSite } from "../../store/watched";
import type { Seen } from "../source/reading";

const WORDS: Readonly<Record<string, string>> = { nan: "NaN", posinf: "+∞", neginf: "−∞" };

/** The statistics among which a person chooses: those that the kernel sends of an array; only `chosen` before it sends one. */
export function choicesOf(run: RunStore, chosen: string): readonly string[] {
  for (const { statistics } of run.watched.tables.values()) if (statistics[0] !== ITSELF) return statistics;
  return [chosen];
}

export function wordFor(statistic: string): string {
  return WORDS[statistic] ?? statistic;
}

const OF_FINITE = new Set(["min", "max", "mean", "std"]);

/** `mean of finite` where some elements were not: those are left out of it. */
export function labelOf({ get }: Seen, statistic: string): string {
  const isPartial = OF_FINITE.has(statistic) && ["nan", "posinf", "neginf"].some((name) => get(name) > 0);
  return `${wordFor(statistic)}${isPartial ? " of finite" : ""}`;
}

/** Of a number the number; undefined where it is not known. */
export function statisticOf({ table, told }: Seen, statistic: string): number | undefined {
  return told(table.isScalar ? ITSELF : statistic);
}

/** The key of its series, `site/value`: of a number the number; "" where there is no such statistic. */
export function seriesKey(run: RunStore, site: WatchSite, statistic: string): string {
  const name = run.watched.tables.get(site.id)?.isScalar ? ITSELF : statistic;
  const value = site.values.indexOf(name);
  return value < 0 ? "" : `${site.id}/${value}`;
}
