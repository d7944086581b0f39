/**
 * The debugger's stops in this run, and the commands of its console. The kernel keeps the state of a stop, its selected
 * frame and its selected lane (see `transport/stops.py`), so that a reloaded page shows the same.
 */
import { problemOf } from "../transport/channel";
import type { HowToResume, StopBody } from "../transport/stops";
import type { Message, RequestBody } from "../transport/wire";
import { ArraySlices } from "./arrays";

type WithoutRun<Body> = Body extends unknown ? Omit<Body, "run"> : never;
type StopTypes = "resume" | "here" | "frame" | "lane" | "command" | "set" | "complete" | "local";
/** A request to the kernel's debugger. */
export type DebugRequest = WithoutRun<
  | Extract<RequestBody, { type: StopTypes | "breakpoint" | "pause" | "halt" }>
  | { type: "here"; stop: number; keep?: true }
>;
export type AskDebugger = (request: DebugRequest, answer: (message: Message) => void) => void;

/** A command of the console with its result. */
export interface Typed {
  text: string;
  /** Null while the command runs. */
  output: string | null;
  error: boolean;
  /** Milliseconds from sending the command to its answer. */
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
  /** Where the text begins that a match replaces, in UTF-16 units of the text. */
  start: number;
  matches: string[];
}

/** An expression that is evaluated at each stop. */
export interface Expression {
  text: string;
  /** Null while it runs, and before the first stop. */
  output: string | null;
  error: boolean;
}

const MOST_TYPED = 500;

export class Debugger {
  /** The current stop; null while the program runs. */
  stop: StopBody | null = null;
  /** The newest stop; it may be over. */
  last: StopBody | null = null;
  /** When the stop began, as `performance.now()`. */
  began = 0;
  /** Whether the kernel was asked to resume and has not done so yet. */
  resuming = false;
  /** The request that has not taken effect yet. */
  wanted: "" | "pause" | "halt" = "";
  readonly console: Typed[] = [];
  readonly expressions: Expression[] = [];
  readonly locals: ArraySlices<WantedLocal>;

  constructor(
    private readonly ask: AskDebugger,
    private readonly changed: () => void,
    /** Reports a problem; "" means that there is none. */
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

  /** Whether the program is stopped and was not asked to resume. */
  get isHolding(): boolean {
    return this.stop !== null && !this.resuming;
  }

  apply(stop: StopBody | null): void {
    if (stop) {
      this.began = performance.now() - 1000 * stop.since;
      this.last = stop;
      this.wanted = "";
      // A variable may have another value now, in another lane or because the user set it.
      this.locals.clear();
    }
    if (stop?.id !== this.stop?.id) this.resuming = false;
    this.stop = stop;
    for (const expression of this.expressions) this.evaluate(expression);
    this.changed();
  }

  /** Evaluates the expression now and at each later stop, in the selected frame and lane. */
  addExpression(text: string): void {
    if (!text.trim() || this.expressions.some((other) => other.text === text.trim())) return;
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
    // The prefix `p` makes it an expression: a bare `c` would continue the program.
    this.ask({ type: "command", stop: stop.id, text: `p ${expression.text}`, quiet: true }, (answer) => {
      if (this.stop !== stop) return;
      expression.output = answer.type === "console" ? answer.text : problemOf(answer);
      expression.error = answer.type !== "console" || answer.error;
      this.changed();
    });
  }

  /** Drops all pending requests, because the kernel is gone. */
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

  /** Removes the time-out of the stop. */
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
    const sentAt = performance.now();
    this.ask({ type: "command", stop: this.stop.id, text }, (answer) => {
      typed.took = performance.now() - sentAt;
      if (answer.type === "console") this.settle(typed, answer.text, answer.error);
      else this.settle(typed, problemOf(answer), true);
    });
    this.changed();
  }

  /** Shows the commands that were typed before this page was loaded. Does nothing if the page has a log already. */
  recall(typed: readonly Omit<Typed, "took">[]): void {
    if (this.console.length > 0) return;
    const late = "It was running when this page was loaded.";
    this.console.push(...typed.map(({ text, output, error }) => ({ text, output: output ?? late, error, took: 0 })));
    this.changed();
  }

  /** Requests completions. `cursor` counts UTF-16 units, as the browser does. */
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
