/**
 * Everything that the browser knows about one run. Batches come in through `apply`; `transport/wire.py` says what they
 * promise. The views read the run, and a view that has called `watch` is drawn again, at most once in an animation
 * frame. The state of one view of the run is in `ui.ts`.
 *
 * This file has more than 300 lines because a batch changes all parts of a run together.
 */

import { signal } from "@preact/signals";
import { goesOn } from "../kit/states";
import type { Batch, CallMessage, Message, RequestBody, Rows, SiteMessage, StatusMessage } from "../transport/wire";
import { distinguish } from "./apart";
import { ArraySlices, type AskForSlice, type WantedSlice } from "./arrays";
import { type AskDebugger, Debugger } from "./debugger";
import { earlierRuns } from "./earlier";
import { EventLog } from "./events";
import { Flights } from "./flights";
import { ProgramOrder } from "./order";
import { RunTable } from "./rows";
import { SeriesSet } from "./series";
import { Sites } from "./sites";
import { Sources } from "./sources";
import { OneStream, WholeLog } from "./stream";
import { Texts } from "./texts";
import { Threads } from "./threads";
import { isWatched, Watched } from "./watched";

const MOST_EVENTS = 2_000_000;
const ASK_AGAIN_FROM = 64;
const RATE_HOLDS_MS = 1500;
/** Milliseconds between two updates while no view is on the screen. A view that comes back is then up to date. */
const UNSEEN_MS = 500;

type Without<Body, Key extends PropertyKey> = Body extends unknown ? Omit<Body, Key> : never;
/** A request of one view, which gets the answer itself. */
export type Question = Without<
  Extract<
    RequestBody,
    {
      type:
        | "values"
        | "histograms"
        | "file"
        | "source"
        | "findings"
        | "watch"
        | "module"
        | "program"
        | "report"
        | "line";
    }
  >,
  "run"
>;

/** The requests that a run can send to the kernel, and the timer for the next animation frame. */
export interface RunPorts {
  sync(first: number): void;
  rows(first: number, count: number): void;
  array: AskForSlice<WantedSlice>;
  debug: AskDebugger;
  /** `answer` gets the problem, "" if there is none. */
  mute(site: number, muted: boolean, answer: (problem: string) => void): void;
  every(site: number, n: number, answer: (problem: string) => void): void;
  barrier(): void;
  /** `answer` gets the message, or a problem as text. */
  ask(body: Question, answer: (answer: Message | string) => void): void;
  /** The page's runs of this kernel session, and the table of all runs that the kernel knows. */
  runs(): Iterable<RunStore>;
  table?: RunTable;
  nextFrame(draw: () => void): void;
}

export class RunStore {
  private readonly version = signal(0);
  readonly log = new EventLog();
  readonly texts: Texts;
  readonly series = new SeriesSet();
  readonly sites = new Sites();
  readonly calls = new Map<number, CallMessage>();
  readonly flights = new Flights();
  /** For each site, how often it has fired. */
  readonly fired = new Map<number, number>();
  /** For each site with lanes, how many lanes have fired. */
  readonly lanes = new Map<number, number>();
  /** For each site that shares its line with others, the caller or process that tells it apart. */
  apart = new Map<number, string>();
  /** The names of the devices; `EventLog.device` is an index into them. */
  devices: string[] = [];
  /** The number of phantoms: events that fired only because of a `vmap`. */
  phantoms = 0;
  /** For each site, its index in the order of arrival. It decides the site's colour. */
  readonly rank = new Map<number, number>();
  readonly ordered = new OneStream();
  readonly unordered = new OneStream();
  /** The events of both streams, in order of arrival. */
  readonly merged = new OneStream();
  readonly whole = new WholeLog(this.log);
  /** The watched values. Their events are in none of the streams above. */
  readonly watched = new Watched(this.sites);
  readonly sources: Sources;
  readonly order = new ProgramOrder();
  readonly threads = new Threads();
  readonly arrays: ArraySlices;
  readonly debugger: Debugger;
  readonly table: RunTable;
  status: StatusMessage | undefined;
  /** When the newest status arrived, as `performance.now()`. */
  statusAt = 0;
  batches = 0;
  /** The number of the next event expected. */
  next = 0;
  /** The number of the oldest event that the kernel still has. */
  oldest = 0;
  /** Changes when positions are renumbered. Filters must then start again. */
  epoch = 0;
  gone = false;
  problem = "";
  barrierAsked = false;
  private batchesMissed = 0;
  private drawing = false;
  /** For each view, whether a part of it is on the screen. */
  private readonly onScreen = new Map<object, boolean>();

