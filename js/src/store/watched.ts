/**
 * The statistics of the watched values: a table for each watched site, a row for each time that its value was computed.
 *
 * They are many, and are looked up by moment far more often than they are plotted, so they are kept here and not as
 * series; `plotted` makes those of the statistics that somebody plots.
 *
 * It has more than 300 lines because writing, looking up and plotting share the layout of the table.
 */
import type {
  Batch,
  DerivativeMessage,
  EventColumns,
  FirstNonFiniteMessage,
  SiteMessage,
  WatchMessage,
} from "../transport/wire";
import type { Span } from "./band";
import { Growable } from "./growable";
import { Series } from "./series";
import type { Sites } from "./sites";
import { before, LoopsOf } from "./steps";

/** Of all tables together; beyond them the older half of a table is thinned. */
const MOST_ROWS = 1_000_000;
const LEAST_ROWS = 1024;
const FIRST_ROWS = 16;
const MOST_LANES = 4096;
const MOST_LOOKED = 1024;

/** Columns beside the statistics; -1 where a kernel tells nothing. */
const ABOUT = ["time", "occurrence", "lane", "call", "execution", "step", "inner", "device", "type"] as const;
const EVENT = "event";
/** What statistics are called that count what is not finite: `nan`, `posinf`, `neginf`. */
const COUNTS_BAD = /(nan|inf)$/;
/** The only statistic of a number. Of an array that was taken, the last: the array, which is no number. */
export const ITSELF = "value";
/** A table of each lane's statistics, which is asked for when somebody looks. */
export const LANES = "lanes";
/** The first lane that is not finite: no statistic to plot. */
const BAD_LANE = "bad lane";

export type WatchSite = SiteMessage & { watch: WatchMessage };

/** Up to which event the run is looked at, null for the newest, and which call, null for all. */
export interface Look {
  moment: number | null;
  call: number | null;
  /** The call of that event if it is in a loop, the loop's position, and whether the step that is looked at is its last. */
  during?: number;
  loop?: readonly number[];
  isLast?: boolean;
}

export function isWatched(site: SiteMessage): site is WatchSite {
  return site.watch !== null;
}

/** The line whose derivative computes a gradient; undefined for a value, and where several do. */
export function guilty({ watch }: WatchSite): DerivativeMessage | undefined {
  return watch.derivatives.length === 1 ? watch.derivatives[0] : undefined;
}

/** What the inspector calls a lane, `3` or `3, 0`; "" where none is known. A kernel of before tells none. */
export function laneName(lane: readonly number[] | undefined): string {
  return lane?.join(", ") ?? "";
}

/** `lane 3`, of nested `vmap`s `lane (1, 2)`; "" where none is known. `events/amounts.py` says the same. */
export function laneWords(lane: readonly number[] | undefined): string {
  if (!lane?.length) return "";
  return lane.length === 1 ? `lane ${lane[0]}` : `lane (${lane.join(", ")})`;
}

/** Where to look for what makes the run's first NaN; a kernel of before tells none. */
export function firstPlace(
  first: FirstNonFiniteMessage,
  site: WatchSite,
): { file: string; line: number; index: number } {
  return first.line ? { file: first.file, line: first.line, index: 0 } : guiltyPlace(site);
}

/** Where to look for what makes a value NaN or infinite. */
export function guiltyPlace(site: WatchSite): { file: string; line: number; index: number } {
  const { file, line } = guilty(site) ?? site;
  return { file, line, index: 0 };
}

/** Whether the program computes what is at one position before the loop at the other; false where that is not known. */
function isBefore(position: readonly number[], loop: readonly number[]): boolean {
  const apart = position.findIndex((number, depth) => number !== loop[depth]);
  return apart >= 0 && (position[apart] as number) < (loop[apart] ?? -1);
}

export class WatchTable {
  /** Rows, also those that were thinned out. */
  total = 0;
  /** What can be plotted. */
  readonly statistics: readonly string[];
  private readonly columns = new Map<string, Growable<Float64Array>>();
  /** The events that were not finite. */
  private readonly bad = new Growable<Uint32Array>(Uint32Array, FIRST_ROWS);

