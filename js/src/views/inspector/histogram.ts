/**
 * Counts of the magnitudes of a watched value, see `watch/statistics/histogram.py`. The statistics are `hist -2^12` …
 * `hist -0`, `hist +0` … `hist +2^12`.
 */
import type { WatchTable } from "../../store/watched";

const PREFIX = "hist ";
/** The most columns in the picture over steps. If there are more steps, several share a column. */
const MOST_COLUMNS = 480;

export interface Bar {
  /** The name of the statistic. */
  name: string;
  /** The sign and the lower edge of the magnitude: `-2^-3`. */
  from: string;
  isNegative: boolean;
}

/** Returns the bars from the largest negative to the largest positive magnitude; none if no histogram was recorded. */
export function barsOf(values: readonly string[]): Bar[] {
  const names = values.filter((name) => name.startsWith(PREFIX));
  return names.map((name) => ({ name, from: name.slice(PREFIX.length), isNegative: name[PREFIX.length] === "-" }));
}

/** Lists the bars that are not empty, the largest first: `+2^-3 12 · +2^0 4`. */
export function inWords(bars: readonly Bar[], get: (statistic: string) => number): string {
  const filled = bars.map(({ name, from }) => ({ from, n: get(name) })).filter(({ n }) => n > 0);
  filled.sort((a, b) => b.n - a.n);
  return filled.map(({ from, n }) => `${from} ${n}`).join(" · ");
}

/**
 * Returns the edges of the magnitudes and 0, each with its position along the bars, from 0 (first bar) to 1 (last bar).
 */
export function edgesOf(bars: readonly Bar[]): { y: number; at: number }[] {
  return bars.flatMap(({ from, isNegative }, i) => {
    const [, power] = from.split("^");
    const at = (isNegative ? i + 1 : i) / bars.length;
    if (power === undefined) return isNegative ? [] : [{ y: 0, at }];
    return [{ y: (isNegative ? -1 : 1) * 2 ** Number(power), at }];
  });
}

/** Returns the range of bars that are not empty at some step, with a margin of one bar; the end is exclusive. */
export function usedOf({ shares, columns }: Pick<Over, "shares" | "columns">, bars: number): [number, number] {
  let [from, to] = [bars, 0];
  for (let column = 0; column < columns; column++) {
    for (let bar = 0; bar < bars; bar++) {
      if (shares[column * bars + bar] === 0) continue;
      from = Math.min(from, bar);
      to = Math.max(to, bar + 1);
    }
  }
  return from < to ? [Math.max(0, from - 1), Math.min(bars, to + 1)] : [0, bars];
}

export interface Over {
  columns: number;
  /** For each column and bar, the share of the elements, from 0 to 1. */
  shares: Float32Array;
  /** The position of row `at`, from 0 to 1; null if there is none. */
  at: number | null;
}

/** Returns the histograms of all rows, side by side. */
export function overSteps(table: WatchTable, bars: readonly Bar[], at: number | null): Over {
  const columns = Math.min(table.length, MOST_COLUMNS);
  const shares = new Float32Array(columns * bars.length);
  const columnOf = (row: number) => Math.floor((row * columns) / table.length);
  bars.forEach(({ name }, bar) => {
    table.column(name).forEach((n, row) => {
      const place = columnOf(row) * bars.length + bar;
      shares[place] = (shares[place] as number) + n;
    });
  });
  for (let column = 0; column < columns; column++) {
    const counts = shares.subarray(column * bars.length, (column + 1) * bars.length);
    const all = counts.reduce((sum, n) => sum + n, 0);
    if (all > 0) counts.set(counts.map((n) => n / all));
  }
  return { columns, shares, at: at === null || columns === 0 ? null : (columnOf(at) + 0.5) / columns };
}
