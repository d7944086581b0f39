/** What a chart draws: few enough points of each line, and where values were not finite. */
import { decimate } from "../../store/decimate";
import type { Line, Series } from "../../store/series";
import { bandOf } from "./band";

const MOST_DRAWN = 2000;
/** So many lanes are drawn each by itself; more as a band with their median. */
const MOST_LANES_DRAWN = 3;

export type Range = readonly [number, number];

/** How the series are looked at. */
export interface Look {
  logarithmic: boolean;
  /** Against seconds since the run started instead of occurrences. */
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
  x: number[];
  /** As it was. */
  y: number[];
  smooth: number[] | null;
  /** Of several lanes the lowest and the highest; `y` is the median. */
  band: { low: number[]; high: number[] } | null;
  /** When each point was, in seconds; null where lanes share it. */
  time: number[] | null;
}

export interface Drawn {
  curves: Curve[];
  marks: number[];
  /** Of curves and marks together, or what was zoomed to. */
  from: number;
  to: number;
  /** Where on the axis the moment is. */
  at: number | null;
}

/** The values under the pointer. */
export interface Reading {
  x: number;
  time: number | null;
  low: number;
  high: number;
}

export function drawnOf(all: readonly Series[], look: Look): Drawn {
  const curves: Curve[] = [];
  const marks: number[] = [];
  for (const series of all) {
    const cuts = [...series.lines.values()].map((line) => cut(line, look));
    marks.push(...cuts.flatMap((one) => one.marks));
    if (cuts.length > MOST_LANES_DRAWN) curves.push({ line: curves.length, ...bandOf(cuts, MOST_DRAWN / 4) });
    else for (const one of cuts) curves.push({ line: curves.length, ...curveOf(one, look.smoothing) });
  }
  const [from, to] = look.zoom ?? extentOf(curves, marks);
  return {
    curves,
    marks: marks.filter((x) => x >= from && x <= to),
    from,
    to,
    at: look.moment === null || look.byTime ? look.moment : whereAt(all[0]?.first, look.moment),
  };
}

/** How many lines are drawn: what has a colour of its own. */
export function lineCount(all: readonly Series[]): number {
  return all.reduce((sum, { lines }) => sum + (lines.size > MOST_LANES_DRAWN ? 1 : lines.size), 0);
}

/** The part of a line that is looked at, and which of its points are drawn. */
export interface Cut {
  x: Float64Array;
  y: Float64Array;
  time: Float64Array;
  kept: number[];
  marks: number[];
}

function cut(line: Line, { byTime, during, zoom, logarithmic }: Look): Cut {
  const axis = byTime ? line.time : line.x;
  let [start, end] = [0, line.y.length];
  if (during) [start, end] = [line.time.lowerBound(during.from), line.time.lowerBound(during.to)];
  // One point more on each side: the line goes on beyond the edge.
  if (zoom) start = Math.max(start, axis.lowerBound(zoom[0]) - 1);
  if (zoom) end = Math.min(end, axis.lowerBound(zoom[1]) + 1);
  const part = (column: Line["x"]) => column.view().subarray(start, Math.max(start, end));
  const y = part(line.y);
  const keep = logarithmic ? (value: number) => value > 0 : () => true;
  const marks = [...(byTime ? line.markTimes : line.marks).view()].filter((_, i) => {
    const time = line.markTimes.at(i);
    return !during || (time >= during.from && time <= during.to);
  });
  return { x: part(axis), y, time: part(line.time), kept: decimate(y, MOST_DRAWN, keep), marks };
}

function curveOf({ x, y, time, kept }: Cut, smoothing: number): Omit<Curve, "line"> {
  const at = (column: Float64Array) => kept.map((i) => column[i] as number);
  return {
    x: at(x),
    y: at(y),
    smooth: smoothing > 0 ? at(smoothed(y, smoothing)) : null,
    band: null,
    time: at(time),
  };
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

function extentOf(curves: Curve[], marks: number[]): Range {
  const ends = curves.flatMap(({ x }) => (x.length > 0 ? [x[0] as number, x.at(-1) as number] : []));
  const from = Math.min(...ends, ...marks);
  const to = Math.max(...ends, ...marks);
  if (from > to) return [0, 1];
  return to > from ? [from, to] : [from - 1, to + 1];
}

/** The last occurrence before `time`. */
function whereAt(line: Line | undefined, time: number): number | null {
  const after = line?.time.lowerBound(time + 1e-9) ?? 0;
  return line && after > 0 ? line.x.at(after - 1) : null;
}

/** Of the points nearest to `x`. */
export function readingAt({ curves }: Drawn, x: number): Reading | null {
  const alone = curves.length === 1;
  const found = curves.flatMap(({ x: xs, y, band, time }): Reading[] => {
    const i = nearest(xs, x);
    if (i < 0) return [];
    const median = y[i] as number;
    const [low, high] = [band?.low[i] ?? median, band?.high[i] ?? median];
    return [{ x: xs[i] as number, time: alone ? (time?.[i] ?? null) : null, low, high }];
  });
  const [first] = found;
  if (!first) return null;
  const same = found.filter((reading) => reading.x === first.x);
  return {
    ...first,
    low: Math.min(...same.map((reading) => reading.low)),
    high: Math.max(...same.map((reading) => reading.high)),
  };
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