  constructor(
    private readonly values: readonly string[],
    /** The site as it was compiled for one of its types. */
    private readonly siteOf: (type: number) => SiteMessage | undefined = () => undefined,
  ) {
    const told = values.filter((name, i) => (name !== ITSELF && name !== LANES) || i === 0);
    this.statistics = told.filter((name) => name !== BAD_LANE && !name.startsWith("hist "));
    for (const name of [EVENT, ...ABOUT, ...told]) this.columns.set(name, new Growable(Float64Array, FIRST_ROWS));
  }

  get length(): number {
    return this.columns.get(EVENT)?.length ?? 0;
  }

  get isScalar(): boolean {
    return this.values.length === 1 && this.values[0] === ITSELF;
  }

  /** A statistic, `event`, or one of the columns that tell of the execution; `undefined` where there is none such. */
  at(row: number, column: string): number | undefined {
    return this.columns.get(column)?.at(row);
  }

  event(row: number): number {
    return this.at(row, EVENT) as number;
  }

  has(column: string): boolean {
    return this.columns.has(column);
  }

  /** The site as it was compiled for row `row`. */
  siteAt(row: number): SiteMessage | undefined {
    return this.siteOf(this.at(row, "type") as number);
  }

  /** The infinities that the source puts there. */
  meantAt(row: number): readonly string[] {
    return this.siteAt(row)?.watch?.meant ?? [];
  }

  /** How many elements it had. */
  sizeAt(row: number): number {
    return (this.siteAt(row)?.watch?.shape ?? []).reduce((all, n) => all * n, 1);
  }

  isBad(row: number): boolean {
    return this.anyBad(row, row);
  }

  /** Whether one of the rows `from` to `to` was not finite. */
  anyBad(from: number, to: number): boolean {
    return this.bad.lowerBound(this.event(from)) < this.bad.lowerBound(this.event(to) + 1);
  }

  push({ events, first }: Batch, row: number): number {
    for (const [name, column] of this.columns) column.push(name === EVENT ? first + row : Number.NaN);
    for (const name of ABOUT) this.columns.get(name)?.set(this.length - 1, events[name][row] ?? -1);
    this.total++;
    return this.length - 1;
  }

  /** Whether it tells that the value was not finite. */
  set(row: number, value: number, y: number): boolean {
    const name = this.values[value] ?? "";
    this.columns.get(name)?.set(row, y);
    const isBad = COUNTS_BAD.test(name)
      ? y > 0 && !this.meantAt(row).includes(name)
      : this.isScalar && this.isOdd(row, y);
    if (isBad && (this.bad.length === 0 || this.bad.at(-1) < this.event(row))) this.bad.push(this.event(row));
    return isBad;
  }

  /** Whether a number is not finite, and not an infinity that is meant. */
  isOdd(row: number, y: number): boolean {
    return !Number.isFinite(y) && !this.meantAt(row).includes(y > 0 ? "posinf" : y < 0 ? "neginf" : "nan");
  }

  /** What a plot of `y` marks: `y` where it is not finite, or what the value had that its statistics leave out. */
  markAt(row: number, y: number): number {
    if (this.isScalar || !this.isBad(row)) return y;
    return this.at(row, "nan")
      ? Number.NaN
      : this.at(row, "posinf")
        ? Number.POSITIVE_INFINITY
        : Number.NEGATIVE_INFINITY;
  }

  /** The executions, as a batch tells them. */
  get executions(): EventColumns {
    return Object.fromEntries(ABOUT.map((name) => [name, this.columns.get(name)?.view()])) as never;
  }

  /** The first row after event `event`. */
  after(event: number): number {
    return this.columns.get(EVENT)?.lowerBound(event + 1) ?? 0;
  }

