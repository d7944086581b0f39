/** The way to one kernel: hears of its runs, and asks it for what the list can do. */

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

/** A kernel that is running a cell answers on its control channel; one that is idle has answered by then. */
const BUSY_AFTER_MS = 2000;

/** A request that is not answered by then is made again: a page that loads may lose one. */
const ANSWERED_AFTER_MS = 3000;
const MOST_TRIES = 5;

const LAST_OUTPUTS_MS = 3000;

type CommInfoReply = KernelMessage.ICommInfoReplyMsg["content"];

/** Asks for the kernel's comms on its control channel: see `askControl` in `control.ts`. */
export type AskControl = (kernel: Kernel.IKernelConnection) => Promise<CommInfoReply | undefined>;

export class KernelLink implements RunsPorts {
  readonly runs = new Runs();
  /** The kernel is dead, or the server is. */
  readonly lost = signal(false);
  /** Why nothing is understood of what the kernel says, "" for nothing. */
  readonly problem = signal("");
  /** The comm that was opened last. Engines have one each: their client hands on the messages of all. */
  private comm: Kernel.IComm | undefined;
  /** By run, the comm that tells of it. */
  private readonly owners = new Map<string, Kernel.IComm>();
  /** By comm, how it is reached while a cell runs. */
  private readonly ways = new Map<string, string>();
  private readonly closed = new Set<string>();
  /** The kernel has told of its runs. */
  private heard = false;
  private sent = 0;
  /** The kernel was running a cell when the page came, and did not answer as usual. */
  private wasBusy = false;
  /** By the id of a request, who waits for its answer. */
  private readonly waiting = new Map<number, (message: ComparedMessage | LoadedMessage) => void>();
  private questions = 0;
  private standIn: StandIn | undefined;

  /** `onBegin` is told when a run begins while we listen; `saved` keeps what notebooks have stored of the runs. */
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
      // ipykernel 6 reads what comes the usual way only between cells.
      if (this.ways.get(comm.commId) === "control")
        sendControl(this.kernel, comm.commId, { id: --this.sent, ...request });
      else comm.send({ method: "custom", content: { ...request } });
    } catch {
      // A dead kernel takes no messages; `lost` says so.
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

  /** Looks for a comm that the kernel opened before this page was there, and asks for its runs until it has answered. */
  private async find(): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES && !this.heard && !this.kernel.isDisposed; tries++) {
      if (!(await this.ask())) return;
      await after(ANSWERED_AFTER_MS);
    }
  }

  /** Whether there is something to wait for. */
  private async ask(): Promise<boolean> {
    try {
      const language = (await this.kernel.spec)?.language;
      if (language !== undefined && language !== "python") return false;
      const [id] = this.comm ? [this.comm.commId] : await this.commIds();
      if (id === undefined || this.kernel.isDisposed) return false;
      if (!this.comm && !this.kernel.hasComm(id)) this.attach(this.kernel.createComm(TARGET, id));
      this.request({ type: "list" });
    } catch (error) {
      // The kernel went away, or restarts, and knows of no runs; or the page's connection began anew.
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
    // What the page shows as the kernel's status does not say: after any request on the control channel, a debugger's for
    // example, a kernel that runs a cell is shown as idle.
    const busy = Promise.race([answered, after(BUSY_AFTER_MS)]).then((isAnswered) => !isAnswered);
    void busy.then((isBusy) => {
      this.wasBusy ||= isBusy;
    });
    const control = busy.then((isBusy) => (isBusy ? this.askControl(this.kernel) : shell));
    // Whoever loses may fail later, when nobody listens.
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
    // The last outputs of an engine's cell come after the news that its run is over.
    if (message.way === "engine") setTimeout(() => this.compareSaved(), LAST_OUTPUTS_MS);
    else this.compareSaved(message.runs);
  }

  /** Asks for the runs of which a notebook has an older picture than the kernel. */
  compareSaved(rows = this.runs.newestFirst.peek()): void {
    // An engine answers when its cell is over, and until then any message may lead the cell's outputs astray.
    const isEngine = ({ key }: RunRow) => this.ways.get(this.owners.get(key)?.commId ?? "") === "engine";
    if (this.runs.newestFirst.peek().some((row) => isEngine(row) && goesOn(row.state))) return;
    this.saved?.compare(rows, (run) => this.request({ type: "saved", run }));
  }

  /** The kernel is dead, or another has its place: what its runs have left is the notebook's alone. */
  end(): void {
    this.saved?.end(this.runs.newestFirst.peek());
  }

  /** The page's widgets wait for the end of the cell: a stop can be seen and left only if the panel does not. */
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
