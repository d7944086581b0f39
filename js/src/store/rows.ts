/**
 * The types of the table of runs and of the comparison of runs, and the table itself. The twins are
 * `session/panel/rows.py` and `compared.py`.
 */
import { signal } from "@preact/signals";
import type { State } from "../kit/states";
import type { Message, RequestBody } from "../transport/wire";

/** A number, or the text `NaN`, `Infinity` or `-Infinity`, which JSON cannot write as numbers. */
export type Sent = number | string;

export interface RunRow {
  key: string;
  title: string;
  /** The name that its user gave it; "" if there is none. */
  name?: string;
  /** The execution number of its cell. */
  cell?: number | null;
  /** The options after `%%jaxdebug`. */
  asked?: string;
  config?: Record<string, unknown>;
  /** `paused` means that the debugger holds it. */
  state: State;
  /** Seconds since the Unix epoch. */
  started: number;
  /** Seconds. */
  elapsed: number;
  events: number;
  steps?: number;
  /** The name of its most important value, usually the loss. */
  value?: string;
  last?: Sent | null;
  step_ms?: number | null;
  findings?: number;
  /** What is no longer in memory, in words. */
  gone?: string;
  /** The path of the file that it was loaded from. */
  file?: string;
  barrier: "off" | "idle" | "pending" | "drained" | "timeout" | "failed";
  /** The calls with pending effects. */
  pending: string[];
  /** Seconds. */
  waited: number;
  /** How often the run was saved, see `lab/src/saved.ts`. Older kernels do not send it. */
  saved?: number;
}

/** A line of a chart: one run, or the mean of several runs with their range. */
export interface SentLine {
  group: number;
  /** The number of runs in the line. */
  of: number;
  x: Sent[];
  seconds: Sent[];
  y: Sent[];
  low?: Sent[];
  high?: Sent[];
}

export interface SentChart {
  name: string;
  /** The source line of the value; empty if its name is unique. */
  where: string;
  lines: SentLine[];
}

/** A value that several runs have, and how it differs between them. */
export interface Difference {
  name: string;
  where: string;
  source: string;
  /** The first step at which they differ; null if they never do. */
  first: number | null;
  /** The step of the largest difference, and each run's value there; null if a run has none. */
  at: number;
  worst: Sent;
  values: (Sent | null)[];
}

export interface Compared {
  runs: string[];
  /** The keys of the runs that are no longer in memory. */
  missing: string[];
  /** The name of the setting that the labels are values of; "" if the labels need none. */
  by: string;
  /** Runs with one colour. Runs that differ only in a seed share a group. */
  groups: { runs: number[]; label: string }[];
  config: { name: string; values: string[] }[];
  parted: Difference | null;
  /** Sorted by difference, the largest first. */
  values: Difference[];
  compared: number;
  /** The number of values that were not compared, to save time. */
  unread: number;
  charts: SentChart[];
}

export interface RunsAnswer {
  type: "runs";
  version: number;
  run: string;
  id: number;
  rows: RunRow[];
}

export interface ComparedAnswer extends Compared {
  type: "compared";
  version: number;
  run: string;
  id: number;
}

/** The requests of the table of runs. */
export interface RunsPorts {
  rename(of: string, name: string): void;
  compare(runs: readonly string[], answer: (answer: Compared | string) => void): void;
  /** Loads the runs in a file. */
  load(path: string, answer: (problem: string) => void): void;
}

const REFRESH_MS = 500;

type Ask = (body: RequestBody, answer: (answer: Message | string) => void) => void;

/** The runs of a kernel session, as the kernel last sent them. */
export class RunTable implements RunsPorts {
  readonly rows = signal<readonly RunRow[]>([]);
  private run = "";
  private isAsking = false;
  private asksAgain = false;

  /** `ask` sends a request to the kernel. */
  constructor(private readonly ask: Ask = () => {}) {}

  /** Requests the rows for the panel of `run`. Calls within `REFRESH_MS` are combined into one more request. */
  refresh(run: string): void {
    this.run = run;
    this.asksAgain = this.isAsking;
    if (this.isAsking) return;
    this.isAsking = true;
    this.ask({ type: "runs", run }, (answer) => this.take(answer));
    setTimeout(() => {
      this.isAsking = false;
      if (this.asksAgain) this.refresh(run);
    }, REFRESH_MS);
  }

  rename(of: string, name: string): void {
    this.ask({ type: "rename", run: this.run, of, name }, (answer) => this.take(answer));
  }

  load(path: string, settle: (problem: string) => void): void {
    this.ask({ type: "load", run: this.run, path }, (answer) => {
      this.take(answer);
      settle(typeof answer === "string" ? answer : "");
    });
  }

  compare(runs: readonly string[], settle: (answer: Compared | string) => void): void {
    this.ask({ type: "compare", run: this.run, runs: [...runs] }, (answer) => {
      if (typeof answer === "string") settle(answer);
      else if (answer.type === "compared") settle(answer);
    });
  }

  /** Takes the rows of a message, whether it was requested or not. */
  take(answer: Message | string): void {
    if (typeof answer !== "string" && answer.type === "runs") this.rows.value = answer.rows;
  }
}
