/** Computes what a chart draws: a limited number of points of each line, and marks where values were not finite. */
import { Band } from "../../store/band";
import { decimate } from "../../store/decimate";
import type { Line, Series } from "../../store/series";
import type { Axis } from "../../store/ui";

const MOST_DRAWN = 2000;
/** If there are more lines, the pointer shows the range of their values. */
const MOST_READ = 4;

export type Range = readonly [number, number];

/** How the series are shown. */
export interface Look {
  logarithmic: boolean;
  /** The quantity on the x axis. Seconds are since the run started. */
  axis: Axis;
  /** From 0 (none) to nearly 1. */
  smoothing: number;
  /** Shows only points in this range of time, in seconds; null for all. */
  during: { from: number; to: number } | null;
  /** Shows only this part of the x axis; null for all. */
  zoom: Range | null;
  /** The shown moment, in seconds; null for the newest. */
  moment: number | null;
}

export interface Curve {
  /** The index of the line over all series. It decides the colour. */
  line: number;
  /** How many runs ago the run was; 0 for this run. All lines of an earlier run have one colour. */
  ago: number;
  x: number[];
  /** The values without smoothing. */
  y: number[];
  smooth: number[] | null;
  /** The indices of points at which the line starts again, because a value before them was not finite. */
  begins: ReadonlySet<number>;
  /** For many lanes and devices: the lowest and the highest value, while `y` is the mean. Otherwise null. */
  band: { low: number[]; high: number[] } | null;
  /** The time of each point, in seconds. */
  time: number[];
}

/** A mark at a value that was not finite. */
export interface Mark {
  /** The index of the first line of its series. */
  line: number;
  x: number;
  y: number;
}

export interface Drawn {
  curves: Curve[];
  marks: Mark[];
  /** The range of the x axis: that of all curves and marks, or the zoom. */
  from: number;
  to: number;
  /** The position of the moment on the x axis; null for the newest. */
  at: number | null;
}

/** The values under the pointer, those of this run first. */
export interface Reading {
  x: number;
  time: number | null;
  values: { line: number; ago: number; low: number; high: number }[];
}

/** The same series in earlier runs, the newest first; undefined if a run has none. */
export type Ghosts = readonly (Series | undefined)[];

export function drawnOf(all: readonly Series[], look: Look, ghosts: readonly Ghosts[] = []): Drawn {
  const curves: Curve[] = [];
  const behind: Curve[] = [];
  const marks: Mark[] = [];
  const ownLines = lineCount(all);
  for (const [i, series] of all.entries()) {
    const ownMarks = marksOf(series, look, curves.length);
    marks.push(...ownMarks);
    const { traces } = series;
    // With several lines, a mark does not tell which of them was not finite, so there are no gaps.
    const gaps = traces.length === 1 && !(traces[0] instanceof Band) ? ownMarks.map(({ x }) => x) : [];
    for (const trace of traces) curves.push({ line: curves.length, ago: 0, ...curveOf(trace, look, gaps) });
    ghosts[i]?.forEach((ghost, k) => {
      for (const trace of ghost?.traces.slice(0, series.traces.length) ?? []) {
        behind.push({ line: ownLines + k, ago: k + 1, ...curveOf(trace, { ...look, during: null }) });
      }
    });
  }
  // Drawn first, and so behind the others: the oldest run.
  curves.unshift(...behind.sort((a, b) => b.ago - a.ago));
  const [from, to] = look.zoom ?? extentOf(curves, marks);
  return {
    curves,
    marks: marks.filter(({ x }) => x >= from && x <= to),
    from,
    to,
    at: look.moment === null || look.axis === "seconds" ? look.moment : whereAt(all, look.moment, look.axis),
  };
}

/** Returns the number of lines, each with its own colour. */
export function lineCount(all: readonly Series[]): number {
  return all.reduce((sum, { traces }) => sum + traces.length, 0);
}

function marksOf(series: Series, { axis, during }: Look, line: number): Mark[] {
  const { marks } = series;
  const x =
    axis === "call" ? marks.x.view().map((step, i) => callAt(series, step, marks.call.at(i))) : xOf(marks, axis);
  return [...marks.y.view()].flatMap((value, i) => {
    const at = marks.time.at(i);
    return during && (at < during.from || at > during.to) ? [] : [{ line, x: x[i] as number, y: value }];
  });
}

type Points = Pick<Line, "x" | "time" | "call">;

/** Returns the x coordinate of each point. On the axis of calls, the points of one call are spread evenly. */
function xOf({ x, time, call }: Points, axis: Axis): Float64Array {
  if (axis !== "call") return (axis === "seconds" ? time : x).view();
  const calls = call.view();
  const places = new Float64Array(calls.length);
  for (let first = 0, end = 0; first < calls.length; first = end) {
    while (end < calls.length && calls[end] === calls[first]) end++;
    for (let i = first; i < end; i++) places[i] = (calls[i] as number) + (i - first) / (end - first);
  }
  return places;
}

/** Returns the position of a mark on the axis of calls: that of the point before it. */
function callAt({ first }: Series, step: number, call: number): number {
  if (!first) return call;
  const i = first.x.lowerBound(step) - 1;
  return i >= 0 && first.call.at(i) === call ? (xOf(first, "call")[i] as number) : call;
}