  /**
   * The newest row at or before the moment, of that call; -1 for none. What is outside of a loop may come after the loop: what
   * the program computes before the loop is there from the first step on, the rest from the last one on. It is never that of
   * the call before.
   */
  rowAt({ moment, call, during, loop = [], isLast = false }: Look): number {
    const next = moment === null ? this.length : this.after(moment);
    let row = next - 1;
    while (call !== null && row >= 0 && this.at(row, "call") !== call) row--;
    const isLate = (at: number) => this.at(at, "call") === during && this.at(at, "step") === -1;
    if (during === undefined || next >= this.length || !isLate(next)) return row;
    if (row >= 0 && this.at(row, "call") === during) return row;
    if (!isLast && !isBefore(this.siteAt(next)?.watch?.position ?? [], loop)) return -1;
    for (row = next; row + 1 < this.length && isLate(row + 1); ) row++;
    return row;
  }

  /** The event that a row's step begins with. */
  begin(row: number): number {
    return this.event(row);
  }

  /** The row of the same step as row `of` of another table; else the newest at or before the moment. */
  rowBeside(other: WatchTable, of: number, look: Look): number {
    const last = this.rowAt(look);
    if (other.at(of, "step") === -1) return last;
    const isSame = (row: number, columns: readonly string[]) =>
      columns.every((name) => this.at(row, name) === other.at(of, name));
    // A gradient comes after its value, and of a loop's iterations that of the last comes first.
    const from = this.after(other.event(of) - 1);
    const end = Math.min(this.length, from + MOST_LOOKED);
    for (let row = from; row < end; row++) if (isSame(row, ["call", "step", "inner"])) return row;
    for (let row = last; row >= 0 && row > last - MOST_LOOKED; row--) if (isSame(row, ["inner"])) return row;
    return last;
  }

  /** The row of row `of`'s iteration before in another table; -1 for none. */
  rowBefore(other: WatchTable, of: number): number {
    const site = other.siteAt(of);
    const told = (name: string) => other.at(of, name) as number;
    const wanted = site && before(site, told("step"), told("inner"));
    if (!wanted) return -1;
    const end = this.after(told(EVENT));
    for (let row = end - 1; row >= 0 && row >= end - MOST_LOOKED; row--) {
      const isIt = this.at(row, "step") === wanted.step && this.at(row, "inner") === wanted.inner;
      if (isIt && this.at(row, "call") === told("call")) return row;
    }
    return -1;
  }

  /** Row `row` first, with those of the other lanes and devices of its execution. */
  together(row: number): number[] {
    const parts = new Set<string>();
    const rows: number[] = [];
    for (let i = row; i >= 0 && rows.length < MOST_LANES; i--) {
      const part = `${this.at(i, "lane")} ${this.at(i, "device")}`;
      if (parts.has(part) || (part === "-1 -1" && i < row)) break;
      parts.add(part);
      rows.push(i);
    }
    return rows;
  }

  /** A statistic of all these lanes or devices, which are of one size; `undefined` where nobody said how that is made. */
  combined(rows: readonly number[], statistic: string): number | undefined {
    const at = (row: number, name: string) => this.at(row, name) as number;
    const [first] = rows as [number];
    if (rows.length === 1 || !this.has(statistic)) return at(first, statistic);
    const size = this.sizeAt(first);
    /** How many elements are finite: a lane without one has no say in their statistics. */
    const count = (row: number) => size - at(row, "nan") - at(row, "posinf") - at(row, "neginf");
    const finite = rows.filter(count);
    const sum = (of: readonly number[], y: (row: number) => number) => of.reduce((all, row) => all + y(row), 0);
    const mean = (y: (row: number) => number) => sum(finite, (row) => y(row) * count(row)) / sum(finite, count);
    const own = (row: number) => at(row, statistic);
    switch (this.siteAt(first)?.watch?.merges[this.values.indexOf(statistic)]) {
      case "min":
        return finite.length > 0 ? Math.min(...finite.map(own)) : Number.NaN;
      case "max":
        return finite.length > 0 ? Math.max(...finite.map(own)) : Number.NaN;
      case "norm":
        return Math.sqrt(sum(rows, (row) => own(row) ** 2));
      case "mean":
        return mean(own);
      case "std": {
        const squares = mean((row) => own(row) ** 2 + at(row, "mean") ** 2);
        return Math.sqrt(Math.max(0, squares - mean((row) => at(row, "mean")) ** 2));
      }
      case "sum":
        return sum(rows, own);
      case "value":
        return sum(rows, own) / rows.length;
      default:
        return undefined;
    }
  }

