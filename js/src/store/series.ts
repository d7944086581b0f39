/**
 * The numbers to plot: one `Series` for each value of a site, with one `Line` for each element, device and vmap lane.
 *
 * `x` is the step of the outermost loop, with inner iterations as fractions. It continues from one call to the next.
 * Outside loops, `x` is the number of the execution or, if that is not known, the number of the firing on that device.
 * A long line is reduced to its lows and highs.
 */
import type { Batch } from "../transport/wire";
import { Band, type Span } from "./band";
import { decimate } from "./decimate";
import { Growable } from "./growable";
import type { Sites } from "./sites";
import { type Loops, LoopsOf } from "./steps";

/** The most lines for one element. If an element has more lanes and devices, only their band is kept. */
export const MOST_LINES = 3;
const MOST_POINTS = 131_072;
const MOST_MARKS = 4096;
const MOST_BAD = 65_536;
const LANES = 0x1_0000;

export class Line {
  readonly x = new Growable<Float64Array>(Float64Array, 64);
  readonly time = new Growable<Float64Array>(Float64Array, 64);
  readonly y = new Growable<Float64Array>(Float64Array, 64);
  /** The id of the call of each point; -1 if it is not known. */
  readonly call = new Growable<Float64Array>(Float64Array, 64);
  total = 0;
  /** Whether time rises with `x`. */
  risesInTime = true;
  /** The lowest `x` that was pushed after a greater one. */
  private lowest = Number.POSITIVE_INFINITY;

  push(x: number, time: number, y: number, call: number): void {
    this.total++;
    if (!Number.isFinite(y)) return;
    this.lowest = this.x.length > 0 && x < this.x.at(-1) ? Math.min(this.lowest, x) : this.lowest;
    this.x.push(x);
    this.time.push(time);
    this.y.push(y);
    this.call.push(call);
    if (this.y.length >= MOST_POINTS) this.thin();
  }

  /** Sorts the points by `x`, which does not rise if a loop runs in reverse. */
  settled(): this {
    if (this.lowest === Number.POSITIVE_INFINITY) return this;
    const x = this.x.view().slice();
    const first = x.findIndex((place) => place > this.lowest);
    const order = Array.from(x.subarray(first), (_, i) => first + i).sort(
      (i, k) => (x[i] as number) - (x[k] as number),
    );
    for (const column of [this.x, this.time, this.y, this.call]) {
      const values = column.view().slice();
      for (const [i, from] of order.entries()) column.set(first + i, values[from] as number);
    }
    this.lowest = Number.POSITIVE_INFINITY;
    this.risesInTime = false;
    return this;
  }

  private thin(): void {
    const kept = decimate(this.y.view(), MOST_POINTS / 2);
    for (const column of [this.x, this.time, this.y, this.call]) {
      const values = column.view();
      column.replace(kept.map((i) => values[i] as number));
    }
  }
}

/** One element of a value, with its lanes and devices. */
export class Element {
  /** The line of each lane and device, while there are few. */
  readonly lines = new Map<number, Line>();
  /** The band of all lanes and devices, once there are more than `MOST_LINES`. */
  band: Band | null = null;
  /** The keys of the lanes and devices. */
  readonly strands = new Set<number>();

  push(strand: number, x: number, time: number, y: number, call: number, span?: Span): void {
    if (span) {
      this.strands.add(strand);
      this.band ??= new Band();
      this.band.push(x, time, y, call, span);
      return;
    }
    if (!this.strands.has(strand)) this.begin(strand);
    (this.band ?? this.lines.get(strand))?.push(x, time, y, call);
  }

  /** The lines to draw, or the band. */
  get traces(): (Line | Band)[] {
    return this.band ? [this.band] : [...this.lines.values()].map((line) => line.settled());
  }

  private begin(strand: number): void {
    this.strands.add(strand);
    if (this.strands.size <= MOST_LINES) {
      this.lines.set(strand, new Line());
    } else if (!this.band) {
      this.band = new Band();
      for (const { x, time, y, call } of this.lines.values()) {
        for (let i = 0; i < y.length; i++) this.band.push(x.at(i), time.at(i), y.at(i), call.at(i));
      }
      this.lines.clear();
    }
  }
}

/** The position that a device has reached on the x axis. */
interface Cursor {
  x: number;
  /** The greatest `x` so far. */
  last: number;
  call: number;
  /** The loops around the site, as compiled for this call. */
  loops: Loops;
  /** `turn` rises from iteration to iteration, also in reversed loops. `base` is where the call begins on the axis. */
  turn: number;
  base: number;
  execution: number;
  occurrence: number;
}

/** The points at which a value was not finite. */
export interface Marks {
  readonly x: Growable<Float64Array>;
  readonly time: Growable<Float64Array>;
  readonly y: Growable<Float64Array>;
  readonly call: Growable<Float64Array>;
}

export class Series {
  readonly elements = new Map<number, Element>();
  readonly marks: Marks = {
    x: new Growable(Float64Array, 8),
    time: new Growable(Float64Array, 8),
    y: new Growable(Float64Array, 8),
    call: new Growable(Float64Array, 8),
  };
  private readonly cursors = new Map<number, Cursor>();
  /** Whether the site is vmapped. If not, several strands are devices. */
  hasLanes = false;
  total = 0;
  /** `newest` arrived last, `last` has the greatest `x`. They differ in a loop that runs in reverse. */
  newest = Number.NaN;
  last = Number.NaN;
  private end = Number.NEGATIVE_INFINITY;