/** Returns the visible part of a line, reduced to a limited number of points. */
function curveOf(
  trace: Line | Band,
  { axis, during, zoom, logarithmic, smoothing }: Look,
  gaps: readonly number[] = [],
): Omit<Curve, "line" | "ago"> {
  const places = xOf(trace, axis);
  const rises = axis !== "seconds" || trace.risesInTime;
  let [start, end] = [0, trace.y.length];
  if (during) [start, end] = [trace.time.lowerBound(during.from), trace.time.lowerBound(during.to)];
  // One more point on each side, so that the line reaches the edge.
  if (zoom && rises) start = Math.max(start, lowerBound(places, zoom[0]) - 1);
  if (zoom && rises) end = Math.min(end, lowerBound(places, zoom[1]) + 1);
  const partOf = (column: Float64Array) => column.subarray(start, Math.max(start, end));
  const part = (column: Line["x"]) => partOf(column.view());
  const keep = logarithmic ? (value: number) => value > 0 : () => true;
  const y = part(trace.y);
  const isBand = trace instanceof Band;
  // For a band, the extremes of its upper edge are kept, not those of the mean.
  const kept = decimate(part(isBand ? trace.high : trace.y), MOST_DRAWN, keep);
  if (!rises) kept.sort((i, k) => trace.time.at(start + i) - trace.time.at(start + k));
  const at = (column: Float64Array) => kept.map((i) => column[i] as number);
  const x = at(partOf(places));
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

/**
 * Returns the indices of the points that have one of `gaps` between them and the point before. Both lists are sorted.
 */
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

/** Returns the exponential moving average, corrected so that it starts at the first value and not at 0. */
export function smoothed(y: Float64Array, smoothing: number): Float64Array {
  let sum = 0;
  let weight = 0;
  return y.map((value) => {
    sum = smoothing * sum + (1 - smoothing) * value;
    weight = smoothing * weight + (1 - smoothing);
    return sum / weight;
  });
}

/** Returns the range of the x axis that shows all curves and marks. */
export function extentOf(curves: readonly Curve[], marks: readonly Mark[]): Range {
  const ends = curves.flatMap(({ x }) => (x.length > 0 ? [x[0] as number, x.at(-1) as number] : []));
  const places = [...ends, ...marks.map(({ x }) => x)];
  const from = Math.min(...places);
  const to = Math.max(...places);
  if (from > to) return [0, 1];
  return to > from ? [from, to] : [from - 0.5, to + 0.5]; // A single step is in the middle.
}

/**
 * Returns the greatest step that any series has reached by `time`; series of one step arrive at different times. Values
 * that are not finite count.
 */
function whereAt(all: readonly Series[], time: number, axis: Axis): number | null {
  const reached = all.flatMap(({ first, marks }) =>
    [first, marks].flatMap((points) => (points ? (newestBy(points, time, axis) ?? []) : [])),
  );
  return reached.length > 0 ? Math.max(...reached) : null;
}

function newestBy(points: Points, until: number, axis: Axis): number | null {
  const { time } = points;
  let last = -1;
  for (const [i, own] of time.view().entries()) {
    if (own <= until + 1e-9 && (last < 0 || own >= time.at(last))) last = i;
  }
  return last < 0 ? null : (xOf(points, axis)[last] as number);
}

/**
 * Returns the value of each line nearest to `x`: NaN or an infinity if it was not finite there, undefined if the line
 * has no points.
 */
export function valuesAt({ curves, marks }: Drawn, x: number): (number | undefined)[] {
  const values: (number | undefined)[] = [];
  for (const { line, ago, x: xs, y } of curves) {
    const k = ago === 0 ? nearest(xs, x) : -1;
    if (k < 0) continue;
    const away = Math.abs((xs[k] as number) - x);
    const mark = marks.find((candidate) => candidate.line === line && Math.abs(candidate.x - x) < away);
    values[line] = mark ? mark.y : y[k];
  }
  return values;
}

/** Returns the values at the point nearest to `x`; null if there is none. */
export function readingAt({ curves }: Drawn, x: number): Reading | null {
  const own = curves.filter(({ ago }) => ago === 0);
  const first = own.find((curve) => curve.x.length > 0);
  if (!first) return null;
  const i = nearest(first.x, x);
  const at = first.x[i] as number;
  // The values of this run are from one step. Earlier runs may have ended before it.
  const ofEarlier = curves.filter(
    ({ ago, x: [from = at + 1], x: xs }) => ago > 0 && from <= at && at <= (xs.at(-1) ?? 0),
  );
  const values: Reading["values"] = [];
  for (const { line, ago, x: xs, y, band } of [...own, ...ofEarlier.reverse()]) {
    const k = nearest(xs, at);
    if (k < 0 || (ago === 0 && xs[k] !== at)) continue;
    const [low, high] = [band?.low[k] ?? (y[k] as number), band?.high[k] ?? (y[k] as number)];
    const same = values.find((other) => other.ago === ago && (ago > 0 || own.length > MOST_READ));
    if (same) Object.assign(same, { low: Math.min(same.low, low), high: Math.max(same.high, high) });
    else values.push({ line, ago, low, high });
  }
  return { x: at, time: own.length === 1 ? (first.time[i] as number) : null, values };
}

/** Returns the index of the first number that is not below `x`; `length` if there is none. */
function lowerBound(xs: ArrayLike<number>, x: number, length = xs.length): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] as number) < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

function nearest(xs: readonly number[], x: number): number {
  const low = Math.max(0, lowerBound(xs, x, xs.length - 1));
  if (xs.length === 0) return -1;
  return low > 0 && x - (xs[low - 1] as number) < (xs[low] as number) - x ? low - 1 : low;
}
