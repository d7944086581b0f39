/**
 * Values that are one number in each lane of a `vmap`, such as the loss of a vmapped training.
 * `session/run/lane_numbers.py` is its twin; both are tested on `tests/overview_cases.json`.
 */
import type { WatchMessage } from "../transport/wire";
import { Band } from "./band";
import type { Series } from "./series";
import type { Watched, WatchSite, WatchTable } from "./watched";

/** The statistics that count elements that are not finite. */
const COUNTS = ["nan", "posinf", "neginf"] as const;

/** Returns the number of lanes if each has one number; 0 if there are no lanes, or if a lane has an array. */
export function laneCount({ shape, vmapped }: Pick<WatchMessage, "shape" | "vmapped">): number {
  if (vmapped.length === 0 || vmapped.length !== shape.length) return 0;
  return vmapped.reduce((all, n) => all * n, 1);
}

/** Returns the series of the mean over the lanes, with the range of the lanes. */
export function laneSeries(watched: Watched, { id, values }: WatchSite): Series | undefined {
  const at = (name: string) => (table: WatchTable, row: number) => table.at(row, name) ?? Number.NaN;
  const [mean, least, greatest] = [at("mean"), at("min"), at("max")];
  const span = (table: WatchTable, row: number) => [least(table, row), greatest(table, row)] as const;
  return watched.derived(`lanes ${id}`, id, values.indexOf("mean"), mean, span);
}

/** The number of lanes, and the number of lanes that are not finite. */
export interface Lanes {
  count: number;
  bad: number;
}

/** Returns the lanes of the newest row. */
export function lanesOf(table: WatchTable): Lanes {
  const row = table.length - 1;
  const intended = table.intendedAt(row);
  const bad = COUNTS.filter((name) => !intended.includes(name)).reduce(
    (all, name) => all + (table.at(row, name) ?? 0),
    0,
  );
  return { count: table.sizeAt(row), bad };
}

/** Returns the first and the last mean over lanes that each printed a number. */
export function laneCourse({ traces, marks }: Series): { first: number; last: number; lanes: Lanes } {
  const places = [marks.x, ...traces.map(({ x }) => x)].flatMap((x) => (x.length > 0 ? [x.at(0), x.at(-1)] : []));
  const meanAt = (place: number) => {
    const found = traces.flatMap((trace) => {
      const i = trace.x.find(place);
      return i < 0 ? [] : [{ y: trace.y.at(i), count: trace instanceof Band ? trace.countAt(i) : 1 }];
    });
    const finite = found.reduce((all, { count }) => all + count, 0);
    const bad = marks.x.view().filter((x) => x === place).length;
    return {
      mean: found.reduce((all, { y, count }) => all + y * count, 0) / finite,
      lanes: { count: finite + bad, bad },
    };
  };
  const [first, last] = [meanAt(Math.min(...places)), meanAt(Math.max(...places))];
  return { first: first.mean, last: last.mean, lanes: last.lanes };
}

/** Returns `mean of 8 lanes`, with the number of lanes that are not finite. */
export function meanWords({ count, bad }: Lanes): string {
  return `mean of ${count} lanes${bad > 0 ? `, ${bad} not finite` : ""}`;
}

/** Names what a chart of lanes draws. */
export function rangeWords({ count }: Lanes): string {
  return `mean and range of ${count} lanes`;
}
