/** Filters the entries of a stream by site, by call and by a query. */
import { Growable } from "./growable";
import type { Query } from "./query";
import type { RunStore } from "./run";
import type { Positions, Stream } from "./stream";

/** The longest time, in milliseconds, to search before the next frame is drawn. */
const BUDGET_MS = 25;
const LOOK_AT_CLOCK_EACH = 2048;

export interface Only {
  site: number | null;
  call: number | null;
  /** Whether to leave gaps out. Otherwise a gap passes, to show that something is missing. */
  noGaps?: true;
  noPhantoms?: boolean;
}

/** The entries of one stream that pass the filter. `update` tests only the entries that are new. */
export class FilteredStream {
  private readonly passed = new Growable<Uint32Array>(Uint32Array);
  private looked = 0;
  private lateSeen = 0;
  private epoch = -1;
  private wantedSites = new Set<number>();
  private readonly wantedCalls = new Map<number, boolean>();
  private readonly passesAll: boolean;
  private readonly hasTerms: boolean;
  private readonly lines: RegExp[];

  constructor(
    private readonly run: RunStore,
    private readonly stream: Stream,
    private readonly queries: Query[],
    private readonly only: Only,
  ) {
    const any = only.site === null && only.call === null && !only.noPhantoms;
    this.passesAll = queries.every((query) => query.isEmpty) && any;
    this.hasTerms = queries.some((query) => query.hasTerms);
    this.lines = queries.map((query) => query.line).filter((line): line is RegExp => line !== null);
  }

  /** Whether the result depends on lines that may not have arrived yet. */
  get wantsLines(): boolean {
    return this.lines.length > 0;
  }

  /**
   * Tests new entries for a limited time and returns those that pass so far. If some are left, the run is drawn again
   * and continues.
   */
  update(): Positions {
    const { run, stream } = this;
    if (this.passesAll) return stream.positions;
    if (this.epoch !== run.epoch) this.restart();
    this.prepare();
    this.lookAtLateLines();
    const { positions } = stream;
    const end = performance.now() + BUDGET_MS;
    while (this.looked < positions.length) {
      const position = positions.at(this.looked++);
      if (this.passes(position)) this.passed.push(position);
      if (this.looked % LOOK_AT_CLOCK_EACH === 0 && performance.now() > end) {
        run.changed();
        break;
      }
    }
    return this.passed;
  }

  private passes(position: number): boolean {
    const { run, only } = this;
    const { log } = run;
    if (log.gapCount(position) > 0) return this.lines.length === 0 && !only.noGaps;
    if (!this.wantedSites.has(log.site(position))) return false;
    if (only.noPhantoms && log.phantom(position)) return false;
    const call = log.call(position);
    if (only.call !== null && call !== only.call) return false;
    if (this.hasTerms && !this.wantsCall(call)) return false;
    if (this.hasTerms && !this.wantsPlace(position)) return false;
    return this.lines.length === 0 || this.matches(run.texts.get(log.number(position)));
  }

  private wantsPlace(position: number): boolean {
    const { log, devices } = this.run;
    const device = devices[log.device(position)] ?? "";
    const [lane, step] = [log.lane(position), log.step(position)];
    return this.queries.every((query) => query.wantsPlace(lane, step, device));
  }

  private matches(text: string | undefined): boolean {
    if (text === undefined) return false;
    for (const line of this.lines) if (!line.test(text)) return false;
    return true;
  }

  private wantsCall(id: number): boolean {
    let wanted = this.wantedCalls.get(id);
    if (wanted === undefined) {
      const call = this.run.calls.get(id);
      wanted = this.queries.every((query) => query.wantsCall(id, call));
      this.wantedCalls.set(id, wanted);
    }
    return wanted;
  }

  /**
   * Finds the wanted sites. A new site arrives before its first event, so the entries that were tested already stay
   * valid.
   */
  private prepare(): void {
    const { run, only, queries } = this;
    this.wantedSites = new Set();
    for (const site of run.sites.values()) {
      if (only.site !== null && only.site !== site.id) continue;
      if (queries.every((query) => query.wantsSite(site))) this.wantedSites.add(site.id);
    }
  }

  private restart(): void {
    this.epoch = this.run.epoch;
    this.lateSeen = this.run.texts.late.length;
    this.passed.length = 0;
    this.looked = 0;
  }

  private lookAtLateLines(): void {
    const { late } = this.run.texts;
    for (; this.lateSeen < late.length; this.lateSeen++) {
      const [first, end] = late[this.lateSeen] as [number, number];
      if (this.lines.length > 0) this.lookAgain(this.run.log.lowerBound(first), this.run.log.lowerBound(end));
    }
  }

  /** Tests the entries from position `start` up to `end` again, as far as they were tested before. */
  private lookAgain(start: number, end: number): void {
    const { positions } = this.stream;
    const looked = this.looked < positions.length ? positions.at(this.looked) : end;
    const found = this.among(start, Math.min(end, looked));
    this.passed.splice(this.passed.lowerBound(start), this.passed.lowerBound(end), found);
  }

  /** Returns the passing entries from position `start` up to `end`. */
  among(start: number, end: number): number[] {
    this.prepare();
    const { positions } = this.stream;
    const stop = positions.lowerBound(end);
    const found: number[] = [];
    for (let i = positions.lowerBound(start); i < stop; i++) {
      const position = positions.at(i);
      if (this.passes(position)) found.push(position);
    }
    return found;
  }
}
