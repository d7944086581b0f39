/** Small implementations of what only JupyterLab has: a kernel with its comms, notebooks and their tracker. */
import type { INotebookTracker } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import { Signal } from "@lumino/signaling";
import type { Request, RunRow, RunsMessage } from "../src/wire";

export function row(key: string, changes: Partial<RunRow> = {}): RunRow {
  const fresh = { title: `run ${key}`, state: "running", started: 0, elapsed: 1, events: 0 } as const;
  return { key, ...fresh, barrier: "idle", pending: [], waited: 0, ...changes };
}

export function message(...runs: RunRow[]): RunsMessage {
  return { type: "runs", version: 1, keys: runs.map(({ key }) => key), runs, way: "shell" };
}

type OnMessage = (message: { content: { data: unknown } }) => void;

export class FakeComm {
  onMsg: OnMessage = () => {};
  onClose: () => void = () => {};
  readonly sent: Request[] = [];
  private isDead = false;

  constructor(readonly commId: string) {}

  die(): void {
    this.isDead = true;
  }

  send(data: { content: Request }): void {
    if (this.isDead) throw new Error("Kernel is dead");
    this.sent.push(data.content);
  }

  receive(content: unknown): void {
    this.onMsg({ content: { data: { method: "custom", content } } });
  }
}

/** A kernel with the comms `openedBefore`. It answers `comm_info_request` if `answers` is true. */
export class FakeKernel {
  readonly statusChanged = new Signal<this, string>(this);
  readonly connectionStatusChanged = new Signal<this, string>(this);
  readonly disposed = new Signal<this, void>(this);
  readonly iopubMessage = new Signal<this, object>(this);
  readonly clientId = "page";
  readonly username = "";
  /** The contents of the comm messages that were sent on the control channel. */
  readonly controlled: unknown[] = [];
  readonly spec: Promise<{ language: string } | undefined>;
  readonly attached: FakeComm[] = [];
  isDisposed = false;
  asked = 0;
  private target: (comm: FakeComm) => void = () => {};

  constructor(
    readonly id: string,
    private readonly openedBefore: string[] = [],
    private readonly answers: Promise<void> = Promise.resolve(),
    language = "python",
  ) {
    this.spec = Promise.resolve({ language });
  }

  registerCommTarget(_target: string, callback: (comm: FakeComm) => void): void {
    this.target = callback;
  }

  async requestCommInfo(): Promise<unknown> {
    this.asked++;
    await this.answers;
    return { content: this.commInfo() };
  }

  commInfo(): unknown {
    return { status: "ok", comms: Object.fromEntries(this.openedBefore.map((id) => [id, {}])) };
  }

  sendControlMessage(message: { content: unknown }): void {
    this.controlled.push(message.content);
  }

  hasComm(id: string): boolean {
    return this.attached.some(({ commId }) => commId === id);
  }

  createComm(_target: string, id: string): FakeComm {
    const comm = new FakeComm(id);
    this.attached.push(comm);
    return comm;
  }

  /** Opens the comm, as a kernel does at its first run. */
  open(id = "opened"): FakeComm {
    const comm = this.createComm("", id);
    this.target(comm);
    return comm;
  }

  dispose(): void {
    this.isDisposed = true;
    this.disposed.emit();
  }

  get connection(): Kernel.IKernelConnection {
    return this as unknown as Kernel.IKernelConnection;
  }
}

export class FakeNotebook {
  isDisposed = false;
  readonly context = {
    path: "",
    pathChanged: new Signal<object, string>({}),
    ready: Promise.resolve(),
    model: { readOnly: false, cells: [] as { type: string; outputs: FakeOutputs }[] },
  };
  readonly sessionContext = {
    session: null as { kernel: FakeKernel | null } | null,
    kernelChanged: new Signal<object, { oldValue: FakeKernel | null; newValue: FakeKernel | null }>({}),
  };

  constructor(path: string, kernel: FakeKernel | null = null) {
    this.context.path = path;
    this.sessionContext.session = { kernel };
  }

  changeKernel(kernel: FakeKernel | null): void {
    const oldValue = this.sessionContext.session?.kernel ?? null;
    this.sessionContext.session = { kernel };
    this.sessionContext.kernelChanged.emit({ oldValue, newValue: kernel });
  }
}

/** The outputs of a code cell. */
export class FakeOutputs {
  constructor(readonly all: { data: Record<string, string> }[]) {}

  get length(): number {
    return this.all.length;
  }

  get(index: number) {
    const output = this.all[index] as { data: Record<string, string> };
    return { data: output.data, toJSON: () => ({ output_type: "display_data", metadata: {}, ...output }) };
  }

  set(index: number, output: { data: Record<string, string> }): void {
    this.all[index] = output;
  }
}

export class FakeTracker {
  readonly widgetAdded = new Signal<this, FakeNotebook>(this);
  readonly currentChanged = new Signal<this, FakeNotebook | null>(this);
  currentWidget: FakeNotebook | null = null;

  constructor(private readonly notebooks: FakeNotebook[] = []) {}

  forEach(visit: (notebook: FakeNotebook) => void): void {
    this.notebooks.forEach(visit);
  }

  add(notebook: FakeNotebook): void {
    this.notebooks.push(notebook);
    this.widgetAdded.emit(notebook);
  }

  focus(notebook: FakeNotebook | null): void {
    this.currentWidget = notebook;
    this.currentChanged.emit(notebook);
  }

  get tracker(): INotebookTracker {
    return this as unknown as INotebookTracker;
  }
}
