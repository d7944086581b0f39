/**
 * The statistics of the watched values: a table for each watched site, with a row for each time that its value was
 * computed.
 *
 * They are looked up by moment far more often than they are plotted, so they are kept as tables, not as series.
 * `plotted` makes a series when somebody plots a statistic.
 *
 * This file has more than 300 lines because writing, looking up and plotting share the layout of the table.
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

/** The most rows of all tables together. If there are more, the older half of a table is thinned out. */
const MOST_ROWS = 1_000_000;
const LEAST_ROWS = 1024;
const FIRST_ROWS = 16;
const MOST_LANES = 4096;
const MOST_SEARCHED = 1024;

/** The columns besides the statistics; -1 means that the kernel sent no value. */
const EXECUTION_COLUMNS = [
  "time",
  "occurrence",
  "lane",
  "call",
  "execution",
  "step",
  "inner",
  "device",
  "type",
] as const;
const EVENT = "event";
/** Matches the statistics that count values that are not finite: `nan`, `posinf`, `neginf`. */
const COUNTS_BAD = /(nan|inf)$/;
/**
 * The only statistic of a scalar. For an array that is kept, the last statistic: the array itself, which cannot be
 * plotted.
 */
export const SCALAR = "value";
/** The statistics of each lane, which are requested only when they are shown. */
export const LANES = "lanes";
/** The first lane that is not finite. It cannot be plotted. */
const BAD_LANE = "bad lane";

export type WatchSite = SiteMessage & { watch: WatchMessage };

/** Which part of the run is shown: events up to `moment` (null: all), and the events of `call` (null: all calls). */
export interface Look {
  moment: number | null;
  call: number | null;
  /**
   * The call of the moment's event if it is in a loop, the position of that loop, and whether its last step is shown.
   */
  during?: number;
  loop?: readonly number[];
  isLast?: boolean;
}

export function isWatched(site: SiteMessage): site is WatchSite {
  return site.watch !== null;
}

/**
 * Returns the line with the derivative that computes a gradient. Returns undefined for a value, and if there are
 * several lines.
 */
export function derivativeOf({ watch }: WatchSite): DerivativeMessage | undefined {
  return watch.derivatives.length === 1 ? watch.derivatives[0] : undefined;
}

/** Returns a lane as the inspector writes it, `3` or `3, 0`; "" if it is not known. Older kernels send none. */
export function laneName(lane: readonly number[] | undefined): string {
  return lane?.join(", ") ?? "";
}

/** Returns `lane 3`, or `lane (1, 2)` for nested `vmap`s; "" if it is not known. `events/amounts.py` is its twin. */
export function laneWords(lane: readonly number[] | undefined): string {
  if (!lane?.length) return "";
  return lane.length === 1 ? `lane ${lane[0]}` : `lane (${lane.join(", ")})`;
}

/** Returns the line that makes the run's first NaN. Older kernels do not send it. */
export function firstPlace(
  first: FirstNonFiniteMessage,
  site: WatchSite,
): { file: string; line: number; index: number } {
  return first.line ? { file: first.file, line: first.line, index: 0 } : causeOf(site);
}

/** Returns the line that makes a value NaN or infinite. */
export function causeOf(site: WatchSite): { file: string; line: number; index: number } {
  const { file, line } = derivativeOf(site) ?? site;
  return { file, line, index: 0 };
}

/** Whether the equation at `position` runs before the loop at `loop`; false if that is not known. */
function isBefore(position: readonly number[], loop: readonly number[]): boolean {
  const depthOfDifference = position.findIndex((number, depth) => number !== loop[depth]);
  return depthOfDifference >= 0 && (position[depthOfDifference] as number) < (loop[depthOfDifference] ?? -1);
}

export class WatchTable {
  /** The number of rows, including those that were thinned out. */
  total = 0;
  /** The statistics that can be plotted. */
  readonly statistics: readonly string[];
  private readonly columns = new Map<string, Growable<Float64Array>>();
  /** The numbers of the events that were not finite. */
  private readonly bad = new Growable<Uint32Array>(Uint32Array, FIRST_ROWS);

