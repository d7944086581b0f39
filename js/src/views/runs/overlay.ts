/** Converts lines of several runs into what a chart draws. */
import type { SentChart } from "../../store/rows";
import type { Curve, Drawn, Mark, Range } from "../plots/drawn";

export interface Odd {
  group: number;
  /** The position on the x axis from which on it is not finite. */
  from: number;
  words: string;
}

/** Returns finite values as curves, the others as marks. */
export function drawnOf({ lines }: SentChart, byTime: boolean, zoom: Range | null): Drawn {
  const curves: Curve[] = [];
  const marks: Mark[] = [];
  for (const { group, x, seconds, y, low, high } of lines) {
    const axis = (byTime ? seconds : x).map(Number);
    const values = y.map(Number);
    const kept = values.flatMap((value, i) => (Number.isFinite(value) ? [i] : []));
    values.forEach((value, i) => {
      if (!Number.isFinite(value)) marks.push({ line: group, x: axis[i] as number, y: value });
    });
    const at = (column: readonly (number | string)[]) => kept.map((i) => Number(column[i]));
    curves.push({
      line: group,
      ago: 0,
      x: at(axis),
      y: at(values),
      smooth: null,
      // A line has a gap where a value was not finite.
      begins: new Set(kept.flatMap((i, place) => (place > 0 && kept[place - 1] !== i - 1 ? [place] : []))),
      band: low && high ? { low: at(low), high: at(high) } : null,
      time: at(seconds),
    });
  }
  const places = [
    ...curves.flatMap(({ x }) => [x[0] ?? Number.NaN, x.at(-1) ?? Number.NaN]),
    ...marks.map(({ x }) => x),
  ];
  const known = places.filter(Number.isFinite);
  const [from, to] = zoom ?? (known.length > 0 ? [Math.min(...known), Math.max(...known)] : [0, 1]);
  return { curves, marks, from, to: to > from ? to : from + 1, at: null };
}

/** Returns, for each line that becomes NaN or infinite, where it does. */
export function oddOf({ lines }: SentChart): Odd[] {
  return lines.flatMap(({ group, x, y }) => {
    const i = y.findIndex((value) => !Number.isFinite(Number(value)));
    return i < 0 ? [] : [{ group, from: Number(x[i]), words: Number.isNaN(Number(y[i])) ? "NaN" : "infinite" }];
  });
}
