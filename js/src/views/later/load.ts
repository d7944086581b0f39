/** Brings a later bundle (`views.ts`, `program.ts`, `lines.ts`, `runs.ts`) to the page, when one of its views is first shown. */
import { signal } from "@preact/signals";
import type { RunStore } from "../../store/run";
import type { Message } from "../../transport/wire";
import * as shared from "./shared";

/** The views of all later bundles; each brings some of them. */
export type AllViews = typeof import("./views") &
  typeof import("./program") &
  typeof import("./lines") &
  typeof import("./runs");
export type Views = Partial<AllViews>;
/** Whom the bundle is had from: a run, or a kernel session. */
export type Asked = Pick<RunStore, "gone" | "ask">;
type MakeViews = (table: typeof shared) => Views;

/** What the kernel sent as text, run as anywidget runs the first bundle. */
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
    private readonly name: "views" | "program" | "lines" | "runs" = "views",
  ) {}

  /** The views, once they are here. */
  get views(): Views | null {
    return this.loaded.value;
  }

  /** Why they could not be had, "" as long as nothing went wrong. */
  get problem(): string {
    return this.failure.value;
  }

  /** Asks the kernel of `run`, unless the views are here or a kernel that lives is asked already. */
  want(run: Asked): void {
    if (this.loaded.peek() || run.gone || (this.asked && !this.asked.gone)) return;
    this.asked = run;
    this.failure.value = "";
    run.ask({ type: "module", name: this.name }, (answer) => void this.take(answer));
  }

  /** The kernel of `run` is gone: what it was asked will not be answered. */
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

/** Those of this page. */
export const later = new LaterViews();
export const laterProgram = new LaterViews(evaluated, "program");
export const laterLines = new LaterViews(evaluated, "lines");
export const laterRuns = new LaterViews(evaluated, "runs");
