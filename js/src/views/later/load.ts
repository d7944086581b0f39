/** Loads a bundle (`views.ts`, `program.ts`, `lines.ts`, `runs.ts`, `calls.ts`) when one of its views is first shown. */
import { signal } from "@preact/signals";
import type { RunStore } from "../../store/run";
import type { Bundle, Message } from "../../transport/wire";
import * as shared from "./shared";

/** The views of all these bundles; each has some of them. */
export type AllViews = typeof import("./views") &
  typeof import("./program") &
  typeof import("./lines") &
  typeof import("./runs") &
  typeof import("./calls");
export type Views = Partial<AllViews>;
/** Where to request a bundle: a run, or a kernel session. */
export type Asked = Pick<RunStore, "gone" | "ask">;
type MakeViews = (table: typeof shared) => Views;

/** Runs the text of a bundle as a module, as anywidget runs the first bundle. */
async function evaluated(text: string): Promise<Views> {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    const { default: make } = (await import(/* @vite-ignore */ url)) as { default: MakeViews };
    return make(shared);
  } finally {
    URL.revokeObjectURL(url);
  }
}

export class LaterViews {
  private readonly loaded = signal<Views | null>(null);
  private readonly failure = signal("");
  private asked: Asked | null = null;

  constructor(
    private readonly evaluate: (text: string) => Promise<Views> = evaluated,
    private readonly name: Bundle = "views",
  ) {}

  /** The views; null until they are loaded. */
  get views(): Views | null {
    return this.loaded.value;
  }

  /** Why loading failed; "" if it has not failed. */
  get problem(): string {
    return this.failure.value;
  }

  /** Requests the bundle from the kernel of `run`, unless it is loaded or already requested from a living kernel. */
  want(run: Asked): void {
    if (this.loaded.peek() || run.gone || (this.asked && !this.asked.gone)) return;
    this.asked = run;
    this.failure.value = "";
    run.ask({ type: "module", name: this.name }, (answer) => void this.take(answer));
  }

  /** Notes that the kernel of `run` is gone and will not answer. */
  lose(run: Asked): void {
    if (this.asked === run) this.asked = null;
  }

  provide(views: Views): void {
    this.loaded.value = views;
  }

  private async take(answer: Message | string): Promise<void> {
    try {
      if (typeof answer === "string") throw new Error(answer);
      if (answer.type !== "module") throw new Error(`the kernel answered ${JSON.stringify(answer.type)}`);
      this.provide(await this.evaluate(answer.text));
    } catch (error) {
      this.failure.value = error instanceof Error ? error.message : String(error);
    }
    this.asked = null;
  }
}

/** The bundles of this page. */
export const later = new LaterViews();
export const laterProgram = new LaterViews(evaluated, "program");
export const laterLines = new LaterViews(evaluated, "lines");
export const laterRuns = new LaterViews(evaluated, "runs");
export const laterCalls = new LaterViews(evaluated, "calls");
