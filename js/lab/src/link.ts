/** The link to one kernel: receives the list of its runs, and sends requests of the list. */

import type { Kernel, KernelMessage } from "@jupyterlab/services";
import { signal } from "@preact/signals";
import { sendControl } from "../../src/entry/control";
import { goesOn } from "../../src/kit/states";
import type { Compared, RunsPorts } from "../../src/store/rows";
import { Runs } from "./runs";
import type { Saved } from "./saved";
import { StandIn } from "./standin";
import {
  type ComparedMessage,
  decode,
  type LoadedMessage,
  type PanelMessage,
  type Request,
  type RunRow,
  TARGET,
} from "./wire";

/**
 * Milliseconds after which a kernel that has not answered is taken for busy. A busy kernel answers on the control
 * channel.
 */
const BUSY_AFTER_MS = 2000;

/** Milliseconds after which a request without an answer is sent again. A loading page may lose one. */
const ANSWERED_AFTER_MS = 3000;
const MOST_TRIES = 5;

const LAST_OUTPUTS_MS = 3000;

type CommInfoReply = KernelMessage.ICommInfoReplyMsg["content"];

/** Requests the kernel's comms on its control channel, see `askControl` in `control.ts`. */
export type AskControl = (kernel: Kernel.IKernelConnection) => Promise<CommInfoReply | undefined>;

export class KernelLink implements RunsPorts {
  readonly runs = new Runs();
  /** Whether the kernel or the server is dead. */
  readonly lost = signal(false);
  /** Why the kernel's messages cannot be read; "" if they can. */
  readonly problem = signal("");
  /**
   * The comm that was opened last. Each engine has its own comm: the ipyparallel client forwards the messages of all.
   */
  private comm: Kernel.IComm | undefined;
  /** For each run, the comm that sent it. */
  private readonly owners = new Map<string, Kernel.IComm>();
  /** For each comm, how it is reached while a cell runs. */
  private readonly ways = new Map<string, string>();
  private readonly closed = new Set<string>();
  /** Whether the kernel has sent its runs. */
  private heard = false;
  private sent = 0;
  /** Whether the kernel was running a cell when the page loaded, and so did not answer on the shell channel. */
  private wasBusy = false;
  /** For each pending request, the function that takes its answer. */
  private readonly waiting = new Map<number, (message: ComparedMessage | LoadedMessage) => void>();
  private questions = 0;
  private standIn: StandIn | undefined;

  /** `onBegin` is called when a run begins. `saved` updates the runs that notebooks have stored. */
  constructor(
    readonly kernel: Kernel.IKernelConnection,
    private readonly onBegin: (link: KernelLink) => void,
    private readonly askControl: AskControl,
    private readonly saved?: Pick<Saved, "compare" | "write" | "end">,
  ) {
    kernel.registerCommTarget(TARGET, (comm) => this.attach(comm));
    kernel.statusChanged.connect(this.onStatus, this);
    kernel.connectionStatusChanged.connect(this.onConnection, this);
    void this.find();
  }

  request(request: Request): void {
    const comm = ("run" in request && this.owners.get(request.run)) || this.comm;
    if (!comm) return;
    try {
      // ipykernel 6 reads the shell channel only between cells.
      if (this.ways.get(comm.commId) === "control")
        sendControl(this.kernel, comm.commId, { id: --this.sent, ...request });
      else comm.send({ method: "custom", content: { ...request } });
    } catch {
      // A dead kernel takes no messages; `lost` tells the user.
    }
  }

  rename(run: string, name: string): void {
    this.request({ type: "rename", run, name });
  }

  compare(runs: readonly string[], answer: (answer: Compared | string) => void): void {
    const id = this.expect((message) => {
      if (message.type === "compared") answer(message.problem || message);
    });
    this.request({ type: "compare", id, runs: [...runs] });
  }

  load(path: string, answer: (problem: string) => void): void {
    const id = this.expect(({ problem = "" }) => answer(problem));
    this.request({ type: "load", id, path });
  }

  private expect(answer: (message: ComparedMessage | LoadedMessage) => void): number {
    this.waiting.set(++this.questions, answer);
    return this.questions;
  }

  private settle(message: ComparedMessage | LoadedMessage): void {
    const answer = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    answer?.(message);
  }