  constructor(
    readonly site: number,
    readonly value: number,
  ) {}

  /**
   * Adds a number of one event. `row` is the event's index in `events`. If `mark` is not finite, it is marked in the
   * chart.
   */
  push(
    { events }: Pick<Batch, "events">,
    row: number,
    element: number,
    y: number,
    loops: Loops,
    mark = y,
    span?: Span,
  ): void {
    const device = events.device[row] as number;
    const time = events.time[row] as number;
    const x = this.move(events, row, device, loops);
    const call = events.call[row] ?? -1;
    this.total++;
    this.newest = y;
    if (x >= this.end) [this.end, this.last] = [x, y];
    this.hasLanes ||= (events.lane[row] as number) >= 0;
    let strands = this.elements.get(element);
    if (!strands) {
      strands = new Element();
      this.elements.set(element, strands);
    }
    strands.push((device + 1) * LANES + (events.lane[row] as number) + 1, x, time, y, call, span);
    if (Number.isFinite(mark) || this.marks.x.length >= MOST_MARKS) return;
    this.marks.x.push(x);
    this.marks.time.push(time);
    this.marks.y.push(mark);
    this.marks.call.push(call);
  }

  /** The lines and bands to draw. Each has its own colour. */
  get traces(): (Line | Band)[] {
    return [...this.elements.values()].flatMap(({ traces }) => traces);
  }

  get first(): Line | Band | undefined {
    return this.elements.values().next().value?.traces[0];
  }

  /** The number of lanes and devices of an element. */
  get strands(): number {
    return this.elements.values().next().value?.strands.size ?? 0;
  }

  /** Whether the strands are lanes of one device. */
  get isOfLanes(): boolean {
    return this.hasLanes && this.strands > 1 && this.cursors.size === 1;
  }

  private move(events: Batch["events"], row: number, device: number, loops: Loops): number {
    const [step, occurrence] = [events.step[row] as number, events.occurrence[row] as number];
    const [call, execution] = [events.call[row] as number, events.execution[row] as number];
    let cursor = this.cursors.get(device);
    if (!cursor) {
      cursor = { x: -1, last: -1, call, loops, turn: Number.NEGATIVE_INFINITY, base: 0, execution: -1, occurrence: -1 };
      this.cursors.set(device, cursor);
    }
    if (step >= 0) {
      const inner = events.inner[row] as number;
      const turn = loops.turn(step, inner);
      const later = execution - cursor.execution;
      const begins = call !== cursor.call || turn < cursor.turn || later > 0;
      if (begins && cursor.last >= 0) cursor.base += cursor.loops.stepsOfCall(cursor.last - cursor.base);
      if (later > 1) cursor.base += loops.stepsLeftOut(later - 1);
      cursor.call = call;
      cursor.loops = loops;
      cursor.turn = turn;
      cursor.x = cursor.base + loops.at(step, inner);
    } else if (execution >= 0 && !loops.areAny) {
      cursor.x = execution;
    } else if (device < 0) {
      cursor.x = occurrence;
    } else if (occurrence !== cursor.occurrence) {
      cursor.x++;
    }
    cursor.execution = Math.max(cursor.execution, execution);
    cursor.occurrence = occurrence;
    cursor.last = Math.max(cursor.last, cursor.x);
    return cursor.x;
  }
}

export class SeriesSet {
  private readonly byKey = new Map<number, Series>();
  private readonly bySite = new Map<number, Series>();
  /** The numbers of the events that had a NaN or an infinity. */
  readonly bad = new Growable<Uint32Array>(Uint32Array, 8);

  /** Adds the points of the rows from `from` on. `watched.ts` keeps those of watched values. */
  append(batch: Batch, from: number, sites: Sites): void {
    const { points, events } = batch;
    const loops = new LoopsOf(sites);
    for (let i = 0; i < points.row.length; i++) {
      const row = points.row[i] as number;
      if (row < from) continue;
      const site = events.site[row] as number;
      const info = sites.get(site);
      // A breakpoint fires only where its condition holds, so its values make no curve.
      if (info?.watch || info?.kind === "breakpoint") continue;
      const series = this.ensure(site, points.value[i] as number);
      const [y, event] = [points.y[i] as number, batch.first + row];
      series.push(batch, row, points.element[i] ?? 0, y, loops.at(site, events.type[row]));
      if (Number.isFinite(y) || this.bad.length >= MOST_BAD) continue;
      if (this.bad.length === 0 || this.bad.at(-1) < event) this.bad.push(event);
    }
  }

  get size(): number {
    return this.byKey.size;
  }

  /** All series, sorted by site, then by value. */
  all(): Series[] {
    return [...this.byKey.values()].sort((a, b) => a.site - b.site || a.value - b.value);
  }

  get(site: number, value: number): Series | undefined {
    return this.byKey.get(site * 0x1_0000 + value);
  }

  /** Returns the first series of a site. */
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
