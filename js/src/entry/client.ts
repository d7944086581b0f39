/** The client of one anywidget model, which serves one kernel session. It passes each message to its run. */
import { RunTable } from "../store/rows";
import { RunStore } from "../store/run";
import { Channel, problemOf } from "../transport/channel";
import type { StopChange } from "../transport/stops";
import { decode, type Request, type RequestBody } from "../transport/wire";
import type { Asked } from "../views/later/load";
import { Presence } from "./presence";
import type { RunSource } from "./registry";

/** If an active run is silent for this long, the client requests its events: the last batch may have been lost. */
const SILENCE_MS = 5000;

export class Client implements RunSource {
  private readonly runs = new Map<string, RunStore>();
  /** The runs that were requested. If the kernel does not know a run, its output keeps the snapshot. */
  private readonly asked = new Set<string>();
  /** The finished runs that were dropped. Batches that still come for them are ignored. */
  private readonly forgotten = new Set<string>();
  private readonly silences = new Map<string, ReturnType<typeof setTimeout>>();
  private readonly channel: Channel;
  private readonly table = new RunTable((body, answer) =>
    this.channel.request(body, (message) => answer(problemOf(message) || message)),
  );
  private readonly presence: Presence;
  private readonly asking: Asked;

  /**
   * `onRun` is called when the first batch of a run has arrived. `only` is the run of a model that serves a single run,
   * otherwise "".
   */
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
    // Each run then has its own model, and the kernel sends news of a run only to that one. A copy here would never
    // change.
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

  /** Whether at least one run is active. */
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

  /** Marks the runs as lost, because the kernel or the connection is gone. The next message of a run revives it. */
  lose(): void {
    for (const silence of this.silences.values()) clearTimeout(silence);
    this.presence.end();
    for (const run of this.runs.values()) run.lose();
  }

  /** Requests the events that may have been missed while there was no connection. */
  catchUp(): void {
    for (const run of this.runs.values()) this.channel.request({ type: "sync", run: run.key, first: run.next });
  }

  /** Applies a stop. It may be the first message about its run. */
  private stopped({ run: key, stop }: StopChange): void {
    if (stop) this.find(key);
    const run = this.runs.get(key) ?? (stop && this.open(key));
    run?.debugger.apply(stop);
    this.presence.update(key, stop?.id);
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
