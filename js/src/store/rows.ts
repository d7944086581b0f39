/** A run as a row of a table of runs, and several runs side by side; the twin of `session/panel/rows.py` and `compared.py`. */
import { signal } from "@preact/signals";
import type { State } from "../kit/states";
import type { Message, RequestBody } from "../transport/wire";

/** A number, as text where JSON knows none: `NaN`, `Infinity`. */
export type Sent = number | string;

export interface RunRow {
  key: string;
  title: string;
  /** "" where its user has given none. */
  name?: string;
  /** The number of its cell. */
  cell?: number | null;
  /** The options as they are written after `%%jaxdebug`. */
  asked?: string;
  config?: Record<string, unknown>;
  /** `paused` is at a stop of the debugger. */
  state: State;
  /** Seconds since the epoch. */
  started: number;
  /** Seconds. */
  elapsed: number;
  events: number;
  steps?: number;
  /** What its most telling value is called, as a rule the loss. */
  value?: string;
  last?: Sent | null;
  step_ms?: number | null;
  findings?: number;
  /** What is no longer in memory, in words. */
  gone?: string;
  /** Where it was read from. */
  file?: string;
  barrier: "off" | "idle" | "pending" | "drained" | "timeout" | "failed";
  /** The calls whose effects have not drained. */
  pending: string[];
  /** Seconds. */
  waited: number;
  /** How often it was written down, see `lab/src/saved.ts`; not told by older kernels. */
  saved?: number;
}

/** A line of a chart: of one run, or the mean of several with the range that they span. */
export interface SentLine {
  group: number;
  /** How many runs it is of. */
  of: number;
  x: Sent[];
  seconds: Sent[];
  y: Sent[];
  low?: Sent[];
  high?: Sent[];
}

export interface SentChart {
  name: string;
  /** The line of the value; empty where no other has its name. */
  where: string;
  lines: SentLine[];
}

/** A value that several runs have. */
export interface Difference {
  name: string;
  where: string;
  source: string;
  /** The first step at which they differ, null where they never do. */
  first: number | null;
  /** The step of the worst difference, and each run's value there; null where a run has none. */
  at: number;
  worst: Sent;
  values: (Sent | null)[];
}

export interface Compared {
  runs: string[];
  /** Keys of runs that are no longer in memory. */
  missing: string[];
  /** What the labels are values of; "" where they say so themselves. */
  by: string;
  /** Each has a colour; of several runs where these differ in a seed alone. */
  groups: { runs: number[]; label: string }[];
  config: { name: string; values: string[] }[];
  parted: Difference | null;
  /** The worst difference first. */
  values: Difference[];
  compared: number;
  /** How many more were not compared, for want of time. */
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

/** What the table of runs asks for. */
export interface RunsPorts {
  rename(of: string, name: string): void;
  compare(runs: readonly string[], answer: (answer: Compared | string) => void): void;
  /** Reads the runs in a file. */
  load(path: string, answer: (problem: string) => void): void;
}

const APART_MS = 500;

type Ask = (body: RequestBody, answer: (answer: Message | string) => void) => void;

/** The runs of a kernel session, as it last told a panel of them. */
export class RunTable implements RunsPorts {
  readonly rows = signal<readonly RunRow[]>([]);
  private run = "";
  private isAsking = false;
  private asksAgain = false;

  /** `ask` sends a request to the kernel. */
  constructor(private readonly ask: Ask = () => {}) {}

  /** Asks for them, for the panel of `run`; what is asked for meanwhile is one more question. */
  refresh(run: string): void {
    this.run = run;
    this.asksAgain = this.isAsking;
    if (this.isAsking) return;
    this.isAsking = true;
    this.ask({ type: "runs", run }, (answer) => this.take(answer));
    setTimeout(() => {
      this.isAsking = false;
      if (this.asksAgain) this.refresh(run);
    }, APART_MS);
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

  /** The rows, asked for or not. */
  take(answer: Message | string): void {
    if (typeof answer !== "string" && answer.type === "runs") this.rows.value = answer.rows;
  }
}
