/** The statistic that tree, column and plot show, of values that may not have it. */
import type { RunStore } from "../../store/run";
import { ITSELF, type WatchSite } from "../../store/watched";
import type { Seen } from "../source/reading";

const WORDS: Readonly<Record<string, string>> = { nan: "NaN", posinf: "+∞", neginf: "−∞" };

/** What is chosen among. */
export const STATISTICS = ["min", "max", "mean", "std", "l2", "zeros", "nan", "posinf", "neginf"] as const;

export function wordFor(statistic: string): string {
  return WORDS[statistic] ?? statistic;
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
