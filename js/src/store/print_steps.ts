/** The steps of a run that watches nothing, as the print tells them that came most often. */
import type { Clock } from "./clock";
import { FilteredStream } from "./filter";
import { Query } from "./query";
import type { RunStore } from "./run";
import type { Positions } from "./stream";
import type { Look } from "./watched";

/** Another print tells the steps only once it came so many times as often: else they would change while a run goes on. */
const MORE_OFTEN = 2;

type Column = "call" | "step" | "inner";

class PrintSteps implements Clock {
  private readonly stream: FilteredStream;
  private positions: Positions;

  constructor(
    private readonly run: RunStore,
    readonly site: number,
    /** Of a vmap, the first lane. */
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

  /** The last of those that came one after the other in that step. */
  event(row: number): number {
    const { log } = this.run;
    const first = this.positions.at(row);
    const isKnown = log.call(first) >= 0 || log.step(first) >= 0;
    const next = row + 1 < this.length ? this.positions.at(row + 1) : log.length;
    let last = first;
    while (isKnown && last + 1 < next && this.isSameStep(last + 1, first)) last++;
    return log.number(last);
  }

  /** Whether an event is of the step of `first`; what stands outside the inner loop is of all its iterations. */
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

const known = new WeakMap<RunStore, PrintSteps>();

export function printSteps(run: RunStore): Clock | undefined {
  const now = known.get(run);
  const site = mostOften(run, now?.site ?? -1);
  if (site === undefined) return undefined;
  const steps = now?.site === site ? now : new PrintSteps(run, site, run.lanes.has(site));
  known.set(run, steps);
  return steps.update();
}

/** The print that tells the steps: the one that came most often, and one without lanes if there is any. */
function mostOften(run: RunStore, now: number): number | undefined {
  const all = run.streamSites.filter(({ id, kind }) => kind !== "breakpoint" && (run.fired.get(id) ?? 0) > 0);
  const alone = all.filter(({ id }) => !run.lanes.has(id));
  const sites = alone.length > 0 ? alone : all;
  const often = (id: number) => (run.fired.get(id) ?? 0) * (id === now ? MORE_OFTEN : 1);
  return sites.reduce<number | undefined>(
    (most, { id }) => (most !== undefined && often(most) >= often(id) ? most : id),
    undefined,
  );
}
