/** The values of a series at the shown moment, as the heading of its chart shows them. */
import type { Band } from "../../store/band";
import type { Line, Series } from "../../store/series";
import type { Axis } from "../../store/ui";

/**
 * The range of the lines' values, equal for a single line. For many lanes, only the mean, which is what the chart
 * draws.
 */
export interface Readout {
  low: number;
  high: number;
}

/**
 * Returns the values at `moment`, in seconds; null for the newest. In a loop that runs in reverse, the newest point is
 * not the last one on the x axis. Returns null if there is no value yet.
 */
export function readoutOf(series: Series, moment: number | null, axis: Axis): Readout | null {
  const { traces, marks, last, newest } = series;
  const [only] = traces;
  if (moment === null && traces.length === 1 && only && series.strands < 2) {
    const y = axis === "step" ? last : newest;
    return { low: y, high: y };
  }
  const found = traces.map((trace) => pointAt(trace, moment)).filter((point) => point !== null);
  const since = Math.max(Number.NEGATIVE_INFINITY, ...found.map(({ time }) => time));
  const mark = markAt(marks, moment);
  if (mark && (found.length === 0 || mark.time >= since)) return { low: mark.y, high: mark.y };
  const values = found.map(({ y }) => y);
  if (values.length === 0) return null;
  return { low: Math.min(...values), high: Math.max(...values) };
}

function pointAt({ time, y }: Line | Band, moment: number | null): { time: number; y: number } | null {
  let found = -1;
  const times = time.view();
  for (let i = 0; i < times.length; i++) {
    const at = times[i] as number;
    if ((moment === null || at <= moment + 1e-9) && (found < 0 || at >= (times[found] as number))) found = i;
  }
  return found < 0 ? null : { time: times[found] as number, y: y.at(found) };
}

function markAt({ time, y }: Series["marks"], moment: number | null): { time: number; y: number } | null {
  for (let i = time.length - 1; i >= 0; i--) {
    if (moment === null || time.at(i) <= moment + 1e-9) return { time: time.at(i), y: y.at(i) };
  }
  return null;
}
