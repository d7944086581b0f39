/** The steps of a run that watches nothing. They come from the print that fired most often. */
import type { Clock } from "./clock";
import { FilteredStream } from "./filter";
import { Query } from "./query";
import type { RunStore } from "./run";
import type { Positions } from "./stream";
import type { Look } from "./watched";

/**
 * Another print replaces the current one only if it fired this many times as often. Otherwise the steps would change
 * while a run goes on.
 */
const MORE_OFTEN = 2;

type Column = "call" | "step" | "inner";

class PrintSteps implements Clock {
  private readonly stream: FilteredStream;
  private positions: Positions;

  constructor(
    private readonly run: RunStore,
    readonly site: number,
    /** Whether the site has lanes; then only the first lane counts. */
    isOfLanes: boolean,
  ) {
    this.stream = new FilteredStream(run, run.whole, [new Query(isOfLanes ? "lane:0" : "")], {
      site,
      call: null,
      noGaps: true,
    });
    this.positions = this.stream.update();
  }

  update(): this {
    this.positions = this.stream.update();
    return this;
  }

  get length(): number {
    return this.positions.length;
  }

  /** Returns the last of the consecutive events of the row's step. */
  event(row: number): number {
    const { log } = this.run;
    const first = this.positions.at(row);
    const isKnown = log.call(first) >= 0 || log.step(first) >= 0;
    const next = row + 1 < this.length ? this.positions.at(row + 1) : log.length;
    let last = first;
    while (isKnown && last + 1 < next && this.isSameStep(last + 1, first)) last++;
    return log.number(last);
  }

  /**
   * Whether an event belongs to the step of `first`. An event outside the inner loop belongs to all iterations of that
   * loop.
   */
  private isSameStep(position: number, first: number): boolean {
    const { log } = this.run;
    const isSame = (column: Column) => log[column](position) === log[column](first);
    const isOutside = log.inner(position) < 0;
    return log.gapCount(position) === 0 && isSame("call") && isSame("step") && (isOutside || isSame("inner"));
  }

  begin(row: number): number {
    return row > 0 ? this.event(row - 1) + 1 : 0;
  }

  rowAt({ moment, call }: Look): number {
    const { log } = this.run;
    let row = (moment === null ? this.length : this.positions.lowerBound(log.lowerBound(moment + 1))) - 1;
    while (call !== null && row >= 0 && this.at(row, "call") !== call) row--;
    return row;
  }

  at(row: number, column: string): number | undefined {
    const position = this.positions.at(row);
    return this.run.log[column as Column]?.(position);
  }

  siteAt(row: number) {
    return this.run.siteAt(this.positions.at(row));
  }
}

const cache = new WeakMap<RunStore, PrintSteps>();

export function printSteps(run: RunStore): Clock | undefined {
  const current = cache.get(run);
  const site = mostOften(run, current?.site ?? -1);
  if (site === undefined) return undefined;
  const steps = current?.site === site ? current : new PrintSteps(run, site, run.lanes.has(site));
  cache.set(run, steps);
  return steps.update();
}

/** Chooses the print that fired most often. Prints with lanes are chosen only if there are no others. */
function mostOften(run: RunStore, current: number): number | undefined {
  const all = run.streamSites.filter(({ id, kind }) => kind !== "breakpoint" && (run.fired.get(id) ?? 0) > 0);
  const withoutLanes = all.filter(({ id }) => !run.lanes.has(id));
  const sites = withoutLanes.length > 0 ? withoutLanes : all;
  const weight = (id: number) => (run.fired.get(id) ?? 0) * (id === current ? MORE_OFTEN : 1);
  return sites.reduce<number | undefined>(
    (most, { id }) => (most !== undefined && weight(most) >= weight(id) ? most : id),
    undefined,
  );
}
