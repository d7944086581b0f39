/** Small implementations of what the panel gets: the model of anywidget, and the ports of a run. */
import type { Model } from "../src/entry/model";
import type { SliceAnswer } from "../src/store/arrays";
import type { DebugRequest } from "../src/store/debugger";
import { RunStore } from "../src/store/run";
import type { Message, Request } from "../src/transport/wire";
import { type GoldenCase, golden } from "./golden";

export class FakeModel implements Model {
  readonly sent: Request[] = [];
  readonly listeners = new Map<string, (...args: never[]) => void>();

  constructor(
    private readonly run = "",
    private readonly traits: Record<string, string> = {},
  ) {}

  get(trait: string): string {
    return trait === "run" ? this.run : (this.traits[trait] ?? "");
  }

  on(event: string, listener: (...args: never[]) => void): void {
    this.listeners.set(event, listener);
  }

  off(event: string): void {
    this.listeners.delete(event);
  }

  send(request: Request): void {
    this.sent.push(request);
  }

  receive(name: string, changes: Record<string, unknown> = {}): void {
    const { content, buffer }: GoldenCase = golden(name);
    this.listeners.get("msg:custom")?.(...([{ ...content, ...changes }, [buffer]] as never[]));
  }
}

/** A run that records its requests. `draw` draws its frames. */
export class TestRun {
  readonly asked: string[] = [];
  /** Answers the last request for an array. */
  answerSlice: (slice: SliceAnswer) => void = () => {};
  /** The requests of the debugger; `answerDebugger` answers the last one. */
  readonly debugged: DebugRequest[] = [];
  answerDebugger: (message: Partial<Message>) => void = () => {};
  /** Answers the last request of a view. */
  answer: (answer: Message | string) => void = () => {};
  /** The other runs of the session. */
  others: RunStore[] = [];
  private frames: (() => void)[] = [];
  readonly store = new RunStore("run-1", {
    sync: (first) => this.asked.push(`sync ${first}`),
    rows: (first, count) => this.asked.push(`rows ${first} ${count}`),
    array: ({ event, value, index, axes }, answer) => {
      this.asked.push(`array ${event}/${value} [${index}]${axes ? ` axes [${axes}]` : ""}`);
      this.answerSlice = answer;
    },
    debug: (request, answer) => {
      this.debugged.push(request);
      this.answerDebugger = (message) => answer({ version: 1, run: "run-1", id: 1, ...message } as Message);
    },
    mute: (site, muted, answer) => {
      this.asked.push(`mute ${site} ${muted}`);
      answer("");
    },
    every: (site, n, answer) => {
      this.asked.push(`every ${site} ${n}`);
      answer("");
    },
    barrier: () => this.asked.push("barrier"),
    ask: (body, answer) => {
      this.asked.push(`${body.type} ${JSON.stringify(body)}`);
      this.answer = answer;
    },
    runs: () => this.others,
    nextFrame: (draw) => this.frames.push(draw),
  });

  get waitingFrames(): number {
    return this.frames.length;
  }

  draw(): void {
    const frames = this.frames;
    this.frames = [];
    for (const frame of frames) frame();
  }
}
