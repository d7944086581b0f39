/** The counts of magnitudes of a watched value, see `watch/statistics/histogram.py`: `hist -2^12` … `hist -0`, `hist +0` … `hist +2^12`. */
import type { WatchTable } from "../../store/watched";

const PREFIX = "hist ";
/** Columns of the picture over steps: of more steps several share one. */
const MOST_COLUMNS = 480;

export interface Bar {
  /** The statistic. */
  name: string;
  /** The sign and the lower edge of the magnitude: `-2^-3`. */
  from: string;
  isNegative: boolean;
}

/** From the largest negative to the largest positive magnitude; none where no histogram was asked for. */
export function barsOf(values: readonly string[]): Bar[] {
  const names = values.filter((name) => name.startsWith(PREFIX));
  return names.map((name) => ({ name, from: name.slice(PREFIX.length), isNegative: name[PREFIX.length] === "-" }));
}

/** The bars with anything in them, and how much: `+2^-3 12 · +2^0 4`, most first. */
export function inWords(bars: readonly Bar[], get: (statistic: string) => number): string {
  const told = bars.map(({ name, from }) => ({ from, n: get(name) })).filter(({ n }) => n > 0);
  told.sort((a, b) => b.n - a.n);
  return told.map(({ from, n }) => `${from} ${n}`).join(" · ");
}

/** Where along the bars a number stands, from 0 below to 1 above: the ends of magnitudes, and 0 in the middle. */
export function edgesOf(bars: readonly Bar[]): { y: number; at: number }[] {
  return bars.flatMap(({ from, isNegative }, i) => {
    const [, power] = from.split("^");
    const at = (isNegative ? i + 1 : i) / bars.length;
    if (power === undefined) return isNegative ? [] : [{ y: 0, at }];
    return [{ y: (isNegative ? -1 : 1) * 2 ** Number(power), at }];
  });
}

/** From which bar to before which there is anything at any step, and a bar of room on each side. */
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
  /** For each column, bar by bar, the share of the elements, 0 to 1. */
  shares: Float32Array;
  /** Where row `at` is, 0 to 1; null where it is not there. */
  at: number | null;
}

/** The histograms of all rows, side by side. */
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
    const own = shares.subarray(column * bars.length, (column + 1) * bars.length);
    const all = own.reduce((sum, n) => sum + n, 0);
    if (all > 0) own.set(own.map((n) => n / all));
  }
  return { columns, shares, at: at === null || columns === 0 ? null : (columnOf(at) + 0.5) / columns };
}
