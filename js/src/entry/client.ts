/** Serves one anywidget model, that is one kernel session: routes its messages to the runs they belong to. */
import { RunTable } from "../store/rows";
import { RunStore } from "../store/run";
import { Channel, problemOf } from "../transport/channel";
import type { StopChange } from "../transport/stops";
import { decode, type Request, type RequestBody } from "../transport/wire";
import type { Asked } from "../views/later/load";
import { Presence } from "./presence";
import type { RunSource } from "./registry";

/** After so long without news of a run that goes on we ask: its last batch may have been lost on the way. */
const SILENCE_MS = 5000;

export class Client implements RunSource {
  private readonly runs = new Map<string, RunStore>();
  /** Runs asked for; those that the kernel does not know keep their snapshot. */
  private readonly asked = new Set<string>();
  /** Runs that are over and were let go; what still comes of them is for no one. */
  private readonly forgotten = new Set<string>();
  private readonly silences = new Map<string, ReturnType<typeof setTimeout>>();
  private readonly channel: Channel;
  private readonly table = new RunTable((body, answer) =>
    this.channel.request(body, (message) => answer(problemOf(message) || message)),
  );
  private readonly presence: Presence;
  private readonly asking: Asked;

  /** `onRun` gets each run when its first batch is here. `only` is the one run of a model that has but one. */
  constructor(
    send: (request: Request) => void,
    private readonly onRun: () => void,
    private readonly only = "",
  ) {
    this.channel = new Channel(send);
    const ask: Asked["ask"] = (body, answer) =>
      this.channel.request({ ...body, run: "" }, (message) => answer(problemOf(message) || message));
    this.asking = { gone: false, ask };
    this.presence = new Presence((run, stop) => this.channel.request({ type: "here", run, stop }));
  }

  find(key: string): RunStore | undefined {
    // News of another's run come to the other's model alone: what we were answered would stay as it was.
    if (this.only && key !== this.only) return;
    const run = this.runs.get(key);
    if (!run && !this.asked.has(key)) {
      this.asked.add(key);
      this.forgotten.delete(key);
      this.channel.request({ type: "sync", run: key, first: 0 });
    }
    return run?.status && run;
  }

  get program(): Asked | undefined {
    return this.only ? undefined : this.asking;
  }

  /** Whether any of its runs goes on. */
  get goesOn(): boolean {
    return [...this.runs.values()].some((run) => run.active && !run.gone);
  }

  known(key: string): RunStore | undefined {
    return this.runs.get(key);
  }

  forget(key: string): void {
    const run = this.runs.get(key);
    if (!run?.status || run.gone || run.active) return;
    this.runs.delete(key);
    this.asked.delete(key);
    this.silences.delete(key);
    this.forgotten.add(key);
  }

  receive(content: unknown, buffers?: readonly ArrayBufferView[]): void {
    try {
      const message = decode(content, buffers);
      if (message.type === "batch" && !this.forgotten.has(message.run)) {
        const run = this.runs.get(message.run) ?? this.open(message.run);
        const isNew = !run.status;
        run.apply(message);
        this.expectMore(run);
        if (isNew) this.onRun();
      }
      if (message.type === "stop") this.stopped(message);
      if (message.type === "runs") this.table.take(message);
      if (message.type === "typed") this.runs.get(message.run)?.debugger.recall(message.typed);
      this.channel.settle(message);
    } catch (error) {
      this.complain(content, error);
    }
  }

  /** The kernel, or our way to it, is gone; a message that still comes takes it back. */
  lose(): void {
    for (const silence of this.silences.values()) clearTimeout(silence);
    this.presence.end();
    for (const run of this.runs.values()) run.lose();
  }

  /** Asks again for what may have been missed while there was no way to the kernel. */
  catchUp(): void {
    for (const run of this.runs.values()) this.channel.request({ type: "sync", run: run.key, first: run.next });
  }

  /** A run may stop before anything else is known of it. */
  private stopped({ run: key, stop }: StopChange): void {
    if (stop) this.find(key);
    const run = this.runs.get(key) ?? (stop && this.open(key));
    run?.debugger.apply(stop);
    this.presence.tell(key, stop?.id);
  }

  private expectMore(run: RunStore): void {
    clearTimeout(this.silences.get(run.key));
    if (!run.active) return;
    const ask = () => this.channel.request({ type: "sync", run: run.key, first: run.next });
    this.silences.set(run.key, setTimeout(ask, SILENCE_MS));
  }

  private open(key: string): RunStore {
    const run: RunStore = new RunStore(key, {
      sync: (first) => this.channel.request({ type: "sync", run: key, first }),
      rows: (first, count) =>
        this.channel.request({ type: "rows", run: key, first, count }, (answer) => {
          if (answer.type === "rows") run.applyRows(answer);
          else run.texts.settle(first, count);
        }),
      array: ({ image, ...wanted }, settle) =>
        this.channel.request({ type: "array", run: key, ...wanted, ...(image ? { image } : {}) }, (answer) =>
          settle(answer.type === "array" ? answer : problemOf(answer)),
        ),
      debug: (request, answer) => this.channel.request({ ...request, run: key } as RequestBody, answer),
      mute: (site, muted, settle) =>
        this.channel.request({ type: "mute", run: key, site, muted }, (answer) => settle(problemOf(answer))),
      every: (site, n, settle) =>
        this.channel.request({ type: "every", run: key, site, n }, (answer) => settle(problemOf(answer))),
      barrier: () =>
        this.channel.request({ type: "barrier", run: key }, (answer) => run.settleBarrier(problemOf(answer))),
      ask: (body, answer) =>
        this.channel.request({ ...body, run: key }, (message) => answer(problemOf(message) || message)),
      runs: () => this.runs.values(),
      table: this.table,
      nextFrame: (draw) => requestAnimationFrame(draw),
    });
    this.runs.set(key, run);
    return run;
  }

  private complain(content: unknown, error: unknown): void {
    console.error("jax_debug_widgets:", error);
    const run = this.runs.get((content as { run?: string } | null)?.run ?? "");
    run?.complain(error instanceof Error ? error.message : String(error));
  }
}