  /** A statistic over all rows; good until the next change. */
  column(statistic: string): Float64Array {
    return this.columns.get(statistic)?.view() ?? new Float64Array();
  }

  /** Of the older half, every second row goes, unless it was not finite. */
  thin(): void {
    const kept = Array.from({ length: this.length }, (_, i) => i).filter(
      (i) => i >= this.length / 2 || i % 2 === 1 || this.isBad(i),
    );
    for (const column of this.columns.values()) {
      const values = column.view().slice();
      column.replace(kept.map((i) => values[i] as number));
    }
  }
}

export class Watched {
  readonly tables = new Map<number, WatchTable>();
  /** Events that arrived. */
  received = 0;
  /** Events that were not finite. */
  readonly bad = new Growable<Uint32Array>(Uint32Array, FIRST_ROWS);
  private readonly series = new Map<string, { series: Series; last: number }>();

  constructor(
    private readonly sites: Sites,
    private readonly mostRows = MOST_ROWS,
  ) {}

  addSite(site: SiteMessage): void {
    if (isWatched(site) && !this.tables.has(site.id))
      this.tables.set(site.id, new WatchTable(site.values, (type) => this.sites.of(site.id, type)));
  }

  /** Takes the rows from `from` on that are of watched sites, and their points. */
  append(batch: Batch, from: number): void {
    if (this.tables.size === 0) return;
    const { events, points } = batch;
    /** By row of the batch, the row of its table. */
    const rows = new Int32Array(batch.count).fill(-1);
    for (let row = from; row < batch.count; row++) {
      const table = this.tables.get(events.site[row] as number);
      if (!table) continue;
      rows[row] = table.push(batch, row);
      this.received++;
    }
    for (let i = 0; i < points.row.length; i++) {
      const row = points.row[i] as number;
      const at = rows[row] as number;
      if (at < 0) continue;
      const site = events.site[row] as number;
      const isBad = this.tables.get(site)?.set(at, points.value[i] as number, points.y[i] as number);
      const event = batch.first + row;
      if (isBad && (this.bad.length === 0 || this.bad.at(-1) < event)) this.bad.push(event);
    }
    const most = Math.max(LEAST_ROWS, this.mostRows / this.tables.size);
    for (const table of this.tables.values()) {
      for (let before = Number.POSITIVE_INFINITY; table.length > most && table.length < before; ) {
        before = table.length;
        table.thin();
      }
    }
  }

  /** The series of these statistics, each `site/value`. */
  plotted(keys: Iterable<string>): Series[] {
    return [...keys].flatMap((key) => {
      const [site, value] = key.split("/").map(Number) as [number, number];
      const name = this.sites.get(site)?.values[value] ?? "";
      return this.derived(key, site, value, (table, row) => table.at(row, name)) ?? [];
    });
  }

  /**
   * The series of what `y` makes of each row of a site's table, of some rows nothing; kept as `key`, and continued with the
   * rows that are new. `span` is what each is the mean of, where it is one.
   */
  derived(
    key: string,
    site: number,
    value: number,
    y: (table: WatchTable, row: number) => number | undefined,
    span?: (table: WatchTable, row: number) => Span,
  ): Series | undefined {
    const table = this.tables.get(site);
    if (!table) return undefined;
    const kept = this.series.get(key) ?? { series: new Series(site, value), last: -1 };
    this.series.set(key, kept);
    const events = table.executions;
    const loops = new LoopsOf(this.sites);
    for (let row = table.after(kept.last); row < table.length; row++) {
      const made = y(table, row);
      kept.last = table.event(row);
      if (made === undefined) continue;
      kept.series.push(
        { events },
        row,
        0,
        made,
        loops.at(site, events.type[row]),
        table.markAt(row, made),
        span?.(table, row),
      );
    }
    return kept.series;
  }
}
