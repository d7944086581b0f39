/** What a chart draws of a series: few enough points, the lanes on one axis, and where it was not finite. */
import uPlot from "uplot";
import { decimate } from "../../store/decimate";
import type { Line, Series } from "../../store/series";

const MOST_DRAWN = 2000;

export interface Drawn {
  data: uPlot.AlignedData;
  /** By index of `data`; null where there are several lanes. */
  times: number[] | null;
  marks: number[];
  /** Of `data` and marks together. */
  from: number;
  to: number;
}

/** The values under the pointer. */
export interface Reading {
  x: number;
  time: number | null;
  low: number;
  high: number;
}

export function drawnOf(series: Series, logarithmic: boolean): Drawn {
  const lines = [...series.lines.values()];
  const keep = logarithmic ? (y: number) => y > 0 : () => true;
  const kept = lines.map((line) => decimate(line.y.view(), MOST_DRAWN, keep));
  const tables = lines.map((line, i): uPlot.AlignedData => {
    const positions = kept[i] as number[];
    return [positions.map((at) => line.x.at(at)), positions.map((at) => line.y.at(at))];
  });
  const [only] = lines;
  const alone = lines.length === 1 && only !== undefined;
  const marks = lines.flatMap((line) => [...line.marks.view()]);
  return {
    data: alone ? (tables[0] as uPlot.AlignedData) : uPlot.join(tables),
    times: alone ? (kept[0] as number[]).map((at) => only.time.at(at)) : null,
    marks,
    ...extent(lines, marks),
  };
}

function extent(lines: Line[], marks: number[]): { from: number; to: number } {
  const firsts = lines.filter((line) => line.x.length > 0).map((line) => line.x.at(0));
  const lasts = lines.filter((line) => line.x.length > 0).map((line) => line.x.at(-1));
  const from = Math.min(...firsts, ...marks);
  const to = Math.max(...lasts, ...marks);
  return to > from ? { from, to } : { from: from - 1, to: from + 1 };
}

export function readingAt({ data, times }: Drawn, index: number): Reading | null {
  const [xs, ...columns] = data;
  const values = columns.map((column) => column[index]).filter((y): y is number => typeof y === "number");
  const x = xs[index];
  if (x === undefined || values.length === 0) return null;
  return { x, time: times?.[index] ?? null, low: Math.min(...values), high: Math.max(...values) };
}
