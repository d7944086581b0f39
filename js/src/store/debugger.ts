/**
 * The stops of a run: the one that stands, what it was, and what was typed at it. The kernel decides what is a stop and
 * which frame and lane are looked at (see `transport/stops.py`), so that a reloaded page comes back to the same.
 */
import { problemOf } from "../transport/channel";
import type { HowToResume, StopBody } from "../transport/stops";
import type { Message, RequestBody } from "../transport/wire";
import { ArraySlices } from "./arrays";

type WithoutRun<Body> = Body extends unknown ? Omit<Body, "run"> : never;
type StopTypes = "resume" | "here" | "frame" | "lane" | "command" | "set" | "complete" | "local";
/** What may be asked of the kernel's debugger. */
export type DebugRequest = WithoutRun<
  | Extract<RequestBody, { type: StopTypes | "breakpoint" | "pause" | "halt" }>
  | { type: "here"; stop: number; keep?: true }
>;
export type AskDebugger = (request: DebugRequest, answer: (message: Message) => void) => void;

/** One command of the console, and what came of it. */
export interface Typed {
  text: string;
  /** Null while it runs. */
  output: string | null;
  error: boolean;
  /** Milliseconds from the key to the answer. */
  took: number;
}

export interface WantedLocal {
  stop: number;
  frame: number;
  name: string;
  index: number[];
  axes?: number[];
  image: boolean;
}

export interface Matches {
  /** What they would replace begins here, in UTF-16 units of the text asked about. */
  start: number;
  matches: string[];
}

/** An expression that is evaluated at each stop. */
export interface Expression {
  text: string;
  /** Null while it runs, and before a stop. */
  output: string | null;
  error: boolean;
}

const MOST_TYPED = 500;

export class Debugger {
  /** The stop that stands. */
  stop: StopBody | null = null;
  /** The newest stop, which may be over. */
  last: StopBody | null = null;
  /** `performance.now()` when it began. */
  began = 0;
  /** The kernel has been told how to go on, and has not yet. */
  resuming = false;
  /** Asked for, until it takes effect. */
  wanted: "" | "pause" | "halt" = "";
  readonly console: Typed[] = [];
  readonly expressions: Expression[] = [];
  readonly locals: ArraySlices<WantedLocal>;

  constructor(
    private readonly ask: AskDebugger,
    private readonly changed: () => void,
    /** Takes what went wrong, "" for nothing. */
    private readonly complain: (problem: string) => void,
  ) {
    this.locals = new ArraySlices<WantedLocal>(
      ({ image, ...wanted }, settle) =>
        ask({ type: "local", ...wanted, ...(image ? { image } : {}) }, (answer) =>
          settle(answer.type === "array" ? answer : problemOf(answer)),
        ),
      changed,
    );
  }

  /** Whether the program stands at a stop, and nobody has asked it to go on. */
  get isHolding(): boolean {
    return this.stop !== null && !this.resuming;
  }

  apply(stop: StopBody | null): void {
    if (stop) {
      this.began = performance.now() - 1000 * stop.since;
      this.last = stop;
      this.wanted = "";
      // The same variable may have another value now: in another lane, or because it was set.
      this.locals.clear();
    }
    if (stop?.id !== this.stop?.id) this.resuming = false;
    this.stop = stop;
    for (const expression of this.expressions) this.evaluate(expression);
    this.changed();
  }

  /** Evaluates the expression now and at each stop, in the frame and the lane that are looked at. */
  addExpression(text: string): void {
    if (!text.trim() || this.expressions.some((one) => one.text === text.trim())) return;
    const expression: Expression = { text: text.trim(), output: null, error: false };
    this.expressions.push(expression);
    this.evaluate(expression);
    this.changed();
  }

  removeExpression(expression: Expression): void {
    this.expressions.splice(this.expressions.indexOf(expression), 1);
    this.changed();
  }

  private evaluate(expression: Expression): void {
    const { stop } = this;
    if (!stop) return;
    // `p`, so that a variable called `c` does not continue the program.
    this.ask({ type: "command", stop: stop.id, text: `p ${expression.text}`, quiet: true }, (answer) => {
      if (this.stop !== stop) return;
      expression.output = answer.type === "console" ? answer.text : problemOf(answer);
      expression.error = answer.type !== "console" || answer.error;
      this.changed();
    });
  }

  /** Nothing that was asked for will come. */
  lose(): void {
    this.resuming = false;
    this.wanted = "";
    this.locals.forget();
    for (const typed of this.console) if (typed.output === null) this.settle(typed, "The kernel is gone.", true);
  }

  resume(how: HowToResume, line?: number): void {
    const { stop } = this;
    if (!stop || this.resuming) return;
    this.resuming = true;
    this.request({ type: "resume", stop: stop.id, how, ...(line === undefined ? {} : { line }) }, () => {
      this.resuming = false;
    });
  }

  pause(): void {
    this.want("pause");
  }

  /** Ends the program at its next event. */
  halt(): void {
    this.want("halt");
  }

  selectFrame(frame: number): void {
    if (this.stop?.frames[frame]) this.request({ type: "frame", stop: this.stop.id, frame });
  }

  selectLane(lane: number[]): void {
    if (this.stop) this.request({ type: "lane", stop: this.stop.id, lane });
  }

  /** Takes the time-out off. */
  keepWaiting(): void {
    if (this.stop) this.request({ type: "here", stop: this.stop.id, keep: true });
  }

  setBreakpoint(site: number, change: { enabled?: boolean; skip?: number }): void {
    this.request({ type: "breakpoint", site, ...change });
  }

  run(text: string): void {
    if (!this.stop) return;
    const typed: Typed = { text, output: null, error: false, took: 0 };
    this.console.push(typed);
    if (this.console.length > MOST_TYPED) this.console.shift();
    const asked = performance.now();
    this.ask({ type: "command", stop: this.stop.id, text }, (answer) => {
      typed.took = performance.now() - asked;
      if (answer.type === "console") this.settle(typed, answer.text, answer.error);
      else this.settle(typed, problemOf(answer), true);
    });
    this.changed();
  }

  /** What was typed before this page was loaded; a page that has its own log keeps it. */
  recall(typed: readonly Omit<Typed, "took">[]): void {
    if (this.console.length > 0) return;
    const late = "It was running when this page was loaded.";
    this.console.push(...typed.map(({ text, output, error }) => ({ text, output: output ?? late, error, took: 0 })));
    this.changed();
  }

  /** `cursor` in UTF-16 units, as the browser counts. */
  complete(text: string, cursor: number, answer: (found: Matches) => void): void {
    if (!this.stop) return;
    const before = [...text.slice(0, cursor)];
    this.ask({ type: "complete", stop: this.stop.id, text, cursor: before.length }, (message) => {
      if (message.type !== "completions") return;
      answer({ start: before.slice(0, message.start).join("").length, matches: message.matches });
    });
  }

  private want(what: "pause" | "halt"): void {
    this.wanted = what;
    this.request({ type: what }, () => {
      this.wanted = "";
    });
  }

  private settle(typed: Typed, output: string, error: boolean): void {
    typed.output = output;
    typed.error = error;
    this.changed();
  }

  private request(request: DebugRequest, refused?: () => void): void {
    this.ask(request, (answer) => {
      const problem = problemOf(answer);
      if (problem) refused?.();
      this.complain(problem);
    });
    this.changed();
  }
}