  constructor(
    readonly key: string,
    private readonly ports: RunPorts,
  ) {
    this.texts = new Texts((first, count) => ports.rows(first, count));
    this.table = ports.table ?? new RunTable();
    const changed = () => this.changed();
    this.arrays = new ArraySlices(ports.array, changed);
    this.sources = new Sources((file, answer) => this.ask({ type: "source", file }, answer), changed);
    this.debugger = new Debugger(ports.debug, changed, (problem) => this.complain(problem));
  }

  apply(batch: Batch): void {
    this.applyState(batch);
    if (batch.first > this.next && batch.first > batch.oldest) {
      this.askForMissing();
    } else {
      this.batchesMissed = 0;
      this.applyEvents(batch);
    }
    this.changed();
  }

  applyRows(rows: Rows): void {
    this.texts.add(rows.texts, rows.first);
    this.texts.settle(rows.first, rows.count);
    this.changed();
  }

  /** Requests some of the missing lines. Returns false when the kernel has no more to send. */
  wantAllLines(): boolean {
    return !this.gone && this.texts.requestAll(this.oldest, this.next);
  }

  /** Mutes a site, or records it again, from now on. */
  askMute(site: number, muted: boolean): void {
    this.ports.mute(site, muted, (problem) => this.noteMuted(problem ? [] : [site], muted, problem));
  }

  /**
   * Starts or stops watching the values of these names. If the program has no tap for a name, this takes effect in the
   * next run.
   */
  askWatch(names: readonly string[], on: boolean): void {
    this.ask({ type: "watch", names: [...names], on }, (answer) => {
      if (typeof answer === "string") this.complain(answer);
      else if (answer.type === "done") this.noteMuted(answer.sites ?? [], !on, "");
    });
  }

  /** Records every n-th firing of a site, from now on. */
  askEvery(site: number, n: number): void {
    this.ports.every(site, n, (problem) => {
      if (this.status && !problem) {
        this.status = { ...this.status, every: { ...this.status.every, [site]: n } };
      }
      this.problem = problem;
      this.changed();
    });
  }

  /** The earlier runs of the same program that the page still has. */
  get earlier(): RunStore[] {
    return earlierRuns(this, this.ports.runs());
  }

  ask(body: Question, answer: (answer: Message | string) => void): void {
    if (this.gone) answer("The kernel is gone, and with it what it kept.");
    else this.ports.ask(body, answer);
  }

  askBarrier(): void {
    this.barrierAsked = true;
    this.ports.barrier();
    this.changed();
  }

  settleBarrier(problem: string): void {
    this.barrierAsked = false;
    this.problem = problem;
    this.changed();
  }

  lose(): void {
    this.gone = true;
    this.barrierAsked = false;
    this.texts.forget();
    this.arrays.forget();
    this.sources.forget();
    this.debugger.lose();
    this.changed();
  }

  complain(problem: string): void {
    this.problem = problem;
    this.changed();
  }

  /** The sites in the streams. Watched values have views of their own. */
  get streamSites(): SiteMessage[] {
    return [...this.sites.values()].filter((site) => !isWatched(site));
  }

  /** Whether another process has a site with the same values. That site is shown instead of this one. */
  isCopy(site: number): boolean {
    return this.status?.copies[site] !== undefined;
  }

  /** Whether the run goes on, as far as the kernel has said. */
  get active(): boolean {
    return goesOn(this.status?.state ?? "");
  }

  /** Why the program takes no more requests; "" while the run goes on. */
  get over(): string {
    if (this.gone) return "The kernel is gone";
    if (this.status?.state === "loaded") return "The run was loaded from a file, and goes on in another process";
    return this.active ? "" : "The run is over";
  }

  /** Returns the site of a log entry, as it was compiled for the entry's type. */
  siteAt(position: number): SiteMessage | undefined {
    return this.sites.of(this.log.site(position), this.log.type(position));
  }

  /** Events a second; 0 if the newest status is old, because no batch comes while there are no events. */
  get rate(): number {
    const { status } = this;
    return status && performance.now() - this.statusAt < RATE_HOLDS_MS ? status.rate : 0;
  }

