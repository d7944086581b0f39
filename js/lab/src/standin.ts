/**
 * A stand-in for the widget model, on a page that was loaded while the kernel runs a cell. Such a page gets its widgets
 * only after the cell (ipykernel 6 with its control channel). A cell at a breakpoint would never end, because nobody
 * could continue it. When the page's own model comes, it leaves the session to the stand-in (`js/src/entry/panel.ts`).
 */
import type { Kernel, KernelMessage } from "@jupyterlab/services";
import type { Model } from "../../src/entry/model";
import type { PanelMessage } from "./wire";

type Listener = (...args: unknown[]) => void;
type Load = (text: string) => Promise<{ initialize(props: { model: Model }): () => void }>;

/** Runs the text of the panel's module, as anywidget does. */
async function evaluated(text: string): ReturnType<Load> {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return (await import(/* webpackIgnore: true */ url)).default;
  } finally {
    URL.revokeObjectURL(url);
  }
}

export class StandIn {
  private readonly listeners = new Map<string, Listener>();
  private readonly started: Promise<() => void>;

  constructor(
    private readonly kernel: Kernel.IKernelConnection,
    private readonly message: PanelMessage,
    load: Load = evaluated,
  ) {
    const { comm_id, way, text } = message;
    const model: Model = {
      get: (trait) => ({ run: "", comm_id, way })[trait],
      on: (event, listener) => this.listeners.set(event, listener as Listener),
      off: (event) => this.listeners.delete(event),
      // Not used: the panel itself sends on the control channel.
      send: () => undefined,
      standsIn: true,
      widget_manager: { kernel },
    };
    this.started = load(text).then(({ initialize }) => {
      kernel.iopubMessage.connect(this.onMessage, this);
      kernel.connectionStatusChanged.connect(this.onConnection, this);
      kernel.disposed.connect(this.end, this);
      return initialize({ model });
    });
  }

  /** Removes the stand-in, because the kernel or the connection to it is gone. */
  end(): void {
    this.kernel.iopubMessage.disconnect(this.onMessage, this);
    this.kernel.connectionStatusChanged.disconnect(this.onConnection, this);
    this.kernel.disposed.disconnect(this.end, this);
    void this.started.then((leave) => leave());
  }

  private onMessage(_: Kernel.IKernelConnection, { header, content, buffers }: KernelMessage.IIOPubMessage): void {
    if (header.msg_type !== "comm_msg") return;
    const { comm_id, data } = content as KernelMessage.ICommMsgMsg["content"];
    if (comm_id === this.message.comm_id && data.method === "custom") this.trigger("msg:custom", data.content, buffers);
  }

  private onConnection(_: Kernel.IKernelConnection, status: Kernel.ConnectionStatus): void {
    if (status === "connected") this.trigger("comm_live_update");
  }

  private trigger(event: string, ...args: unknown[]): void {
    this.listeners.get(event)?.(...args);
  }
}
