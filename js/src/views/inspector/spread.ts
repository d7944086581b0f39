/** The statistics of each lane of a watched value, see `watch/choosing/lanes.py`. */
import { brief } from "../../kit/format";
import type { ArraySlice } from "../../transport/wire";

/** The statistics of a lane, by name. A single number has only `value`. */
export type Lane = Readonly<Record<string, number>>;

/** The statistics that need at least one finite element. */
const OF_FINITE = new Set(["min", "max", "mean", "std"]);

/** Returns a lane for each row of the slice. The first of `values` are the names of its columns. */
export function lanesOf({ rows, columns, pixels }: ArraySlice, values: readonly string[]): Lane[] {
  const names = columns === 1 ? ["value"] : values.slice(0, columns);
  return Array.from({ length: rows }, (_, row) => {
    const at = (column: number) => pixels[row * columns + column] as number;
    const isEmpty = columns > 1 && at(names.indexOf("min")) > at(names.indexOf("max"));
    return Object.fromEntries(
      names.map((name, column) => [name, isEmpty && OF_FINITE.has(name) ? Number.NaN : at(column)]),
    );
  });
}

/** Returns the names `0`, `1`, …; for nested `vmap`s `0, 0`, `0, 1`, …, where the innermost index changes first. */
export function laneNames(sizes: readonly number[], lanes: number): string[] {
  return Array.from({ length: lanes }, (_, lane) => {
    let rest = lane;
    const index = [...sizes].reverse().map((size) => {
      const at = rest % size;
      rest = Math.floor(rest / size);
      return at;
    });
    return index.reverse().join(", ");
  });
}

/** Returns the SVG paths of the chart. Each lane is one unit wide, and the chart is 1 high. */
export function spreadOf(lanes: readonly Lane[]): { range: string; mean: string; bad: string; words: string } {
  const ends = lanes.map((lane) => [lane.min ?? lane.value, lane.max ?? lane.value] as [number, number]);
  const finite = ends.flat().filter(Number.isFinite);
  const low = Math.min(...finite);
  const high = Math.max(...finite);
  const y = (value: number) => (0.97 - (0.94 * (value - low)) / (high - low || 1)).toFixed(3);
  const paths = { range: "", mean: "", bad: "" };
  lanes.forEach((lane, i) => {
    const [from, to] = ends[i] as [number, number];
    const middle = lane.mean ?? lane.value ?? Number.NaN;
    if (Number.isFinite(from) && Number.isFinite(to)) paths.range += `M${i + 0.5} ${y(from)}V${y(to)}`;
    if (Number.isFinite(middle)) paths.mean += `M${i + 0.25} ${y(middle)}h0.5`;
    if ((lane.nan ?? 0) + (lane.posinf ?? 0) + (lane.neginf ?? 0) > 0 || Number.isNaN(middle)) {
      paths.bad += `M${i + 0.5} 0V1`;
    }
  });
  const bad = paths.bad.split("M").length - 1;
  const range = finite.length ? `from ${brief(low)} to ${brief(high)}` : "nothing finite";
  return { ...paths, words: `${lanes.length} lanes, ${range}${bad ? `, ${bad} not finite` : ""}` };
}

const COUNTS_BAD = ["nan", "posinf", "neginf"];

/**
 * Returns the indices of the lanes, the worst first: by the number of elements that are not finite, then by the
 * greatest magnitude.
 */
export function ranked(lanes: readonly Lane[]): number[] {
  const bad = (lane: Lane) =>
    COUNTS_BAD.reduce((sum, name) => sum + (lane[name] ?? 0), Number(!Number.isFinite(lane.value ?? 0)));
  const size = (lane: Lane) => {
    const ends = [lane.value, lane.min, lane.max].filter((y) => y !== undefined && Number.isFinite(y));
    return Math.max(0, ...ends.map((y) => Math.abs(y as number)));
  };
  const key = lanes.map((lane) => [bad(lane), size(lane)] as const);
  const compare = (a: number, b: number) => {
    const [first, second] = [key[a] as readonly [number, number], key[b] as readonly [number, number]];
    return second[0] - first[0] || second[1] - first[1] || a - b;
  };
  return lanes.map((_, i) => i).sort(compare);
}
