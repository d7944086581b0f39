/** Many lanes as a band from the lowest to the highest, with the median. */
import type { Curve, Cut } from "./drawn";

/** Of at most about `most` stretches of the axis. */
export function bandOf(cuts: readonly Cut[], most: number): Omit<Curve, "line"> {
  const points = cuts.flatMap(({ x, y, kept }) => kept.map((at) => [x[at] as number, y[at] as number] as const));
  // The points are too many to be arguments of `Math.min`.
  const from = points.reduce((low, [x]) => Math.min(low, x), Number.POSITIVE_INFINITY);
  const to = points.reduce((high, [x]) => Math.max(high, x), from);
  const width = Math.max(1e-12, (to - from) / most);
  const isFew = new Set(points.map(([x]) => x)).size <= most;
  const bins = new Map<number, number[]>();
  for (const [x, y] of points) {
    const bin = isFew ? x : from + Math.floor((x - from) / width) * width;
    const values = bins.get(bin);
    if (values) values.push(y);
    else bins.set(bin, [y]);
  }
  const sorted = [...bins].sort(([a], [b]) => a - b);
  for (const [, values] of sorted) values.sort((a, b) => a - b);
  const pick = (of: (values: number[]) => number | undefined) => sorted.map(([, values]) => of(values) as number);
  return {
    x: sorted.map(([x]) => x),
    y: pick((values) => values[values.length >> 1]),
    smooth: null,
    band: { low: pick((values) => values[0]), high: pick((values) => values.at(-1)) },
    time: null,
  };
}