  /** Finds a comm that the kernel opened before this page was loaded, and requests its runs until it answers. */
  private async find(): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES && !this.heard && !this.kernel.isDisposed; tries++) {
      if (!(await this.ask())) return;
      await after(ANSWERED_AFTER_MS);
    }
  }

  /** Returns whether an answer may come. */
  private async ask(): Promise<boolean> {
    try {
      const language = (await this.kernel.spec)?.language;
      if (language !== undefined && language !== "python") return false;
      const [id] = this.comm ? [this.comm.commId] : await this.commIds();
      if (id === undefined || this.kernel.isDisposed) return false;
      if (!this.comm && !this.kernel.hasComm(id)) this.attach(this.kernel.createComm(TARGET, id));
      this.request({ type: "list" });
    } catch (error) {
      // The kernel has died or restarts and knows no runs, or the page has reconnected.
      console.debug("jax_debug_widgets:", error);
    }
    return true;
  }

  private async commIds(): Promise<string[]> {
    const shell = this.kernel.requestCommInfo({ target_name: TARGET }).then((reply) => reply.content);
    const answered = shell.then(
      () => true,
      () => false,
    );
    // The kernel's status on the page does not tell: after any request on the control channel, for example of the
    // debugger, a kernel that runs a cell is shown as idle.
    const busy = Promise.race([answered, after(BUSY_AFTER_MS)]).then((isAnswered) => !isAnswered);
    void busy.then((isBusy) => {
      this.wasBusy ||= isBusy;
    });
    const control = busy.then((isBusy) => (isBusy ? this.askControl(this.kernel) : shell));
    // The slower of the two may still fail, after nobody waits for it.
    for (const answer of [shell, control]) answer.catch(() => undefined);
    const late = after(BUSY_AFTER_MS + ANSWERED_AFTER_MS).then(() => Promise.reject(new Error("no answer")));
    const content = await Promise.race([Promise.any([shell, control.then((reply) => reply ?? shell)]), late]);
    return content.status === "ok" ? Object.keys(content.comms) : [];
  }

  private attach(comm: Kernel.IComm): void {
    this.comm = comm;
    for (const id of this.closed) this.runs.replaced(id);
    this.closed.clear();
    comm.onMsg = (message) => this.receive(message.content.data, comm);
    comm.onClose = () => {
      this.closed.add(comm.commId);
      for (const [run, owner] of this.owners) if (owner === comm) this.owners.delete(run);
      if (this.comm === comm) this.comm = undefined;
    };
  }

  private receive(data: unknown, comm: Kernel.IComm): void {
    let message: ReturnType<typeof decode>;
    try {
      message = decode(data);
    } catch (error) {
      this.problem.value = error instanceof Error ? error.message : String(error);
    }
    if (message?.type === "panel") this.restore(message);
    if (message?.type === "saved") this.saved?.write(message);
    if (message?.type === "compared" || message?.type === "loaded") this.settle(message);
    if (message?.type !== "runs") return;
    this.heard = true;
    this.lost.value = false;
    this.ways.set(comm.commId, message.way);
    for (const key of message.keys) this.owners.set(key, comm);
    if (this.wasBusy && message.way === "control") {
      this.wasBusy = false;
      this.request({ type: "panel" });
    }
    if (this.runs.apply(message, comm.commId) && message.runs.length === 1) this.onBegin(this);
    // The last outputs of an engine's cell come after the message that its run is over.
    if (message.way === "engine") setTimeout(() => this.compareSaved(), LAST_OUTPUTS_MS);
    else this.compareSaved(message.runs);
  }

  /** Requests the runs that a notebook has stored in an older state than the kernel's. */
  compareSaved(rows = this.runs.newestFirst.peek()): void {
    // An engine answers only when its cell is over. Until then, a message would make the cell's outputs appear in a
    // wrong place.
    const isEngine = ({ key }: RunRow) => this.ways.get(this.owners.get(key)?.commId ?? "") === "engine";
    if (this.runs.newestFirst.peek().some((row) => isEngine(row) && goesOn(row.state))) return;
    this.saved?.compare(rows, (run) => this.request({ type: "saved", run }));
  }

  /** The kernel has died or was replaced. The notebook now has the only copy of its runs. */
  end(): void {
    this.saved?.end(this.runs.newestFirst.peek());
  }

  /**
   * Starts a stand-in for the widget model. The page's own widgets wait for the end of the cell, which never comes if
   * the program is at a stop.
   */
  private restore(message: PanelMessage): void {
    if (!this.standIn && !this.kernel.isDisposed) this.standIn = new StandIn(this.kernel, message);
  }

  private onStatus(_: Kernel.IKernelConnection, status: Kernel.Status): void {
    if (status === "restarting" || status === "autorestarting" || status === "dead") this.end();
    if (status === "restarting" || status === "autorestarting") {
      this.comm = undefined;
      this.owners.clear();
      this.standIn?.end();
      this.standIn = undefined;
      this.runs.clear();
    }
    this.lost.value = status === "dead";
  }

  private onConnection(_: Kernel.IKernelConnection, status: Kernel.ConnectionStatus): void {
    this.lost.value = status === "disconnected";
    if (status === "connected") this.request({ type: "list" });
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
