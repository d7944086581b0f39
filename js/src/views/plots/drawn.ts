/** What a chart draws: few enough points of each line, and where values were not finite. */
import { Band } from "../../store/band";
import { decimate } from "../../store/decimate";
import type { Line, Series } from "../../store/series";

const MOST_DRAWN = 2000;
/** The values of more lines are read as a range. */
const MOST_READ = 4;

export type Range = readonly [number, number];

/** How the series are looked at. */
export interface Look {
  logarithmic: boolean;
  /** Against seconds since the run started instead of steps. */
  byTime: boolean;
  /** From 0, none, to nearly 1. */
  smoothing: number;
  /** Only what happened then, in seconds. */
  during: { from: number; to: number } | null;
  /** Only that part of the axis. */
  zoom: Range | null;
  /** Up to which the run is looked at, in seconds. */
  moment: number | null;
}

export interface Curve {
  /** Which of the lines it is, counted over all series: what its colour is chosen by. */
  line: number;
  /** How many runs ago it was; 0 for this run. All lines of an earlier run have one colour. */
  ago: number;
  x: number[];
  /** As it was. */
  y: number[];
  smooth: number[] | null;
  /** The points where the line begins anew: before them something was not finite. */
  begins: ReadonlySet<number>;
  /** Of many lanes and devices the lowest and the highest; `y` is the mean. */
  band: { low: number[]; high: number[] } | null;
  /** When each point was, in seconds. */
  time: number[];
}

/** A value that was not finite. */
export interface Mark {
  /** The first line of its series. */
  line: number;
  x: number;
  y: number;
}

export interface Drawn {
  curves: Curve[];
  marks: Mark[];
  /** Of curves and marks together, or what was zoomed to. */
  from: number;
  to: number;
  /** Where on the axis the moment is. */
  at: number | null;
}

/** The values under the pointer, those of this run first. */
export interface Reading {
  x: number;
  time: number | null;
  values: { line: number; ago: number; low: number; high: number }[];
}

/** Of each series the same one of earlier runs, the newest first. */
export type Ghosts = readonly (Series | undefined)[];

export function drawnOf(all: readonly Series[], look: Look, ghosts: readonly Ghosts[] = []): Drawn {
  const curves: Curve[] = [];
  const behind: Curve[] = [];
  const marks: Mark[] = [];
  const own = lineCount(all);
  for (const [i, series] of all.entries()) {
    const odd = marksOf(series, look, curves.length);
    marks.push(...odd);
    const { traces } = series;
    // Of several lanes only one may have been not finite.
    const gaps = traces.length === 1 ? odd.map(({ x }) => x) : [];
    for (const trace of traces) curves.push({ line: curves.length, ago: 0, ...curveOf(trace, look, gaps) });
    ghosts[i]?.forEach((ghost, k) => {
      for (const trace of ghost?.traces.slice(0, series.traces.length) ?? []) {
        behind.push({ line: own + k, ago: k + 1, ...curveOf(trace, { ...look, during: null }) });
      }
    });
  }
  // The oldest farthest behind.
  curves.unshift(...behind.sort((a, b) => b.ago - a.ago));
  const [from, to] = look.zoom ?? extentOf(curves, marks);
  return {
    curves,
    marks: marks.filter(({ x }) => x >= from && x <= to),
    from,
    to,
    at: look.moment === null || look.byTime ? look.moment : whereAt(all, look.moment),
  };
}

/** How many lines are drawn: what has a colour of its own. */
export function lineCount(all: readonly Series[]): number {
  return all.reduce((sum, { traces }) => sum + traces.length, 0);
}

function marksOf({ marks: { x, time, y } }: Series, { byTime, during }: Look, line: number): Mark[] {
  return [...y.view()].flatMap((value, i) => {
    const at = time.at(i);
    return during && (at < during.from || at > during.to) ? [] : [{ line, x: byTime ? at : x.at(i), y: value }];
  });
}

/** The part of a line that is looked at, in few enough points. */
function curveOf(
  trace: Line | Band,
  { byTime, during, zoom, logarithmic, smoothing }: Look,
  gaps: readonly number[] = [],
): Omit<Curve, "line" | "ago"> {
  const axis = byTime ? trace.time : trace.x;
  const rises = !byTime || trace.risesInTime;
  let [start, end] = [0, trace.y.length];
  if (during) [start, end] = [trace.time.lowerBound(during.from), trace.time.lowerBound(during.to)];
  // One point more on each side: the line goes on beyond the edge.
  if (zoom && rises) start = Math.max(start, axis.lowerBound(zoom[0]) - 1);
  if (zoom && rises) end = Math.min(end, axis.lowerBound(zoom[1]) + 1);
  const part = (column: Line["x"]) => column.view().subarray(start, Math.max(start, end));
  const keep = logarithmic ? (value: number) => value > 0 : () => true;
  const y = part(trace.y);
  const isBand = trace instanceof Band;
  // The extremes of a band are kept, not those of its mean.
  const kept = decimate(part(isBand ? trace.high : trace.y), MOST_DRAWN, keep);
  if (!rises) kept.sort((i, k) => trace.time.at(start + i) - trace.time.at(start + k));
  const at = (column: Float64Array) => kept.map((i) => column[i] as number);
  const x = at(part(axis));
  const begins = rises ? beginsOf(x, gaps) : new Set<number>();
  return {
    x,
    y: at(y),
    smooth: isBand ? null : smoothing > 0 ? at(smoothed(y, smoothing)) : null,
    begins,
    band: isBand ? { low: at(part(trace.low)), high: at(part(trace.high)) } : null,
    time: at(part(trace.time)),
  };
}