  constructor(
    private readonly values: readonly string[],
    /** Returns the site as it was compiled for one of its types. */
    private readonly siteOf: (type: number) => SiteMessage | undefined = () => undefined,
  ) {
    const columns = values.filter((name, i) => (name !== SCALAR && name !== LANES) || i === 0);
    this.statistics = columns.filter((name) => name !== BAD_LANE && !name.startsWith("hist "));
    for (const name of [EVENT, ...EXECUTION_COLUMNS, ...columns])
      this.columns.set(name, new Growable(Float64Array, FIRST_ROWS));
  }

  get length(): number {
    return this.columns.get(EVENT)?.length ?? 0;
  }

  get isScalar(): boolean {
    return this.values.length === 1 && this.values[0] === SCALAR;
  }

  /** Returns a statistic, the event number, or a column about the execution; undefined if there is no such column. */
  at(row: number, column: string): number | undefined {
    return this.columns.get(column)?.at(row);
  }

  event(row: number): number {
    return this.at(row, EVENT) as number;
  }

  has(column: string): boolean {
    return this.columns.has(column);
  }

  /** Returns the site as it was compiled for this row. */
  siteAt(row: number): SiteMessage | undefined {
    return this.siteOf(this.at(row, "type") as number);
  }

  /** Returns the infinities that the source puts there on purpose, such as those of a mask. */
  intendedAt(row: number): readonly string[] {
    return this.siteAt(row)?.watch?.intended ?? [];
  }

  /** Returns the number of elements of the value. */
  sizeAt(row: number): number {
    return (this.siteAt(row)?.watch?.shape ?? []).reduce((all, n) => all * n, 1);
  }

  isBad(row: number): boolean {
    return this.anyBad(row, row);
  }

  /** Whether at least one of the rows `from .. to` was not finite. */
  anyBad(from: number, to: number): boolean {
    return this.bad.lowerBound(this.event(from)) < this.bad.lowerBound(this.event(to) + 1);
  }

  push({ events, first }: Batch, row: number): number {
    for (const [name, column] of this.columns) column.push(name === EVENT ? first + row : Number.NaN);
    for (const name of EXECUTION_COLUMNS) this.columns.get(name)?.set(this.length - 1, events[name][row] ?? -1);
    this.total++;
    return this.length - 1;
  }

  /** Sets a statistic of a row. Returns whether it shows that the value was not finite. */
  set(row: number, value: number, y: number): boolean {
    const name = this.values[value] ?? "";
    this.columns.get(name)?.set(row, y);
    const isBad = COUNTS_BAD.test(name)
      ? y > 0 && !this.intendedAt(row).includes(name)
      : this.isScalar && this.isUnintended(row, y);
    if (isBad && (this.bad.length === 0 || this.bad.at(-1) < this.event(row))) this.bad.push(this.event(row));
    return isBad;
  }

  /** Whether a number is NaN or infinite, except for an infinity that is intended. */
  isUnintended(row: number, y: number): boolean {
    return !Number.isFinite(y) && !this.intendedAt(row).includes(y > 0 ? "posinf" : y < 0 ? "neginf" : "nan");
  }

  /**
   * Returns the number that a plot of `y` marks: `y` itself, or the NaN or infinity that the statistics of the value
   * leave out.
   */
  markAt(row: number, y: number): number {
    if (this.isScalar || !this.isBad(row)) return y;
    return this.at(row, "nan")
      ? Number.NaN
      : this.at(row, "posinf")
        ? Number.POSITIVE_INFINITY
        : Number.NEGATIVE_INFINITY;
  }

  /** The columns about the executions, as in a batch. */
  get executions(): EventColumns {
    return Object.fromEntries(EXECUTION_COLUMNS.map((name) => [name, this.columns.get(name)?.view()])) as never;
  }

  /** Returns the first row after event `event`. */
  after(event: number): number {
    return this.columns.get(EVENT)?.lowerBound(event + 1) ?? 0;
  }

  /**
   * Returns the newest row at or before the moment, of the given call; -1 if there is none. A value outside the loop
   * may be recorded after the loop. A value that the program computes before the loop is returned from the first step
   * on, any other only at the last step. A row of the previous call is never returned for it.
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

  /** Returns the first event of the row's step. */
  begin(row: number): number {
    return this.event(row);
  }