  /** Subscribes the component that is being rendered: it is drawn again at the next change. */
  watch(): void {
    void this.version.value;
  }

  changed(): void {
    if (this.drawing) return;
    this.drawing = true;
    if (this.isSeen) this.ports.nextFrame(() => this.draw());
    else setTimeout(() => this.draw(), UNSEEN_MS);
  }

  /** Notes whether `view` is on the screen; undefined means that the view is gone. */
  seen(view: object, isOnScreen: boolean | undefined): void {
    const was = this.isSeen;
    if (isOnScreen === undefined) this.onScreen.delete(view);
    else this.onScreen.set(view, isOnScreen);
    if (!was && this.isSeen) this.draw();
  }

  private get isSeen(): boolean {
    return this.onScreen.size === 0 || [...this.onScreen.values()].includes(true);
  }

  private draw(): void {
    if (!this.drawing) return;
    this.drawing = false;
    this.version.value++;
  }

  private noteMuted(sites: readonly number[], muted: boolean, problem: string): void {
    if (this.status) {
      const others = this.status.muted.filter((other) => !sites.includes(other));
      this.status = { ...this.status, muted: muted ? [...others, ...sites] : others };
    }
    this.complain(problem);
  }

  private applyState(batch: Batch): void {
    for (const site of batch.sites) {
      if (!this.rank.has(site.id)) this.rank.set(site.id, this.rank.size);
      this.sites.add(site);
      this.watched.addSite(site);
    }
    const { copies } = batch.status;
    if (batch.sites.length > 0 || Object.keys(copies).length !== Object.keys(this.status?.copies ?? {}).length) {
      this.apart = distinguish(this.sites.values(), copies);
    }
    for (const call of batch.calls) {
      this.calls.set(call.id, call);
      this.flights.add(call);
    }
    this.status = batch.status;
    this.devices = batch.devices;
    if (!this.threads.append(batch)) this.ports.sync(this.next);
    this.statusAt = performance.now();
    this.oldest = batch.oldest;
    this.batches++;
    this.gone = false;
    if (!this.active) this.debugger.wanted = "";
  }

  /**
   * Requests the missing events once, and again only after many more batches. A busy kernel may answer only after the
   * cell.
   */
  private askForMissing(): void {
    const missed = ++this.batchesMissed;
    const isPowerOfTwo = (missed & (missed - 1)) === 0;
    if (missed === 1 || (missed >= ASK_AGAIN_FROM && isPowerOfTwo)) this.ports.sync(this.next);
  }

  private applyEvents(batch: Batch): void {
    if (batch.first > this.next) {
      const gap = this.log.appendGap(this.next, batch.first - this.next);
      for (const { positions } of this.streams) positions.push(gap);
      this.next = batch.first;
    }
    this.texts.add(batch.texts, batch.first);
    const from = this.next - batch.first;
    if (from >= batch.count) return;
    const position = this.log.append(batch.events, batch.first, from);
    this.distribute(position);
    this.watched.append(batch, from);
    this.series.append(batch, from, this.sites);
    this.next = batch.first + batch.count;
    if (this.log.length > MOST_EVENTS) this.trim(Math.floor(MOST_EVENTS / 4));
  }

  private distribute(start: number): void {
    for (let position = start; position < this.log.length; position++) {
      const id = this.log.site(position);
      const site = this.sites.get(id);
      const lane = this.log.lane(position);
      if (this.log.phantom(position)) this.phantoms++;
      if (lane >= 0) this.lanes.set(id, Math.max(this.lanes.get(id) ?? 0, lane + 1));
      this.fired.set(id, Math.max(this.fired.get(id) ?? 0, this.log.occurrence(position) + 1));
      if (site && isWatched(site)) continue;
      (site?.ordered ? this.ordered : this.unordered).take(position);
      this.merged.take(position);
      if (site && !site.ordered) this.order.note(this.log.number(position), site, this.log.call(position), lane);
    }
  }

  private get streams(): OneStream[] {
    return [this.ordered, this.unordered, this.merged];
  }

  private trim(count: number): void {
    this.log.trim(count);
    const shift = count - 1;
    for (const { positions } of this.streams) {
      const kept = positions.view().filter((position) => position > shift);
      positions.replace([0]);
      positions.append(kept.map((position) => position - shift));
    }
    this.epoch++;
  }
}