/** The points that have one of `gaps` between them and the point before; both rise. */
function beginsOf(x: readonly number[], gaps: readonly number[]): Set<number> {
  const begins = new Set<number>();
  const sorted = [...gaps].sort((a, b) => a - b);
  let next = 0;
  for (let i = 0; i < x.length && next < sorted.length; i++) {
    const before = next;
    while (next < sorted.length && (sorted[next] as number) <= (x[i] as number)) next++;
    if (next > before && i > 0) begins.add(i);
  }
  return begins;
}

/** The exponential moving average, which starts at the first value and not at 0. */
export function smoothed(y: Float64Array, smoothing: number): Float64Array {
  let sum = 0;
  let weight = 0;
  return y.map((value) => {
    sum = smoothing * sum + (1 - smoothing) * value;
    weight = smoothing * weight + (1 - smoothing);
    return sum / weight;
  });
}

function extentOf(curves: Curve[], marks: Mark[]): Range {
  const ends = curves.flatMap(({ x }) => (x.length > 0 ? [x[0] as number, x.at(-1) as number] : []));
  const places = [...ends, ...marks.map(({ x }) => x)];
  const from = Math.min(...places);
  const to = Math.max(...places);
  if (from > to) return [0, 1];
  return to > from ? [from, to] : [from - 1, to + 1];
}

/** The last step before `time`. */
/** The newest step of any of them by then: of one step some come later than others. Numbers that are not finite count, too. */
function whereAt(all: readonly Series[], time: number): number | null {
  const reached = all.flatMap(({ first, marks }) =>
    [first, marks].flatMap((points) => (points ? (newestBy(points, time) ?? []) : [])),
  );
  return reached.length > 0 ? Math.max(...reached) : null;
}

function newestBy({ time, x }: Pick<Line, "time" | "x">, until: number): number | null {
  let last = -1;
  for (const [i, own] of time.view().entries()) {
    if (own <= until + 1e-9 && (last < 0 || own >= time.at(last))) last = i;
  }
  return last < 0 ? null : x.at(last);
}

/** Of each line its value nearest to `x`: NaN where it was not finite there, undefined where it has none near. */
export function valuesAt({ curves, marks }: Drawn, x: number): (number | undefined)[] {
  const values: (number | undefined)[] = [];
  for (const { line, ago, x: xs, y } of curves) {
    const k = ago === 0 ? nearest(xs, x) : -1;
    if (k < 0) continue;
    const away = Math.abs((xs[k] as number) - x);
    const mark = marks.find((one) => one.line === line && Math.abs(one.x - x) < away);
    values[line] = mark ? mark.y : y[k];
  }
  return values;
}

/** Of the points nearest to `x`. */
export function readingAt({ curves }: Drawn, x: number): Reading | null {
  const own = curves.filter(({ ago }) => ago === 0);
  const first = own.find((curve) => curve.x.length > 0);
  if (!first) return null;
  const i = nearest(first.x, x);
  const at = first.x[i] as number;
  // This run's values are of one step; earlier runs may have ended before it.
  const ofEarlier = curves.filter(
    ({ ago, x: [from = at + 1], x: xs }) => ago > 0 && from <= at && at <= (xs.at(-1) ?? 0),
  );
  const values: Reading["values"] = [];
  for (const { line, ago, x: xs, y, band } of [...own, ...ofEarlier.reverse()]) {
    const k = nearest(xs, at);
    if (k < 0 || (ago === 0 && xs[k] !== at)) continue;
    const [low, high] = [band?.low[k] ?? (y[k] as number), band?.high[k] ?? (y[k] as number)];
    const same = values.find((one) => one.ago === ago && (ago > 0 || own.length > MOST_READ));
    if (same) Object.assign(same, { low: Math.min(same.low, low), high: Math.max(same.high, high) });
    else values.push({ line, ago, low, high });
  }
  return { x: at, time: own.length === 1 ? (first.time[i] as number) : null, values };
}

function nearest(xs: readonly number[], x: number): number {
  let low = 0;
  let high = xs.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] as number) < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && x - (xs[low - 1] as number) < (xs[low] as number) - x ? low - 1 : high;
}