  /**
   * Returns the row with the same step as row `otherRow` of table `other`. If there is none, returns the newest row at or
   * before the moment.
   */
  rowBeside(other: WatchTable, otherRow: number, look: Look): number {
    const last = this.rowAt(look);
    if (other.at(otherRow, "step") === -1) return last;
    const isSame = (row: number, columns: readonly string[]) =>
      columns.every((name) => this.at(row, name) === other.at(otherRow, name));
    // A gradient comes after its value, and the gradient of the last iteration comes first.
    const from = this.after(other.event(otherRow) - 1);
    const end = Math.min(this.length, from + MOST_SEARCHED);
    for (let row = from; row < end; row++) if (isSame(row, ["call", "step", "inner"])) return row;
    for (let row = last; row >= 0 && row > last - MOST_SEARCHED; row--) if (isSame(row, ["inner"])) return row;
    return last;
  }

  /** Returns the row of the iteration before that of row `otherRow` of table `other`; -1 if there is none. */
  rowBefore(other: WatchTable, otherRow: number): number {
    const site = other.siteAt(otherRow);
    const otherAt = (name: string) => other.at(otherRow, name) as number;
    const wanted = site && before(site, otherAt("step"), otherAt("inner"));
    if (!wanted) return -1;
    const end = this.after(otherAt(EVENT));
    for (let row = end - 1; row >= 0 && row >= end - MOST_SEARCHED; row--) {
      const isIt = this.at(row, "step") === wanted.step && this.at(row, "inner") === wanted.inner;
      if (isIt && this.at(row, "call") === otherAt("call")) return row;
    }
    return -1;
  }

  /** Returns `row`, then the rows of the other lanes and devices of its execution. */
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

  /** Merges a statistic of several lanes or devices of equal size; undefined if it is not known how. */
  combined(rows: readonly number[], statistic: string): number | undefined {
    const at = (row: number, name: string) => this.at(row, name) as number;
    const [first] = rows as [number];
    if (rows.length === 1 || !this.has(statistic)) return at(first, statistic);
    const size = this.sizeAt(first);
    /** Counts the finite elements. A lane without any does not count in the merged statistics. */
    const count = (row: number) => size - at(row, "nan") - at(row, "posinf") - at(row, "neginf");
    const finite = rows.filter(count);
    const sum = (some: readonly number[], y: (row: number) => number) => some.reduce((all, row) => all + y(row), 0);
    const mean = (y: (row: number) => number) => sum(finite, (row) => y(row) * count(row)) / sum(finite, count);
    const statisticAt = (row: number) => at(row, statistic);
    switch (this.siteAt(first)?.watch?.merges[this.values.indexOf(statistic)]) {
      case "min":
        return finite.length > 0 ? Math.min(...finite.map(statisticAt)) : Number.NaN;
      case "max":
        return finite.length > 0 ? Math.max(...finite.map(statisticAt)) : Number.NaN;
      case "norm":
        return Math.sqrt(sum(rows, (row) => statisticAt(row) ** 2));
      case "mean":
        return mean(statisticAt);
      case "std": {
        const squares = mean((row) => statisticAt(row) ** 2 + at(row, "mean") ** 2);
        return Math.sqrt(Math.max(0, squares - mean((row) => at(row, "mean")) ** 2));
      }
      case "sum":
        return sum(rows, statisticAt);
      case "value":
        return sum(rows, statisticAt) / rows.length;
      default:
        return undefined;
    }
  }

  /** Returns a statistic over all rows, as a view that is valid until the next change. */
  column(statistic: string): Float64Array {
    return this.columns.get(statistic)?.view() ?? new Float64Array();
  }

  /** Removes every second row of the older half, except for rows that were not finite. */
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
  /** The number of events that arrived. */
  received = 0;
  /** The numbers of the events that were not finite. */
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

  /** Adds the rows of watched sites from `from` on, with their points. */
  append(batch: Batch, from: number): void {
    if (this.tables.size === 0) return;
    const { events, points } = batch;
    /** For each row of the batch, its row in the table of its site; -1 if the site is not watched. */
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

  /** Returns the series of these statistics; each key is `site/value`. */
  plotted(keys: Iterable<string>): Series[] {
    return [...keys].flatMap((key) => {
      const [site, value] = key.split("/").map(Number) as [number, number];
      const name = this.sites.get(site)?.values[value] ?? "";
      return this.derived(key, site, value, (table, row) => table.at(row, name)) ?? [];
    });
  }

  /**
   * Returns the series of `y` over the rows of a site's table. Rows for which `y` is undefined are left out. The series
   * is cached as `key` and extended with new rows. If `y` is a mean, `span` returns its range.
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
