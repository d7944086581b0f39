/**
 * The numbers to plot: one `Series` for each value of a site, with one `Line` for each vmap lane.
 *
 * `x` is the occurrence; of a lane, how often that lane has fired. A long line is thinned to its lows and highs.
 */
import type { Batch } from "../transport/wire";
import { decimate } from "./decimate";
import { Growable } from "./growable";

const MOST_LANES = 16;
const MOST_POINTS = 131_072;
const MOST_MARKS = 4096;

export class Line {
  readonly x = new Growable<Float64Array>(Float64Array, 64);
  readonly time = new Growable<Float64Array>(Float64Array, 64);
  readonly y = new Growable<Float64Array>(Float64Array, 64);
  /** Where it was NaN or infinite. */
  readonly marks = new Growable<Float64Array>(Float64Array, 8);
  readonly markTimes = new Growable<Float64Array>(Float64Array, 8);
  total = 0;
  last = Number.NaN;

  push(x: number, time: number, y: number): void {
    this.total++;
    this.last = y;
    if (!Number.isFinite(y)) {
      if (this.marks.length >= MOST_MARKS) return;
      this.marks.push(x);
      this.markTimes.push(time);
      return;
    }
    this.x.push(x);
    this.time.push(time);
    this.y.push(y);
    if (this.y.length >= MOST_POINTS) this.thin();
  }

  private thin(): void {
    const kept = decimate(this.y.view(), MOST_POINTS / 2);
    for (const column of [this.x, this.time, this.y]) {
      const values = column.view();
      column.replace(kept.map((i) => values[i] as number));
    }
  }
}

export class Series {
  /** By lane; -1 where there are no lanes. */
  readonly lines = new Map<number, Line>();
  /** The lanes are too many: only lane 0 is kept. */
  onlyFirstLane = false;
  total = 0;

  constructor(
    readonly site: number,
    readonly value: number,
  ) {}

  push(lane: number, occurrence: number, time: number, y: number): void {
    this.total++;
    if (lane >= MOST_LANES && !this.onlyFirstLane) this.dropOtherLanes();
    if (lane > 0 && this.onlyFirstLane) return;
    let line = this.lines.get(lane);
    if (!line) {
      line = new Line();
      this.lines.set(lane, line);
    }
    line.push(lane < 0 ? occurrence : line.total, time, y);
  }

  private dropOtherLanes(): void {
    this.onlyFirstLane = true;
    for (const lane of this.lines.keys()) if (lane > 0) this.lines.delete(lane);
  }

  get first(): Line | undefined {
    return this.lines.get(-1) ?? this.lines.get(0) ?? this.lines.values().next().value;
  }
}

export class SeriesSet {
  private readonly byKey = new Map<number, Series>();
  private readonly bySite = new Map<number, Series>();

  /** Takes the points of the rows from `from` on. */
  append(batch: Batch, from: number): void {
    const { points, events } = batch;
    for (let i = 0; i < points.row.length; i++) {
      const row = points.row[i] as number;
      if (row < from) continue;
      const series = this.ensure(events.site[row] as number, points.value[i] as number);
      series.push(
        events.lane[row] as number,
        events.occurrence[row] as number,
        events.time[row] as number,
        points.y[i] as number,
      );
    }
  }

  get size(): number {
    return this.byKey.size;
  }

  /** By site, then by value. */
  all(): Series[] {
    return [...this.byKey.values()].sort((a, b) => a.site - b.site || a.value - b.value);
  }

  /** The first of a site. */
  ofSite(site: number): Series | undefined {
    return this.bySite.get(site);
  }

  has(site: number): boolean {
    return this.bySite.has(site);
  }

  private ensure(site: number, value: number): Series {
    const key = site * 0x1_0000 + value;
    let series = this.byKey.get(key);
    if (!series) {
      series = new Series(site, value);
      this.byKey.set(key, series);
      if (!this.bySite.has(site)) this.bySite.set(site, series);
    }
    return series;
  }
}
