/** Which kernel is looked at: that of the notebook which was last worked in. */

import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import { type ReadonlySignal, signal } from "@preact/signals";
import type { KernelLink } from "./link";

export interface Followed {
  /** The notebook's name. */
  name: string;
  /** Undefined for a notebook without a kernel. */
  link: KernelLink | undefined;
}

/** Links to the kernels of all open notebooks, from when they are there: a run may begin in any of them. */
export class Follower {
  /** By the kernel's id. */
  private readonly links = signal<ReadonlyMap<string, KernelLink>>(new Map());
  private readonly changing = signal<Followed | undefined>(undefined);

  /** `onOpen` is told when a notebook is there with its cells. */
  constructor(
    private readonly tracker: INotebookTracker,
    private readonly open: (kernel: Kernel.IKernelConnection) => KernelLink,
    private readonly onOpen: () => void = () => {},
  ) {
    tracker.forEach((notebook) => {
      this.watch(notebook);
    });
    tracker.widgetAdded.connect((_, notebook) => this.watch(notebook));
    tracker.currentChanged.connect(() => this.update());
    this.update();
  }

  /** Undefined where no notebook is open. */
  get current(): ReadonlySignal<Followed | undefined> {
    return this.changing;
  }

  /** The kernel that knows a run. */
  linkOf(runKey: string): KernelLink | undefined {
    return [...this.links.value.values()].find(({ runs }) => runs.has(runKey));
  }

  private watch(notebook: NotebookPanel): void {
    const { sessionContext } = notebook;
    void notebook.context.ready.then(() => this.onReady());
    this.link(sessionContext.session?.kernel);
    sessionContext.kernelChanged.connect((_, { oldValue, newValue }) => {
      if (oldValue && oldValue.id !== newValue?.id) this.links.peek().get(oldValue.id)?.end();
      this.link(newValue);
      this.update();
    });
    notebook.context.pathChanged.connect(() => this.update());
    this.update();
  }

  /** What it has stored of runs is compared with what their kernels know. */
  private onReady(): void {
    this.onOpen();
    for (const link of this.links.peek().values()) link.compareSaved();
  }

  private link(kernel: Kernel.IKernelConnection | null | undefined): KernelLink | undefined {
    if (!kernel || kernel.isDisposed) return undefined;
    const known = this.links.peek().get(kernel.id);
    if (known && !known.kernel.isDisposed) return known;
    const link = this.open(kernel);
    this.links.value = new Map(this.links.peek()).set(kernel.id, link);
    kernel.disposed.connect(() => {
      this.links.value = new Map([...this.links.peek()].filter(([, other]) => other !== link));
    });
    return link;
  }

  private update(): void {
    const notebook = this.tracker.currentWidget;
    if (!notebook || notebook.isDisposed) {
      this.changing.value = undefined;
      return;
    }
    const link = this.link(notebook.sessionContext.session?.kernel);
    this.changing.value = { name: notebook.context.path.split("/").at(-1) ?? "", link };
  }
}
