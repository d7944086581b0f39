/** Which entries of a stream are shown: those of one site or call, and those that a query wants. */
import { Growable } from "./growable";
import type { Query } from "./query";
import type { RunStore } from "./run";
import type { Positions, Stream } from "./stream";

/** So long it may look for matches before the next frame is drawn. */
const BUDGET_MS = 25;
const LOOK_AT_CLOCK_EACH = 2048;

export interface Only {
  site: number | null;
  call: number | null;
  /** Gaps are left out; else they tell that something is missing. */
  noGaps?: true;
  noPhantoms?: boolean;
}

/** The entries of one stream that pass; brought up to date by looking at the new ones only. */
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

  /** Whether lines that are not here yet could change what passes. */
  get wantsLines(): boolean {
    return this.lines.length > 0;
  }

  /** What passes as far as it was looked for; where that takes long, the run is drawn again for the rest. */
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

  /** Events of a new site come with it or after it, so those looked at already are not concerned. */
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

  /** At the entries from position `start` up to `end`, as far as they were looked at before. */
  private lookAgain(start: number, end: number): void {
    const { positions } = this.stream;
    const looked = this.looked < positions.length ? positions.at(this.looked) : end;
    const found = this.among(start, Math.min(end, looked));
    this.passed.splice(this.passed.lowerBound(start), this.passed.lowerBound(end), found);
  }

  /** What passes of the entries from position `start` up to `end`. */
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
